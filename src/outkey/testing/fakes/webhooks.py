"""In-memory deliveries of webhooks, for tests."""

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from outkey.webhooks.core.inbox.inbox import InboxDelivery
from outkey.webhooks.ports.webhooks import DeliveryCount, DeliveryQuery

HOUR = 3600


class MemoryDeliveryRows:
    """Deliveries in a dictionary by id."""

    def __init__(self) -> None:
        self.rows: dict[int, InboxDelivery] = {}
        self._lock = threading.Lock()

    def find(self, query: DeliveryQuery) -> list[InboxDelivery]:
        rows = [row for row in self.rows.values() if is_in_query(row, query)]
        rows.sort(key=lambda row: int(row.id), reverse=not query.oldest_first)
        if not query.has_body:
            rows = [replace(row, body=b"") for row in rows]
        return rows[: query.limit]

    def insert(self, deliveries: Sequence[InboxDelivery]) -> None:
        with self._lock:
            for delivery in deliveries:
                self._insert(delivery)

    def swap(
        self, before: InboxDelivery | None, after: InboxDelivery | None
    ) -> InboxDelivery | None:
        with self._lock:
            if before is None:
                return None if after is None else self._insert(after)
            stored = self.rows.get(int(before.id))
            if stored is None or stored.generation != before.generation:
                return None
            if after is None:
                del self.rows[int(before.id)]
                return before
            self.rows[int(before.id)] = replace(after, body=stored.body)
            return after

    def count_by_hour(self, since: float, endpoint: str = "") -> list[DeliveryCount]:
        times = defaultdict(list)
        for row in self.rows.values():
            hour = int(row.received_at // HOUR) if row.received_at >= since else 0
            if endpoint in {"", row.endpoint}:
                times[row.endpoint, row.state, hour].append(row.received_at)
        return [
            DeliveryCount(*place, count=len(received), newest_at=max(received))
            for place, received in times.items()
        ]

    def _insert(self, delivery: InboxDelivery) -> InboxDelivery | None:
        for other in self.rows.values():
            is_same_nonce = bool(delivery.nonce) and other.nonce == delivery.nonce
            if other.endpoint == delivery.endpoint and (
                other.key == delivery.key or is_same_nonce
            ):
                return None
        number = max(self.rows, default=0) + 1
        self.rows[number] = replace(delivery, id=str(number))
        return self.rows[number]


def is_in_query(row: InboxDelivery, query: DeliveryQuery) -> bool:
    """Whether a query finds a delivery."""
    return (
        query.id in {"", row.id}
        and (not query.before or _is_before(row.id, query.before))
        and query.endpoint in {"", row.endpoint}
        and query.nonce in {"", row.nonce}
        and query.run in {"", row.run}
        and (not query.states or row.state in query.states)
        and (query.due_by is None or row.is_due(query.due_by))
        and (query.received_from is None or row.received_at >= query.received_from)
        and (query.received_before is None or row.received_at < query.received_before)
    )


def _is_before(row: str, other: str) -> bool:
    """Whether a row was stored before another one; False without another one."""
    return other.isdecimal() and int(row) < int(other)
