"""Authentication Type Bearer Token with an entered token (RFC 6750 §2.1)."""

from typing import NamedTuple

from outkey.core.request.flow import AuthFlow, send
from outkey.core.request.headers import check_token, tidy_token
from outkey.core.request.message import Header, Request, Source
from outkey.core.secret import Secret


class Bearer(NamedTuple):
    """Send a token with each request."""

    token: Secret

    def flow(self, request: Request) -> AuthFlow:
        """Add `Authorization: Bearer …` and send."""
        value = self.token.derive(
            lambda t: "Bearer " + check_token(tidy_token(t), field="token")
        )
        header = Header("Authorization", value, Source.AUTHENTICATION)
        return (yield from send(request.with_headers((*request.headers, header))))
