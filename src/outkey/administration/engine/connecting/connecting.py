"""Connecting an account by its link: what was entered is tried, and stored at once.

open       who has a link sees what is to be entered; nothing is used up
connect    what was entered is tested, and stored if the API accepts it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from outkey.administration.engine.connecting.candidate import Candidate
from outkey.administration.engine.connecting.connectable import (
    is_connected_by_consent,
)
from outkey.administration.engine.connecting.failures import TryFailed, failed_try
from outkey.administration.engine.editing.changes import destinations_of
from outkey.foundation.core.errors import (
    HostError,
    OutkeyError,
    UnknownConfiguration,
    UnknownConnection,
)
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.connections.connect_form import (
    Entered,
    Entry,
    entries_of,
    read_entered,
)
from outkey.sending.core.connections.connection import account_name
from outkey.sending.core.connections.links import LinkEnded, LinkUnknown, digest_of
from outkey.sending.core.connections.return_urls import return_url_with
from outkey.sending.core.vault.voucher import CONNECTION

if TYPE_CHECKING:
    from outkey.administration.engine.connecting.links import ConnectLinks, FoundLink
    from outkey.administration.engine.editing.administration import Administration
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.connections.connection import Connection
    from outkey.sending.engine.exchange.sender import Sender
    from outkey.sending.ports.sending import Tokens

ACTOR = "connect link"
CONNECTED = "connected"


class OpenedLink(NamedTuple):
    """A link that connects an account, and the account as it is stored now."""

    found: FoundLink
    seen: Configuration
    unconnected: Configuration

    @property
    def connection(self) -> Connection:
        """The account."""
        assert self.seen.connection is not None  # noqa: S101 - for the type checker
        return self.seen.connection

    @property
    def needs_consent(self) -> bool:
        """Whether a user agrees at the provider, instead of entering credentials."""
        return is_connected_by_consent(self.unconnected)

    @property
    def entries(self) -> list[Entry]:
        """What is to be entered."""
        return entries_of(self.unconnected, self.connection)


class InvalidEntries(Exception):
    """Something that was entered cannot be right, by the name of its input."""

    def __init__(self, errors: Mapping[str, OutkeyError]) -> None:
        super().__init__()
        self.errors = errors


@dataclass(frozen=True, slots=True)
class Connecting:
    """Connects accounts by their links, for browsers without a user."""

    administration: Administration
    links: ConnectLinks
    sender: Sender
    new_tokens: Callable[[], Tokens]  # an empty store for one try

    def open(self, token: str) -> OpenedLink:
        """Return what a link is for, or raise LinkUnknown or LinkEnded."""
        return self.open_by_hash(digest_of(token))

    def open_by_hash(self, digest: str) -> OpenedLink:
        """Return what a link is for, by the hash of its characters."""
        found = self.links.find(digest)
        unconnected = self.configuration_of(found.configuration)
        if unconnected is None:
            raise LinkUnknown
        try:
            account = account_name(found.configuration, found.connection)
            seen = self.administration.current(account)
        except (UnknownConfiguration, UnknownConnection):
            raise LinkEnded from None
        return OpenedLink(found, seen, unconnected)

    def configuration_of(self, record: str) -> Configuration | None:
        """Return the configuration with an id as it is stored now, if there is one."""
        registry = self.administration.registry
        name = registry.names_of([record]).get(record)
        return None if name is None else registry.get(name)

    def connect(self, opened: OpenedLink, values: Mapping[str, str]) -> str:
        """Connect the account with what was entered; return where the browser goes.

        Raises InvalidEntries where nothing was sent, TryFailed, and LinkEnded if the
        link has just connected the account, or has had too many tries.
        """
        candidate = self.candidate(opened, self.read(opened, values))
        self.links.begin_try(opened.found)
        with failures():
            self.refuse_changed(opened)
            candidate.request_token()
            candidate.read_token_variables()
            candidate.request_variables()
            self.refuse_other_account(opened, candidate)
            candidate.test()
        return self.store(opened, candidate)

    @staticmethod
    def read(opened: OpenedLink, values: Mapping[str, str]) -> Entered:
        """Return what was entered, or raise InvalidEntries."""
        entered, errors = read_entered(opened.entries, values)
        if errors:
            raise InvalidEntries(errors)
        return entered

    def candidate(self, opened: OpenedLink, entered: Entered) -> Candidate:
        """Return the account with what was entered, and with no other credentials."""
        connection = replace(
            opened.connection,
            **entered.facts,
            variables={**opened.connection.variables, **entered.variables},
        )
        return Candidate(
            self.sender,
            opened.unconnected,
            connection,
            entered.secrets,
            self.new_tokens(),
        )

    def refuse_changed(self, opened: OpenedLink) -> None:
        """Refuse an account whose facts were changed in the database.

        Storing it would vouch for them.
        """
        self.administration.secrets.refuse_changed_settings(opened.seen)

    @staticmethod
    def refuse_other_account(opened: OpenedLink, candidate: Candidate) -> None:
        """Refuse another account than before, unless the link allows one."""
        if not opened.found.link.allow_other_account:
            candidate.refuse_other_account(opened.connection)

    def store(self, opened: OpenedLink, candidate: Candidate) -> str:
        """Store an account that the provider accepts; return where the browser goes.

        The link ends in the same transaction, so that a kill leaves the account as it
        was or connected.
        """
        now = self.sender.context.clock.now()
        connected_at = opened.connection.connected_at or now
        connection = replace(candidate.connection, connected_at=connected_at)
        self.links.refuse_ended(opened.found)
        self._note(opened, candidate)
        registry = self.administration.registry
        with registry.transaction():
            self.links.use(opened.found)
            registry.put_connection(opened.seen, connection)
            self._store_credentials(opened.seen.account, candidate)
        return_url = opened.found.link.return_url
        if not return_url:
            return ""
        return return_url_with(return_url, connection.id, CONNECTED)

    def _store_credentials(self, account: str, candidate: Candidate) -> None:
        administration = self.administration
        facts = {CONNECTION}
        for field, secret in candidate.entered.items():
            stored = administration.current(account)
            administration.secrets.set_value(stored, field, secret, by=ACTOR)
            facts |= {field, *destinations_of(field)}
        administration.registry.note_secrets_changed(account)
        administration.vouch(account, facts)
        candidate.store_token(administration.current(account))

    def _note(self, opened: OpenedLink, candidate: Candidate) -> None:
        """Record which account is connected, and what is stored for it."""
        variables = [f"variables.{name}" for name in candidate.connection.variables]
        self.administration.audit.note(
            Change(
                Tag.CONNECTION_CONNECTED,
                ACTOR,
                opened.unconnected.name,
                fields=(*candidate.entered, *variables),
                connection=opened.connection.id,
            )
        )


@contextmanager
def failures() -> Iterator[None]:
    """Turn what ends a try into why the account could not be connected.

    The storage of outkey is no reason that concerns whoever connects it.
    """
    try:
        yield
    except (HostError, TryFailed, LinkEnded):
        raise
    except OutkeyError as error:
        raise failed_try(error) from None
