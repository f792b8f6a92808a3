"""CSRF tokens: fetched with the credentials of a configuration, and shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from outkey.sending.core.oauth2.token import CIRCUIT_SECONDS, TokenState, csrf_basis_of
from outkey.sending.core.request.csrf import (
    REFUSED_CREDENTIALS,
    csrf_failure,
    read_csrf_token,
)
from outkey.sending.engine.tokens.renewal import TokenManager, token_manager
from outkey.sending.engine.tokens.token_source import (
    TOKEN_SECONDS,
    TokenRequest,
    TokenResult,
    TokenSource,
)

if TYPE_CHECKING:
    from outkey.foundation.core.errors import OutkeyError
    from outkey.foundation.core.secret import Secret
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.request.message import Response
    from outkey.sending.engine.wire.context import SendContext
    from outkey.sending.engine.wire.steps import Steps

Fetch = Callable[[float], "Steps[Response]"]


def _cannot_fetch(_deadline: float) -> Steps[Response]:
    raise NotImplementedError


def csrf_manager(
    context: SendContext,
    configuration: Configuration,
    fetch: Fetch = _cannot_fetch,
    subject: Secret | None = None,
) -> TokenManager:
    """Return what gets, shares and replaces the CSRF token of a configuration.

    `fetch` sends the request for one until a deadline; without it nothing is fetched.
    Where requests are sent for users, each has one of its own.
    """
    manager = token_manager(context, configuration, subject)
    tokens = manager.context.tokens.csrf()
    beside = replace(context, tokens=tokens, token_cache=context.csrf_cache)
    serial = manager.serial if configuration.fetches_token else 0
    source = CsrfSource(beside, configuration, serial, fetch)
    return replace(manager, context=beside, other_source=source)


@dataclass(frozen=True, slots=True)
class CsrfSource(TokenSource):
    """The CSRF token of one configuration, which can be fetched again at any time."""

    context: SendContext
    configuration: Configuration
    serial: int  # of the token that authenticates the requests
    fetch: Fetch

    @property
    def basis(self) -> str:
        """A fingerprint of the settings that a token depends on."""
        return csrf_basis_of(self.configuration, self.serial)

    def request_token(
        self,
        leased: TokenState,  # noqa: ARG002 - of every source
        request: TokenRequest,  # noqa: ARG002
    ) -> Steps[TokenResult]:
        """Fetch a token."""
        deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        response = yield from self.fetch(deadline)
        return TokenResult(response, partial(self._state_from, response))

    def _state_from(
        self, response: Response, before: TokenState, at: float
    ) -> TokenState:
        """Return the state with the token of a response, or raise its failure."""
        token = read_csrf_token(response, self.configuration, at)
        return replace(before, content=None).granted(
            token, at=at, default_lifetime=self.configuration.csrf.lifetime_seconds
        )

    def note_failure(self, reason: str) -> float:
        """Count refused credentials: an account is locked after a few of them.

        A token that could be renewed was renewed by then.
        """
        if reason != REFUSED_CREDENTIALS:
            return 0.0
        self.context.lockout_guard.record_status(
            self.configuration, 401, self.context.clock.now()
        )
        return CIRCUIT_SECONDS

    def failure(self, reason: str, their_time: float | None = None) -> OutkeyError:
        """Return the error for a reason, also from a stored one."""
        return csrf_failure(reason, their_time)
