"""Drafts: a configuration as a document describes it, read from its section."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from outkey.foundation.core.errors import ConfigError, PolicyError
from outkey.foundation.core.fields.field_kinds import (
    Field,
    Kind,
    refuse_unknown_keys,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    TOKEN_HEADERS,
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
    TokenHeader,
    header_row,
    query_row,
    token_header_row,
)
from outkey.sending.core.configuration.fields import (
    BY_PATH,
    FIELDS,
    FORMER_KEYS,
    SECTIONS,
    other_type_of,
)
from outkey.sending.core.configuration.reference import Reference, parse_reference

CONFIGURATION_KEYS = sorted({path.partition(".")[0] for path in BY_PATH} - {"name"})
ROWS_EXAMPLE = '[{ key = "X-Tenant", value = "7" }]'
ROW_KEYS = ["key", "reference", "secret", "value"]
ROW_MAKERS: dict[str, Callable[..., CustomRow]] = {
    "headers": header_row,
    "query": query_row,
    TOKEN_HEADERS: token_header_row,
}


@dataclass(frozen=True, slots=True)
class ConfigurationDraft:
    """One configuration as a document describes it: only the fields that it names."""

    name: str
    values: Mapping[str, object]
    headers: tuple[CustomHeader, ...] | None
    query: tuple[QueryParameter, ...] | None
    references: Mapping[str, Reference]
    token_headers: tuple[TokenHeader, ...] | None = None
    secret_paths: tuple[str, ...] = ()  # of the secrets that have references
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
                token_headers=self.token_headers or (),
                references=self.references,
            )
            self._refuse_unused(configuration)
        return configuration

    def merged(self, stored: Configuration) -> Configuration:
        """Return the stored configuration with what is named in its place.

        Its secrets stay, also where the draft is whole: no document has their values.
        """
        with naming(self.name):
            kept = _without_rows(stored) if self.is_whole else stored
            headers = kept.headers if self.headers is None else self.headers
            query = kept.query if self.query is None else self.query
            token_headers = self.token_headers
            if token_headers is None:
                token_headers = kept.oauth2.token_headers
            configuration = build(
                self.name,
                ({} if self.is_whole else stored.values()) | dict(self.values),
                headers=headers,
                query=query,
                token_headers=token_headers,
                references=self.references,
                secrets=kept_secrets(
                    stored.secrets, (*headers, *query, *token_headers)
                ),
            )
            self._refuse_unused(configuration)
        return replace(
            configuration,
            record=stored.record,
            version=stored.version,
            revision=stored.revision,
            voucher=stored.voucher,
        )

    def _refuse_unused(self, configuration: Configuration) -> None:
        """Refuse keys that other settings do not use, such as those of another grant.

        They would be ignored, and a user who has written them expects something else.
        """
        settings = configuration.values()
        for path in self._named_paths():
            field = BY_PATH[path]
            owner = other_type_of(path, configuration.authentication_type)
            if owner is not None:
                raise field.refuse(
                    Text("belongs to the Authentication Type {type}", type=owner.label),
                    hint=Text(
                        'Write authentication_type = "{type}", or remove the key.',
                        type=owner,
                    ),
                )
            if field.is_refused(settings):
                raise _unused_field(field, settings)

    def _named_paths(self) -> Iterator[str]:
        """Yield the paths of what the document sets, but for defaults.

        Programs write all settings back, as they have read them.
        """
        for path, value in self.values.items():
            if value != BY_PATH[path].default:
                yield path
        yield from self.secret_paths
        if self.token_headers:
            yield TOKEN_HEADERS


def _unused_field(field: Field, settings: Mapping[str, object]) -> ConfigError:
    """Return the error for a key that means nothing beside the other settings."""
    path, wanted = next(
        (path, wanted)
        for path, wanted in field.alternatives[0]
        if settings.get(path) not in wanted
    )
    return field.refuse(
        Text("does not apply to these settings"),
        hint=Text(
            'Write {path} = "{value}", or remove the key.', path=path, value=wanted[0]
        ),
    )


def _without_rows(configuration: Configuration) -> Configuration:
    """Return a configuration without header and query rows."""
    oauth2 = replace(configuration.oauth2, token_headers=())
    return replace(configuration, headers=(), query=(), oauth2=oauth2)


def read_draft(name: str, table: Mapping[str, object]) -> ConfigurationDraft:
    """Read the table of one configuration."""
    with naming(name):
        BY_PATH["name"].parse(name)
        values, references = read_fields(table)
        paths = [path for path, _ in flatten(table)]
        rows: dict[str, Any] = {
            path: _read_rows(value, path, references)
            for path, value in flatten(table)
            if path in ROW_MAKERS
        }
        return ConfigurationDraft(
            name,
            values,
            rows.get("headers"),
            rows.get("query"),
            references,
            rows.get(TOKEN_HEADERS),
            tuple(path for path in paths if path in BY_PATH and BY_PATH[path].secret),
        )


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
            references[field.secret_name] = read_reference(value, path)
        elif field.kind is not Kind.ROWS:
            values[path] = value
    return values, references


def flatten(table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield paths and values; `tls.ca_file` is the key ca_file of the table tls."""
    refuse_unknown_keys(table, CONFIGURATION_KEYS)
    yield from _flatten_section(table, "")


def _flatten_section(
    table: Mapping[str, object], prefix: str
) -> Iterator[tuple[str, object]]:
    """Yield paths and values of a table, and of the tables in it."""
    for key, value in table.items():
        path = prefix + key
        if path not in SECTIONS:
            yield path, value
            continue
        if not isinstance(value, dict):
            raise ConfigError(Text("must be a table"), field=path)
        refuse_unknown_keys(value, keys_of_section(path), f"{path}.")
        yield from _flatten_section(value, f"{path}.")


def keys_of_section(section: str) -> list[str]:
    """Return the keys that a section's table may have."""
    prefix = f"{section}."
    paths = (*(field.path for field in FIELDS), *FORMER_KEYS)
    inner = [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]
    return list(dict.fromkeys(path.partition(".")[0] for path in inner))


def _read_rows(
    value: object, place: str, references: dict[str, Reference]
) -> tuple[CustomRow, ...]:
    """Return the rows of a field; the references of secret ones join the others."""
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
        _read_row(row, f"{place}[{index}]", ROW_MAKERS[place], references)
        for index, row in enumerate(value)
    )
    names: set[str] = set()
    for index, row in enumerate(rows):
        # Header names are the same in any case; names of parameters are not.
        name = row.key if isinstance(row, QueryParameter) else row.key.lower()
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
    make: Callable[..., CustomRow],
    references: dict[str, Reference],
) -> CustomRow:
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
        references[row.secret_field] = read_reference(reference, f"{place}.reference")
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


def read_reference(value: object, path: str) -> Reference:
    """Return the reference to a secret."""
    if not isinstance(value, str):
        raise ConfigError(Text("must be a reference such as env:NAME"), field=path)
    return parse_reference(value, field=path)
