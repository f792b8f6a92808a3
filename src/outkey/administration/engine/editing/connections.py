"""The connections of configurations, as a user creates, changes and removes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from outkey.foundation.core.errors import (
    ConfigError,
    UnknownConnection,
    VariableMissing,
    repeated,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.configuration.checks import refuse_without_connections
from outkey.sending.core.configuration.configuration import known_names
from outkey.sending.core.configuration.connect_settings import CLIENT_ID
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connection import (
    Connection,
    ConnectionQuery,
)
from outkey.sending.core.connections.facts import account_facts
from outkey.sending.core.connections.ids import check_connection_id
from outkey.sending.core.connections.variables import check_variable, variable_field
from outkey.sending.core.vault.voucher import CONNECTION

if TYPE_CHECKING:
    from outkey.administration.engine.editing.administration import Administration
    from outkey.foundation.ports.clock import Clock
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.rows import ConfigurationRow
    from outkey.sending.engine.exchange.sender import Sender

MOST_LISTED = 10_000
VARIABLES = "variables"
# What a user may change, with the field that says which values it may have.
_CHECKED = {"username": "username", "client_id": "oauth2.client_id", "owner": "owner"}


@dataclass(frozen=True, slots=True)
class ConnectionAdministration:
    """The connections of all configurations, by one user. Each change is recorded."""

    administration: Administration
    clock: Clock

    def page(self, name: str, query: ConnectionQuery) -> list[ConfigurationRow]:
        """Return the rows of some connections of a configuration, by id."""
        configuration = self._configuration(name)
        if not 1 <= query.limit <= MOST_LISTED:
            raise ConfigError(
                Text("must be a whole number from 1 to {most}", most=MOST_LISTED),
                field="limit",
            )
        return self.administration.registry.connections(configuration, query)

    def row(self, name: str, connection: str) -> ConfigurationRow:
        """Return the row of one connection, or raise UnknownConnection."""
        configuration = self._configuration(name)
        query = ConnectionQuery(prefix=check_connection_id(connection), limit=1)
        # An id comes before all others that begin with it.
        for row in self.administration.registry.connections(configuration, query):
            if row.connection is not None and row.connection.id == connection:
                return row
        raise UnknownConnection(field="connection")

    def current(self, name: str, connection: str) -> Configuration:
        """Return a configuration with an account as it is stored now."""
        return self.administration.current(name, connection)

    def facts(self, sender: Sender, name: str, connection: str) -> dict[str, object]:
        """Return all that is shown of one connection, with the state of its token."""
        row = self.row(name, connection)
        account = self.current(name, connection)
        token = None
        if account.fetches_token or account.csrf.path:
            token = sender.token_actions(account).status().facts()
        return account_facts(row, account, token)

    def create(
        self, name: str, connection: str, facts: Mapping[str, object]
    ) -> Configuration:
        """Store a connection without secrets, or raise EditConflict if it exists."""
        configuration = self._configuration(name)
        made = Connection(
            id=check_connection_id(connection),
            configuration=configuration.record,
            created_at=self.clock.now(),
            **self._checked(configuration, facts),
        )
        _refuse_unusable_values(configuration, made)
        self._note(Tag.CONNECTION_CREATED, with_account(configuration, made, {}))
        registry = self.administration.registry
        with registry.transaction():
            added = registry.add_connection(configuration, made)
            self.administration.vouch(added.account, {CONNECTION})
            registry.note_secrets_changed(added.account)
        return registry.connected(name, connection)

    def update(self, name: str, connection: str, facts: Mapping[str, object]) -> bool:
        """Change facts of a connection; return whether one was different.

        Variables that are not named stay as they are.
        """
        seen = self.current(name, connection)
        assert seen.connection is not None  # noqa: S101 - for the type checker
        unconnected = seen.unconnected or seen
        checked = self._checked(unconnected, facts)
        if "variables" in checked:
            checked["variables"] = {
                **seen.connection.variables,
                **checked["variables"],
            }
        made = replace(seen.connection, **checked)
        _refuse_unusable_values(unconnected, made)
        if made == seen.connection:
            return False
        changed = [
            path
            for path in facts
            if getattr(made, path) != getattr(seen.connection, path)
        ]
        self._change(Tag.CONNECTION_UPDATED, seen, made, *changed)
        return True

    def pause(self, name: str, connection: str) -> bool:
        """Stop sending for an account; return whether it was not paused by a user."""
        seen = self.current(name, connection)
        assert seen.connection is not None  # noqa: S101 - for the type checker
        if not seen.connection.active:
            return False
        made = replace(seen.connection, active=False)
        self._change(Tag.CONNECTION_PAUSED, seen, made)
        return True

    def resume(self, name: str, connection: str) -> bool:
        """End every pause of an account; return whether it was paused."""
        seen = self.current(name, connection)
        assert seen.connection is not None  # noqa: S101 - for the type checker
        if seen.connection.active and not seen.paused:
            return False
        made = replace(seen.connection, active=True)
        # A change of the row ends the pause after refusals as well.
        self._change(Tag.CONNECTION_RESUMED, seen, made)
        return True

    def remove(self, name: str, connection: str) -> None:
        """Delete an account with its secrets and tokens."""
        seen = self.current(name, connection)
        self._note(Tag.CONNECTION_REMOVED, seen)
        registry = self.administration.registry
        with registry.transaction():
            if self.administration.tokens is not None:
                self.administration.tokens.delete_beside(seen)
            registry.remove(seen.account)

    def _configuration(self, name: str) -> Configuration:
        configuration = self.administration.current(name)
        refuse_without_connections(configuration)
        return configuration

    @staticmethod
    def _checked(
        configuration: Configuration, facts: Mapping[str, object]
    ) -> dict[str, Any]:
        """Return the facts as they are stored, or refuse one."""
        if CLIENT_ID in facts and CLIENT_ID not in configuration.connect.own:
            raise ConfigError(
                Text("the client is the configuration's"),
                hint=Text("Name client_id under Own client (connect.own) first."),
                field=CLIENT_ID,
            )
        checked: dict[str, Any] = {
            name: str(BY_PATH[_CHECKED[name]].parse(value, place=name))
            for name, value in facts.items()
            if name != VARIABLES
        }
        if VARIABLES in facts:
            checked[VARIABLES] = _checked_variables(configuration, facts[VARIABLES])
        return checked

    def _change(
        self, tag: Tag, seen: Configuration, made: Connection, *fields: str
    ) -> None:
        self._note(tag, seen, *fields)
        registry = self.administration.registry
        with registry.transaction():
            registry.put_connection(seen, made)
            self.administration.vouch(seen.account, {CONNECTION})

    def _note(self, tag: Tag, account: Configuration, *fields: str) -> None:
        self.administration.audit.note(
            Change(
                tag,
                self.administration.actor,
                account.name,
                fields,
                connection=account.connection_id,
            )
        )


def _checked_variables(configuration: Configuration, values: object) -> dict[str, str]:
    """Return values of declared variables, or refuse one."""
    if not isinstance(values, Mapping):
        raise ConfigError(Text("must be texts by name"), field=VARIABLES)
    declared = configuration.connect.variables
    for name in values:
        if name not in declared:
            raise ConfigError(
                Text("there is no such variable"),
                hint=known_names(sorted(declared)),
                field=variable_field(str(name)),
            )
    return {name: check_variable(name, value) for name, value in values.items()}


def _refuse_unusable_values(configuration: Configuration, made: Connection) -> None:
    """Refuse values that lead elsewhere; those that are missing may follow later."""
    error = with_account(configuration, made, {}).variable_error
    if error is not None and not isinstance(error, VariableMissing):
        raise repeated(error)
