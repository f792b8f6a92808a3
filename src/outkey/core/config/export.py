"""Writing configurations and sync lines as the TOML that `document.py` reads.

References are written as they are. A stored secret is a comment that says since when it
is set, so that the output can be stored, compared and applied elsewhere.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from outkey.core.config.configuration import Configuration, SecretState
from outkey.core.config.custom_rows import CustomRow
from outkey.core.config.field_kinds import Kind
from outkey.core.config.fields import BY_PATH, FIELDS, SECTIONS
from outkey.core.config.line_fields import SYNC_FIELDS
from outkey.core.config.sync_sections import (
    OtherDatabase,
    Pair,
    database_table,
    pair_table,
)
from outkey.core.config.webhook_section import REFERENCES, webhook_table
from outkey.core.moments import day_of
from outkey.core.sync.line import Sync
from outkey.core.sync.sync_line import SyncLine
from outkey.core.sync.table import sync_table
from outkey.core.webhooks.stored import StoredWebhook

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def render(
    configurations: Iterable[Configuration],
    lines: Iterable[SyncLine],
    databases: Iterable[OtherDatabase] = (),
    pairs: Iterable[Pair] = (),
    webhooks: Iterable[StoredWebhook] = (),
) -> str:
    """Return the document that describes these configurations and lines."""
    parts = [configuration_lines(configuration) for configuration in configurations]
    parts += [
        section_lines(f"database.{database.name}", database_table(database))
        for database in databases
    ]
    parts += [sync_line_lines(line) for line in lines]
    parts += [
        section_lines(f"pair.{toml_key(pair.name)}", pair_table(pair)) for pair in pairs
    ]
    parts += [webhook_lines(webhook) for webhook in webhooks]
    return "\n".join("\n".join(part) + "\n" for part in parts)


def webhook_lines(stored: StoredWebhook) -> Iterator[str]:
    """Yield the table of a webhook; a stored secret is a comment."""
    table = webhook_table(stored.webhook)
    yield from section_lines(f"webhook.{toml_key(stored.name)}", table)
    for name in REFERENCES:
        if name in stored.secrets:
            yield f"# {name}: set {day_of(stored.secrets[name].set_at)}"


def section_lines(name: str, values: Mapping[str, object]) -> Iterator[str]:
    """Yield one table with its values."""
    yield f"[{name}]"
    yield from entries(values)


def render_table(name: str, values: Mapping[str, object]) -> str:
    """Return one table with its values."""
    return "\n".join(section_lines(name, values))


def render_sync(sync: Sync) -> str:
    """Return the TOML of a synchronization alone, as `parse_sync` reads it."""
    return "\n".join(sync_lines(sync, ""))


def configuration_lines(configuration: Configuration) -> Iterator[str]:
    """Yield the lines of a configuration's tables, without what is as by default."""
    table = f"configuration.{toml_key(configuration.name)}"
    values = {
        path: value
        for path, value in configuration.values().items()
        if value != BY_PATH[path].default or BY_PATH[path].is_always_written
    }
    yield f"[{table}]"
    yield from entries({path: v for path, v in values.items() if "." not in path})
    yield from secret_lines(configuration, "")
    for row in configuration.headers:
        yield f"[[{table}.headers]]"
        yield from row_lines(row, configuration)
    for parameter in configuration.query:
        yield f"[[{table}.query]]"
        yield from row_lines(parameter, configuration)
    for section in SECTIONS:
        prefix = f"{section}."
        inner_values = {
            path.removeprefix(prefix): value
            for path, value in values.items()
            if path.startswith(prefix)
        }
        lines = [*entries(inner_values), *secret_lines(configuration, prefix)]
        if lines:
            yield f"[{table}.{section}]"
            yield from lines


def row_lines(row: CustomRow, configuration: Configuration) -> Iterator[str]:
    """Yield the keys of a header or query row."""
    yield f"key = {toml_value(row.key)}"
    if row.value or not row.secret:
        yield f"value = {toml_value(row.value)}"
    if row.secret:
        state = configuration.secrets.get(row.secret_field)
        yield from secret_line("reference" if row.value else "value", state)
    yield f"secret = {toml_value(row.secret)}"


def secret_lines(configuration: Configuration, prefix: str) -> Iterator[str]:
    """Yield the secrets whose paths have this prefix and one key behind it."""
    for field in FIELDS:
        if field.secret and field.path == prefix + field.key:
            state = configuration.secrets.get(field.secret_name)
            yield from secret_line(field.key, state)


def secret_line(key: str, state: SecretState | None) -> Iterator[str]:
    """Yield the reference of a secret, or a comment about a stored one."""
    if state is None:
        return
    if state.reference is not None:
        yield f"{key} = {toml_value(str(state.reference))}"
    else:
        day = day_of(state.set_at) if state.set_at else "(date unknown)"
        yield f"# {key}: set {day}"


def sync_line_lines(line: SyncLine) -> Iterator[str]:
    """Yield the lines of a sync line's tables."""
    table = f"line.{toml_key(line.name)}"
    yield f"[{table}]"
    yield f"configuration = {toml_value(line.configuration)}"
    if line.sync is None or not line.sync.has_requests:
        yield f"method = {toml_value(line.method)}"
        yield f"path = {toml_value(line.path)}"
    if line.sync is not None:
        yield from sync_lines(line.sync, f"{table}.")


def sync_lines(sync: Sync, prefix: str) -> Iterator[str]:
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


def entries(values: Mapping[str, object]) -> Iterator[str]:
    """Yield keys with their values, a line each."""
    return (f"{key} = {toml_value(value)}" for key, value in values.items())


def toml_key(name: str) -> str:
    """Return a key, quoted where it must be."""
    return name if BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(key)} = {toml_value(v)}" for key, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, str) and "\n" in value and is_plain(value):
        return f"'''\n{value}'''"
    # JSON's strings, numbers and booleans are TOML's as well, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def is_plain(text: str) -> bool:
    """Whether a text of several lines needs no escapes, as most scripts do."""
    return "'''" not in text and text.replace("\n", "").replace("\t", "").isprintable()
