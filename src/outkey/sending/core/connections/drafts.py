"""Drafts of connections: an account as a document describes it, read from its table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import refuse_unknown_keys
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.text import toml_key, toml_value
from outkey.sending.core.configuration.configuration import (
    Configuration,
    with_references,
)
from outkey.sending.core.configuration.custom_rows import is_row_secret
from outkey.sending.core.configuration.drafts import naming, read_reference
from outkey.sending.core.configuration.fields import FIELDS
from outkey.sending.core.configuration.reference import Reference
from outkey.sending.core.configuration.text import secret_line
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connection import Connection
from outkey.sending.core.connections.entered_facts import (
    FACTS,
    VARIABLES,
    check_facts,
    is_fact_of_account,
    refuse_secret_of_others,
    refuse_unusable_values,
    secrets_of_accounts,
)
from outkey.sending.core.connections.ids import check_connection_id
from outkey.sending.core.connections.naming import (
    refuse_without_connections,
)

SECTION = "connection"  # in the table of a configuration
_SECRETS = tuple(dict.fromkeys(field.secret_name for field in FIELDS if field.secret))
_KEYS = (*FACTS, VARIABLES, *_SECRETS, "header:NAME", "query:NAME")


@dataclass(frozen=True, slots=True)
class ConnectionDraft:
    """One account as a document describes it: only what the document names."""

    configuration: str  # its name
    id: str
    facts: Mapping[str, object]
    references: Mapping[str, Reference]  # by the name of the secret

    @property
    def place(self) -> str:
        """The place of its keys in the table of the configuration."""
        return f"{SECTION}.{self.id}."

    def merged(
        self, unconnected: Configuration, stored: Configuration | None = None
    ) -> Configuration:
        """Return the configuration with this account.

        What is stored of the account stays, with what is named in its place.
        """
        with naming(self.configuration):
            refuse_without_connections(unconnected)
            facts = check_facts(unconnected, self.facts, self.place)
            variables = facts.pop(VARIABLES, {})
            for secret in self.references:
                refuse_secret_of_others(unconnected, secret, self.place)
        # Without a store, it is found by the name of its configuration.
        before = Connection(self.id, unconnected.record or unconnected.name)
        if stored is not None and stored.connection is not None:
            before = stored.connection
        connection = replace(
            before, **facts, variables={**before.variables, **variables}
        )
        secrets = stored.secrets if stored else {}
        made = with_account(unconnected, connection, secrets)
        with naming(self.configuration):
            refuse_unusable_values(made, self.place)
        made = replace(made, secrets=with_references(made, self.references))
        if stored is None:
            return replace(made, record="", version=0, revision=0, voucher=None)
        return replace(
            made,
            record=stored.record,
            version=stored.version,
            revision=stored.revision,
            voucher=stored.voucher,
            seen_voucher=stored.seen_voucher,
        )


def read_connections(configuration: str, section: object) -> Iterator[ConnectionDraft]:
    """Yield the connections in the table of a configuration."""
    with naming(configuration):
        if not isinstance(section, dict):
            raise ConfigError(Text("must be a table of tables"), field=SECTION)
        for name, table in section.items():
            yield _read_connection(configuration, name, table)


def _read_connection(configuration: str, name: str, table: object) -> ConnectionDraft:
    connection = check_connection_id(name, SECTION)
    place = f"{SECTION}.{connection}."
    if not isinstance(table, dict):
        raise ConfigError(Text("must be a table"), field=place.rstrip("."))
    secrets = {key: value for key, value in table.items() if _is_secret(key)}
    others = {key: value for key, value in table.items() if key not in secrets}
    for key, value in others.items():
        if isinstance(value, dict) and key not in _KEYS:
            raise ConfigError(
                Text("unknown key"),
                hint=Text("An id with a dot, or with : @ + ~, is written in quotes."),
                field=f"{place}{key}",
            )
    refuse_unknown_keys(others, _KEYS, place)
    return ConnectionDraft(
        configuration=configuration,
        id=connection,
        facts=others,
        references={
            secret: read_reference(value, f"{place}{secret}")
            for secret, value in secrets.items()
        },
    )


def _is_secret(key: str) -> bool:
    return key in _SECRETS or is_row_secret(key)


def connection_lines(configuration: Configuration) -> Iterator[str]:
    """Yield the table of a connection, as `read_connections` reads it."""
    connection = configuration.connection
    assert connection is not None  # noqa: S101 - for the type checker
    unconnected = configuration.unconnected
    assert unconnected is not None  # noqa: S101
    yield (
        f"[configuration.{toml_key(configuration.name)}"
        f".{SECTION}.{toml_key(connection.id)}]"
    )
    for name in FACTS:
        value = getattr(connection, name)
        if value and is_fact_of_account(unconnected, name):
            yield f"{name} = {toml_value(value)}"
    if connection.variables:
        yield f"{VARIABLES} = {toml_value(connection.variables)}"
    for name in secrets_of_accounts(unconnected):
        yield from secret_line(toml_key(name), configuration.secrets.get(name))
