"""The moment since when changes are requested: start, lookback and format.

What a line stores for its next run is either the greatest value of a field, as the API
writes it, or the end of a window in ISO 8601.
"""

import re
from datetime import UTC, datetime, timedelta

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.moments import (
    DAY_SECONDS,
    iso_datetime,
    parse_interval,
    parse_iso,
)
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Direction, Incremental, Sync
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.mapping.transforms import read_moment_by, write_moment_by
from outkey.sync.core.mapping.versions import read_moment
from outkey.sync.core.run.reasons import sync_failure

RELATIVE = re.compile(r"-([1-9][0-9]{0,5}[mhdw])", re.ASCII)
LONGEST_AGE = 100 * 366 * DAY_SECONDS  # of a start that moves
FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)


def sends_since(sync: Sync) -> bool:
    """Whether the requests of a pull can say since when changes are wanted."""
    bodies = placeholders(sync.body) + placeholders(sync.job.order.body)
    return bool(sync.incremental.parameter) or "since" in bodies


def is_relative(start: str) -> bool:
    """Whether a start moves with each run."""
    return start.startswith("-")


def is_start(text: str) -> bool:
    """Whether a text is a moment, or a time before each run."""
    if not is_relative(text):
        return _utc(parse_iso(text)) is not None
    age = RELATIVE.fullmatch(text)
    return age is not None and parse_interval(age[1]) <= LONGEST_AGE


def start_of(start: str, began_at: datetime) -> datetime | None:
    """Return the moment that a start means to a run, in UTC; None without one."""
    if not start:
        return None
    if is_relative(start):
        return _earlier(began_at, start[1:])
    return _utc(parse_iso(start))


def since_text(incremental: Incremental, stored: str, began_at: datetime) -> str:
    """Return the parameter of changes for a run that began at a moment.

    `stored` is what the run before has left, "" for a first run. Where nothing has to
    be known of the moment it is sent as it is: it may be a number that counts up.
    """
    if stored and not incremental.lookback and not incremental.format:
        return stored
    moment = since_moment(incremental, stored, began_at)
    return "" if moment is None else write_moment_by(incremental.format, moment)


def since_moment(
    incremental: Incremental, stored: str, began_at: datetime
) -> datetime | None:
    """Return the stored moment less the lookback, never before the start."""
    start = start_of(incremental.start, began_at)
    if not stored:
        return start
    moment = _earlier(stored_moment(stored, incremental.format), incremental.lookback)
    return moment if start is None else max(start, moment)


def reset_value(sync: Sync | None, since: str, now: float) -> str:
    """Return what is to be stored so that the next run of a pull begins at a moment.

    A number is stored as it is, for a field that counts up. "" is a first run. Raise
    ConfigError for a line that cannot begin there.
    """
    if sync is None or sync.direction is not Direction.PULL:
        raise ConfigError(
            Text("only a line that pulls can be reset"),
            hint=Text("A push sends what the API has not accepted yet."),
            field="line",
        )
    if not since:
        return ""
    if not sends_since(sync):
        raise ConfigError(
            Text("the line reads everything in every run"),
            hint=Text("Reset it without a moment, or set incremental.parameter."),
            field="since",
        )
    if since.isdecimal() and not sync.incremental.window:
        return since
    began_at = datetime.fromtimestamp(now, UTC)
    moment = start_of(since, began_at) if is_start(since) else None
    if moment is None or moment > began_at:
        raise ConfigError(
            Text("must be a moment that is not in the future"),
            hint=Text("Write it like 2026-01-01T00:00:00Z, or like -30d."),
            field="since",
        )
    return iso_datetime(moment.replace(microsecond=0))


def unrequested(
    incremental: Incremental, stored: str, began_at: datetime
) -> tuple[datetime, datetime] | None:
    """Return the time between a stored moment and a start that has moved past it."""
    if not stored or not is_relative(incremental.start):
        return None
    if not (incremental.window or incremental.lookback or incremental.format):
        return None  # what is stored is sent as it is
    start = start_of(incremental.start, began_at)
    moment = stored_moment(stored, incremental.format)
    return (moment, start) if start is not None and moment < start else None


def stored_moment(stored: str, pattern: str) -> datetime:
    """Return the moment that a stored value is, or raise SyncFailed.

    It is written as the API writes its parameter, or in a way that is clear by itself.
    """
    moment = _utc(_moment_by(pattern, stored)) or _utc(read_moment(stored))
    if moment is None:
        raise sync_failure("not_a_moment")
    return moment


def _moment_by(pattern: str, text: str) -> datetime | None:
    """Return a moment as a format has it, in UTC without a zone; None if it is none."""
    if not pattern:
        return None
    try:
        moment = read_moment_by(pattern, text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _utc(moment: datetime | None) -> datetime | None:
    """Return a moment in UTC; None if it is none, or not within the years 1 to 9999."""
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError:
        return None


def _earlier(moment: datetime, interval: str) -> datetime:
    """Return a moment that is earlier by an interval such as 7d; "" is none."""
    try:
        return moment - timedelta(seconds=parse_interval(interval))
    except OverflowError:
        return FIRST_MOMENT
