"""The arithmetic of a rate limit: at most N in any minute, evenly spread after a burst.

The generic cell rate algorithm. A burst of b and then (N - b + 1) a minute never exceed
N in any half-open minute, and one number says how far the permits are given out. A slot
is the moment that a permit stands for; the permit may be used from b - 1 intervals
before it until then, and not later, or unused permits could be saved up and break the
limit.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from outkey.foundation.core.fields.choices import LONGEST_TIMEOUT
from outkey.foundation.core.stored_times import LONGEST_WAIT, is_possible

BURST_SECONDS = 2
MAX_HOLD = 300.0  # seconds without requests that a server can ask for
# Two slots of a limit of one a minute: what a permit may lie ahead besides the wait.
LONGEST_SLOTS = 120.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Up to when permits are given out, and until when the server asked for quiet.

    `spent_until` is for the requests that heed the budget that responses state.
    """

    drained_at: float = 0.0
    quiet_until: float = 0.0
    spent_until: float = 0.0
    at: float = 0.0  # when it was changed last

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the pace that `facts` describes; without facts, a new one."""
        return cls(
            facts.get("drained_at", 0.0),
            facts.get("quiet_until", 0.0),
            facts.get("spent_until", 0.0),
            facts.get("at", 0.0),
        )

    def facts(self) -> dict[str, object]:
        """Return the pace as JSON can hold it."""
        return asdict(self)

    def as_of(self, now: float, patience: float = LONGEST_TIMEOUT) -> Self:
        """Return the pace without what a clock that was ahead has stored.

        `patience` is how long a sender may wait for its permit.
        """
        if not is_possible(self.at, now):
            return type(self)()
        longest = max(patience, LONGEST_TIMEOUT) + LONGEST_SLOTS
        is_drained = is_possible(self.drained_at, now, longest)
        is_quiet = is_possible(self.quiet_until, now, MAX_HOLD)
        is_spent = is_possible(self.spent_until, now, LONGEST_WAIT)
        return replace(
            self,
            drained_at=self.drained_at if is_drained else 0.0,
            quiet_until=self.quiet_until if is_quiet else 0.0,
            spent_until=self.spent_until if is_spent else 0.0,
        )

    def quiet(self, until: float, now: float) -> Self:
        """Return the pace with no request sent until then."""
        return replace(self, quiet_until=max(self.quiet_until, until), at=now)

    def spent(self, until: float, now: float) -> Self:
        """Return the pace with the budget of the API spent until then."""
        return replace(self, spent_until=max(self.spent_until, until), at=now)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most so many in any minute."""

    per_minute: int

    @property
    def burst(self) -> int:
        """How many may be sent at once after a pause."""
        return max(1, self.per_minute * BURST_SECONDS // 60)

    @property
    def interval(self) -> float:
        """The seconds between two slots."""
        return 60 / (self.per_minute - self.burst + 1)

    def opens(self, slot: float) -> float:
        """Return the moment from which the permit of a slot may be used."""
        return slot - (self.burst - 1) * self.interval

    def first_slot(self, pace: Pace, now: float) -> float:
        """Return the next free slot."""
        return max(pace.drained_at, now, pace.quiet_until)

    def lease(self, pace: Pace, now: float, count: int) -> tuple[Pace, list[float]]:
        """Take slots; return the pace after that, and the slots."""
        first = self.first_slot(pace, now)
        slots = [first + number * self.interval for number in range(count)]
        return replace(pace, drained_at=slots[-1] + self.interval, at=now), slots
