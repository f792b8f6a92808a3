"""Authentication Type OAuth 1.0a (RFC 5849): each request is signed."""

from typing import NamedTuple

from outkey.sending.core.oauth1.signature import Credentials
from outkey.sending.core.request.flow import (
    AuthFlow,
    need_signature,
    need_token,
    send,
)
from outkey.sending.core.request.message import Request


class OAuth1(NamedTuple):
    """Sign with the application's credentials, and with a token if there is one."""

    credentials: Credentials
    needs_token: bool  # that a user has authorized

    def flow(self, request: Request) -> AuthFlow:
        """Sign and send once: a refusal is final, since no token is renewed."""
        credentials = self.credentials
        if self.needs_token:
            token = yield from need_token()
            credentials = credentials._replace(
                token=token.value, token_secret=token.secret
            )
        header = yield from need_signature(request, credentials)
        return (yield from send(request.with_headers((*request.headers, header))))
