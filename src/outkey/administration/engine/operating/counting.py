"""Counts for metrics that cover all processes of an installation.

Requests are counted from the audit, which has a record of every one, when the metrics
are read: a send pays nothing for it. Counts are stored, so that they never decrease
when old records are pruned.
"""

from collections.abc import Mapping, Sequence

from outkey.administration.core.operating.reading_position import ReadingPosition
from outkey.administration.core.operating.send_counts import COUNTED_TAGS, SendCounts
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.engine.duties import COUNTING
from outkey.foundation.ports.database import Database, StateRows
from outkey.sending.ports.storage import AuditRows

READ_AT_ONCE = 5000
MAX_BATCHES = 40  # of one call; the next one goes on


class SendCounter:
    """Counts the requests that the audit has records of, each once."""

    def __init__(self, audit: AuditRows, states: StateRows, database: Database) -> None:
        self._audit = audit
        self._states = states
        self._database = database

    def catch_up(self) -> bool:
        """Count what is new; return whether all of it was read."""
        return any(self._count_batch() for _ in range(MAX_BATCHES))

    def read(self) -> dict[str, SendCounts]:
        """Return the counts by configuration."""
        return self._counts(None)

    def _count_batch(self) -> bool:
        """Count the next records; return whether these were the last."""
        mark = self._states.read(StateKind.MARK, [COUNTING]).get(
            COUNTING, SharedState()
        )
        position = ReadingPosition.from_facts(mark.value)
        now = self._database.now()
        late = self._late_records(position)
        records = self._audit.after(position.last, READ_AT_ONCE)
        position = position.without_gaps(map(id_of, late), now)
        position = position.after(map(id_of, records), now)
        if position.facts() != mark.value:
            self._save(mark.generation, position, [*late, *records])
        return len(records) < READ_AT_ONCE

    def _late_records(self, position: ReadingPosition) -> list[Mapping[str, object]]:
        """Return the records whose ids were skipped before, and are there now."""
        skipped = [number for number, _ in position.gaps]
        return [
            record
            for number in skipped
            for record in self._audit.after(number - 1, 1)
            if id_of(record) == number
        ]

    def _save(
        self,
        generation: int,
        position: ReadingPosition,
        records: Sequence[Mapping[str, object]],
    ) -> None:
        """Store position and counts together, unless another process was faster."""
        counted = [record for record in records if record.get("tag") in COUNTED_TAGS]
        names = {str(record.get("configuration")) for record in counted}
        facts = position.facts()
        with self._database.transaction():
            if not self._states.swap(StateKind.MARK, COUNTING, generation, facts):
                return
            counts = self._counts(names) if names else {}
            for record in counted:
                name = str(record.get("configuration"))
                counts.setdefault(name, SendCounts()).add(record)
            values = {name: count.facts() for name, count in counts.items()}
            self._states.put(StateKind.METRIC_SENDS, values)

    def _counts(self, names: set[str] | None) -> dict[str, SendCounts]:
        states = self._states.read(StateKind.METRIC_SENDS, names)
        return {
            name: SendCounts.from_facts(state.value) for name, state in states.items()
        }


def id_of(record: Mapping[str, object]) -> int:
    """Return the id of an audit record."""
    return int(str(record["id"]))
