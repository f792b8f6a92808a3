"""What passes through the send proxy: paths and headers, in both directions."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from outkey.core.errors import HeaderFormatError, InvalidRequest, RemoteError
from outkey.core.request.dot_segments import has_parent_segment
from outkey.core.request.headers import MAX_HEADERS, check_name, check_value
from outkey.core.request.message import BodySource, Response
from outkey.core.text import Text

_ABSOLUTE = re.compile(r"[\\/]|[A-Za-z][A-Za-z0-9+.-]*:[\\/]{2}")
# RFC 9110 §7.6.1, and what belongs to one connection in other ways.
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NOT_SENT = frozenset(
    {
        "accept-encoding",  # outkey undoes the compression that it asks for
        "authorization",  # the token is for outkey
        "cookie",
        "forwarded",
        "set-cookie",
        "via",
        "x-real-ip",
    }
)
_NOT_RETURNED = frozenset(
    {
        "alt-svc",
        "clear-site-data",
        "cookie",
        "set-cookie",
        "set-cookie2",
        "strict-transport-security",  # these are about the host of the API, not ours
    }
)
_OWN = "x-outkey-"
# With these a server lets the web server in front of it send a file or an internal
# page instead of the response. An API must not command ours.
_TO_WEB_SERVER = (
    "x-accel-",
    "x-lighttpd-",
    "x-litespeed-",
    "x-reproxy-",
    "x-sendfile",
)
_UNDONE = frozenset({"deflate", "gzip", "identity", "x-gzip"})


class RelayedRequest(NamedTuple):
    """A request to the send proxy; the path is as it was sent, percent-encoded."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | BodySource

    def target(self) -> str:
        """Return path and query for the gateway, or refuse a path that could leave."""
        if _ABSOLUTE.match(self.path):
            raise InvalidRequest(
                Text("the path is absolute"),
                hint=Text("Write only what follows the Base URL."),
                field="path",
            )
        if has_parent_segment(self.path):
            raise InvalidRequest(
                Text('the path has a segment ".."'),
                hint=Text("Write the path without it."),
                field="path",
            )
        return f"{self.path}?{self.query}" if self.query else self.path

    def sent_headers(self) -> dict[str, str]:
        """Return the headers that the API gets from the caller."""
        named = connection_options(self.headers)
        sent = {
            name: value
            for name, value in self.headers
            if not is_of_connection(name, named)
            and name.lower() not in _NOT_SENT
            and not name.lower().startswith("x-forwarded-")
        }
        if len(sent) > MAX_HEADERS:
            raise InvalidRequest(
                Text("there are more than {count} headers", count=MAX_HEADERS),
                field="headers",
            )
        for name, value in sent.items():
            try:
                check_name(name, field="headers")
                check_value(value, field="headers")
            except HeaderFormatError as error:
                raise InvalidRequest(
                    error.message, hint=error.hint, field="headers"
                ) from None
        return sent


def returned_status(response: Response) -> int:
    """Return the status that the caller gets, or raise for one that HTTP has not."""
    if 200 <= response.status < 600:
        return response.status
    raise RemoteError


def returned_headers(response: Response) -> list[tuple[str, str]]:
    """Return the headers of a response that the caller gets, and outkey's own.

    Lines of one name become one, as RFC 9110 §5.3 permits.
    """
    pairs = list(response.headers)
    named = connection_options(pairs)
    joined: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for name, value in pairs:
        lower = name.lower()
        is_own = lower.startswith((_OWN, *_TO_WEB_SERVER))
        if is_of_connection(name, named) or lower in _NOT_RETURNED or is_own:
            continue
        names.setdefault(lower, name)
        joined.setdefault(lower, []).append(value)
    if "content-encoding" in joined:
        layers = [
            layer.strip() for layer in ",".join(joined["content-encoding"]).split(",")
        ]
        while layers and layers[-1].lower() in {"", *_UNDONE}:
            layers.pop()  # the body was decompressed when it was read
        joined["content-encoding"] = layers
    headers = [
        (names[lower], ", ".join(values)) for lower, values in joined.items() if values
    ]
    if response.cause is not None:
        headers.append(("X-Outkey-Cause", str(response.cause)))
    return [*headers, ("X-Outkey-Attempt", response.attempt)]


def connection_options(pairs: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the names of headers that a Connection header keeps to one connection."""
    return frozenset(
        option.strip().lower()
        for name, value in pairs
        if name.lower() == "connection"
        for option in value.split(",")
    )


def is_of_connection(name: str, named: frozenset[str]) -> bool:
    """Whether a header ends at the next hop."""
    lower = name.lower()
    return lower in _HOP_BY_HOP or lower in named or lower.startswith("proxy-")
