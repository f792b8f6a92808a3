"""Drafts: a configuration as a document describes it, read from its section."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from outkey.foundation.core.errors import ConfigError, PolicyError
from outkey.foundation.core.fields.field_kinds import Kind, refuse_unknown_keys
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    Configuration,
    build,
    kept_secrets,
)
from outkey.sending.core.configuration.custom_rows import (
    MAX_ROWS,
    PLACEHOLDER,
    CustomHeader,
    CustomRow,
    QueryParameter,
    header_row,
    query_row,
)
from outkey.sending.core.configuration.fields import (
    BY_PATH,
    FIELDS,
    FORMER_KEYS,
    PATHS_OF_SECRETS,
    SECTIONS,
    other_type_of,
)
from outkey.sending.core.configuration.reference import Reference, parse_reference

CONFIGURATION_KEYS = sorted({path.partition(".")[0] for path in BY_PATH} - {"name"})
ROWS_EXAMPLE = '[{ key = "X-Tenant", value = "7" }]'
ROW_KEYS = ["key", "reference", "secret", "value"]
Row = TypeVar("Row", bound=CustomRow)


@dataclass(frozen=True, slots=True)
class ConfigurationDraft:
    """One configuration as a document describes it: only the fields that it names."""

    name: str
    values: Mapping[str, object]
    headers: tuple[CustomHeader, ...] | None
    query: tuple[QueryParameter, ...] | None
    references: Mapping[str, Reference]
    # Whether it is complete: then a field that it lacks gets its default.
    is_whole: bool = False

    def configuration(self) -> Configuration:
        """Return the configuration, with defaults for what is not named."""
        with naming(self.name):
            configuration = build(
                self.name,
                self.values,
                headers=self.headers or (),
                query=self.query or (),
                references=self.references,
            )
            self._refuse_other_types(configuration)
        return configuration

    def merged(self, stored: Configuration) -> Configuration:
        """Return the stored configuration with what is named in its place.

        Its secrets stay, also where the draft is whole: no document has their values.
        """
        with naming(self.name):
            kept = replace(stored, headers=(), query=()) if self.is_whole else stored
            headers = kept.headers if self.headers is None else self.headers
            query = kept.query if self.query is None else self.query
            configuration = build(
                self.name,
                ({} if self.is_whole else stored.values()) | dict(self.values),
                headers=headers,
                query=query,
                references=self.references,
                secrets=kept_secrets(stored.secrets, (*headers, *query)),
            )
            self._refuse_other_types(configuration)
        return replace(
            configuration,
            record=stored.record,
            version=stored.version,
            revision=stored.revision,
            voucher=stored.voucher,
        )

    def _refuse_other_types(self, configuration: Configuration) -> None:
        """Refuse keys of the section of another authentication type.

        They would be ignored, and a user who has written them expects something else.
        Programs write every key: one with its default changes nothing.
        """
        values = configuration.values()
        written = (
            path for path in self.values if values.get(path) != BY_PATH[path].default
        )
        secrets = (PATHS_OF_SECRETS.get(name, "") for name in self.references)
        for path in (*written, *secrets):
            owner = other_type_of(path, configuration.authentication_type)
            if owner is not None:
                raise BY_PATH[path].refuse(
                    Text("belongs to the Authentication Type {type}", type=owner.label),
                    hint=Text(
                        'Write authentication_type = "{type}", or remove the key.',
                        type=owner,
                    ),
                )


def read_draft(name: str, table: Mapping[str, object]) -> ConfigurationDraft:
    """Read the table of one configuration."""
    with naming(name):
        BY_PATH["name"].parse(name)
        values, references = read_fields(table)
        headers = None
        query = None
        if "headers" in table:
            headers = _read_rows(table["headers"], "headers", header_row, references)
        if "query" in table:
            query = _read_rows(table["query"], "query", query_row, references)
        return ConfigurationDraft(name, values, headers, query, references)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the configuration's name in front of the message of an error."""
    try:
        yield
    except (ConfigError, PolicyError) as error:
        error.replace_message(
            Text("configuration {name}: {problem}", name=name, problem=error.message)
        )
        raise


