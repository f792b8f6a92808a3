"""The tokens that a process has at hand, so that a send asks the database once a second at most.

Nothing here is locked: every step is one operation on a dictionary, so that a fork in the middle
leaves nothing locked either.
"""

import os
from typing import NamedTuple

from outkey.core.config.configuration import Configuration
from outkey.core.oauth2.token import TokenState
from outkey.core.request.origin import Origin

_LOOK_AGAIN = 1.0
_LOOK_AT_LEASE = 0.1
_MOST_HELD = 2000
_MOST_ENDED, _ENDED_SECONDS = 3, 60.0


class CachedToken(NamedTuple):
    """A token with its moments by the monotonic clock, which nobody sets."""

    configuration: Configuration
    state: TokenState
    fresh_until: float
    ends: float
    look_again: float

    def is_being_renewed(self, wall: float, now: float) -> bool:
        """Tell whether somebody elsewhere was getting the next token a moment ago."""
        just_read = now < self.look_again - _LOOK_AGAIN + _LOOK_AT_LEASE
        return just_read and self.state.is_leased(wall)


class TokenCache:
    """What this process knows of tokens, and who in it is getting one."""

    def __init__(self) -> None:
        self._held: dict[str, CachedToken] = {}
        self._busy: dict[str, tuple[int, object]] = {}
        self._accepted: dict[str, int] = {}
        self._ended: dict[str, list[float]] = {}
        self._nonces: dict[tuple[str, Origin], str] = {}

    def find(
        self, name: str, configuration: Configuration, now: float
    ) -> CachedToken | None:
        """Return what is held for these settings, if it was looked at a moment ago."""
        held = self._held.get(name)
        if (
            held is None
            or now >= held.look_again
            or held.configuration is not configuration
        ):
            return None
        return held

    def hold(
        self,
        name: str,
        configuration: Configuration,
        state: TokenState,
        *,
        wall: float,
        now: float,
    ) -> CachedToken:
        """Keep a state at hand. A clock that was set back does not make a token live longer."""
        before = self._held.get(name)
        if (
            before is not None
            and before.state.serial == state.serial
            and before.state.lifetime
        ):
            ends = min(before.ends, now + state.lifetime)
        else:
            ends = now + min(state.expires_at - wall, state.lifetime)
        fresh = ends - state.leeway(configuration.oauth2.leeway_seconds)
        held = CachedToken(configuration, state, fresh, ends, now + _LOOK_AGAIN)
        if len(self._held) >= _MOST_HELD:
            for known in (self._held, self._accepted, self._ended, self._nonces):
                known.clear()
        self._held[name] = held
        return held

    def begin(self, name: str) -> bool:
        """Become the one in this process that gets a token, if nobody else is."""
        mine = (os.getpid(), object())
        found = self._busy.setdefault(name, mine)
        if (
            found[0] != mine[0]
        ):  # left behind by the process that this one was forked from
            self._busy[name] = found = mine
        return found is mine

    def end(self, name: str) -> None:
        """Let the next one."""
        self._busy.pop(name, None)

    def accept(self, name: str) -> None:
        """Note that an API took the token that is held."""
        held = self._held.get(name)
        if held is not None:
            self._accepted[name] = held.state.serial

    def may_end(self, name: str, serial: int, now: float) -> bool:
        """Tell whether an API took this very token before, so that it can have come to its end.

        An API that takes a token here and refuses it there would have it renewed without end.
        """
        if self._accepted.get(name) != serial:
            return False
        recent = [at for at in self._ended.get(name, []) if now - at < _ENDED_SECONDS]
        self._ended[name] = [*recent, now]
        return len(recent) < _MOST_ENDED

    def nonce(self, name: str, origin: Origin) -> str:
        """Return the nonce that a server gave last (RFC 9449 §8)."""
        return self._nonces.get((name, origin), "")

    def put_nonce(self, name: str, origin: Origin, nonce: str) -> None:
        """Remember a server's newest nonce."""
        self._nonces[name, origin] = nonce
