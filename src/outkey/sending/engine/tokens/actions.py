"""Actions of users on a configuration's token: show, renew, revoke, delete, agree."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    ReauthorizationNeeded,
    RedirectBlocked,
    RemoteError,
    TokenEndpointFailed,
)
from outkey.foundation.core.fields.choices import Grant
from outkey.foundation.core.moments import iso_or_none
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.checks import refuse_unsendable
from outkey.sending.core.configuration.configuration import PUSHED_URL, Configuration
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.oauth1.legs import TemporaryToken
from outkey.sending.core.oauth2 import grants
from outkey.sending.core.oauth2.client_auth import Parameters
from outkey.sending.core.oauth2.grants import Consent, DeviceCode, PushedRequest
from outkey.sending.core.oauth2.responses import (
    failure,
    name_url,
    pushed_failure,
    read_document,
    reason_of,
)
from outkey.sending.core.oauth2.token import (
    AccessToken,
    State,
    TokenContent,
    TokenState,
)
from outkey.sending.core.request.message import Response
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets
from outkey.sending.engine.tokens.csrf_source import csrf_manager
from outkey.sending.engine.tokens.login_source import LoginSource
from outkey.sending.engine.tokens.oauth2_source import OAuth2Source
from outkey.sending.engine.tokens.renewal import TokenManager, token_manager
from outkey.sending.engine.tokens.shown_refusal import add_words
from outkey.sending.engine.tokens.token_source import TokenRequest
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps, Wait

# Reasons that do not end the waiting for a user.
_PASSING = frozenset(
    (
        "authorization_pending",
        "slow_down",
        "temporarily_unavailable",
        "server_error",
        "rate_limited",
        "timeout",
        "connection",
    )
)
_WITHOUT_TOKEN = (State.NONE, State.REAUTHORIZATION_NEEDED)
_WITH_USER = (Grant.AUTHORIZATION_CODE, Grant.DEVICE_CODE)
_SLOWER = 5.0  # RFC 8628 §3.5: what slow_down asks for


@dataclass(frozen=True, slots=True)
class TokenStatus:
    """The status of a token, as every interface shows it. Moments are Unix times."""

    state: State
    expires_at: float | None = None
    expires_in: int | None = None
    scope: str = ""
    last_renewed_at: float | None = None
    error: str | None = None
    subjects: int | None = None  # the users with a token, where requests bring theirs
    csrf: State | None = None  # of the CSRF token, where requests carry one

    def facts(self) -> dict[str, object]:
        """Return it as programs read it; what does not apply is left out."""
        facts = asdict(self)
        for name in ("subjects", "csrf"):
            if facts[name] is None:
                del facts[name]
        for name in ("expires_at", "last_renewed_at"):
            facts[name] = iso_or_none(facts[name])
        return facts


class TokenAction(StrEnum):
    """An action on a token that a page offers."""

    CONNECT = "connect"
    RENEW = "renew"
    REVOKE = "revoke"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class TokenActions:
    """The token of one configuration, for users; `run` performs the steps."""

    context: SendContext
    configuration: Configuration
    run: Callable[[Steps[Any]], Any]
    # The token of a user, where each request brings one: then it is about theirs.
    subject: Secret | None = None

    def status(self) -> TokenStatus:
        """Return the status of the stored token; sends nothing.

        Of a configuration without one, that of its CSRF token.
        """
        has_csrf = bool(self.configuration.csrf.path) and not self._is_about_all
        csrf = self._csrf.state() if has_csrf else None
        if csrf is not None and not self.configuration.fetches_token:
            return self._status_of(*csrf)
        status = self._own_status()
        return status if csrf is None else replace(status, csrf=csrf[1])

    def _own_status(self) -> TokenStatus:
        """Return the status of the token that authenticates requests."""
        if self._is_about_all:
            subjects = self.context.tokens.subjects(self.configuration)
            return TokenStatus(State.NONE, subjects=subjects)
        return self._status_of(*self._manager.state())

    def _status_of(self, state: TokenState, freshness: State) -> TokenStatus:
        """Return the status of a token in this state."""
        error = state.error or None
        if state.access is None:
            return TokenStatus(freshness, error=error)
        if self.configuration.has_three_legs:  # such a token states no end
            return TokenStatus(freshness, last_renewed_at=state.obtained_at)
        return TokenStatus(
            freshness,
            expires_at=state.expires_at,
            expires_in=max(0, int(state.expires_at - self.context.clock.now())),
            scope=state.scope,
            last_renewed_at=state.obtained_at,
            error=error,
        )

    def last_error(self, status: TokenStatus) -> OutkeyError | None:
        """Return the error of the last renewal, if it failed."""
        if not status.error:
            return None
        is_csrf = not self.configuration.fetches_token
        return (self._csrf if is_csrf else self._manager).failure(status.error)

    def possible(self, status: TokenStatus) -> set[TokenAction]:
        """Return the actions that a token of this status allows, permissions aside."""
        configuration = self.configuration
        grant = configuration.oauth2.grant if configuration.uses_oauth2 else None
        actions: set[TokenAction] = set()
        if self._is_about_all:
            return {TokenAction.FORGET} if status.subjects else actions
        if not configuration.fetches_token:  # a CSRF token is fetched when it is needed
            return actions if status.state is State.NONE else {TokenAction.FORGET}
        if configuration.has_three_legs:
            actions.add(TokenAction.CONNECT)
            if status.state is not State.NONE:
                actions.add(TokenAction.FORGET)
            return actions
        if grant is Grant.AUTHORIZATION_CODE:
            actions.add(TokenAction.CONNECT)
        if grant not in _WITH_USER or status.state not in _WITHOUT_TOKEN:
            actions.add(TokenAction.RENEW)
        if status.state is not State.NONE:
            actions.add(TokenAction.FORGET)
            if self._revocation:
                actions.add(TokenAction.REVOKE)
        return actions

    @property
    def _is_about_all(self) -> bool:
        """Whether there are tokens of users, and this is about none of them alone."""
        return self.configuration.needs_subject and self.subject is None

    @property
    def _revocation(self) -> str:
        """Where a token is revoked; empty if that is not set."""
        if self.configuration.uses_login:
            return self.configuration.login.logout_path
        if self.configuration.uses_aws_role:
            return ""  # a session of STS lasts until it ends
        return self.configuration.oauth2.revocation_url

    def would_lose_consent(self) -> bool:
        """Whether a user must agree again after the token is deleted."""
        if self.configuration.needs_subject:
            return False
        state, _ = self._manager.state()
        if self.configuration.has_three_legs:
            return state.access is not None
        has_refresh = state.content is not None and state.content.refresh is not None
        return has_refresh and self.configuration.needs_consent

    def ready(self) -> AccessToken:
        """Return a valid token, even if the provider has just failed."""
        token: AccessToken = self.run(self._manager.get(TokenRequest(interactive=True)))
        return token

    def renew(self) -> TokenStatus:
        """Get a new token now, and store it."""
        refuse_unsendable(self.configuration)
        state, _ = self._manager.state()
        self.run(
            self._manager.get(TokenRequest(state.access, interactive=True, force=True))
        )
        return self.status()

    def forget(self) -> None:
        """Delete the token here, or those of all users; nothing is revoked.

        With it the CSRF token, which belongs to the same session.
        """
        if self.configuration.csrf.path and not self._is_about_all:
            self.run(self._csrf.delete())
            if not self.configuration.fetches_token:
                return
        if self._is_about_all:
            self.context.tokens.delete_beside(self.configuration)
            return
        self.run(self._manager.delete())

    def revoke(self) -> None:
        """Revoke the tokens at the provider (RFC 7009) or log out, then delete them."""
        if self.configuration.uses_login:
            self._log_out()
            return
        url = self._url("revocation_url")
        content = self._content(Text("there is no token to revoke"))
        tokens = {"refresh_token": content.refresh, "access_token": content.access}
        for hint, token in tokens.items():
            if token is not None:
                try:
                    with _errors_about("revocation_url"):
                        self._ask(url, token, hint, content.proof_key)
                except TokenEndpointFailed as error:
                    # Revoking a refresh token revokes its access tokens; some providers
                    # revoke nothing else.
                    if error.reason != "unsupported_token_type" or not content.refresh:
                        raise
        self.run(self._manager.delete(revoked=True))

    def _log_out(self) -> None:
        path = "login.logout_path"
        if not self._revocation:
            raise ConfigError(
                Text("{field} is not set", field=BY_PATH[path].label),
                field=path,
                hint=Text(
                    "Set it if the API has one. outkey token forget deletes the token"
                    " here only."
                ),
            )
        content = self._content(Text("there is no token to revoke"))
        source = LoginSource(self.context, self.configuration)
        self.run(source.logout(content))
        self.forget()

    def introspect(self) -> bool:
        """Ask the provider whether the token is active (RFC 7662)."""
        url = self._url("introspection_url")
        content = self._content(Text("there is no token to introspect"))
        with _errors_about("introspection_url"):
            facts = self._ask(url, content.access, "access_token", content.proof_key)
        return facts.get("active") is True

    # ── a user agrees ───────────────────────────────────────────────────────────────

    def consent_url(self, consent: Consent) -> str:
        """Return the URL where the user agrees."""
        self._refuse_grant(
            Grant.AUTHORIZATION_CODE, Text("the Grant is not Authorization code")
        )
        refuse_unsendable(self.configuration)
        parameters = grants.authorization_parameters(self.configuration, consent)
        return grants.consent_url(self.configuration, parameters)

    def pushed_consent_url(self, request: PushedRequest) -> str:
        """Return the URL where the user agrees to a pushed request."""
        return grants.pushed_consent_url(self.configuration, request.request_uri)

    def push(self, consent: Consent) -> PushedRequest:
        """Send the parameters of a consent to the provider (RFC 9126)."""
        self._refuse_grant(
            Grant.AUTHORIZATION_CODE, Text("the Grant is not Authorization code")
        )
        refuse_unsendable(self.configuration)
        url = self._url("pushed_authorization_url")
        values = grants.authorization_parameters(self.configuration, consent)
        parameters: Parameters = [*values.items()]
        with _errors_about("pushed_authorization_url"):
            try:
                response = self.run(self._oauth2.send_form(url, parameters, None))
            except RemoteError as error:
                raise failure(reason_of(error)) from None
            document = self._read_shown(response)
            return grants.read_pushed_request(document)

    def redeem(self, code: Secret, consent: Consent) -> None:
        """Exchange the code that the browser brings for tokens, and store them."""
        self._refuse_grant(
            Grant.AUTHORIZATION_CODE, Text("the Grant is not Authorization code")
        )
        parameters = grants.authorization_code(self.configuration, code, consent)
        nonce = grants.expected_nonce(self.configuration, consent)
        self.run(self._manager.redeem(parameters, nonce))

    def request_legs(self, callback: str) -> TemporaryToken:
        """Request the temporary credentials of OAuth 1.0a (RFC 5849 §2.1)."""
        self._refuse_two_legs()
        refuse_unsendable(self.configuration)
        temporary: TemporaryToken = self.run(self._manager.begin(callback))
        return temporary

    def store_temporary(self, temporary: TemporaryToken) -> None:
        """Store temporary credentials, sealed, until the user comes back."""
        self.run(self._manager.store_temporary(temporary))

    def stored_temporary(self) -> TemporaryToken | None:
        """Return the temporary credentials that are stored, if there are any."""
        return self._manager.temporary()

    def authorize(self, temporary: TemporaryToken, verifier: Secret) -> None:
        """Exchange what a user authorized for a token, and store it."""
        self._refuse_two_legs()
        self.run(self._manager.authorize(temporary, verifier))

    def _refuse_two_legs(self) -> None:
        """Refuse a configuration that no user has to authorize."""
        if self.configuration.has_three_legs:
            return
        raise ConfigError(
            Text("no user has to authorize this configuration"),
            field="oauth1.request_url",
            hint=Text(
                "Enter Request URL, Authorization URL and Access URL, and clear Access"
                " Token."
            ),
        )

    def device_code(self) -> DeviceCode:
        """Request a code that a user enters on another device (RFC 8628)."""
        self._refuse_grant(Grant.DEVICE_CODE, Text("the Grant is not Device code"))
        refuse_unsendable(self.configuration)
        url = self.configuration.oauth2.device_url
        parameters = grants.device_start(self.configuration)
        response: Response = self.run(self._oauth2.send_form(url, parameters, None))
        with _errors_about("device_url"):
            document = self._read_shown(response, but="device_code")
            return grants.read_device_code(document)

    def wait_for(self, device: DeviceCode, passing: Callable[[float], None]) -> None:
        """Poll until the user has agreed or refused, or the code has expired.

        `passing` is called with the seconds of each wait.
        """
        clock = self.context.clock
        interval = device.interval
        ends = clock.monotonic() + device.lifetime
        while clock.monotonic() < ends:
            self.run(_wait_steps(interval))
            passing(interval)
            try:
                parameters = grants.device_code(self.configuration, device.code)
                self.run(self._manager.redeem(parameters))
            except RemoteError as error:
                reason = reason_of(error)
                if reason not in _PASSING:
                    raise
                interval += _SLOWER if reason == "slow_down" else 0.0
            else:
                return
        raise failure("expired_token")

    # ── helpers ─────────────────────────────────────────────────────────────────────

    @property
    def _csrf(self) -> TokenManager:
        return csrf_manager(self.context, self.configuration, subject=self.subject)

    @property
    def _manager(self) -> TokenManager:
        if self.configuration.uses_oauth1:
            self._refuse_two_legs()
        elif not self.configuration.fetches_token:
            message = Text(
                "this configuration uses neither OAuth 2.0, nor a login, nor a role"
            )
            raise ConfigError(message, field="token_source")
        return token_manager(self.context, self.configuration, self.subject)

    @property
    def _oauth2(self) -> OAuth2Source:
        return OAuth2Source(self.context, self.configuration)

    def _ask(
        self, url: str, token: Secret, hint: str, key: Secret | None
    ) -> dict[str, object]:
        """Ask about a token; a revocation ends with an empty 200 (RFC 7009 §2.2)."""
        response = self.run(
            self._oauth2.send_form(url, grants.about_token(token, hint), key)
        )
        return dict(self._read(response, may_be_empty=True))

    def _read(
        self, response: Response, *, may_be_empty: bool = False
    ) -> Mapping[str, object]:
        """Return the fields of a response, or raise with the provider's own words."""
        try:
            return read_document(response, may_be_empty=may_be_empty)
        except TokenEndpointFailed as error:
            secrets = sent_secrets(self.context, self.configuration, response)
            add_words(error, response, secrets)
            raise

    def _read_shown(self, response: Response, *, but: str = "") -> Mapping[str, object]:
        """Return the fields of a response that a user sees; they repeat no secret.

        `but` is the name of a field that is not shown.
        """
        document = self._read(response)
        texts = [value for name, value in document.items() if name != but]
        secrets = sent_secrets(self.context, self.configuration, response)
        if reveals_secret(secrets, texts):
            raise failure("not_a_token_endpoint")
        return document

    def _content(self, otherwise: Text) -> TokenContent:
        state, _ = self._manager.state()
        if state.content is None:
            raise ReauthorizationNeeded(
                otherwise,
                hint=Text(
                    "Get one first: outkey token renew {name}.",
                    name=self.configuration.command_name,
                ),
            )
        return state.content

    def _url(self, name: str) -> str:
        if not self.configuration.uses_oauth2:
            message = Text("this configuration does not use OAuth 2.0")
            raise ConfigError(message, field="token_source")
        url = str(getattr(self.configuration.oauth2, name))
        if not url:
            label = BY_PATH[f"oauth2.{name}"].label
            hint = Text(
                "Find it with outkey token discover, or use outkey token forget."
            )
            raise ConfigError(
                Text("{field} is not set", field=label),
                field=f"oauth2.{name}",
                hint=hint,
            )
        return url

    def _refuse_grant(self, wanted: Grant, message: Text) -> None:
        if (
            not self.configuration.uses_oauth2
            or self.configuration.oauth2.grant is not wanted
        ):
            hint = Text("Get it with outkey token renew, or change the Grant.")
            raise ConfigError(message, field="oauth2.grant", hint=hint)


@contextmanager
def _errors_about(name: str) -> Iterator[None]:
    """Name another URL in the errors of a request that are worded for the Token URL."""
    failed: OutkeyError
    try:
        yield
    except (TokenEndpointFailed, RedirectBlocked) as error:
        failed = error
    else:
        return
    field = BY_PATH[f"oauth2.{name}"]
    worded = pushed_failure(failed) if field.path == PUSHED_URL else failed
    named = type(worded)(
        name_url(worded.message, field.label),
        hint=name_url(worded.hint, field.label),
        reason=failed.reason,
        field=field.path,
    )
    named.said = failed.said
    raise named


def _wait_steps(seconds: float) -> Steps[None]:
    """Wait, as the one step of a flow."""
    yield Wait(seconds)