def read_fields(
    table: Mapping[str, object],
) -> tuple[dict[str, object], dict[str, Reference]]:
    """Return the values of a configuration's table by path, and its references."""
    values: dict[str, object] = {}
    references: dict[str, Reference] = {}
    for written_path, value in flatten(table):
        path = FORMER_KEYS.get(written_path, written_path)
        if path != written_path and path in table:
            raise ConfigError(
                Text(
                    "this is the former name of {path}, which is given as well",
                    path=path,
                ),
                field=written_path,
                hint=Text("Remove one of the two."),
            )
        field = BY_PATH[path]
        if field.kind is Kind.SECRET:
            references[field.secret_name] = _read_reference(value, path)
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
        paths = (*(field.path for field in FIELDS), *FORMER_KEYS)
        keys = [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]
        refuse_unknown_keys(value, keys, prefix)
        for inner_key, inner_value in value.items():
            yield prefix + inner_key, inner_value


def _read_rows(
    value: object,
    place: str,
    make: Callable[..., Row],
    references: dict[str, Reference],
) -> tuple[Row, ...]:
    """Return header or query rows; the references of secret ones join the others."""
    if not isinstance(value, list):
        raise ConfigError(
            Text("must be a list of rows, such as {example}", example=ROWS_EXAMPLE),
            field=place,
        )
    if len(value) > MAX_ROWS:
        raise ConfigError(
            Text("must be at most {limit} rows", limit=MAX_ROWS), field=place
        )
    rows = tuple(
        _read_row(row, f"{place}[{index}]", make, references)
        for index, row in enumerate(value)
    )
    names: set[str] = set()
    for index, row in enumerate(rows):
        # Header names are the same in any case; names of parameters are not.
        name = row.key.lower() if isinstance(row, CustomHeader) else row.key
        if name in names:
            raise ConfigError(
                Text("{name} has two rows", name=row.key),
                field=f"{place}[{index}].key",
            )
        names.add(name)
    return rows


def _read_row(
    table: object,
    place: str,
    make: Callable[..., Row],
    references: dict[str, Reference],
) -> Row:
    """Return one row."""
    if not isinstance(table, dict):
        raise ConfigError(Text("a row must be a table with key and value"), field=place)
    refuse_unknown_keys(table, ROW_KEYS, f"{place}.")
    key = table.get("key")
    value = table.get("value")
    secret = table.get("secret")
    reference = table.get("reference")
    if not isinstance(key, str):
        raise ConfigError(Text("a row needs a key, as text"), field=f"{place}.key")
    if value is not None and not isinstance(value, str):
        raise ConfigError(Text("a row's value must be text"), field=f"{place}.value")
    if secret is not None and not isinstance(secret, bool):
        raise ConfigError(Text("must be true or false"), field=f"{place}.secret")
    if reference is not None and secret is None:
        secret = True
    row = make(key, value, secret=secret, place=place)
    if reference is not None and not row.secret:
        raise ConfigError(
            Text("a row that is not secret has no reference"),
            field=f"{place}.reference",
        )
    if reference is not None:
        references[row.secret_field] = _read_reference(reference, f"{place}.reference")
    if row.secret and value is not None and PLACEHOLDER not in value:
        if reference is not None:
            raise ConfigError(
                Text("value and reference both name the secret"),
                field=f"{place}.value",
                hint=Text(
                    "Remove one of them, or put the secret's place into value:"
                    " {placeholder}.",
                    placeholder=PLACEHOLDER,
                ),
            )
        references[row.secret_field] = parse_reference(value, field=f"{place}.value")
    return row


def _read_reference(value: object, path: str) -> Reference:
    """Return the reference to a secret."""
    if not isinstance(value, str):
        raise ConfigError(Text("must be a reference such as env:NAME"), field=path)
    return parse_reference(value, field=path)
