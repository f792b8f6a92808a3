"""What travels: requests, responses and the route between. Plain values, no rule and no I/O."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import NamedTuple

from outkey.core.errors import BadAnswer, Cause
from outkey.core.request.origin import Origin
from outkey.core.secret import Secret

IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})  # RFC 9110 §9.2.2


def http_date(text: str) -> float | None:
    """Return the moment that a date in a header means (RFC 9110 §5.6.7), or None where it is none.

    One without a zone, or with the unknown zone -0000, is meant in UTC.
    """
    try:
        found = parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


class Source(StrEnum):
    """Who set a header."""

    DEFAULT = "default"
    AUTHENTICATION = "authentication"
    ROW = "header row"
    SCRIPT = "script"
    CALLER = "caller"


class Header(NamedTuple):
    """One header line of a request, and who set it."""

    name: str
    value: str | Secret
    source: Source


class Request(NamedTuple):
    """A request to one origin; the target is path and query as they stand on the wire.

    A tuple, because several are made for each send and a frozen dataclass takes three times as
    long to make.
    """

    method: str
    origin: Origin
    target: str
    headers: tuple[Header, ...] = ()
    body: bytes | Secret = b""
    body_secrets: tuple[
        Secret, ...
    ] = ()  # the values in the body that are secret by themselves

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.origin}{self.target}"

    def with_headers(self, headers: tuple[Header, ...]) -> "Request":
        """Return the same request with these headers instead of its own."""
        known = (
            self.method,
            self.origin,
            self.target,
            headers,
            self.body,
            self.body_secrets,
        )
        return Request(*known)

    def __repr__(self) -> str:
        names = ", ".join(header.name for header in self.headers)
        return f"Request({self.method} {self.origin}, {names})"


class ResponseHeaders:
    """Header lines as they came, found by name in any case."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: tuple[tuple[str, str], ...] = ()) -> None:
        self._pairs = pairs

    def get_all(self, name: str) -> list[str]:
        """Return every value of a name, in order."""
        wanted = name.lower()
        return [value for key, value in self._pairs if key.lower() == wanted]

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a name."""
        return next(iter(self.get_all(name)), default)

    def __getitem__(self, name: str) -> str:
        values = self.get_all(name)
        if not values:
            raise KeyError(name)
        return values[0]

    def __contains__(self, name: str) -> bool:
        return bool(self.get_all(name))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResponseHeaders) and self._pairs == other._pairs

    __hash__ = None  # type: ignore[assignment]  # a value to read, not a key

    def __repr__(self) -> str:
        # Names only: Set-Cookie and token answers carry values nobody should log.
        return f"ResponseHeaders({', '.join(name for name, _ in self._pairs)})"


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, whatever its status, with what outkey makes of it.

    `sent` are the secrets that were sent for it: whoever shows or stores a part of the response
    must not show or store those, should the other side have repeated them.
    """

    status: int
    headers: ResponseHeaders = field(default_factory=ResponseHeaders)
    body: bytes = field(default=b"", repr=False)
    cause: Cause | None = None
    remedy: str | None = None
    attempt: str = ""
    sent: tuple[Secret, ...] = field(default=(), repr=False, compare=False)

    @property
    def text(self) -> str:
        """The body as UTF-8, with a replacement character for what is not."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> object:
        """Return the body parsed as JSON."""
        return json.loads(self.body)

    def raise_for_cause(self) -> "Response":
        """Raise a BadAnswer where the answer has a cause, else return the response."""
        if self.cause is None:
            return self
        raise BadAnswer(self.cause, self.status, self.remedy or "")

    def __reduce__(self) -> tuple[object, ...]:
        # A secret cannot be pickled, and a stored response has no use for it.
        known = (
            self.status,
            self.headers,
            self.body,
            self.cause,
            self.remedy,
            self.attempt,
        )
        return Response, known


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The TLS tab: how the other side is verified, and with what we identify ourselves."""

    minimum_version: str = "1.2"
    ca_file: str = ""
    client_certificate: str = ""


class Certificate(NamedTuple):
    """One certificate of a chain that was verified."""

    subject: str
    issuer: str
    ends: float


class Peer(NamedTuple):
    """Whom a connection leads to; without TLS there is no version and no certificate."""

    address: str
    tls: str = ""
    chain: tuple[Certificate, ...] = ()

    @property
    def ends(self) -> float | None:
        """When the first certificate of the chain ends."""
        return min((certificate.ends for certificate in self.chain), default=None)


class Route(NamedTuple):
    """Where one request goes and within what bounds.

    `addresses` are the vetted ones, in order of preference, and the only ones that may be
    connected to. Connections are shared only within one `partition`, so that two configurations
    never meet on one.
    """

    addresses: tuple[str, ...]
    partition: str
    tls: TlsSettings
    connect_timeout: float
    read_timeout: float
    time_left: float
    response_bytes: int
    client_key: Secret | None = None
