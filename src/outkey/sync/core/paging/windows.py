"""Windows of time: a list is requested from moment to moment, up to the run's begin.

Each window begins where the one before ends, so that a run leaves no gap. All ends are
whole seconds, since most APIs read no parts of them.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from outkey.foundation.core.moments import iso_datetime, parse_interval
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Incremental
from outkey.sync.core.mapping.transforms import write_moment_by
from outkey.sync.core.paging.paging import Position
from outkey.sync.core.paging.request_values import RequestValues
from outkey.sync.core.paging.since import since_moment, since_text, stored_moment
from outkey.sync.core.run.reasons import sync_failure

MAX_WINDOWS = 500_000  # of one list in one run


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one list from the first moment of a run up to its end."""

    first: datetime
    end: datetime
    length: timedelta
    format: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to request: the first moment is still to come."""
        return self.first >= self.end

    def bounds(self, position: Position) -> tuple[datetime, datetime]:
        """Return the beginning and the end of the window of a position."""
        begin = stored_moment(position.window, "") if position.window else self.first
        has_room = self.end - begin > self.length
        return begin, begin + self.length if has_room else self.end

    def fill(self, values: RequestValues, position: Position) -> RequestValues:
        """Return the values of a list with the bounds of its window at a position."""
        begin, end = self.bounds(position)
        return replace(
            values,
            since=write_moment_by(self.format, begin),
            until=write_moment_by(self.format, end),
        )

    def end_text(self, position: Position) -> str:
        """Return the end of the window of a position, as later runs get it."""
        return iso_datetime(self.bounds(position)[1])

    def follow(self, position: Position, after: Position) -> Position:
        """Return the position after a page: in the next window after the last one."""
        end = self.bounds(position)[1]
        if not after.ended or end >= self.end:
            return after
        return Position(window=iso_datetime(end), doubtful=after.doubtful)

    def newest(self) -> Position:
        """Return the position of the last window, of which a preview shows records."""
        begin = max(self.first, self.end - self.length)
        return Position(window=iso_datetime(begin))


def windows_of(
    incremental: Incremental, stored: str, began_at: datetime
) -> Windows | None:
    """Return the windows of a list for a run that began at a moment; None without.

    `stored` is what the run before has left, "" for a first run.
    """
    if not incremental.window:
        return None
    first = since_moment(incremental, stored, began_at)
    if first is None:  # a check refuses a window without a start
        return None
    windows = Windows(
        first.replace(microsecond=0),
        began_at.astimezone(UTC).replace(microsecond=0),
        timedelta(seconds=parse_interval(incremental.window)),
        incremental.format,
    )
    if (windows.end - windows.first) // windows.length >= MAX_WINDOWS:
        raise sync_failure(
            "too_many_windows",
            Text("there are more than {count} windows to request", count=MAX_WINDOWS),
        )
    return windows


def sample_values(incremental: Incremental, now: datetime) -> RequestValues:
    """Return the values of a request for a sample: the newest window, or the start."""
    windows = windows_of(incremental, "", now)
    if windows is None:
        return RequestValues(since_text(incremental, "", now))
    return windows.fill(RequestValues(), windows.newest())
