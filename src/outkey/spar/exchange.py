"""One request, as the journal records it and with the means to respond to it.

The responses are in `scenes.py`, `authorization.py` and `malformed_responses.py`.
"""

import json
import math
import socket
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import NamedTuple, Protocol

from outkey.spar.authority import Authority
from outkey.spar.budgets import Budgets

_MAX_SLEEP = 300.0
_MAX_SKEW = 1e9


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request as it arrived. Its values are for tests and are never shown."""

    server: str
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes = field(repr=False)

    def values(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def facts(self) -> dict[str, object]:
        """Return the facts that may be shown: names, never values."""
        return {
            "server": self.server,
            "method": self.method,
            "path": self.path,
            "headers": [name for name, _ in self.headers],
            "body_bytes": len(self.body),
        }


class Neighbours(NamedTuple):
    """The URLs of the provider's servers."""

    main: str
    elsewhere: str
    secure: str

    def origin(self, server: str) -> str:
        """Return the URL of a server by its name."""
        return {"elsewhere": self.elsewhere, "secure": self.secure}.get(
            server, self.main
        )


class Responder(Protocol):
    """Responds to requests with records that it has stored."""

    def play(self, stage: "Stage") -> None:
        """Respond to a request."""


@dataclass(slots=True)
class Stage:
    """One request and the means to respond to it, correctly or not."""

    method: str
    path: str
    query: dict[str, str]
    raw_query: str
    headers: dict[str, str]
    body: bytes
    server: str
    neighbours: Neighbours
    authority: Authority
    stored: Responder
    budgets: Budgets
    reports: Responder
    journal: Iterable[Arrival]
    connection: socket.socket
    write: Callable[[bytes], object]
    hang_up: bool = field(default=False)

    @property
    def rest(self) -> str:
        """The path behind the scene's name."""
        return self.path.strip("/").partition("/")[2]

    @property
    def origin(self) -> str:
        """The URL of the server that received the request."""
        return self.neighbours.origin(self.server)

    def number(self, name: str, default: float) -> float:
        """Read a number from the query."""
        try:
            number = float(self.query.get(name, default))
        except ValueError:
            return float(default)
        return number if math.isfinite(number) else float(default)

    def respond(
        self,
        status: int,
        body: object = None,
        *headers: tuple[str, str],
        kind: str = "application/json",
    ) -> None:
        """Send a complete and correct response."""
        if not isinstance(body, bytes):
            body = json.dumps({"status": status} if body is None else body).encode()
        self.head(
            status, ("Content-Type", kind), ("Content-Length", str(len(body))), *headers
        )
        if self.method != "HEAD":
            self.write(body)

    def head(self, status: int, *headers: tuple[str, str]) -> None:
        """Send status line and headers only."""
        try:
            phrase = HTTPStatus(status).phrase
        except ValueError:
            phrase = "Unknown"
        skew = max(-_MAX_SKEW, min(_MAX_SKEW, self.number("skew", 0)))
        date = formatdate(time.time() + skew, usegmt=True)
        lines = [f"HTTP/1.1 {status} {phrase}", f"Date: {date}"]
        lines += [f"{name}: {value}" for name, value in headers]
        self.write(("\r\n".join(lines) + "\r\n\r\n").encode())

    def sleep(self, default: float, name: str = "seconds") -> None:
        """Wait as long as the query says."""
        time.sleep(max(0.0, min(_MAX_SLEEP, self.number(name, default))))

    def silence(self) -> None:
        """Send nothing for `?seconds=`, then respond."""
        self.sleep(30)
        self.respond(200)

    def trickle(self, part: str) -> None:
        """Send the `headers`, or else the body, a byte at a time for `?seconds=`."""
        if part == "headers":
            self.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        else:
            self.head(200, ("Content-Length", "100000"))
        ends = time.monotonic() + min(_MAX_SLEEP, self.number("seconds", 30))
        self.hang_up = True
        while time.monotonic() < ends:
            self.write(b"a")
            time.sleep(0.1)

    def reset(self) -> None:
        """Reset the connection."""
        # Linger 0 makes close() send RST instead of FIN.
        self.connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self.connection.close()
        self.hang_up = True
