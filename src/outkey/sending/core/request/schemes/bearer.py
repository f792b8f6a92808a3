"""Authentication Type Bearer Token with an entered token (RFC 6750 §2)."""

from typing import NamedTuple

from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.flow import AuthFlow, send
from outkey.sending.core.request.message import Request
from outkey.sending.core.request.token_place import with_token


class Bearer(NamedTuple):
    """Send a token with each request."""

    configuration: Configuration
    token: Secret

    def flow(self, request: Request) -> AuthFlow:
        """Add the token, by default as `Authorization: Bearer …`, and send."""
        sent = with_token(request, self.configuration, self.token, is_entered=True)
        return (yield from send(sent))
