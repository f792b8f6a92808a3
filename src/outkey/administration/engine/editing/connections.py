"""The connections of configurations, as a user creates, changes and removes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from outkey.foundation.core.errors import ConfigError, UnknownConnection
from outkey.foundation.core.fields.choices import Connections
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.configuration.connect_settings import CLIENT_ID
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.connections.connection import (
    Connection,
    ConnectionQuery,
    account_name,
)
from outkey.sending.core.connections.ids import check_connection_id
from outkey.sending.core.vault.voucher import CONNECTION

if TYPE_CHECKING:
    from outkey.administration.engine.editing.administration import Administration
    from outkey.foundation.ports.clock import Clock
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.rows import ConfigurationRow

MOST_LISTED = 10_000
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

    def current(self, name: str, connection: str) -> Configuration:
        """Return a configuration with an account as it is stored now."""
        configuration = self._configuration(name)
        account = account_name(configuration.record, check_connection_id(connection))
        return self.administration.current(account)

    def create(
        self, name: str, connection: str, facts: Mapping[str, str]
    ) -> Configuration:
        """Store a connection without secrets, or raise EditConflict if it exists."""
        configuration = self._configuration(name)
        made = Connection(
            id=check_connection_id(connection),
            configuration=configuration.record,
            created_at=self.clock.now(),
            **self._checked(configuration, facts),
        )
        self._note(Tag.CONNECTION_CREATED, configuration.with_connection(made, {}))
        registry = self.administration.registry
        with registry.transaction():
            added = registry.add_connection(configuration, made)
            self.administration.vouch(added.account, {CONNECTION})
            registry.note_secrets_changed(added.account)
        return registry.connected(name, connection)

    def update(self, name: str, connection: str, facts: Mapping[str, str]) -> bool:
        """Change facts of a connection; return whether one was different."""
        seen = self.current(name, connection)
        assert seen.connection is not None  # noqa: S101 - for the type checker
        made = replace(
            seen.connection, **self._checked(seen.unconnected or seen, facts)
        )
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
        if configuration.connections is Connections.NONE:
            raise UnknownConnection(
                Text("the configuration has no connections"),
                hint=Text(
                    "Set Connections (connections) to optional or required first."
                ),
                field="connections",
            )
        return configuration

    @staticmethod
    def _checked(
        configuration: Configuration, facts: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the facts as they are stored, or refuse one."""
        if CLIENT_ID in facts and CLIENT_ID not in configuration.connect.own:
            raise ConfigError(
                Text("the client is the configuration's"),
                hint=Text("Name client_id under Own client (connect.own) first."),
                field=CLIENT_ID,
            )
        return {
            name: str(BY_PATH[_CHECKED[name]].parse(value, place=name))
            for name, value in facts.items()
        }

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
