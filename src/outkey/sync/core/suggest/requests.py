"""Signs in the request of a sample: a range of time, and a record of another line."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import parse_qsl

from outkey.foundation.core.moments import iso_datetime, parse_iso
from outkey.foundation.core.paging_words import words
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.text import toml_value
from outkey.sync.core.line.line import Incremental, SyncLine
from outkey.sync.core.line.parent_checks import brings_parents
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.mapping.excerpt import excerpt_of
from outkey.sync.core.suggest.names import snake_case

_BEGINNINGS = words("since after from min gte gt ge start begin")
_ENDS = words("before until till to max lte lt le end")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*", re.ASCII)
_SECONDS = re.compile(r"1\d{9}", re.ASCII)
_MILLISECONDS = re.compile(r"1\d{12}", re.ASCII)
# An ID in a path: a number, or a long text with digits.
_ID = re.compile(r"\d+|(?=\S*\d)[A-Za-z0-9_-]{8,}", re.ASCII)


class Bound(NamedTuple):
    """A parameter with a moment."""

    parameter: str
    at: datetime
    format: str


class RequestedTime(NamedTuple):
    """The setting for a range of time that a request asks for, and why."""

    incremental: Incremental
    why: Text

    @property
    def parameters(self) -> set[str]:
        """The parameters that the setting sends."""
        return {self.incremental.parameter, self.incremental.end_parameter} - {""}


def requested_time(line: SyncLine, changed_field: str) -> RequestedTime | None:
    """Return how the range of time in a request is requested anew by each run.

    None without one parameter that has a moment and a name for a beginning. Without an
    end the records need a field with the time of their last change.
    """
    sync = line.sync
    if sync is not None and (sync.incremental.parameter or sync.incremental.window):
        return None
    pairs = [*parse_qsl(line.path.partition("?")[2]), *(sync.query if sync else ())]
    beginnings = _bounds(pairs, _BEGINNINGS)
    ends = _bounds(pairs, _ENDS)
    if len(beginnings) != 1 or len(ends) > 1:
        return None
    (beginning,) = beginnings
    if ends:
        return _time_by_windows(beginning, ends[0])
    return _time_by_field(beginning, changed_field) if changed_field else None


def _time_by_windows(beginning: Bound, end: Bound) -> RequestedTime | None:
    """Return windows as long as a range of time; None if its bounds do not fit."""
    if end.at <= beginning.at or end.format != beginning.format:
        return None
    setting = Incremental(
        beginning.parameter,
        start=iso_datetime(beginning.at),
        window=_interval(end.at - beginning.at),
        end_parameter=end.parameter,
        format=beginning.format,
    )
    why = Text(
        "the request asks for the time from {start} to {end}: each run continues"
        " where the one before ended, in windows of that length",
        start=beginning.parameter,
        end=end.parameter,
    )
    return RequestedTime(setting, why)


def _time_by_field(beginning: Bound, field: str) -> RequestedTime:
    """Return changes since a moment, by the field with the time of the last one."""
    setting = Incremental(
        beginning.parameter,
        field=field,
        start=iso_datetime(beginning.at),
        format=beginning.format,
    )
    why = Text(
        "{parameter} in the request is a moment, and {field} has the time of the last"
        " change: check that the one means the other",
        parameter=beginning.parameter,
        field=field,
    )
    return RequestedTime(setting, why)


def _bounds(pairs: Iterable[tuple[str, str]], names: frozenset[str]) -> list[Bound]:
    """Return the parameters whose names have one of these words, with a moment."""
    bounds = []
    for name, value in pairs:
        moment = _moment(value.strip())
        if moment is not None and names & {*snake_case(name).split("_")}:
            bounds.append(Bound(excerpt_of(name), *moment))
    return bounds


def _moment(value: str) -> tuple[datetime, str] | None:
    """Return a moment and the format that a line has for it."""
    if _SECONDS.fullmatch(value):
        return datetime.fromtimestamp(int(value), UTC), "unix"
    if _MILLISECONDS.fullmatch(value):
        return datetime.fromtimestamp(int(value[:10]), UTC), "unix_ms"
    day = _DAY.fullmatch(value)
    if not day and not _MOMENT.fullmatch(value):
        return None
    moment = parse_iso(value)
    if moment is None:
        return None
    return moment.astimezone(UTC), "%Y-%m-%d" if day else ""


def _interval(length: timedelta) -> str:
    """Return a length of time as settings have it, in whole hours or days."""
    hours = max(1, -(-length // timedelta(hours=1)))
    return f"{hours}h" if hours % 24 else f"{hours // 24}d"


def parents_in_path(line: SyncLine, others: Sequence[SyncLine]) -> Text | None:
    """Return the note that a path has an ID of a record of another line.

    /orders/7/items has one if a pull of the same configuration has the path /orders,
    and its records one key. A line that has parents already gets a note on its keys.
    """
    if line.sync is not None and line.sync.for_each:
        return _note_of_keys(line)
    path, mark, query = line.path.partition("?")
    parts = path.split("/")
    for other in others:
        depth = len(_segments(other))
        key = _key_of(other)
        if not key or other.configuration != line.configuration:
            continue
        is_below = parts[:depth] == _segments(other) and len(parts) > depth + 1
        if is_below and _ID.fullmatch(parts[depth]):
            placeholder = f"{{parent.{key}}}"
            new = "/".join([*parts[:depth], placeholder, *parts[depth + 1 :]])
            return Text(
                "{id} in the path may be a record of {line}: for the list of each of"
                " them set {path} and {setting}, and map {parent} to a field that is"
                " one of the keys",
                id=parts[depth],
                line=other.name,
                path=f"path = {toml_value(new + mark + query)}",
                setting=f"for_each = {toml_value({'line': other.name})}",
                parent=f"$parent.{key}",
            )
    return None


def _note_of_keys(line: SyncLine) -> Text | None:
    """Return the note that the sample, of one parent, cannot show what is unique."""
    parents = [name for name in placeholders(line.path) if name.startswith("parent.")]
    if not parents:
        return None
    return Text(
        "the sample is the list of one parent, and lists of others may have records"
        " with the same key: map {parent} to a field that is one of the keys",
        parent=f"${parents[0]}",
    )


def _segments(line: SyncLine) -> list[str]:
    return line.path.partition("?")[0].rstrip("/").split("/")


def _key_of(line: SyncLine) -> str:
    """Return the one key of the records of a pull; "" if they cannot be parents."""
    sync = line.sync
    if sync is None or not brings_parents(sync) or len(sync.keys) != 1:
        return ""
    return sync.keys[0]
