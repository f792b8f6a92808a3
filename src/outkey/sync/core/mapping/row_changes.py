"""Changes of a table's rows, as programs read them to keep a copy."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from outkey.foundation.core.errors import ConfigError, CursorExpired, NoFeed
from outkey.foundation.core.moments import iso_datetime
from outkey.foundation.core.text import Text
from outkey.sync.core.mapping.records import HostRecord

ROW_ID = "outkey_id"
# In the database of the rows: the feeds of its tables, and their changes.
FEED_TABLES = ("outkey_feed", "outkey_change")
CURSOR = re.compile(r"([0-9a-f]{1,32})-([0-9]{1,18})", re.ASCII)
Row = Mapping[str, object]


class ChangeKind(StrEnum):
    """The kinds of changes of a row."""

    ADDED = "added"
    CHANGED = "changed"  # also if it is no longer archived
    DELETED = "deleted"
    ARCHIVED = "archived"


class Cursor(NamedTuple):
    """A place between two changes of a table.

    A feed that cannot be continued, as that of a table which was dropped, gets another
    name, so that none of its cursors is taken for one of the next feed.
    """

    feed: str
    number: int  # of the last change before it

    def __str__(self) -> str:
        return f"{self.feed}-{self.number}"


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of a row that is to be recorded."""

    kind: ChangeKind
    key: Row
    row: Row | None  # None: it was deleted
    before: Row | None  # the changed fields; None: the row is new


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change of a row as it was recorded, with values of JSON."""

    cursor: Cursor
    kind: ChangeKind
    at: float
    key: Row
    row: Row | None
    before: Row | None


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """The next changes after a cursor."""

    changes: Sequence[RecordedChange]
    next: Cursor
    more: bool


def parse_cursor(text: str) -> Cursor:
    """Return the cursor that a text is, or raise ConfigError."""
    parts = CURSOR.fullmatch(text)
    if parts is None:
        raise ConfigError(
            Text("this is not a cursor"),
            hint=Text("Use the cursor of rows, or next of changes."),
            field="after",
        )
    return Cursor(parts[1], int(parts[2]))


def no_feed(table: str) -> NoFeed:
    """Return the error for a table whose changes are not recorded."""
    return NoFeed(Text("the changes of {table} are not recorded", table=table))


def cursor_expired() -> CursorExpired:
    """Return the error for a cursor whose next changes are not stored any more."""
    return CursorExpired(field="after")


def row_of(record: HostRecord) -> dict[str, object]:
    """Return a row with its ID, as readers get it."""
    return {ROW_ID: int(record.id), **record.values}


def changed_fields(before: Row, after: Row) -> dict[str, object]:
    """Return the earlier values of the fields that differ."""
    return {
        name: before.get(name)
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    }


def row_json(row: Row | None) -> str | None:
    """Return a row as JSON; dates and decimals are texts, as `outkey data show`."""
    return None if row is None else _encode(row)


def json_value(value: object) -> str:
    """Return a value that JSON does not know as a text."""
    return iso_datetime(value) if isinstance(value, date) else str(value)


_encode = json.JSONEncoder(ensure_ascii=False, default=json_value).encode
