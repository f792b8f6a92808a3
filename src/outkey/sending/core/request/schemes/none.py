"""Authentication Type None: the request goes as it is."""

from outkey.sending.core.request.flow import AuthFlow, send
from outkey.sending.core.request.message import Request


class NoAuthentication:
    """Send no authentication header."""

    def flow(self, request: Request) -> AuthFlow:
        """Send the request unchanged."""
        return (yield from send(request))
