"""The token of another set of credentials, by the refresh token of the client.

The refresh token belongs to the client and not to its secret: there is one, stored with
the token in use, also when the provider replaces it. A second use of a refresh token is
theft to a provider, so a request for the other set holds the lease of the token in use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from outkey.foundation.core import errors
from outkey.foundation.core.secret import Secret
from outkey.sending.core.oauth2.token import LEASE_SECONDS, TokenContent, TokenState
from outkey.sending.engine.tokens.oauth2_source import OAuth2Source
from outkey.sending.engine.tokens.token_source import TokenSource
from outkey.sending.engine.wire.steps import Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.request.message import Response
    from outkey.sending.engine.tokens.token_source import TokenRequest, TokenResult
    from outkey.sending.engine.wire.context import SendContext
    from outkey.sending.engine.wire.steps import Steps

_POLL = 0.1
_STORE_RETRY = 0.5  # seconds between two attempts to store a new refresh token


@dataclass(frozen=True, slots=True)
class SharedRefreshSource(TokenSource):
    """Requests tokens for `configuration`, with another set than `stored` has."""

    context: SendContext
    configuration: Configuration
    stored: Configuration

    @property
    def basis(self) -> str:
        """A fingerprint of the settings that a token depends on."""
        return self._other.basis

    @property
    def _other(self) -> OAuth2Source:
        return OAuth2Source(self.context, self.configuration)

    @property
    def _current(self) -> OAuth2Source:
        return OAuth2Source(self.context, self.stored)

    def refuse_dead(self, state: TokenState, request: TokenRequest) -> None:  # noqa: ARG002
        """Raise unless there is a refresh token that was not refused yet."""
        self._current.refuse_dead(self._client_state(), request)

    def final_error(
        self, reason: str, response: Response | None = None
    ) -> errors.OutkeyError | None:
        """Return the error for a refresh token that cannot be used any more."""
        return self._other.final_error(reason, response)

    def failure(
        self, reason: str, their_time: float | None = None
    ) -> errors.OutkeyError:
        """Return the error for a reason, also from a stored one."""
        return self._other.failure(reason, their_time)

    def request_token(
        self,
        leased: TokenState,  # noqa: ARG002 - it has no refresh token
        request: TokenRequest,
    ) -> Steps[TokenResult]:
        """Use the refresh token of the client, and store its successor first."""
        client = yield from self._lease()
        at = self.context.clock.now()
        lease_ends = self.context.clock.monotonic() + LEASE_SECONDS
        result: TokenResult | None = None
        try:
            result = yield from self._other.request_token(client, request)
            refresh = result.granted(client, at).content
        except errors.OutkeyError:
            self.context.tokens.swap(self.stored, client, client.released())
            if result is None:
                raise  # else `granted` raises it again, with the response to explain it
        else:
            if refresh is not None:
                yield from self._store(client, refresh, lease_ends)
        return result._replace(granted=partial(_without_refresh, result.granted))

    def _client_state(self) -> TokenState:
        """Return the state of the token in use, with the refresh token to be used."""
        state = self.context.tokens.read(self.stored)
        return self._current.state_to_renew(state.for_basis(self._current.basis))

    def _lease(self) -> Steps[TokenState]:
        """Take the lease of the token in use, once no other process has it."""
        context = self.context
        deadline = context.clock.monotonic() + LEASE_SECONDS + 1
        while context.clock.monotonic() < deadline:
            state = self._client_state()
            now = context.tokens.now()
            if not state.is_leased(now):
                leased = state.claimed(context.signer.fresh(), now)
                stored = context.tokens.swap(self.stored, state, leased)
                if stored is not None:
                    return stored
            yield Wait(_POLL * (1 + context.jitter()))
        raise self.failure("waiting")

    def _store(
        self, client: TokenState, granted: TokenContent, lease_ends: float
    ) -> Steps[None]:
        """Store the newest refresh token beside the token in use, which stays.

        The one before may be invalid now, so it is tried while the lease lasts.
        """
        content = client.content or TokenContent(access=Secret(""))
        content = replace(content, refresh=granted.refresh, proof_key=granted.proof_key)
        after = replace(
            client.released(), serial=client.serial + 1, content=content, tries=0
        )
        while True:
            try:
                self.context.tokens.swap(self.stored, client, after)
            except errors.HostError:
                if self.context.clock.monotonic() + _STORE_RETRY >= lease_ends:
                    raise
            else:
                return
            yield Wait(_STORE_RETRY)


def _without_refresh(
    granted: Callable[[TokenState, float], TokenState], before: TokenState, at: float
) -> TokenState:
    """Return the state with the token of a response, but not its refresh token."""
    state = granted(before, at)
    content = state.content and replace(state.content, refresh=None)
    return replace(state, content=content)
