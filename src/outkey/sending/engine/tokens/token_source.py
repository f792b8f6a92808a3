"""Where tokens come from: what OAuth 2.0, logins and the roles of AWS do differently.

`renewal.py` decides who requests a token, and when, for all of them.
"""

from collections.abc import Callable
from functools import partial
from math import inf
from typing import NamedTuple, Protocol

from outkey.foundation.core.errors import (
    ConnectionFailed,
    OutkeyError,
    ReauthorizationNeeded,
    TimedOut,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.responses import MAX_RESPONSE
from outkey.sending.core.oauth2.token import AccessToken, TokenState
from outkey.sending.core.request.message import Request, Response
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps
from outkey.sending.engine.wire.transmit import RequestBudget, transmit

# Shorter than the lease, so that no other process sends a request while a response may
# still come.
TOKEN_SECONDS = 12.0


class TokenRequest(NamedTuple):
    """Why a token is needed, and what may be tried to get it."""

    rejected: AccessToken | None = None  # the token that the API refused
    token_was_refused: bool = False  # the response named the token as the reason
    deadline: float = inf  # by the monotonic clock
    # A user waits: send a request even if the provider has just failed, to show why.
    interactive: bool = False
    # Send a request even if the last refresh token was refused or used.
    force: bool = False


class TokenResult(NamedTuple):
    """The response to a token request, and what makes a state of it.

    `granted` takes the state before and the moment of the request. It raises why the
    response has no token.
    """

    response: Response
    granted: Callable[[TokenState, float], TokenState]
    # Adds what the provider said to an error; of a login no value is added.
    explain: Callable[[OutkeyError], None] = lambda _error: None


def not_connected(hint: Text | None) -> ReauthorizationNeeded:
    """Return the error for an access that no user has authorized yet."""
    message = Text("no user has authorized the access yet")
    return ReauthorizationNeeded(message, hint=hint, reason="not-connected")


class TokenSource(Protocol):
    """How the tokens of one configuration are requested and read.

    What has a body is for tokens that can be requested again at any time, without a
    user; other sources replace it.
    """

    @property
    def basis(self) -> str:
        """A fingerprint of the settings that a token depends on, in four parts.

        `TokenState.for_basis` compares them.
        """

    def state_to_renew(self, state: TokenState) -> TokenState:
        """Return the state to renew, without what new credentials have replaced."""
        return state

    def refuse_dead(
        self,
        state: TokenState,  # noqa: ARG002 - for sources that need a user
        request: TokenRequest,  # noqa: ARG002
    ) -> None:
        """Raise if there are no credentials but those that were refused already."""
        return

    def request_token(
        self, leased: TokenState, request: TokenRequest
    ) -> Steps[TokenResult]:
        """Request a token and return the response, within TOKEN_SECONDS."""

    def final_error(
        self,
        reason: str,  # noqa: ARG002 - for sources that need a user
        response: Response | None = None,  # noqa: ARG002
    ) -> OutkeyError | None:
        """Return the error for a user who must act, if a failure ends the renewals."""
        return None

    def note_failure(self, reason: str) -> float:  # noqa: ARG002 - for logins
        """Take note of a failure; return the seconds to wait at least."""
        return 0.0

    def failure(self, reason: str, their_time: float | None = None) -> OutkeyError:
        """Return the error for a reason, also from a stored one."""


def send_for_token(
    context: SendContext,
    configuration: Configuration,
    request: Request,
    deadline: float,
    *,
    retry: int,
) -> Steps[Response]:
    """Send one token request, unless its time is over."""
    # A process that was suspended may resume after its lease has ended.
    if context.clock.monotonic() >= deadline:
        raise TimedOut
    budget = RequestBudget(deadline, MAX_RESPONSE, retry=retry, for_token=True)
    return (yield from transmit(context, configuration, request, budget))


def send_or_retry(
    context: SendContext,
    configuration: Configuration,
    build: Callable[[], Request],
    deadline: float,
) -> Steps[Response]:
    """Send a token request; build and send it once more after a broken connection."""
    send = partial(send_for_token, context, configuration)
    try:
        return (yield from send(build(), deadline, retry=0))
    except ConnectionFailed:
        pass
    return (yield from send(build(), deadline, retry=1))
