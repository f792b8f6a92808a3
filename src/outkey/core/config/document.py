"""The TOML document of configurations and sync lines, read into values.

The grammar is the tables of fields; a key that they do not name is refused, and no
message repeats a value.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from outkey.core.config.configuration import (
    Configuration,
    CustomHeader,
    SyncLine,
    build,
    header_row,
    kept_secrets,
)
from outkey.core.config.field_kinds import Kind, read_table, refuse_unknown_keys
from outkey.core.config.fields import BY_PATH, FIELDS, SECTIONS
from outkey.core.config.line_fields import CALL_FIELDS, LINE_FIELDS, SYNC_KEYS
from outkey.core.config.reference import Reference, parse_reference
from outkey.core.config.toml import parse_toml
from outkey.core.errors import ConfigError, PolicyError
from outkey.core.request.headers import MAX_HEADERS
from outkey.core.sync.line import Direction, Sync
from outkey.core.sync.table import read_sync
from outkey.core.text import Text

CONFIGURATION_KEYS = sorted({path.partition(".")[0] for path in BY_PATH} - {"name"})
LINE_KEYS = [field.key for field in LINE_FIELDS]
ROW_KEYS = ["key", "secret", "value"]
MAX_DOCUMENT = 4 * 1024 * 1024
MAX_SYNC = 128 * 1024  # room for a script of the greatest length


@dataclass(frozen=True, slots=True)
class ConfigurationDraft:
    """What a document says about one configuration: only what it names."""

    name: str
    values: Mapping[str, object]
    headers: tuple[CustomHeader, ...] | None
    references: Mapping[str, Reference]

    def configuration(self) -> Configuration:
        """Return the configuration, with defaults for what is not named."""
        with naming(self.name):
            return build(
                self.name,
                self.values,
                headers=self.headers or (),
                references=self.references,
            )

    def merged(self, stored: Configuration) -> Configuration:
        """Return the stored configuration with what is named in its place."""
        with naming(self.name):
            headers = stored.headers if self.headers is None else self.headers
            configuration = build(
                self.name,
                stored.values() | dict(self.values),
                headers=headers,
                references=self.references,
                secrets=kept_secrets(stored.secrets, headers),
            )
        return replace(
            configuration,
            record=stored.record,
            version=stored.version,
            revision=stored.revision,
            voucher=stored.voucher,
        )


@dataclass(frozen=True, slots=True)
class Document:
    """What one TOML document describes."""

    drafts: tuple[ConfigurationDraft, ...]
    lines: tuple[SyncLine, ...]


def parse_document(text: str) -> Document:
    """Read a document; the first mistake is a ConfigError that names its place."""
    tree = parse_toml(text, longest=MAX_DOCUMENT)
    refuse_unknown_keys(tree, ["configuration", "line"])
    drafts = tuple(
        read_draft(name, table) for name, table in tables_of(tree, "configuration")
    )
    lines = tuple(read_line(name, table) for name, table in tables_of(tree, "line"))
    return Document(drafts, lines)


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


def tables_of(
    tree: Mapping[str, object], key: str
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the tables below a key of the document by their names."""
    tables = tree.get(key, {})
    if not isinstance(tables, dict):
        raise ConfigError(Text("[{key}.NAME] must be a table", key=key), field=key)
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(
                Text("[{key}.{name}] must be a table", key=key, name=name), field=key
            )
        yield name, table


def read_draft(name: str, table: Mapping[str, object]) -> ConfigurationDraft:
    """Read the table of one configuration."""
    with naming(name):
        BY_PATH["name"].parse(name)
        values, references = read_fields(table)
        rows = read_rows(table["headers"], references) if "headers" in table else None
        return ConfigurationDraft(name, values, rows, references)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the configuration's name in front of the message of an error."""
    try:
        yield
    except (ConfigError, PolicyError) as error:
        message = Text(
            "configuration {name}: {problem}", name=name, problem=error.message
        )
        raise type(error)(message, hint=error.hint, field=error.field) from None


def read_fields(
    table: Mapping[str, object],
) -> tuple[dict[str, object], dict[str, Reference]]:
    """Return the values of a configuration's table by path, and its references."""
    values: dict[str, object] = {}
    references: dict[str, Reference] = {}
    for path, value in flatten(table):
        field = BY_PATH[path]
        if field.kind is Kind.SECRET:
            references[field.secret_name] = read_reference(value, path)
        elif field.kind is not Kind.ROWS:
            values[path] = value
    return values, references


def flatten(table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield paths and values; `tls.ca_file` is the key ca_file of the table tls."""
    refuse_unknown_keys(table, CONFIGURATION_KEYS)
    for key, value in table.items():
        if key not in SECTIONS:
            yield key, value
            continue
        if not isinstance(value, dict):
            raise ConfigError(Text("must be a table"), field=key)
        prefix = f"{key}."
        keys = [field.key for field in FIELDS if field.path.startswith(prefix)]
        refuse_unknown_keys(value, keys, prefix)
        for inner_key, inner_value in value.items():
            yield prefix + inner_key, inner_value


def read_rows(
    value: object, references: dict[str, Reference]
) -> tuple[CustomHeader, ...]:
    """Return the header rows; the references of secret ones are added to the others."""
    if not isinstance(value, list) or len(value) > MAX_HEADERS:
        raise ConfigError(
            Text("must be at most {limit} rows", limit=MAX_HEADERS), field="headers"
        )
    rows = tuple(
        read_row(row, f"headers[{index}]", references)
        for index, row in enumerate(value)
    )
    names: set[str] = set()
    for index, row in enumerate(rows):
        if row.key.lower() in names:
            raise ConfigError(
                Text("the header {name} has two rows", name=row.key),
                field=f"headers[{index}].key",
            )
        names.add(row.key.lower())
    return rows


def read_row(
    table: object, place: str, references: dict[str, Reference]
) -> CustomHeader:
    """Return one header row."""
    if not isinstance(table, dict):
        raise ConfigError(Text("a row must be a table with key and value"), field=place)
    refuse_unknown_keys(table, ROW_KEYS, f"{place}.")
    key = table.get("key")
    value = table.get("value")
    secret = table.get("secret")
    if not isinstance(key, str):
        raise ConfigError(Text("a row needs a key, as text"), field=f"{place}.key")
    if value is not None and not isinstance(value, str):
        raise ConfigError(Text("a row's value must be text"), field=f"{place}.value")
    if secret is not None and not isinstance(secret, bool):
        raise ConfigError(Text("must be true or false"), field=f"{place}.secret")
    row = header_row(key, value, secret=secret, place=place)
    if row.secret and value is not None:
        reference = parse_reference(value, field=f"{place}.value")
        references[row.secret_field] = reference
    return row


def read_reference(value: object, path: str) -> Reference:
    """Return the reference to a secret."""
    if not isinstance(value, str):
        raise ConfigError(Text("must be a reference such as env:NAME"), field=path)
    return parse_reference(value, field=path)


def read_line(name: str, table: Mapping[str, object]) -> SyncLine:
    """Read the table of one sync line."""
    place = f"line.{name}."
    refuse_unknown_keys(table, LINE_KEYS, place)
    sync_part = {key: value for key, value in table.items() if key in SYNC_KEYS}
    request_part = {key: value for key, value in table.items() if key not in SYNC_KEYS}
    sync = read_sync(sync_part, place) if sync_part else None
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
