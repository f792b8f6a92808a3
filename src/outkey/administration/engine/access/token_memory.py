"""The cache of a process for the tokens of the HTTP interface.

Otherwise every request would read its token from the database and write its rate limit
there, which takes longer than the rest of a send.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from outkey.sending.core.request.rate_limit import Pace, RateLimit

if TYPE_CHECKING:
    from outkey.administration.core.access.api_tokens import ApiToken

READ_AGAIN = 1.0  # how long a token that was revoked elsewhere is accepted at most


class AcceptedToken(NamedTuple):
    """A token, and the moment of the monotonic clock at which it is read again."""

    token: ApiToken
    read_again: float


class TokenMemory:
    """The tokens that were accepted within the last second, and the pace of each.

    Only valid tokens are stored, so that an attacker cannot fill it.
    """

    def __init__(self) -> None:
        self._accepted: dict[str, AcceptedToken] = {}
        self._paces: dict[str, Pace] = {}
        self._lock = threading.Lock()

    def find(self, digest: str, now: float) -> ApiToken | None:
        """Return a token that was accepted a moment ago."""
        accepted = self._accepted.get(digest)
        if accepted is None or accepted.read_again <= now:
            return None
        return accepted.token

    def accept(self, token: ApiToken, now: float) -> None:
        """Remember that a token was read and is valid."""
        self._accepted[token.digest] = AcceptedToken(token, now + READ_AGAIN)

    def forget(self, digest: str) -> None:
        """Have a token read again at its next request."""
        self._accepted.pop(digest, None)

    def permit(self, token: ApiToken, now: float) -> bool:
        """Take a permit of the rate limit; False while it is exhausted."""
        limit = RateLimit(token.per_minute)
        with self._lock:
            pace = self._paces.get(token.digest, Pace())
            if limit.opens(limit.first_slot(pace, now)) > now:
                return False
            self._paces[token.digest], _ = limit.lease(pace, now, 1)
            return True
