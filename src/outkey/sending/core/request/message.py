"""Requests, responses and the route between them. Plain values without rules or I/O."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol
from urllib.parse import quote, quote_plus

from outkey.foundation.core.errors import BadResponse, Cause
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import MASK, Secret
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.packed_body import PackedBody

IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})  # RFC 9110 §9.2.2

# How much of an error's body is read: to diagnose it, to quote it, and to search what
# is quoted for secrets.
BODY_READ = 16 * 1024


def http_date(text: str) -> float | None:
    """Return the date of a header as Unix time (RFC 9110 §5.6.7), None if invalid.

    A date without a zone, or with the unknown zone -0000, is read as UTC.
    """
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


class Source(StrEnum):
    """Who set a header."""

    DEFAULT = "default"
    AUTHENTICATION = "authentication"
    ROW = "header row"
    SCRIPT = "script"
    CALLER = "caller"

    @property
    def label(self) -> Text:
        """The source as a user reads it."""
        return Text(self.value)


class Header(NamedTuple):
    """One header line of a request, and who set it."""

    name: str
    value: str | Secret
    source: Source


class BodySource(Protocol):
    """A body that is read part by part, and from its start for every attempt."""

    def __len__(self) -> int:
        """Return how many bytes it has."""

    def parts(self) -> Iterator[bytes]:
        """Yield the body from its start."""


class BodyStream(Protocol):
    """The body of a response that is still arriving, without its compression.

    Iterating it raises RemoteError where it breaks off, takes too long or grows over
    the limit. `close` ends the connection if the body was not read to its end.
    """

    size: int | None  # in bytes, None if it is unknown

    def __iter__(self) -> Iterator[bytes]:
        """Yield the parts as they arrive."""

    def close(self) -> None:
        """Let go of the connection."""


class Request(NamedTuple):
    """A request to one origin; the target is path and query as they are sent.

    A tuple, because each send creates several, and creating a frozen dataclass takes
    three times as long.
    """

    method: str
    origin: Origin
    target: str
    headers: tuple[Header, ...] = ()
    body: bytes | Secret | BodySource = b""
    body_secrets: tuple[Secret, ...] = ()  # the secret values inside the body
    # Parameters that follow the target when the request is sent, so that no error,
    # record or page gets to see them.
    secret_parameters: Mapping[str, Secret] = MappingProxyType({})
    # The parameters of a script, which follow all others.
    script_parameters: tuple[tuple[str, Secret], ...] = ()
    # What is sent instead of the target if that has names in the place of secrets.
    secret_target: Secret | None = None

    @property
    def url(self) -> str:
        """The complete URL."""
        return f"{self.origin}{self.target}"

    def with_headers(self, headers: tuple[Header, ...]) -> "Request":
        """Return the same request with these headers instead of its own."""
        method, origin, target, _, body, secrets, parameters, signed, whole = self
        return Request(
            method, origin, target, headers, body, secrets, parameters, signed, whole
        )

    def with_parameter(self, name: str, value: str | Secret) -> "Request":
        """Return the same request with one more parameter in its query."""
        if isinstance(value, Secret):
            parameters = {**self.secret_parameters, name: value}
            return self._replace(secret_parameters=parameters)
        mark = "&" if "?" in self.target else "?"
        added = f"{mark}{quote_plus(name)}={quote_plus(value)}"
        whole = self.secret_target
        return self._replace(
            target=f"{self.target}{added}",
            secret_target=None if whole is None else Secret.joined(whole, added),
        )

    def wire_target(self) -> str | Secret:
        """Return path and query as they are sent, with the secret parameters."""
        target = self.target if self.secret_target is None else self.secret_target
        if not self.secret_parameters and not self.script_parameters:
            return target
        mark = "&" if "?" in self.target else "?"
        parts: list[str | Secret] = [target]
        for name, value in self.secret_parameters.items():
            parts += [f"{mark}{quote_plus(name)}=", value.derive(quote_plus)]
            mark = "&"
        for name, value in self.script_parameters:
            parts += [f"{mark}{percent_encoded(name)}=", value.derive(percent_encoded)]
            mark = "&"
        return Secret.joined(*parts)

    def masked_url(self) -> str:
        """Return the complete URL with a mask for each secret parameter."""
        mark = "&" if "?" in self.target else "?"
        names = [*map(quote_plus, self.secret_parameters)]
        names += [percent_encoded(name) for name, _ in self.script_parameters]
        masked = "&".join(f"{name}={MASK}" for name in names)
        return f"{self.url}{mark}{masked}" if masked else self.url

    def __repr__(self) -> str:
        names = ", ".join(header.name for header in self.headers)
        return f"Request({self.method} {self.origin}, {names})"


def percent_encoded(text: str) -> str:
    """Return a text with everything encoded but unreserved characters (RFC 3986 §2.3).

    Signatures are computed over this form: a space is %20, and not a plus sign.
    """
    return quote(text, safe="")


class ResponseHeaders:
    """The header lines of a response, looked up by name in any case."""

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
        # Names only: Set-Cookie and token responses
        # have values that must not be logged.
        return f"ResponseHeaders({', '.join(name for name, _ in self._pairs)})"


@dataclass(frozen=True, slots=True)
class Response:
    """A response of any status, with the cause and remedy that outkey found.

    `sent` are the secrets that the request carried: a caller that shows or stores a
    part of the response must not show or store those, should the server have repeated
    them. With a `stream` the body is not in `body`: the caller reads it, and closes it;
    or it is `packed`.
    """

    status: int
    headers: ResponseHeaders = field(default_factory=ResponseHeaders)
    body: bytes = field(default=b"", repr=False)
    cause: Cause | None = None
    remedy: Text | None = None
    attempt: str = ""
    sent: tuple[Secret, ...] = field(default=(), repr=False, compare=False)
    stream: BodyStream | None = field(default=None, repr=False, compare=False)
    packed: PackedBody | None = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The body as UTF-8, with a replacement character for what is not."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> object:
        """Return the body parsed as JSON."""
        return json.loads(self.body)

    def raise_for_cause(self) -> "Response":
        """Raise a BadResponse if the response has a cause, else return the response."""
        if self.cause is None:
            return self
        raise BadResponse(self.cause, self.status, self.remedy or NO_TEXT)

    def __reduce__(self) -> tuple[object, ...]:
        # Without the secrets, which cannot be pickled.
        return Response, (
            self.status,
            self.headers,
            self.body,
            self.cause,
            self.remedy,
            self.attempt,
        )


def server_time(response: Response) -> float | None:
    """Return the time by the clock of the server, None if it is unknown.

    A response with an Age comes from a cache, and its Date is that of the original
    response (RFC 9111 §5.1).
    """
    if response.headers.get("Age", "0").strip() != "0":
        return None
    return http_date(response.headers.get("Date"))


def retry_after(response: Response, *, now: float) -> float | None:
    """Return the seconds of Retry-After (RFC 9110 §10.2.3), None if invalid."""
    text = response.headers.get("Retry-After").strip()
    if digits := seconds_to_wait(text):
        return float(digits)
    until = http_date(text)
    return None if until is None else max(until - now, 0.0)


def seconds_to_wait(text: str) -> str:
    """Return the digits of a Retry-After in seconds; "" if it is something else."""
    is_number = text.isascii() and text.isdigit()
    return text[:10] if is_number else ""  # ten digits are three centuries


class Certificate(NamedTuple):
    """One certificate of a verified chain."""

    subject: str
    issuer: str
    ends: float


class Peer(NamedTuple):
    """The peer of a connection; without TLS it has no version and no certificate."""

    address: str
    tls: str = ""
    chain: tuple[Certificate, ...] = ()
    proxy: Origin | None = None  # then the address is that of the proxy

    @property
    def ends(self) -> float | None:
        """When the first certificate of the chain expires."""
        return min((certificate.ends for certificate in self.chain), default=None)


class Proxy(NamedTuple):
    """The proxy that a request goes through, and the header value that it asks for."""

    origin: Origin
    credentials: Secret | None = None


class Route(NamedTuple):
    """The destination and the limits of one request.

    `addresses` are the vetted ones, in order of preference, and the only ones that may
    be connected to; those of the proxy, if there is one. Connections are shared only
    within one `partition`, so that two configurations never share one.
    """

    addresses: tuple[str, ...]
    partition: str
    tls: TlsSettings
    connect_timeout: float
    read_timeout: float
    time_left: float
    response_bytes: int
    client_key: Secret | None = None
    proxy: Proxy | None = None
    # Whether the body of a success may be left to the caller, as Response.stream.
    streams: bool = False
