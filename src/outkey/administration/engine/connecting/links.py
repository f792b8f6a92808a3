"""The links of connections, as they are stored: the newest one of each.

Two shared states: the link itself by its connection, which is vouched for, and for each
hash whose link it is. So a new link ends the earlier ones, and a hash that was written
into the database leads to no link that has it.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from outkey.foundation.core.errors import EditConflict
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.state_shapes import read_one
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.ports.database import Database, StateRows
from outkey.sending.core.connections.links import (
    RANDOM_BYTES,
    REMEMBERED_SECONDS,
    Link,
    LinkEnded,
    LinkUnknown,
    digest_of,
)

_KIND = StateKind.CONNECT_LINK
_BY_HASH = StateKind.CONNECT_LINK_HASH
_MOST_TRIES = 10  # against others who change the same link at the same moment
_SEPARATOR = ":"  # no record of a configuration has it


class FoundLink(NamedTuple):
    """An open link, and the connection that it is for."""

    configuration: str  # the record
    connection: str
    digest: str
    link: Link

    @property
    def key(self) -> str:
        """The key of the link among those that are stored."""
        return link_key(self.configuration, self.connection)


def link_key(configuration: str, connection: str) -> str:
    """Return the key that the link of a connection is stored under."""
    return f"{configuration}{_SEPARATOR}{connection}"


@dataclass(frozen=True, slots=True)
class ConnectLinks:
    """The links of all connections."""

    states: StateRows
    database: Database

    def add(
        self,
        key: str,
        *,
        seconds: float,
        by: str,
        return_url: str,
        allow_other_account: bool,
    ) -> tuple[str, Link]:
        """Store a new link, which ends earlier ones; return its characters with it."""
        token = secrets.token_urlsafe(RANDOM_BYTES)
        link = Link(
            digest=digest_of(token),
            expires_at=self.database.now() + seconds,
            made_by=by,
            return_url=return_url,
            allow_other_account=allow_other_account,
        )
        pointer = {"link": key, "expires_at": link.expires_at}
        self._forget_long_ended()
        with self.database.transaction():
            self._change(key, lambda _before: link)
            self.states.put(_BY_HASH, {link.digest: pointer})
        return token, link

    def find(self, digest: str) -> FoundLink:
        """Return an open link by its hash, or raise LinkUnknown or LinkEnded."""
        pointer = self.states.read(_BY_HASH, [digest]).get(digest)
        key = read_one(digest, pointer, _read_pointer) if pointer else None
        if key is None:
            raise LinkUnknown
        configuration, _, connection = key.partition(_SEPARATOR)
        link = self._open_link(self._read(key), digest)
        return FoundLink(configuration, connection, digest, link)

    def begin_try(self, found: FoundLink) -> None:
        """Count a try before anything is sent for it, or raise LinkEnded.

        So nobody has more of them by trying in many browsers at the same time.
        """
        self._change(
            found.key, lambda state: self._open_link(state, found.digest).tried()
        )

    def refuse_ended(self, found: FoundLink) -> None:
        """Raise LinkEnded if another browser has used the link meanwhile."""
        self._valid_link(self._read(found.key), found.digest)

    def use(self, found: FoundLink) -> None:
        """End a link, or raise LinkEnded if another browser has just done so.

        Belongs into the transaction that stores what the link was for.
        """
        self._change(
            found.key,
            lambda state: self._valid_link(state, found.digest).used(),
        )

    def remove(self, key: str) -> None:
        """End the link of a connection that is removed."""
        self.states.put(_KIND, {key: None})

    def _change(self, key: str, change: Callable[[SharedState], Link]) -> None:
        """Store what a function makes of a link as it is stored now."""
        for _ in range(_MOST_TRIES):
            state = self._read(key)
            if self.states.swap(_KIND, key, state.generation, change(state).facts()):
                return
        raise EditConflict

    def _read(self, key: str) -> SharedState:
        """Return a link as it is stored; SecretUnreadable if outkey did not do that."""
        return self.states.read(_KIND, [key]).get(key, SharedState())

    def _open_link(self, state: SharedState, digest: str) -> Link:
        link = self._valid_link(state, digest)
        if not link.is_open(digest, self.database.now()):
            raise LinkEnded
        return link

    def _valid_link(self, state: SharedState, digest: str) -> Link:
        """Return a link, also while its last try has not ended."""
        link = read_one("", state, _read_link) if state.generation else None
        if link is None or not link.is_valid(digest, self.database.now()):
            raise LinkEnded
        return link

    def _forget_long_ended(self) -> None:
        """Delete the hashes of links that ended long ago: they are unknown then."""
        before = self.database.now() - REMEMBERED_SECONDS
        ended = [
            digest
            for digest, state in self.states.read(_BY_HASH).items()
            if is_odd(state.value) or state.value["expires_at"] < before
        ]
        self.states.put(_BY_HASH, dict.fromkeys(ended))


def _read_pointer(_digest: str, state: SharedState) -> str:
    return str(state.value["link"])


def _read_link(_key: str, state: SharedState) -> Link:
    return Link.from_facts(state.value)
