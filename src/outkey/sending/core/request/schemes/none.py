"""Authentication Type None: the request goes as it is."""

from outkey.sending.core.request.flow import AuthFlow, Send
from outkey.sending.core.request.message import Request, Response


class NoAuthentication:
    """Send no authentication header."""

    def flow(self, request: Request) -> AuthFlow:
        """Send the request unchanged."""
        response: Response = yield Send(request)
        return response
