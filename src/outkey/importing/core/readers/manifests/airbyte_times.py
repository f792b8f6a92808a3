"""Incremental streams of a declarative manifest: start, windows and formats."""

from collections.abc import Callable
from dataclasses import dataclass

from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes
from outkey.importing.core.readers.manifests.common import (
    interval,
    moment,
    time_format,
)
from outkey.importing.core.readers.tree import Table, table, text_of

Fill = Callable[[object], str | None]
DEFAULT_FORMAT = "%Y-%m-%dT%H:%M:%S.%f%z"


@dataclass(slots=True)
class Interval:
    """How a stream requests changes; the parameters may come from its requester."""

    cursor: str
    parameter: str = ""
    end_parameter: str = ""
    start: str = ""
    window: str = ""
    lookback: str = ""
    format: str = ""
    start_name: str = "start_time"
    end_name: str = "end_time"

    @property
    def is_number(self) -> bool:
        """Whether the field has Unix times."""
        return self.format in {"unix", "unix_ms"}

    def table(self) -> dict[str, object]:
        """Return the table of a line."""
        values = {
            "parameter": self.parameter,
            "field": self.cursor,
            "start": self.start,
            "window": self.window if self.start else "",
            "end_parameter": self.end_parameter,
            "lookback": self.lookback,
            "format": self.format,
        }
        return {name: value for name, value in values.items() if value}


def read_interval(component: Table, fill: Fill, notes: LineNotes) -> Interval | None:
    """Return how a stream requests changes, None for one that reads everything."""
    kind = text_of(component.get("type"))
    if not component:
        notes.leave("incremental", Text("every run reads all records"))
        return None
    if kind not in {"", "DatetimeBasedCursor"}:
        notes.drop("incremental", Text("it is not a cursor of times"))
        return None
    if text_of(component.get("is_client_side_incremental")) == "true":
        why = Text("records are filtered after they were read: every run reads all")
        notes.drop("incremental", why)
        return None
    found = Interval(fill(component.get("cursor_field")) or "")
    pattern = text_of(component.get("datetime_format")) or DEFAULT_FORMAT
    pattern = pattern.strip()
    written = time_format(pattern)
    if written is None:
        notes.drop("incremental", Text("its format of times has no setting here"))
        return None
    found.format = written
    found.parameter = _parameter(component, "start_time_option", fill, notes)
    found.end_parameter = _parameter(component, "end_time_option", fill, notes)
    found.start_name = fill(component.get("partition_field_start")) or found.start_name
    found.end_name = fill(component.get("partition_field_end")) or found.end_name
    found.start = _start(component.get("start_datetime"), pattern, fill, notes)
    found.window = _duration(component, "step", fill, notes)
    found.lookback = _duration(component, "lookback_window", fill, notes)
    if found.window and not found.start:
        why = Text(
            "windows need a start: enter it, such as -30d, with window = {window}",
            window=found.window,
        )
        notes.drop("incremental.window", why)
    if _is_fixed_end(component.get("end_datetime"), fill):
        why = Text("a run asks for everything until it begins")
        notes.drop("incremental", why, Level.NOTICE)
    return found


def _parameter(component: Table, key: str, fill: Fill, notes: LineNotes) -> str:
    option = table(component.get(key))
    if not option:
        return ""
    name = fill(option.get("field_name")) or ""
    if text_of(option.get("inject_into")) == "request_parameter" and name:
        return name
    notes.drop("incremental", Text("the time is sent in the query or in the body"))
    return ""


def _start(value: object, pattern: str, fill: Fill, notes: LineNotes) -> str:
    """Return the moment at which the first run begins."""
    component = table(value)
    if component:
        pattern = text_of(component.get("datetime_format")) or pattern
        value = component.get("datetime")
    filled = fill(value)
    if not filled or "{{" in filled:
        why = Text("the manifest leaves it to you: without it the first run reads all")
        notes.drop("incremental.start", why, Level.NOTICE)
        return ""
    start = moment(filled, pattern) or moment(filled)
    if not start:
        notes.drop("incremental.start", Text("it is not a time that can be read here"))
    return start


def _duration(component: Table, key: str, fill: Fill, notes: LineNotes) -> str:
    """Return a duration as an interval of a line."""
    if not component.get(key):
        return ""
    text = interval(fill(component.get(key)) or "")
    if not text:
        setting = {"step": "window", "lookback_window": "lookback"}[key]
        why = Text("it is not a duration that can be read here")
        notes.drop(f"incremental.{setting}", why)
    return text


def _is_fixed_end(value: object, fill: Fill) -> bool:
    """Whether a stream ends at a time that is written in its manifest."""
    text = text_of(table(value).get("datetime")) or text_of(value)
    return bool(text) and "{{" not in text and bool(fill(text))
