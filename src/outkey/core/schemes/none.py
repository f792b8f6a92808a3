"""Authentication Type None: the request goes as it is."""

from dataclasses import dataclass

from outkey.core.flow import Flow, send
from outkey.core.message import Request


@dataclass(frozen=True, slots=True)
class NoAuthentication:
    """Send no authentication header."""

    def flow(self, request: Request) -> Flow:
        """Send the request unchanged."""
        return (yield from send(request))
