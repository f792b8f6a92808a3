"""Checks of how a pull requests changes only, in windows of time or by a field."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from outkey.foundation.core.findings.checks import Check, Finding, Level
from outkey.foundation.core.moments import parse_interval
from outkey.sync.core.line.line import Gone, Incremental, Sync
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.mapping.transforms import (
    UNIX_UNITS,
    is_readable,
    write_moment_by,
)
from outkey.sync.core.paging.since import is_relative, sends_since

HALF_INCREMENTAL = Check(
    "L004",
    Level.ERROR,
    "an incremental pull needs both a parameter and a field",
    "Enter the field whose greatest value becomes the parameter of the next run.",
)
ARCHIVES_NOTHING = Check(
    "L005",
    Level.WARNING,
    "only the first run is complete, so later runs archive and delete nothing",
    "Enter how often a run reads all records (full_every), such as 7d.",
)
WINDOW_WITHOUT_BOUNDS = Check(
    "L070",
    Level.ERROR,
    "a window needs a start, and parameters of its beginning and its end",
    "Enter it, such as start = 2026-01-01T00:00:00Z, parameter = updated_since and"
    " end_parameter = updated_before.",
)
END_WITHOUT_WINDOW = Check(
    "L071",
    Level.ERROR,
    "there is no end to send without a window",
    "Enter how much time one request asks for (incremental.window), such as 7d, or"
    " remove this.",
)
UNREADABLE_FORMAT = Check(
    "L072",
    Level.ERROR,
    "the format of moments cannot be read",
    "Write it like %Y-%m-%d, or unix or unix_ms.",
)
COARSE_FORMAT = Check(
    "L072",
    Level.ERROR,
    "the format writes the beginning and the end of a window alike",
    "Choose a longer window, or a format with the time of the day.",
)
MOVING_START = Check(
    "L073",
    Level.ERROR,
    "records that are older than a start that moves would count as missing upstream",
    "Enter a moment as start, or let records stay that are missing upstream.",
)


def incremental_findings(sync: Sync) -> Iterator[Finding]:
    """Yield the findings about how a pull requests changes."""
    incremental = sync.incremental
    if incremental.window:
        yield from _window_findings(sync)
    else:
        yield from _field_findings(sync)
    if not is_readable(_pattern_of(incremental)):
        yield UNREADABLE_FORMAT.finding("incremental.format")
    elif incremental.window and _is_coarse(incremental):
        yield COARSE_FORMAT.finding("incremental.format")
    if sync.gone is Gone.KEEP:
        return
    if is_relative(incremental.start):
        yield MOVING_START.finding("incremental.start")
    is_incremental = incremental.field or incremental.window
    if is_incremental and sends_since(sync) and not sync.full_every:
        yield ARCHIVES_NOTHING.finding("gone")


def _field_findings(sync: Sync) -> Iterator[Finding]:
    """Yield the findings about the field whose greatest value is sent."""
    incremental = sync.incremental
    needs_parameter = incremental.field or incremental.start or incremental.lookback
    if incremental.parameter and not incremental.field:
        yield HALF_INCREMENTAL.finding("incremental.field")
    elif needs_parameter and not sends_since(sync):
        yield HALF_INCREMENTAL.finding("incremental.parameter")
    if incremental.end_parameter:
        yield END_WITHOUT_WINDOW.finding("incremental.end_parameter")
    if "until" in placeholders(sync.body):
        yield END_WITHOUT_WINDOW.finding("body")


def _window_findings(sync: Sync) -> Iterator[Finding]:
    """Yield the findings about the bounds of windows."""
    incremental = sync.incremental
    if not incremental.start:
        yield WINDOW_WITHOUT_BOUNDS.finding("incremental.start")
    if not sends_since(sync):
        yield WINDOW_WITHOUT_BOUNDS.finding("incremental.parameter")
    if not incremental.end_parameter and "until" not in placeholders(sync.body):
        yield WINDOW_WITHOUT_BOUNDS.finding("incremental.end_parameter")


def _is_coarse(incremental: Incremental) -> bool:
    """Whether the beginning and the end of a window are written alike."""
    first = datetime(2000, 1, 1, tzinfo=UTC)
    last = first + timedelta(seconds=parse_interval(incremental.window))
    pattern = incremental.format
    return write_moment_by(pattern, first) == write_moment_by(pattern, last)


def _pattern_of(incremental: Incremental) -> str:
    """Return the pattern of moments; "" for a format that has a name."""
    return "" if incremental.format in UNIX_UNITS else incremental.format
