"""The connections of configurations, as a user creates, changes and removes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from outkey.administration.engine.connecting.links import link_key
from outkey.foundation.core.errors import (
    ConfigError,
    UnknownConnection,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connection import (
    Connection,
    ConnectionQuery,
)
from outkey.sending.core.connections.entered_facts import (
    check_facts,
    refuse_unusable_values,
)
from outkey.sending.core.connections.facts import account_facts
from outkey.sending.core.connections.ids import check_connection_id
from outkey.sending.core.connections.naming import (
    refuse_without_connections,
)
from outkey.sending.core.vault.voucher import CONNECTION

if TYPE_CHECKING:
    from outkey.administration.engine.connecting.links import ConnectLinks
    from outkey.administration.engine.editing.administration import Administration
    from outkey.foundation.ports.clock import Clock
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.rows import ConfigurationRow
    from outkey.sending.engine.exchange.sender import Sender

MOST_LISTED = 10_000


@dataclass(frozen=True, slots=True)
class ConnectionAdministration:
    """The connections of all configurations, by one user. Each change is recorded."""

    administration: Administration
    clock: Clock
    links: ConnectLinks | None = None  # None: there are none to end

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
            **check_facts(configuration, facts),
        )
        refuse_unusable_values(with_account(configuration, made, {}))
        self._note(Tag.CONNECTION_CREATED, with_account(configuration, made, {}))
        registry = self.administration.registry
        with registry.transaction():
            account = registry.add_connection(configuration, made)
            self.administration.vouch(account, {CONNECTION})
            registry.note_secrets_changed(account)
        return registry.connected(name, connection)

    def update(self, name: str, connection: str, facts: Mapping[str, object]) -> bool:
        """Change facts of a connection; return whether one was different.

        Variables that are not named stay as they are.
        """
        seen = self.current(name, connection)
        assert seen.connection is not None  # noqa: S101 - for the type checker
        unconnected = seen.unconnected or seen
        checked = check_facts(unconnected, facts)
        if "variables" in checked:
            checked["variables"] = {
                **seen.connection.variables,
                **checked["variables"],
            }
        made = replace(seen.connection, **checked)
        refuse_unusable_values(with_account(unconnected, made, {}))
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
            assert seen.connection is not None  # noqa: S101 - for the type checker
            if self.links is not None:
                self.links.remove(link_key(seen.connection.configuration, connection))
            registry.remove(seen.account)

    def _configuration(self, name: str) -> Configuration:
        configuration = self.administration.current(name)
        refuse_without_connections(configuration)
        return configuration

    def _change(
        self, tag: Tag, seen: Configuration, made: Connection, *fields: str
    ) -> None:
        self._note(tag, seen, *fields)
        registry = self.administration.registry
        with registry.transaction():
            registry.put_connection(seen, made)
            # Not for what was changed outside of outkey: only a user can confirm that.
            if CONNECTION not in self.administration.unconfirmed_facts(seen):
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
