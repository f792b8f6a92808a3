"""The TOML document of configurations and sync lines, read into values.

The grammar is the field table; nothing is accepted that the table does not name, and no message
repeats a value.
"""

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from outkey.core.config.configuration import (
    Configuration,
    HeaderRow,
    SyncLine,
    build,
    header_row,
    kept_secrets,
)
from outkey.core.config.field_kinds import Kind, check_method
from outkey.core.config.fields import BY_PATH, FIELDS, SECTIONS
from outkey.core.config.reference import Reference, parse_reference
from outkey.core.config.toml import parse_toml
from outkey.core.errors import ConfigError, PolicyError
from outkey.core.request.headers import MAX_HEADERS
from outkey.core.sync.line import Direction
from outkey.core.sync.table import SYNC_KEYS, read_sync

_CONFIGURATION_KEYS = sorted({path.partition(".")[0] for path in BY_PATH} - {"name"})
_ROW_KEYS = ["key", "secret", "value"]
_LONGEST_DOCUMENT = 4 * 1024 * 1024
_LONGEST_PATH = 2000
_LINE_KEYS = ["configuration", "method", "path", *SYNC_KEYS]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a document says of one configuration: only what it names."""

    name: str
    values: Mapping[str, object]
    headers: tuple[HeaderRow, ...] | None
    references: Mapping[str, Reference]

    def configuration(self) -> Configuration:
        """Make the configuration, with defaults for what is not named."""
        with naming(self.name):
            headers = self.headers or ()
            return build(
                self.name, self.values, headers=headers, references=self.references
            )

    def merged(self, stored: Configuration) -> Configuration:
        """Return what is stored with what is named put in its place."""
        with naming(self.name):
            headers = stored.headers if self.headers is None else self.headers
            values, named = stored.values() | dict(self.values), self.references
            kept = kept_secrets(stored.secrets, headers)
            made = build(
                self.name, values, headers=headers, references=named, secrets=kept
            )
        unchanged = ("record", "version", "revision", "voucher")
        known = {name: getattr(stored, name) for name in unchanged}
        return replace(made, **known)


@dataclass(frozen=True, slots=True)
class Document:
    """What one TOML document describes."""

    drafts: tuple[Draft, ...]
    lines: tuple[SyncLine, ...]


def parse_document(text: str) -> Document:
    """Read a document; the first thing that is wrong is a ConfigError that names its place."""
    tree = parse_toml(text, longest=_LONGEST_DOCUMENT)
    _refuse_unknown(tree, ["configuration", "line"], "")
    drafts = tuple(
        _draft(name, table) for name, table in _tables(tree, "configuration")
    )
    lines = tuple(_line(name, table) for name, table in _tables(tree, "line"))
    return Document(drafts, lines)


def _tables(
    tree: Mapping[str, object], key: str
) -> Iterator[tuple[str, Mapping[str, object]]]:
    tables = tree.get(key, {})
    if not isinstance(tables, dict):
        raise ConfigError(f"[{key}.NAME] must be a table", field=key)
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(f"[{key}.{name}] must be a table", field=key)
        yield name, table


def _draft(name: str, table: Mapping[str, object]) -> Draft:
    with naming(name):
        BY_PATH["name"].parse(name)
        values, references = _read_fields(table)
        rows = _read_rows(table["headers"], references) if "headers" in table else None
        return Draft(name, values, rows, references)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the configuration's name in front of what is wrong with it."""
    try:
        yield
    except (ConfigError, PolicyError) as error:
        message = f"configuration {name}: {error.message}"
        raise type(error)(message, hint=error.hint, field=error.field) from None


def _read_fields(
    table: Mapping[str, object],
) -> tuple[dict[str, object], dict[str, Reference]]:
    values: dict[str, object] = {}
    secrets: dict[str, Reference] = {}
    for path, value in _flatten(table):
        known = BY_PATH[path]
        if known.kind is Kind.SECRET:
            secrets[known.secret_name] = _reference(value, path)
        elif known.kind is not Kind.ROWS:
            values[path] = value
    return values, secrets


