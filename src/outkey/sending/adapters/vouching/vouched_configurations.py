"""Configurations with what a home has seen of their vouchers."""

from collections.abc import Collection
from dataclasses import replace

from outkey.sending.core.configuration.health import Summary
from outkey.sending.core.configuration.rows import ConfigurationRow
from outkey.sending.core.connections.connection import ConnectionQuery
from outkey.sending.core.vault.voucher import voucher_name
from outkey.sending.ports.storage import ConfigurationRows, SeenRows


class VouchedConfigurations:
    """The configurations of a host; the voucher of each must be this new at least.

    What a home has seen is taken before a row is read: another process may store a
    newer voucher since, and what was read is not an old copy because of that.
    """

    def __init__(self, rows: ConfigurationRows, seen: SeenRows) -> None:
        self._rows = rows
        self._seen = seen

    def find(
        self,
        *,
        names: Collection[str] | None = None,
        records: Collection[str] | None = None,
        lock: bool = False,
    ) -> list[ConfigurationRow]:
        seen = self._seen.serials()
        return [
            replace(row, seen_voucher=seen.get(voucher_name(row.record), 0))
            for row in self._rows.find(names=names, records=records, lock=lock)
        ]

    def connections(
        self, configuration: str, query: ConnectionQuery
    ) -> list[ConfigurationRow]:
        seen = self._seen.serials()
        return [
            replace(row, seen_voucher=seen.get(voucher_name(row.record), 0))
            for row in self._rows.connections(configuration, query)
        ]

    def swap(
        self, before: ConfigurationRow | None, after: ConfigurationRow | None
    ) -> bool:
        return self._rows.swap(before, after)

    def summaries(self) -> list[Summary]:
        return self._rows.summaries()
