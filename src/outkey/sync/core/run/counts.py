"""How many runs of a line ended, and how many records they processed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from outkey.foundation.core.groups import add_one
from outkey.foundation.core.state_shapes import known_members
from outkey.sync.core.run.run import Counts, Run, RunState

OUTCOMES = ("created", "updated", "unchanged", "failed", "archived", "deleted")
# A run that failed goes on later, perhaps after runs of deliveries.
MAX_CONTINUED = 10


@dataclass(slots=True)
class RunCounts:
    """The counts of one line; dry runs are not counted."""

    runs: dict[str, int] = field(default_factory=dict)  # by their state at the end
    records: dict[str, int] = field(default_factory=dict)  # by outcome
    done_at: float = 0.0  # when the last run that was complete ended; 0.0: never
    # What was counted of the last runs: one that goes on is counted from there.
    counted: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the counts that were stored; without facts, none."""
        return cls(**known_members(cls, facts))

    def facts(self) -> dict[str, object]:
        """Return the counts as JSON can hold them."""
        return {
            "runs": self.runs,
            "records": self.records,
            "done_at": self.done_at,
            "counted": self.counted,
        }

    def add(self, run: Run) -> None:
        """Count a run that has ended.

        Of deliveries only the records are counted: they have counts of their own, and a
        line whose runs fail must not look complete because of them. The same is true of
        a retry of rejected records.
        """
        if not run.is_received:
            add_one(self.runs, run.state)
        is_complete = run.state is RunState.DONE and not run.retry_of
        if is_complete and not run.is_received:
            self.done_at = run.ended_at or 0.0
        counts = _outcomes_of(run.counts)
        previous_counts = self.counted.pop(run.id, {})
        for outcome, count in counts.items():
            previous = previous_counts.get(outcome, 0)
            # Less than before: the run has started over.
            new = count - previous if count >= previous else count
            if new:
                self.records[outcome] = self.records.get(outcome, 0) + new
        self.counted[run.id] = counts
        while len(self.counted) > MAX_CONTINUED:
            del self.counted[next(iter(self.counted))]


def _outcomes_of(counts: Counts) -> dict[str, int]:
    """Return how many records had each outcome, without outcomes of no record."""
    numbers = {outcome: int(getattr(counts, outcome)) for outcome in OUTCOMES}
    return {outcome: number for outcome, number in numbers.items() if number}
