"""The audit as a whole: verify its chain, and delete records that are too old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import ChainBroken, OutkeyError
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.chain import (
    AuditKeys,
    ChainRow,
    ChainVerdict,
    facts_of,
    genuine_streams,
    key_id_of,
    sign_sighting,
    sign_tombstone,
    time_of,
    verify,
)
from outkey.sending.core.audit.events import Tag

if TYPE_CHECKING:
    from outkey.administration.engine.editing.administration import Administration
    from outkey.foundation.ports.database import StateRows
    from outkey.sending.ports.storage import AuditCheckpoints, AuditRows

PRUNED_AT_ONCE = 5000
NOTED_STREAMS = 200
VERIFICATION = "verification"  # the mark of the last one
# Yields the rows that it gets, to count or examine them while they are read.
RowsWrapper = Callable[[Iterable[ChainRow]], Iterable[ChainRow]]


@dataclass(frozen=True, slots=True)
class AuditTrail:
    """The rows of an audit, with what they are verified by."""

    rows: AuditRows
    checkpoints: AuditCheckpoints
    keys: AuditKeys

    def count(self) -> int:
        """Return how many records there are."""
        return sum(stream.rows for stream in self.rows.streams())

    def verify(self, passing: RowsWrapper = iter) -> ChainVerdict:
        """Verify the whole chain; `passing` wraps the rows on their way."""
        tombstones = [stream.tombstone for stream in self.rows.streams()]
        return verify(
            passing(self.rows.read()),
            self.keys,
            checkpoints=self.checkpoints.read(),
            tombstones=[mark for mark in tombstones if mark is not None],
        )

    def note_streams(self, seen: Iterable[str] | None = None) -> None:
        """Note on this machine which streams there are, whichever machine wrote them.

        A stream that is missing later is then noticed here too. `seen` are streams that
        were just verified; without it, the newest ones are read.
        """
        if seen is None:
            rows = self.rows.beginnings(NOTED_STREAMS)
            seen = genuine_streams(rows, self.keys)
        # The key is in the ring, since it verified the stream.
        marks = [
            sign_sighting(self.keys(key_id_of(stream)) or b"", stream)
            for stream in seen
        ]
        if marks:
            # A sighting must not state more than a power failure leaves.
            self.rows.append([], sync=True)
            self.checkpoints.add_sightings(marks)

    def note_verified(self, verdict: ChainVerdict) -> None:
        """Note the streams that were found intact and had no checkpoint; best effort.

        So `verify` names each of them once, and notices from then on if it is missing.
        """
        if verdict.ok and verdict.without_checkpoint:
            with suppress(OutkeyError):
                self.note_streams(verdict.without_checkpoint)

    def prune(self, administration: Administration, moment: float) -> Iterator[int]:
        """Delete the records from before a moment, and yield how many at each step.

        Deleted records cannot be verified any more, so the chain is verified first.
        """
        expired = ExpiredRows(round(moment * 1000), PRUNED_AT_ONCE)
        verdict = self.verify(expired)
        if not verdict.ok:
            raise ChainBroken(
                Text("the audit is broken at {record}", record=verdict.first_bad)
            )
        administration.note(Tag.AUDIT_PRUNED)
        for row in expired.last_rows():
            # The key is in the ring, since it verified the chain.
            key = self.keys(key_id_of(row.stream)) or b""
            yield self.rows.prune(sign_tombstone(key, row))

    def prune_expired(self, administration: Administration, moment: float) -> int:
        """Delete the records from before a moment; return how many.

        Where the oldest record of every stream is younger, the chain is not even
        verified.
        """
        oldest = [stream.oldest_at for stream in self.rows.streams()]
        if not any(at is not None and at < moment * 1000 for at in oldest):
            return 0
        return sum(self.prune(administration, moment))


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """When the whole chain was verified last, and whether it was intact."""

    at: float
    ok: bool


def note_chain_check(states: StateRows, verdict: ChainVerdict, now: float) -> None:
    """Remember a verdict for those who look later."""
    states.put(StateKind.MARK, {VERIFICATION: {"at": now, "ok": verdict.ok}})


def last_chain_check(states: StateRows) -> ChainCheck | None:
    """Return the last verdict; None if the chain was never verified."""
    mark = states.read(StateKind.MARK, [VERIFICATION]).get(VERIFICATION)
    if mark is None or not {"at", "ok"} <= mark.value.keys():
        return None
    return ChainCheck(mark.value["at"], mark.value["ok"])


def recorded_at(record: Mapping[str, object]) -> float:
    """Return the Unix time of a record, 0 if it was tampered with."""
    return time_of(record) / 1000


class ExpiredRows:
    """Finds the rows up to which each stream is expired, while the chain is verified.

    Only what was verified is pruned: a column of the table could be changed meanwhile.
    """

    def __init__(self, moment: int, step: int) -> None:
        self._moment = moment
        self._step = step
        self._counts: Counter[str] = Counter()
        self._last: dict[str, list[ChainRow]] = {}
        self._ended: set[str] = set()

    def __call__(self, rows: Iterable[ChainRow]) -> Iterator[ChainRow]:
        """Return the rows as they are, and note which are expired."""
        for row in rows:
            if time_of(facts_of(row.body)) >= self._moment:
                self._ended.add(row.stream)
            elif row.stream not in self._ended:
                self._note(row)
            yield row

    def last_rows(self) -> Iterator[ChainRow]:
        """Return the last expired row of each stream, after every so many others."""
        for rows in self._last.values():
            yield from rows

    def _note(self, row: ChainRow) -> None:
        rows = self._last.setdefault(row.stream, [])
        if self._counts[row.stream] % self._step:
            rows.pop()
        self._counts[row.stream] += 1
        rows.append(row._replace(body=b""))