def _flatten(table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield field paths and values; `tls.ca_file` is the key ca_file of the table tls."""
    _refuse_unknown(table, _CONFIGURATION_KEYS, "")
    for key, value in table.items():
        if key not in SECTIONS:
            yield key, value
            continue
        if not isinstance(value, dict):
            raise ConfigError("must be a table", field=key)
        prefix = f"{key}."
        inside = [
            f.path.removeprefix(prefix) for f in FIELDS if f.path.startswith(prefix)
        ]
        _refuse_unknown(value, inside, prefix)
        for inner, content in value.items():
            yield prefix + inner, content


def _read_rows(value: object, secrets: dict[str, Reference]) -> tuple[HeaderRow, ...]:
    if not isinstance(value, list) or len(value) > MAX_HEADERS:
        raise ConfigError(f"must be at most {MAX_HEADERS} rows", field="headers")
    rows = tuple(
        _row(row, f"headers[{index}]", secrets) for index, row in enumerate(value)
    )
    seen: set[str] = set()
    for index, row in enumerate(rows):
        if row.key.lower() in seen:
            raise ConfigError(
                f"the header {row.key} has two rows", field=f"headers[{index}].key"
            )
        seen.add(row.key.lower())
    return rows


def _row(row: object, place: str, secrets: dict[str, Reference]) -> HeaderRow:
    if not isinstance(row, dict):
        raise ConfigError("a row must be a table with key and value", field=place)
    _refuse_unknown(row, _ROW_KEYS, f"{place}.")
    key, value, secret = row.get("key"), row.get("value"), row.get("secret")
    if not isinstance(key, str):
        raise ConfigError("a row needs a key, as text", field=f"{place}.key")
    if value is not None and not isinstance(value, str):
        raise ConfigError("a row's value must be text", field=f"{place}.value")
    if secret is not None and not isinstance(secret, bool):
        raise ConfigError("must be true or false", field=f"{place}.secret")
    made = header_row(key, value, secret=secret, place=place)
    if made.secret and value is not None:
        secrets[made.secret_field] = parse_reference(value, field=f"{place}.value")
    return made


def _reference(value: object, path: str) -> Reference:
    if not isinstance(value, str):
        raise ConfigError("must be a reference such as env:NAME", field=path)
    return parse_reference(value, field=path)


def _line(name: str, table: Mapping[str, object]) -> SyncLine:
    place = f"line.{name}"
    _refuse_unknown(table, _LINE_KEYS, f"{place}.")
    configuration = table.get("configuration")
    if not isinstance(configuration, str):
        raise ConfigError(
            "a line must name a configuration", field=f"{place}.configuration"
        )
    path = table.get("path", "/")
    if not isinstance(path, str):
        raise ConfigError("must be text", field=f"{place}.path")
    said = {key: value for key, value in table.items() if key in SYNC_KEYS}
    if said and "direction" not in said:
        reason = "a line that synchronizes must say pull or push"
        raise ConfigError(reason, field=f"{place}.direction")
    sync = read_sync(said, f"{place}.") if said else None
    method = table.get(
        "method", "POST" if said.get("direction") == Direction.PUSH else "GET"
    )
    line = checked_line(name, configuration, method, path, place=f"{place}.")
    return replace(line, sync=sync)


def checked_line(
    name: str, configuration: str, method: object, path: str, *, place: str = ""
) -> SyncLine:
    """Make a sync line, or say what is wrong with it."""
    BY_PATH["name"].parse(name)
    if len(path) > _LONGEST_PATH:
        message = f"the path is longer than {_LONGEST_PATH} characters"
        hint = "Move its parameters into the query of the line."
        raise ConfigError(message, hint=hint, field=f"{place}path")
    return SyncLine(
        name, configuration, check_method(method, field=f"{place}method"), path
    )


def _refuse_unknown(table: Mapping[str, object], known: list[str], prefix: str) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = (
                f"Did you mean {close[0]}?"
                if close
                else f"Known here: {', '.join(known)}."
            )
            raise ConfigError("unknown key", field=f"{prefix}{key}", hint=hint)
