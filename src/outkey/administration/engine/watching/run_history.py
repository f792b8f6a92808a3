"""The results of a line's runs day by day, for a small chart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from outkey.sync.core.run.run import Counts, RunState

HISTORY_DAYS = 30


@dataclass(slots=True)
class RunDay:
    """The runs of one day: how many, how many failed, and their records."""

    day: date
    runs: int = 0
    failed: int = 0
    written: int = 0  # new, changed, archived or deleted
    rejected: int = 0

    def add(self, state: str, counts: Counts) -> None:
        """Count one run."""
        self.runs += 1
        self.failed += state == RunState.FAILED
        self.written += counts.total - counts.unchanged - counts.failed
        self.rejected += counts.failed


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The last days of a line, the oldest first."""

    days: Sequence[RunDay]

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return sum(day.runs for day in self.days)

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return sum(day.failed for day in self.days)

    @property
    def written(self) -> int:
        """How many records they wrote."""
        return sum(day.written for day in self.days)

    @property
    def rejected(self) -> int:
        """How many records they rejected."""
        return sum(day.rejected for day in self.days)

    @property
    def highest(self) -> int:
        """How many records the busiest day has; at least 1."""
        return max([1, *(day.written + day.rejected for day in self.days)])


def run_history(
    runs: Iterable[tuple[float, str, Counts]], now: float, zone: tzinfo
) -> RunHistory:
    """Return the days of a time zone up to today; runs are begin, state and counts."""
    today = datetime.fromtimestamp(now, zone).date()
    first = today - timedelta(days=HISTORY_DAYS - 1)
    days = [RunDay(first + timedelta(days=number)) for number in range(HISTORY_DAYS)]
    for started_at, state, counts in runs:
        number = (datetime.fromtimestamp(started_at, zone).date() - first).days
        if 0 <= number < HISTORY_DAYS:
            days[number].add(state, counts)
    return RunHistory(days)
