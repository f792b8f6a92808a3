"""Tokens cached by a process, so that sends read the database once a second at most.

Nothing here is locked: every step is one operation on a dictionary, so that a fork in
the middle leaves nothing locked either.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from outkey.foundation.core.origin import Origin
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.oauth2.token import TokenState

_READ_AGAIN = 1.0
_READ_LEASE_AGAIN = 0.1
_MAX_CACHED = 2000
# How long a process that sends nothing any more has tokens in its memory.
CACHED_SECONDS = 5.0
_MAX_EXPIRED = 3
_EXPIRED_SECONDS = 60.0


class CachedToken(NamedTuple):
    """A token with its moments by the monotonic clock, which is never set back."""

    configuration: Configuration
    state: TokenState
    fresh_until: float
    expires: float
    read_again: float

    def is_being_renewed(self, wall: float, now: float) -> bool:
        """Whether another process was renewing the token a moment ago."""
        just_read = now < self.read_again - _READ_AGAIN + _READ_LEASE_AGAIN
        return just_read and self.state.is_leased(wall)


def cache_key(configuration: Configuration) -> str:
    """Return the name of a configuration in the caches of a process."""
    name = configuration.record or configuration.account
    other = configuration.other_set
    return f"{name}:{other.serial}" if other else name


class TokenCache:
    """The cached tokens of this process, and the renewals that it performs."""

    def __init__(self) -> None:
        self._tokens: dict[str, CachedToken] = {}
        self._renewals: dict[str, tuple[int, object]] = {}
        self._accepted: dict[str, int] = {}
        self._expired: dict[str, list[float]] = {}
        self._nonces: dict[tuple[str, Origin], str] = {}
        self._will_forget = False

    def find(
        self, name: str, configuration: Configuration, now: float
    ) -> CachedToken | None:
        """Return the token cached for these settings, unless it must be read again."""
        token = self._tokens.get(name)
        if token is None or now >= token.read_again:
            return None
        return token if token.configuration is configuration else None

    def store(
        self,
        name: str,
        configuration: Configuration,
        state: TokenState,
        *,
        wall: float,
        now: float,
    ) -> CachedToken:
        """Cache a state; a clock that was set back does not extend a token's life."""
        before = self._tokens.get(name)
        is_same = before is not None and before.state.serial == state.serial
        if before is not None and is_same and before.state.lifetime:
            expires = min(before.expires, now + state.lifetime)
        else:
            expires = now + min(state.expires_at - wall, state.lifetime)
        token = CachedToken(
            configuration=configuration,
            state=state,
            fresh_until=expires - state.leeway(configuration.leeway_seconds),
            expires=expires,
            read_again=now + _READ_AGAIN,
        )
        if len(self._tokens) >= _MAX_CACHED:
            for cache in (self._tokens, self._accepted, self._expired, self._nonces):
                cache.clear()
        self._tokens[name] = token
        return token

    def forget_later(
        self, call_later: Callable[[float, Callable[[], object]], None]
    ) -> None:
        """Remove the tokens themselves in a moment; their dates stay."""
        if not self._will_forget:
            self._will_forget = True
            call_later(CACHED_SECONDS, self._forget)

    def _forget(self) -> None:
        self._will_forget = False
        for name, token in list(self._tokens.items()):
            state = replace(token.state, content=None)
            self._tokens[name] = token._replace(state=state, read_again=-inf)

    def begin_renewal(self, name: str) -> bool:
        """Take the in-process renewal lock; return whether it was free."""
        mine = (os.getpid(), object())
        owner = self._renewals.setdefault(name, mine)
        if owner[0] != mine[0]:  # inherited from the parent process
            self._renewals[name] = mine
            return True
        return owner is mine

    def end_renewal(self, name: str) -> None:
        """Release the in-process renewal lock."""
        self._renewals.pop(name, None)

    def note_accepted(self, name: str) -> None:
        """Note that an API accepted the cached token."""
        token = self._tokens.get(name)
        if token is not None:
            self._accepted[name] = token.state.serial

    def may_have_expired(self, name: str, serial: int, now: float) -> bool:
        """Whether an API accepted this very token before, so that it may have expired.

        Limited in number: an API that accepts a token for one path and refuses it for
        another would have it renewed without end.
        """
        if self._accepted.get(name) != serial:
            return False
        recent = [
            at for at in self._expired.get(name, []) if now - at < _EXPIRED_SECONDS
        ]
        self._expired[name] = [*recent, now]
        return len(recent) < _MAX_EXPIRED

    def nonce(self, name: str, origin: Origin) -> str:
        """Return the nonce that a server sent last (RFC 9449 §8)."""
        return self._nonces.get((name, origin), "")

    def put_nonce(self, name: str, origin: Origin, nonce: str) -> None:
        """Remember a server's newest nonce."""
        self._nonces[name, origin] = nonce
