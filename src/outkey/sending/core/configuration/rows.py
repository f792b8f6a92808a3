"""Rows of configurations as values: what a host stores, without a rule.

A host reads and writes these values; `sending/engine/registry.py` decides with them.
Settings are plain JSON, so that a host can store those that it has no column for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple, TypeVar

from outkey.foundation.core.errors import (
    ConfigError,
    RowUnreadable,
    SecretUnreadable,
)
from outkey.foundation.core.fields.field_kinds import Kind
from outkey.foundation.core.stored_values import read_time
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    TOKEN_HEADERS,
    Configuration,
    build,
)
from outkey.sending.core.configuration.custom_rows import (
    ROW_KINDS,
    CustomHeader,
    CustomRow,
    QueryParameter,
    TokenHeader,
)
from outkey.sending.core.configuration.fields import FIELDS, FORMER_KEYS
from outkey.sending.core.configuration.health import Health, needs_secret
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connection import (
    Connection,
    ConnectionState,
    account_name,
    connection_record,
    row_of_record,
)
from outkey.sending.core.rotation.credential_sets import SETS, CredentialSets
from outkey.sending.core.vault.envelope import SealedRow

Row = TypeVar("Row", bound=CustomRow)
_FORMER_NAMES = "former_names"
_KEPT = (_FORMER_NAMES, SETS)  # what no form edits
_QUERY = "query"
# Rows that are stored among the settings, as lists of tables.
_STORED_ROWS = {path: kind for path, kind in ROW_KINDS.items() if path != "headers"}
_DATES = tuple(field.path for field in FIELDS if field.kind is Kind.DATE)


class Stamp(NamedTuple):
    """The values that a swap compares: every change of a row changes one of them."""

    version: int
    revision: int
    refused: int
    paused_at: float | None
    tested_at: float | None
    current: bool
    needs_person: bool


@dataclass(frozen=True, slots=True)
class ConfigurationRow:
    """A configuration as it is stored, without its secrets."""

    record: str  # its id, which is never used again
    name: str
    version: int  # for editors: changes with the settings
    revision: int  # for caches: changes with the secrets too
    settings: Mapping[str, object]  # by the path of the field
    headers: tuple[CustomHeader, ...]
    health: Health
    odd: tuple[str, ...] = ()  # the columns that hold what outkey never writes there
    seen_voucher: int = 0  # the newest voucher that was seen before the row was read
    # Of a connection: the account. The settings are those of its configuration.
    connection: Connection | None = None

    @property
    def stamp(self) -> Stamp:
        """The values that a swap compares, so that no edit, test or refusal is lost."""
        health = self.health
        return Stamp(
            version=self.version,
            revision=self.revision,
            refused=health.refused,
            paused_at=health.paused_at,
            tested_at=health.tested_at,
            current=health.current,
            needs_person=health.needs_person,
        )

    def configuration(
        self,
        secrets: Mapping[str, SecretState],
        voucher: SealedRow | None = None,
        unconnected: Configuration | None = None,
    ) -> Configuration:
        """Return the configuration with its secrets; a connection needs that it is of.

        Raises ConfigError if the settings are invalid, RowUnreadable for an odd row.
        """
        if self.odd:
            raise row_unreadable(self.odd)
        if self.connection is None:
            built = self._built(secrets)
        else:
            assert unconnected is not None  # noqa: S101 - the registry has found it
            self._refuse_exchanged(self.connection)
            built = with_account(unconnected, self.connection, secrets)
        return replace(
            built,
            record=self.record,
            version=self.version,
            revision=self.revision,
            refused=self.health.refused,
            paused_at=self.health.paused_at,
            is_proved=self.health.is_proved,
            was_accepted=self.health.was_accepted,
            accepted_at=self.health.accepted_at,
            voucher=voucher,
            seen_voucher=self.seen_voucher,
        )

    def _refuse_exchanged(self, connection: Connection) -> None:
        """Refuse the row of another connection, which has its secrets.

        Rows are found by their names, and secrets are sealed for their records.
        """
        row = row_of_record(self.record)
        facts = connection.configuration, connection.id
        if (self.name, self.record) != (
            account_name(*facts),
            connection_record(row, *facts),
        ):
            raise SecretUnreadable(
                Text("the connection was changed outside of outkey"),
                hint=Text(
                    "Rows were exchanged in the database. Restore a backup, or remove"
                    " the connection and connect the account again."
                ),
                field="connection",
            )

    def _built(self, secrets: Mapping[str, SecretState]) -> Configuration:
        """Return the configuration that the settings describe."""
        values = dict(self.settings)
        for former, path in FORMER_KEYS.items():
            if former in values:
                values[path] = values.pop(former)
        for path in _DATES:
            if path in values:
                values[path] = _read_date(path, values[path])
        query = read_query(values.pop(_QUERY, ()))
        token_headers = read_rows(values.pop(TOKEN_HEADERS, ()), TokenHeader)
        former_names = read_former_names(values.pop(_FORMER_NAMES, ()))
        sets = CredentialSets.from_facts(values.pop(SETS, None))
        built = build(
            self.name,
            values,
            headers=self.headers,
            query=query,
            token_headers=token_headers,
            secrets=secrets,
        )
        return replace(built, former_names=former_names, sets=sets)

    @property
    def connection_state(self) -> ConnectionState:
        """The state of a connection, as lists show it."""
        connection = self.connection
        assert connection is not None  # noqa: S101 - asked of connections only
        if not connection.active or self.health.paused_at is not None:
            return ConnectionState.PAUSED
        if connection.connected_at is None:
            return ConnectionState.NEW
        if self.health.needs_person or self.health.needs_secret:
            return ConnectionState.NEEDS_PERSON
        return ConnectionState.WORKING

    @property
    def paused_because(self) -> str | None:
        """Who stopped sending for a connection: `operator` or `refusals`."""
        connection = self.connection
        if connection is not None and not connection.active:
            return "operator"
        return None if self.health.paused_at is None else "refusals"

    def after_connection(
        self,
        connection: Connection,
        secrets: Mapping[str, SecretState],
        unconnected: Configuration,
    ) -> "ConfigurationRow":
        """Return the row after the facts of a connection became these."""
        changed = replace(self, version=self.version + 1, connection=connection)
        return changed.after_secrets(secrets, unconnected)

    def after_token(
        self, *, dead: bool, obtained_at: float | None
    ) -> "ConfigurationRow":
        """Return the row after the state of the token changed.

        `obtained_at` is when the token was obtained that is new; None without a new
        one. A connection that has its first token has all that it needs.
        """
        is_renewed = obtained_at is not None
        health = self.health.after_token(dead=dead, renewed=is_renewed)
        connection = self.connection
        if connection is not None and connection.connected_at is None:
            connection = replace(connection, connected_at=obtained_at)
        return replace(self, health=health, connection=connection)

    def after_use(self, at: float) -> "ConfigurationRow":
        """Return the row after the API has accepted a request of an account."""
        connection = self.connection
        if connection is None or not connection.is_use_to_note(at):
            return self
        return replace(self, connection=replace(connection, last_used_at=at))

    def after_rename(self, name: str, at: float) -> "ConfigurationRow":
        """Return the row with another name; it remembers the one before."""
        former_names = read_former_names(self.settings.get(_FORMER_NAMES, ()))
        return replace(
            self,
            name=name,
            version=self.version + 1,
            revision=self.revision + 1,
            settings={**self.settings, _FORMER_NAMES: [*former_names, [self.name, at]]},
        )

    def after_edit(self, configuration: Configuration) -> "ConfigurationRow":
        """Return the row after an editor saved these settings."""
        return replace(
            self,
            version=self.version + 1,
            revision=self.revision + 1,
            settings=settings_of(configuration) | self._kept_settings(),
            headers=configuration.headers,
            health=self.health.after_change(configuration),
        )

    def _kept_settings(self) -> dict[str, object]:
        """Return the former names and the sets of credentials, which no form edits."""
        return {name: self.settings[name] for name in _KEPT if name in self.settings}

    def after_secrets(
        self,
        secrets: Mapping[str, SecretState],
        unconnected: Configuration | None = None,
    ) -> "ConfigurationRow":
        """Return the row after its secrets became these."""
        configuration = self.configuration(secrets, unconnected=unconnected)
        health = self.health.after_change(configuration)
        connection = self.connection
        if connection is not None and connection.connected_at is None:
            connection = replace(
                connection, connected_at=_complete_since(configuration, connection)
            )
        return replace(
            self, revision=self.revision + 1, health=health, connection=connection
        )

    def after_rotation(
        self,
        sets: CredentialSets,
        secrets: Mapping[str, SecretState],
        exchanged: Mapping[str, str] | None,
    ) -> "ConfigurationRow":
        """Return the row after a step of a rotation.

        `exchanged` are the settings that change where other credentials came into use;
        then what was tested or refused before says nothing about them.
        """
        made = replace(
            self,
            revision=self.revision + 1,
            settings={**self.settings, SETS: sets.facts()},
        )
        if exchanged is None:
            return made
        settings = {**made.settings, **exchanged}
        for path in _DATES:
            if settings.get(path) == "":
                del settings[path]
        made = replace(made, version=self.version + 1, settings=settings)
        health = made.health.after_change(made.configuration(secrets))
        return replace(made, health=health)

    def after_reseal(self) -> "ConfigurationRow":
        """Return the row after the same values were sealed again.

        Caches must read the ciphertexts again, but what a test found still holds.
        """
        return replace(self, revision=self.revision + 1)


def new_row(configuration: Configuration, record: str) -> ConfigurationRow:
    """Return the row of a configuration that is stored for the first time."""
    return ConfigurationRow(
        record=record,
        name=configuration.name,
        version=1,
        revision=1,
        settings=settings_of(configuration),
        headers=configuration.headers,
        health=Health().after_change(configuration),
    )


def new_connection_row(
    unconnected: Configuration,
    connection: Connection,
    record: str,
    secrets: Mapping[str, SecretState],
) -> ConfigurationRow:
    """Return the row of a connection that is stored for the first time."""
    made = with_account(unconnected, connection, secrets)
    return ConfigurationRow(
        record=record,
        name=account_name(connection.configuration, connection.id),
        version=1,
        revision=1,
        settings={},
        headers=(),
        health=Health().after_change(made),
        connection=replace(connection, connected_at=_complete_since(made, connection)),
    )


def _complete_since(
    configuration: Configuration, connection: Connection
) -> float | None:
    """Return when the last secret that an account needs was set; None without it.

    One that needs none of its own, or has references, was complete from the beginning.
    """
    lacks_value = configuration.variable_error is not None
    if configuration.needs_consent or lacks_value or needs_secret(configuration):
        return None
    times = [
        configuration.secrets[name].set_at
        for name in configuration.needed_secrets()
        if configuration.is_of_account(name)
    ]
    known = [at for at in (*times, connection.created_at) if at is not None]
    return max(known, default=0.0)


def settings_of(configuration: Configuration) -> dict[str, object]:
    """Return the settings by path as JSON has them: dates become text."""
    settings = {path: _as_json(value) for path, value in configuration.values().items()}
    for path, rows in configuration.rows_by_path.items():
        if rows and path in _STORED_ROWS:
            settings[path] = [
                {"key": row.key, "value": row.value, "secret": row.secret}
                for row in rows
            ]
    return settings


def _as_json(value: object) -> object:
    """Return a value as it is read from JSON."""
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if isinstance(value, date) else value


def read_former_names(names: object) -> tuple[tuple[str, float], ...]:
    """Return the former names of stored settings, each with its end."""
    pairs = names if isinstance(names, list | tuple) else ()
    return tuple(
        (str(pair[0]), float(read_time(pair[1])))
        for pair in pairs
        if isinstance(pair, list | tuple) and len(pair) == 2
    )


def _read_date(path: str, stored: object) -> date:
    """Return the date of a stored setting, or raise ConfigError."""
    try:
        return date.fromisoformat(str(stored))
    except ValueError:
        raise ConfigError(Text("this is not a date"), field=path) from None


def row_unreadable(columns: Iterable[str]) -> RowUnreadable:
    """Return the error for a row with odd columns."""
    names = ", ".join(columns)
    return RowUnreadable(Text("a stored row cannot be read: {columns}", columns=names))


def read_query(rows: object) -> tuple[QueryParameter, ...]:
    """Return the query rows of stored settings, or raise ConfigError."""
    return read_rows(rows, QueryParameter)


def read_rows(rows: object, kind: type[Row]) -> tuple[Row, ...]:
    """Return rows of one kind from stored settings, or raise ConfigError."""
    try:
        return tuple(
            kind(str(row["key"]), str(row["value"]), bool(row["secret"]))
            for row in rows  # type: ignore[attr-defined]  # what is stored is JSON
        )
    except (TypeError, KeyError):
        field = next(path for path, each in _STORED_ROWS.items() if each is kind)
        raise ConfigError(
            Text("the stored rows of {field} cannot be read", field=field), field=field
        ) from None
