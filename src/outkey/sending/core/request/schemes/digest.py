"""Authentication Type Digest (RFC 7616): the password itself never travels."""

from collections.abc import Generator
from typing import Any, NamedTuple

from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.challenge import Challenge, parse_challenges
from outkey.sending.core.request.digest import (
    MAX_CHALLENGE,
    DigestChallenge,
    DigestProof,
    NonceUse,
    is_stale,
    strongest_challenge,
)
from outkey.sending.core.request.flow import (
    AuthFlow,
    Send,
    StoreNonce,
    need_nonce,
    send,
)
from outkey.sending.core.request.message import Header, Request, Response, Source

_BETWEEN = "\n"  # neither a target nor a checked password has one


class Digest(NamedTuple):
    """Prove with each request that we know the password."""

    username: str
    password: Secret

    def flow(self, request: Request) -> AuthFlow:
        """Send with a known nonce, or ask for one; a nonce is replaced once."""
        use = yield from need_nonce()
        was_known = use is not None
        if use is None:
            response: Response = yield Send(request, expects_challenge=True)
            use = yield from self._use_of_challenge(response)
            if use is None:
                return response  # nothing that we could respond to
        response = yield from self._send(request, use)
        # The server may have forgotten a nonce without saying so, such as by a restart.
        if response.status == 401 and (was_known or is_stale(_challenges_of(response))):
            use = yield from self._use_of_challenge(response)
            if use is not None:
                response = yield from self._send(request, use)
        return response

    def _use_of_challenge(
        self, response: Response
    ) -> Generator[Any, Any, NonceUse | None]:
        if response.status != 401:
            return None
        challenge = strongest_challenge(_challenges_of(response))
        if challenge is None:
            return None
        return (yield from need_nonce(challenge))

    def _send(self, request: Request, use: NonceUse) -> Generator[Any, Any, Response]:
        proof = DigestProof(self.username, request.method, use)

        def header(text: str) -> str:
            password, _, target = text.rpartition(_BETWEEN)
            return proof.header(password, target)

        parts = Secret.joined(self.password, _BETWEEN, request.wire_target())
        value = Header("Authorization", parts.derive(header), Source.AUTHENTICATION)
        response = yield from send(request.with_headers((*request.headers, value)))
        following = _following_challenge(use.challenge, response)
        if following is not None:
            yield StoreNonce(following)
        return response


def _challenges_of(response: Response) -> list[Challenge]:
    """Return the challenges of a response."""
    return parse_challenges(response.headers.get_all("WWW-Authenticate"))


def _following_challenge(
    challenge: DigestChallenge, response: Response
) -> DigestChallenge | None:
    """Return the challenge for the next request, if the server sent a nonce for it."""
    information = response.headers.get("Authentication-Info")
    # It has the parameters of a challenge without the scheme (RFC 7616 §3.5).
    for part in parse_challenges([f"Digest {information}"] if information else []):
        nonce = part.parameters.get("nextnonce", "")
        is_fitting = 0 < len(nonce) <= MAX_CHALLENGE // 2
        if is_fitting and nonce.isprintable() and nonce.isascii():
            return challenge._replace(nonce=nonce)
    return None
