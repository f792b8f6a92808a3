"""Tokens of a login at the API itself: log in, refresh, log out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from outkey.foundation.core import errors
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.login.checks import refuse_unusable_login
from outkey.sending.core.login.explained import explain_login
from outkey.sending.core.login.failures import LOGIN_REFUSED, login_failure
from outkey.sending.core.login.requests import (
    login_request,
    logout_request,
    refresh_request,
)
from outkey.sending.core.login.responses import (
    Finder,
    read_login,
    reason_of_status,
)
from outkey.sending.core.oauth2.responses import REDIRECTED, TokenResponse, reason_of
from outkey.sending.core.oauth2.token import (
    CIRCUIT_SECONDS,
    TokenContent,
    TokenState,
    login_basis_of,
)
from outkey.sending.core.request.message import Request, Response
from outkey.sending.engine.tokens.login_paths import login_finders
from outkey.sending.engine.tokens.shown_refusal import reveals
from outkey.sending.engine.tokens.token_source import (
    TOKEN_SECONDS,
    TokenRequest,
    TokenResult,
    send_for_token,
)
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps

# What a refresh may end with so that a login is tried: the refresh token is dead, or
# the response has no token.
_DEAD_REFRESH = frozenset(
    {LOGIN_REFUSED, "refused", "not_found", "no_token", "not_a_token_endpoint"}
)
# A login page responds so to a wrong password: by a redirect, or with the page itself.
_MAYBE_REFUSED = frozenset({*_DEAD_REFRESH, REDIRECTED})
_UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True)
class LoginSource:
    """The login of one configuration."""

    context: SendContext
    configuration: Configuration

    @property
    def basis(self) -> str:
        """A fingerprint of the settings that a token depends on."""
        return login_basis_of(self.configuration)

    def state_to_renew(self, state: TokenState) -> TokenState:
        """Return the state as it is."""
        return state

    def refuse_dead(self, state: TokenState, request: TokenRequest) -> None:
        """Refuse nothing: a login can be repeated, unless a wait forbids it."""

    def request_token(
        self,
        leased: TokenState,
        request: TokenRequest,
    ) -> Steps[TokenResult]:
        """Refresh the token if possible, else log in."""
        refuse_unusable_login(self.configuration)
        finders = login_finders(self.context.paths, self.configuration)
        deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        refresh = leased.content.refresh if leased.content else None
        if refresh is not None and self.configuration.login.refresh_path:
            result = yield from self._refresh(refresh, finders, deadline)
            if result is not None:
                return result
        build = partial(login_request, self.configuration, self._opener)
        response = yield from self._send(build, deadline)
        # Without the former refresh token, which is dead or not of this session.
        granted = partial(self._state_from, response, finders, keeps_refresh=False)
        result = TokenResult(response, granted)
        # Only for a user who waits: logs and runs have messages of our own alone.
        if request.interactive:
            return result._replace(explain=partial(self._explain, response))
        return result

    def _explain(self, response: Response, error: errors.OutkeyError) -> None:
        """Add request, status and names of members to an error, but no value."""
        explain_login(
            error, response, self.configuration, is_secret=self._reveals_secret
        )

    def _reveals_secret(self, text: str) -> bool:
        names = self.configuration.needed_secrets()
        return reveals(map(self._opener, names), [text])

    def _refresh(
        self, refresh: Secret, finders: Mapping[str, Finder], deadline: float
    ) -> Steps[TokenResult | None]:
        """Refresh the token; None if the refresh token is dead."""
        build = partial(refresh_request, self.configuration, self._opener, refresh)
        response = yield from self._send(build, deadline)
        granted = partial(self._state_from, response, finders, keeps_refresh=True)
        try:
            self._read(response, finders)
        except errors.OutkeyError as error:
            if reason_of(error) in _DEAD_REFRESH:
                return None
        return TokenResult(response, granted)

    def logout(self, content: TokenContent) -> Steps[None]:
        """End the session of a token; one that the API does not know has ended."""
        refuse_unusable_login(self.configuration)
        build = partial(
            logout_request,
            self.configuration,
            self._opener,
            content.access,
            content.refresh,
        )
        deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        response = yield from self._send(build, deadline)
        if response.status < 300 or response.status == _UNAUTHORIZED:
            return
        reason = reason_of_status(response.status)
        if reason == LOGIN_REFUSED:
            reason = "refused"
        raise login_failure(reason, field="login.logout_path")

    def _send(self, build: Callable[[], Request], deadline: float) -> Steps[Response]:
        """Send a request; once more after a broken connection."""
        send = partial(send_for_token, self.context, self.configuration)
        try:
            return (yield from send(build(), deadline, retry=0))
        except errors.ConnectionFailed:
            pass
        return (yield from send(build(), deadline, retry=1))

    def _opener(self, name: str) -> Secret:
        return self.context.open(self.configuration, name)

    def _read(self, response: Response, finders: Mapping[str, Finder]) -> TokenResponse:
        now = self.context.clock.now()
        return read_login(response, self.configuration, finders, now=now)

    def _state_from(
        self,
        response: Response,
        finders: Mapping[str, Finder],
        before: TokenState,
        at: float,
        *,
        keeps_refresh: bool,
    ) -> TokenState:
        """Return the state with the token of a response, or raise its failure."""
        token_response = self._read(response, finders)
        if not keeps_refresh:
            before = replace(before, content=None)
        return before.granted(
            token_response,
            at=at,
            default_lifetime=self.configuration.login.lifetime_seconds,
        )

    def final_error(
        self,
        reason: str,  # noqa: ARG002 - of every source
        response: Response | None = None,  # noqa: ARG002
    ) -> errors.OutkeyError | None:
        """Return nothing: only the pause ends the logins."""
        return None

    def note_failure(self, reason: str) -> float:
        """Count a refused login, and repeat it after a minute at the earliest.

        An account is locked after a few of them. What may be a refusal in another form
        waits as long, but does not count.
        """
        if reason != LOGIN_REFUSED:
            return CIRCUIT_SECONDS if reason in _MAYBE_REFUSED else 0.0
        self.context.lockout_guard.record_status(
            self.configuration, _UNAUTHORIZED, self.context.clock.now()
        )
        return CIRCUIT_SECONDS

    def failure(
        self, reason: str, their_time: float | None = None
    ) -> errors.OutkeyError:
        """Return the error for a reason, also from a stored one."""
        origin = str(self.configuration.base.origin)
        return login_failure(reason, their_time, address=origin)
