"""Tokens of a login at the API itself: log in, refresh, log out."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import unquote

from outkey.foundation.core import errors
from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import STEPS, Configuration
from outkey.sending.core.login.checks import refuse_unusable_login
from outkey.sending.core.login.explained import LoginExchange, explain_login
from outkey.sending.core.login.failures import (
    LOGIN_PATH,
    LOGIN_REFUSED,
    NO_TOKEN,
    NOTHING_TAKEN,
    login_failure,
)
from outkey.sending.core.login.requests import (
    login_request,
    logout_request,
    refresh_request,
    target_of,
)
from outkey.sending.core.login.responses import (
    Finder,
    parse_body,
    read_login,
    reason_of_status,
)
from outkey.sending.core.login.steps import (
    LoginProgress,
    StepPlace,
    after_step,
    document_of,
    first_missing,
    location_of,
    places_of,
    step_request,
)
from outkey.sending.core.oauth2.responses import REDIRECTED, TokenResponse, reason_of
from outkey.sending.core.oauth2.token import (
    CIRCUIT_SECONDS,
    TokenContent,
    TokenState,
    login_basis_of,
)
from outkey.sending.core.request.cookies import cookie_header
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.request.sent_secrets import credentials_in
from outkey.sending.engine.tokens.login_paths import login_finders
from outkey.sending.engine.tokens.token_source import (
    TOKEN_SECONDS,
    TokenRequest,
    TokenResult,
    TokenSource,
    send_or_retry,
)
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps

# What a refresh may end with so that a login is tried: the refresh token is dead, or
# the response has no token.
_DEAD_REFRESH = frozenset(
    {LOGIN_REFUSED, "refused", "not_found", NO_TOKEN, "not_a_token_endpoint"}
)
# A login page responds so to a wrong password: by a redirect, or with the page itself.
_MAYBE_REFUSED = frozenset({*_DEAD_REFRESH, NOTHING_TAKEN, REDIRECTED})
NO_PROGRESS = LoginProgress()
_UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True)
class LoginSource(TokenSource):
    """The login of one configuration; only the pause after failures ends it."""

    context: SendContext
    configuration: Configuration

    @property
    def basis(self) -> str:
        """A fingerprint of the settings that a token depends on."""
        return login_basis_of(self.configuration)

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
        log_in = self._perform_steps if self.configuration.login.steps else self._log_in
        result = yield from log_in(finders, deadline)
        # Only for a user who waits: logs and runs have messages of our own alone.
        return result if request.interactive else result._replace(explain=_say_nothing)

    def _log_in(
        self, finders: Mapping[str, Finder], deadline: float
    ) -> Steps[TokenResult]:
        """Send the request of a login without steps."""
        configuration = self.configuration
        build = partial(login_request, configuration, self._open)
        response = yield from self._send(build, deadline)
        # Without the former refresh token, which is dead or not of this session.
        granted = partial(self._state_from, response, finders, keeps_refresh=False)
        target = target_of(configuration, LOGIN_PATH).partition("?")[0]
        sent = LoginExchange(
            method=configuration.login.method,
            url=f"{configuration.base.origin}{target}",
            response=response,
            document=parse_body(response.body),
            where=configuration.login.token,
        )
        return TokenResult(response, granted, self._explanation(sent))

    def _perform_steps(
        self, finders: Mapping[str, Finder], deadline: float
    ) -> Steps[TokenResult]:
        """Send the steps one after the other, until one fails."""
        configuration = self.configuration
        for name in configuration.needed_secrets():
            configuration.refuse_unbound(name)  # before any step, not with one in vain
        progress = LoginProgress()
        for place in places_of(configuration):
            build = partial(step_request, configuration, place, self._open, progress)
            response = yield from self._send(build, deadline)
            now = self.context.clock.now()
            sent = self._exchange_of(place, response, finders)
            try:
                progress = after_step(
                    configuration, place, response, finders, progress, now=now
                )
            except errors.OutkeyError as error:
                failed = partial(_fail, errors.without_traceback(error))
                return TokenResult(response, failed, self._explanation(sent))
        granted = partial(
            self._state_from,
            response,
            finders,
            keeps_refresh=False,
            progress=progress,
        )
        return TokenResult(response, granted, self._explanation(sent))

    def _exchange_of(
        self, place: StepPlace, response: Response, finders: Mapping[str, Finder]
    ) -> LoginExchange:
        """Return a step and its response for a user who waits."""
        where = ""
        with suppress(errors.OutkeyError):
            where = first_missing(place, response, finders)
        location = location_of(self.configuration, place)
        target = location.target.partition("?")[0]
        return LoginExchange(
            method=place.step.method,
            url=f"{location.origin}{unquote(target)}",
            response=response,
            document=document_of(response, place.step),
            where=where or self.configuration.login.token,
            step=place.number + 1,
        )

    def _explanation(self, sent: LoginExchange) -> Callable[[errors.OutkeyError], None]:
        """Return what adds request, status and names to an error, but no value."""
        is_secret = partial(self._reveals_secret, sent.response)
        return partial(explain_login, sent=sent, is_secret=is_secret)

    def _reveals_secret(self, response: Response, text: str) -> bool:
        """Whether a text has a secret, or a value that was taken for the request."""
        names = self.configuration.needed_secrets()
        secrets = [*map(self._open, names), *credentials_in(response.sent)]
        return reveals_secret(secrets, text)

    def _refresh(
        self, refresh: Secret, finders: Mapping[str, Finder], deadline: float
    ) -> Steps[TokenResult | None]:
        """Refresh the token; None if the refresh token is dead."""
        build = partial(refresh_request, self.configuration, self._open, refresh)
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
        build = partial(logout_request, self.configuration, self._open, content)
        deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        response = yield from self._send(build, deadline)
        if response.status < 300 or response.status == _UNAUTHORIZED:
            return
        reason = reason_of_status(response.status)
        if reason == LOGIN_REFUSED:
            reason = "refused"
        raise login_failure(reason, field="login.logout_path")

    def _send(self, build: Callable[[], Request], deadline: float) -> Steps[Response]:
        """Send a request of the login."""
        return (
            yield from send_or_retry(self.context, self.configuration, build, deadline)
        )

    def _open(self, name: str) -> Secret:
        return self.context.open(self.configuration, name)

    def _read(
        self,
        response: Response,
        finders: Mapping[str, Finder],
        progress: LoginProgress = NO_PROGRESS,
    ) -> TokenResponse:
        return read_login(
            response,
            self.configuration,
            finders,
            now=self.context.clock.now(),
            document=progress.document,
            taken=progress.taken,
            cookies=cookie_header(progress.cookies),
        )

    def _state_from(
        self,
        response: Response,
        finders: Mapping[str, Finder],
        before: TokenState,
        at: float,
        *,
        keeps_refresh: bool,
        progress: LoginProgress = NO_PROGRESS,
    ) -> TokenState:
        """Return the state with the token of a response, or raise its failure."""
        token_response = self._read(response, finders, progress)
        if not keeps_refresh:
            before = replace(before, content=None)
        return before.granted(
            token_response,
            at=at,
            default_lifetime=self.configuration.login.lifetime_seconds,
        )

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
        if self.configuration.login.steps:
            return login_failure(reason, their_time, field=STEPS)
        origin = str(self.configuration.base.origin)
        return login_failure(reason, their_time, address=origin)


def _fail(error: errors.OutkeyError, _before: TokenState, _at: float) -> TokenState:
    """Raise the error of a step."""
    raise error


def _say_nothing(_error: errors.OutkeyError) -> None:
    """Add nothing to an error."""
