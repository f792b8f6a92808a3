"""A chart as numbers: columns of parts; a host draws it."""

from collections.abc import Sequence
from dataclasses import dataclass

from outkey.foundation.core.text import Text

CHART_HOURS = 24
# An axis ends at one of these, times a power of ten: half of it is a round number too.
_ROUND_TOPS = (1, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """One column of a chart: how many there are of each kind, the lowest first."""

    label: str
    counts: Sequence[int]
    has_failed: bool = False

    @property
    def total(self) -> int:
        """The height of the column."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns whose parts stand on each other, by kind."""

    kinds: dict[str, Text]
    columns: Sequence[ChartColumn]

    @property
    def totals(self) -> list[int]:
        """How many there are of each kind in all columns."""
        columns = [column.counts for column in self.columns]
        return [sum(counts) for counts in zip(*columns, strict=True)]

    @property
    def top(self) -> int:
        """The number at the top of the axis: an even one, or a round one."""
        return axis_top(max((column.total for column in self.columns), default=0))


def axis_top(highest: int) -> int:
    """Return the round number at which an axis ends that has room for a number."""
    power = 1
    while power * 10 < highest:
        power *= 10
    tops = (factor * power for factor in _ROUND_TOPS)
    return next(top for top in tops if top >= highest and top % 2 == 0)
