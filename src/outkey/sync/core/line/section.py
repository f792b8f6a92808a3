"""The section of a sync line in a TOML document: read and written."""

from collections.abc import Iterator, Mapping
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import (
    Kind,
    read_table,
    refuse_unknown_keys,
)
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.parsing import parse_toml
from outkey.foundation.core.toml.text import entries, toml_key, toml_value
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sync.core.line.fields import (
    CALL_FIELDS,
    LINE_FIELDS,
    SYNC_FIELDS,
    SYNC_KEYS,
)
from outkey.sync.core.line.line import Direction, Sync, SyncLine
from outkey.sync.core.line.table import read_sync, sync_table

LINE_KEYS = [field.key for field in LINE_FIELDS]
MAX_SYNC = 128 * 1024  # room for a script of the greatest length


def parse_sync(text: str) -> Sync:
    """Read the TOML of a synchronization alone, without the request of its line."""
    table = parse_toml(text, longest=MAX_SYNC, field="TOML")
    for name in ("name", *(field.key for field in CALL_FIELDS)):
        if name in table:
            raise ConfigError(
                Text("{name} has a field of its own on this page", name=name),
                hint=Text("Remove it here."),
                field="TOML",
            )
    return read_sync(table)


def read_line(name: str, table: Mapping[str, object]) -> SyncLine:
    """Read the table of one sync line."""
    place = f"line.{name}."
    refuse_unknown_keys(table, LINE_KEYS, place)
    sync_part = {key: value for key, value in table.items() if key in SYNC_KEYS}
    request_part = {key: value for key, value in table.items() if key not in SYNC_KEYS}
    sync = read_sync(sync_part, place) if sync_part else None
    for key in ("method", "path"):
        if sync is not None and sync.has_requests and key in request_part:
            raise ConfigError(
                Text("a line that creates, updates or deletes has no {key}", key=key),
                hint=Text("Remove it: create, update and delete have their own."),
                field=f"{place}{key}",
            )
    return read_request(name, request_part, sync, place)


def read_request(
    name: str, table: Mapping[str, object], sync: Sync | None, place: str = ""
) -> SyncLine:
    """Return the sync line of this request and this synchronization."""
    BY_PATH["name"].parse(name)
    is_push = sync is not None and sync.direction is Direction.PUSH
    values = read_table(CALL_FIELDS, table, place)
    return SyncLine(
        name,
        configuration=str(values["configuration"]),
        method=str(values.get("method", "POST" if is_push else "GET")),
        path=str(values.get("path", "/")),
        sync=sync,
    )


def render_sync(sync: Sync) -> str:
    """Return the TOML of a synchronization alone, as `parse_sync` reads it."""
    return "\n".join(_sync_lines(sync, ""))


def sync_line_lines(line: SyncLine) -> Iterator[str]:
    """Yield the lines of a sync line's tables."""
    table = f"line.{toml_key(line.name)}"
    yield f"[{table}]"
    yield f"configuration = {toml_value(line.configuration)}"
    if line.sync is None or not line.sync.has_requests:
        yield f"method = {toml_value(line.method)}"
        yield f"path = {toml_value(line.path)}"
    if line.sync is not None:
        yield from _sync_lines(line.sync, f"{table}.")


def _sync_lines(sync: Sync, prefix: str) -> Iterator[str]:
    """Yield the keys of a synchronization, then its tables, then its lists of tables.

    The prefix is put before the names of the tables.
    """
    values: dict[str, Any] = sync_table(sync)
    tables = {
        field.key: values.pop(field.key)
        for kind in (Kind.TABLE, Kind.TABLES)
        for field in SYNC_FIELDS
        if field.kind is kind and field.key in values
    }
    yield from entries(values)
    for key, content in tables.items():
        if isinstance(content, dict):
            yield f"\n[{prefix}{key}]"
            yield from entries(content)
            continue
        for row in content:
            yield f"\n[[{prefix}{key}]]"
            yield from entries(row)
