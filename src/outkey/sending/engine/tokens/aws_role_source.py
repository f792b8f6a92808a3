"""Tokens that are sessions of a role of AWS: three keys in one, from STS."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from outkey.foundation.core import errors
from outkey.foundation.core.origin import parse_url
from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws.sts import (
    assume_role,
    assume_role_with_web_identity,
    read_session,
    sts_failure,
    words_of,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import TokenState, aws_basis_of
from outkey.sending.core.request.headers import tidy_value
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.request.schemes.aws import entered_keys
from outkey.sending.core.request.sent_secrets import credentials_in
from outkey.sending.engine.tokens.shown_refusal import show_words
from outkey.sending.engine.tokens.token_source import (
    TOKEN_SECONDS,
    TokenRequest,
    TokenResult,
    TokenSource,
    send_or_retry,
)
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps


@dataclass(frozen=True, slots=True)
class AwsRoleSource(TokenSource):
    """The role of one configuration, which can be assumed again at any time."""

    context: SendContext
    configuration: Configuration

    @property
    def basis(self) -> str:
        """A fingerprint of the settings that a session depends on."""
        return aws_basis_of(self.configuration)

    def request_token(
        self,
        leased: TokenState,  # noqa: ARG002 - of every source
        request: TokenRequest,  # noqa: ARG002
    ) -> Steps[TokenResult]:
        """Assume the role."""
        deadline = self.context.clock.monotonic() + TOKEN_SECONDS
        response = yield from send_or_retry(
            self.context, self.configuration, self._request, deadline
        )
        granted = partial(self._state_from, response)
        return TokenResult(response, granted, partial(self._explain, response))

    def _request(self) -> Request:
        """Return a new request; a web identity is read anew, since it is replaced."""
        configuration = self.configuration
        if configuration.uses_web_identity:
            token = self._open("web_identity_token").derive(tidy_value)
            return assume_role_with_web_identity(configuration.aws, token)
        keys = entered_keys(configuration, self._open)
        origin = parse_url(configuration.aws.sts_endpoint).origin
        now = self.context.moment(configuration, origin)
        return assume_role(configuration.aws, keys, now)

    def _open(self, name: str) -> Secret:
        return self.context.open(self.configuration, name)

    def _state_from(
        self, response: Response, before: TokenState, at: float
    ) -> TokenState:
        """Return the state with the session of a response, or raise its failure."""
        session = read_session(response, secrets=self._secrets(), now=at)
        return before.granted(
            session,
            at=at,
            default_lifetime=self.configuration.aws.duration_seconds,
        )

    def _explain(self, response: Response, error: errors.OutkeyError) -> None:
        """Add the code and the words of STS to an error."""
        secrets = [*self._secrets(), *credentials_in(response.sent)]
        show_words(error, words_of(response), response, secrets)

    def _secrets(self) -> list[Secret]:
        """Return the secrets that STS may know, and must not repeat."""
        secrets = []
        for name in self.configuration.needed_secrets():
            with suppress(errors.OutkeyError):
                secrets.append(self._open(name).derive(tidy_value))
        return secrets

    def failure(
        self, reason: str, their_time: float | None = None
    ) -> errors.OutkeyError:
        """Return the error for a reason, also from a stored one."""
        return sts_failure(reason, their_time)
