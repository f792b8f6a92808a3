"""Flows: authentication as generators that yield what they need and are sent the answer.

A flow does no I/O. It yields steps, whoever drives it performs them, and `yield from` a helper
gives the answer its type.
"""

from collections.abc import Generator
from typing import Any, NamedTuple, Protocol

from outkey.core.message import Request, Response


class Send(NamedTuple):
    """Send this request and give me the response."""

    request: Request


Flow = Generator[Send, Any, Response]


class Scheme(Protocol):
    """One way to authenticate."""

    def flow(self, request: Request) -> Flow:
        """Authenticate one request; called anew for each attempt, retry and redirect."""


def send(request: Request) -> Generator[Send, Response, Response]:
    """Ask for a request to be sent."""
    return (yield Send(request))
