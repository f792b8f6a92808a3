"""How far a table was read whose rows have growing ids.

Two processes may take ids at the same time and commit in the other order. An id that
is skipped is therefore searched for again, for a minute. After that it counts as never
used.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from outkey.foundation.core.stored_times import is_recent

GAP_SECONDS = 60.0
MAX_GAPS = 100


@dataclass(frozen=True, slots=True)
class ReadingPosition:
    """The last id that was read, and the skipped ids with when they were noticed."""

    last: int = 0
    gaps: tuple[tuple[int, float], ...] = ()

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the position that was stored; without facts, the beginning."""
        gaps = tuple((number, at) for number, at in facts.get("gaps", ()))
        return cls(facts.get("last", 0), gaps)

    def facts(self) -> dict[str, object]:
        """Return the position as JSON can hold it."""
        return {"last": self.last, "gaps": [list(gap) for gap in self.gaps]}

    def without_gaps(self, late_ids: Iterable[int], now: float) -> Self:
        """Return the position without gaps that were read late or are too old."""
        closed = set(late_ids)
        gaps = [
            (number, at)
            for number, at in self.gaps
            if number not in closed and is_recent(at, now, GAP_SECONDS)
        ]
        return replace(self, gaps=tuple(gaps))

    def after(self, ids: Iterable[int], now: float) -> Self:
        """Return the position after rows, in the order of their ids."""
        last = self.last
        gaps = list(self.gaps)
        for number in ids:
            # Of a wide gap, as after a crash, only the end can be of a transaction
            # that is still open.
            first = max(last + 1, number - MAX_GAPS)
            gaps += [(skipped, now) for skipped in range(first, number)]
            last = number
        return replace(self, last=last, gaps=tuple(gaps[-MAX_GAPS:]))
