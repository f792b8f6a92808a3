from outkey.testing.contracts_webhooks import DeliveryRowsContract
from outkey.testing.fakes.webhooks import MemoryDeliveryRows


class TestMemoryDeliveryRows(DeliveryRowsContract):
    def make(self) -> MemoryDeliveryRows:
        return MemoryDeliveryRows()
