"""Flows: authentication as generators that yield requests and receive results.

A flow does no I/O. It yields steps that `sending/engine/exchange/exchange.py` performs;
that is a generator itself, and `sending/engine/wire/drive.py` performs its steps, which
are I/O. `yield from` a helper gives the result its type.
"""

from collections.abc import Generator
from typing import Any, NamedTuple, Protocol

from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.oauth1.signature import Credentials
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.digest import DigestChallenge, NonceUse
from outkey.sending.core.request.message import (
    BodySource,
    Header,
    Request,
    Response,
)


class Send(NamedTuple):
    """Send this request and give me the response.

    `expects_challenge`: it has no credentials yet, so that a 401 is not a failure.
    """

    request: Request
    expects_challenge: bool = False


class NeedToken(NamedTuple):
    """The scheme needs a token; another one than `rejected`, if that is set.

    `token_was_refused`: the API refused the token itself, not its permissions.
    """

    rejected: AccessToken | None = None
    token_was_refused: bool = False


class NeedCsrfToken(NamedTuple):
    """The scheme needs a CSRF token; another one than `rejected`, if that is set."""

    rejected: AccessToken | None = None


class NeedProof(NamedTuple):
    """Prove for this request that we have the key of the token (RFC 9449)."""

    request: Request
    token: AccessToken


class NeedSignature(NamedTuple):
    """Sign this request by OAuth 1.0a, with the time and a new nonce (RFC 5849)."""

    request: Request
    credentials: Credentials


class RunScript(NamedTuple):
    """The scheme needs what the configuration's script adds to this request."""

    request: Request


class NeedNonce(NamedTuple):
    """The scheme needs a nonce: that of this challenge, or else one that is known."""

    challenge: DigestChallenge | None = None


class NeedTime(NamedTuple):
    """The scheme needs the Unix time by the clock of the request's origin."""

    origin: Origin


class NeedBodyHash(NamedTuple):
    """The scheme needs the SHA-256 of a body that is read part by part."""

    body: BodySource


class StoreNonce(NamedTuple):
    """Use this challenge for the next requests to the server."""

    challenge: DigestChallenge


# What a scheme needs besides sending requests.
NeedStep = (
    NeedToken
    | NeedCsrfToken
    | NeedProof
    | NeedSignature
    | RunScript
    | NeedNonce
    | StoreNonce
    | NeedTime
    | NeedBodyHash
)
AuthStep = Send | NeedStep
AuthFlow = Generator[AuthStep, Any, Response]


class Scheme(Protocol):
    """One way to authenticate."""

    def flow(self, request: Request) -> AuthFlow:
        """Authenticate one request; called for each attempt, retry and redirect."""


def send(request: Request) -> Generator[AuthStep, Response, Response]:
    """Ask for a request to be sent."""
    return (yield Send(request))


def need_token(
    rejected: AccessToken | None = None, *, token_was_refused: bool = False
) -> Generator[AuthStep, AccessToken, AccessToken]:
    """Ask for a token."""
    return (yield NeedToken(rejected, token_was_refused))


def need_csrf_token(
    rejected: AccessToken | None = None,
) -> Generator[AuthStep, AccessToken, AccessToken]:
    """Ask for a CSRF token."""
    return (yield NeedCsrfToken(rejected))


def need_proof(
    request: Request, token: AccessToken
) -> Generator[AuthStep, Secret, Secret]:
    """Ask for a proof."""
    return (yield NeedProof(request, token))


def need_signature(
    request: Request, credentials: Credentials
) -> Generator[AuthStep, Header, Header]:
    """Ask for the header that signs a request."""
    return (yield NeedSignature(request, credentials))


def need_nonce(
    challenge: DigestChallenge | None = None,
) -> Generator[AuthStep, NonceUse | None, NonceUse | None]:
    """Ask for the use of a nonce; None without a challenge and a known one."""
    return (yield NeedNonce(challenge))


def need_time(origin: Origin) -> Generator[AuthStep, float, float]:
    """Ask for the Unix time that an origin will compare with its own."""
    return (yield NeedTime(origin))


def need_body_hash(body: BodySource) -> Generator[AuthStep, str, str]:
    """Ask for the SHA-256 of a body."""
    return (yield NeedBodyHash(body))
