"""Authentication Type Bearer Token with tokens of OAuth 2.0 or of a login.

Bearer tokens are RFC 6750, DPoP is RFC 9449.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.challenge import parse_challenges
from outkey.sending.core.request.expired_marker import (
    FORBIDDEN,
    has_expired_marker,
    is_expired_status,
)
from outkey.sending.core.request.flow import AuthFlow, need_proof, need_token, send
from outkey.sending.core.request.message import Header, Request, Response, Source
from outkey.sending.core.request.token_place import with_session, without_own_cookies


def _cannot_tell(_response: Response) -> bool:
    return True


class FetchedToken(NamedTuple):
    """Send a token that is requested and renewed automatically."""

    configuration: Configuration
    # Whether a response repeats a secret; assumed if that is unknown.
    repeats_secret: Callable[[Response], bool] = _cannot_tell

    def flow(self, request: Request) -> AuthFlow:
        """Add the token and send; if it is rejected, renew it once and send again."""
        token = yield from need_token()
        response = yield from self._send(request, token)
        if not is_rejected(response, self.configuration, self.repeats_secret):
            return response
        # A 403 may still be about permissions, whatever is configured.
        renewed = yield from need_token(
            rejected=token, token_was_refused=response.status != FORBIDDEN
        )
        if renewed.value == token.value:
            return response
        return (yield from self._send(without_own_cookies(request), renewed))

    def _send(
        self, request: Request, token: AccessToken
    ) -> Generator[Any, Any, Response]:
        """Send with the token; a server may first ask for a nonce (RFC 9449 §9)."""
        sent = with_session(request, self.configuration, token)
        if token.kind != "DPoP":
            return (yield from send(sent))
        response = yield from send((yield from _with_proof(sent, request, token)))
        if "use_dpop_nonce" in _errors(response):
            response = yield from send((yield from _with_proof(sent, request, token)))
        return response


def _with_proof(
    sent: Request, request: Request, token: AccessToken
) -> Generator[Any, Any, Request]:
    """Return a request with its token and a proof that we have the token's key."""
    proof = yield from need_proof(request, token)
    header = Header("DPoP", proof, Source.AUTHENTICATION)
    return sent.with_headers((*sent.headers, header))


def is_rejected(
    response: Response,
    configuration: Configuration,
    repeats_secret: Callable[[Response], bool] = _cannot_tell,
) -> bool:
    """Whether a response rejects the token itself, and not its permissions.

    A 403 usually means the latter: only the error of the provider or the configuration
    makes it a rejection of the token (django-oauth-toolkit responds so to an expired
    one). The Expired marker counts in every response, also in a 200, but not in one
    that repeats a secret: it could be part of it.
    """
    if has_expired_marker(response, configuration) and not repeats_secret(response):
        return True
    status = response.status
    if status < 400:  # as nearly every response: nothing more to read
        return False
    errors = _errors(response)
    if errors & {"insufficient_scope", "use_dpop_nonce"}:
        return False
    return is_expired_status(status, configuration) or (
        status == FORBIDDEN and "invalid_token" in errors
    )


def _errors(response: Response) -> set[str]:
    if response.status < 400:
        return set()
    challenges = parse_challenges(response.headers.get_all("WWW-Authenticate"))
    return {challenge.parameters.get("error", "") for challenge in challenges}
