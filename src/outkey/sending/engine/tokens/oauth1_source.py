"""Tokens of OAuth 1.0a that a user authorizes: three legs, and no renewal."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from outkey.foundation.core import errors
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth1.legs import (
    ACCESS_URL,
    REQUEST_URL,
    TemporaryToken,
    leg_failure,
    leg_request,
    read_access,
    read_temporary,
)
from outkey.sending.core.oauth1.signature import (
    Credentials,
    Parameters,
    credentials_of,
)
from outkey.sending.core.oauth2.token import TokenState, oauth1_basis_of
from outkey.sending.core.request.headers import tidy_value
from outkey.sending.core.request.message import Request, Response
from outkey.sending.engine.exchange.oauth1_signing import sign_request
from outkey.sending.engine.tokens.shown_refusal import add_words
from outkey.sending.engine.tokens.token_source import (
    TOKEN_SECONDS,
    TokenRequest,
    TokenResult,
    TokenSource,
    not_connected,
    send_for_token,
)
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps


@dataclass(frozen=True, slots=True)
class OAuth1Source(TokenSource):
    """The provider of one configuration, where a user authorizes the access."""

    context: SendContext
    configuration: Configuration

    @property
    def basis(self) -> str:
        """A fingerprint of the settings that a token depends on."""
        return oauth1_basis_of(self.configuration)

    # ── the legs ────────────────────────────────────────────────────────────────────

    def begin(self, callback: str) -> Steps[TemporaryToken]:
        """Request temporary credentials; the user comes back to the callback."""
        credentials = self._credentials()
        parameters = (("oauth_callback", callback),)
        response = yield from self._send(REQUEST_URL, credentials, parameters)
        try:
            return read_temporary(response, self._entered())
        except errors.TokenEndpointFailed as error:
            self._explain(response, [], error)
            raise

    def redeem(self, temporary: TemporaryToken, verifier: Secret) -> Steps[TokenResult]:
        """Exchange what a user authorized for a token; it is requested once."""
        credentials = self._credentials()._replace(
            token=temporary.token,
            token_secret=temporary.secret,
            verifier=verifier.derive(tidy_value),
        )
        response = yield from self._send(ACCESS_URL, credentials)
        secrets = [*self._entered(), temporary.secret]
        granted = partial(self._state_from, response, secrets)
        return TokenResult(response, granted, partial(self._explain, response, secrets))

    def _credentials(self) -> Credentials:
        return credentials_of(
            self.configuration, self.context.opener(self.configuration)
        )

    def _entered(self) -> list[Secret]:
        """Return the secrets of the application, which no response may repeat."""
        credentials = self._credentials()
        secrets = (credentials.consumer_secret, credentials.private_key)
        return [secret for secret in secrets if secret is not None]

    def _send(
        self, path: str, credentials: Credentials, parameters: Parameters = ()
    ) -> Steps[Response]:
        """Send a signed request once: a retry could use up what the first one got."""
        request = leg_request(path, self.configuration)
        header = sign_request(
            self.context, self.configuration, request, credentials, parameters
        )
        signed: Request = request.with_headers((*request.headers, header))
        deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        return (
            yield from send_for_token(
                self.context, self.configuration, signed, deadline, retry=0
            )
        )

    def _state_from(
        self, response: Response, secrets: list[Secret], before: TokenState, at: float
    ) -> TokenState:
        """Return the state with the token of a response, or raise its failure."""
        token, token_secret = read_access(response, secrets)
        empty = replace(before, content=None)
        state = empty.granted(token, at=at, default_lifetime=0.0)
        if state.content is None:
            return state
        content = replace(state.content, token_secret=token_secret)
        return replace(state, content=content)

    def _explain(
        self, response: Response, secrets: list[Secret], error: errors.OutkeyError
    ) -> None:
        add_words(error, response, [*secrets, *self._entered()])

    # ── as other sources ────────────────────────────────────────────────────────────

    def refuse_dead(self, state: TokenState, request: TokenRequest) -> NoReturn:  # noqa: ARG002
        """Refuse every renewal: only a user gets another token."""
        raise self._consent_error(was_connected=state.content is not None)

    def request_token(
        self,
        leased: TokenState,  # noqa: ARG002 - of every source
        request: TokenRequest,  # noqa: ARG002
    ) -> Steps[TokenResult]:
        """Refuse as `refuse_dead` does, which every renewal asks first."""
        raise self._consent_error()

    def final_error(
        self,
        reason: str,  # noqa: ARG002 - of every source
        response: Response | None = None,  # noqa: ARG002
    ) -> errors.OutkeyError:
        """Return the error for a user who must authorize the access."""
        return self._consent_error()

    def failure(
        self, reason: str, their_time: float | None = None
    ) -> errors.OutkeyError:
        """Return the error for a reason, also from a stored one."""
        return leg_failure(reason, their_time)

    def _consent_error(
        self, *, was_connected: bool = True
    ) -> errors.ReauthorizationNeeded:
        hint = Text(
            "Press Connect on the configuration's page, or have a user authorize it:"
            " outkey token authorize {name}.",
            name=self.configuration.command_name,
        )
        if was_connected:
            return errors.ReauthorizationNeeded(hint=hint)
        return not_connected(hint)
