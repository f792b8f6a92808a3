"""Creates of a pair that have no response: which rows of the API may be theirs."""

from collections.abc import Iterator, Sequence

from outkey.sync.core.pairs.pairs import (
    Values,
    is_normalised,
    pair_fields,
    plain_values,
)
from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.engine.pull.record_mapper import Row, key_of
from outkey.sync.engine.runs.line_plan import PairPlan, SyncPorts

GROUP = 1000


class UnansweredCreates:
    """The records whose create has no response, as a run finds them at its begin.

    The API may have each of them under an ID that is unknown here. A row without any
    of the texts that were sent is another record. The one exception is a record
    all of whose texts were changed at the API before its create had a response.
    """

    def __init__(self, ports: SyncPorts, plan: PairPlan) -> None:
        self._ports = ports
        self._line = plan.push.line.name
        self._agreements = plan.agreements
        self._sync = plan.pull.sync
        self._fields = pair_fields(plan.pull.sync, plan.push.sync)
        self.count = 0
        self._versions: list[Values] = []  # what may have been sent, the shared fields
        last = ""
        while entries := ports.ledger.announced(self._line, last, GROUP):
            last = entries[-1].record
            self._add(entries)

    def _add(self, entries: Sequence[LedgerEntry]) -> None:
        ids = [entry.record for entry in entries]
        agreements = self._agreements.read(self._line, ids)
        records = self._ports.records.by_id(self._sync.target, ids)
        for record in ids:
            self.count += 1
            sent = agreements[record].host if record in agreements else None
            now = records[record].values if record in records else None
            self._versions += [
                plain_values(values, self._fields.shared)
                for values in (sent, now)
                if values is not None and not self._has_key(values)
            ]

    def _has_key(self, values: Values) -> bool:
        """Whether the API has the keys from the host: rows are found by these."""
        is_sent = {*self._sync.keys} <= self._fields.sent
        return is_sent and all(key_of(self._sync.keys, values))

    def may_be(self, row: Row) -> bool:
        """Whether a row may be one of these records."""
        received = plain_values(row, self._fields.shared)
        return any(_has_text_of(sent, received) for sent in self._versions)


def _has_text_of(sent: Values, received: Values) -> bool:
    """Whether one version has a text of the other; True if that has no text."""
    texts = list(_texts(sent))
    return not texts or any(
        is_normalised(text, received.get(name)) for name, text in texts
    )


def _texts(values: Values) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, str) and value:
            yield name, value
