"""Rules of the send proxy: paths and headers, in both directions."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from outkey.foundation.core.errors import HeaderFormatError, InvalidRequest, RemoteError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.request.dot_segments import has_parent_segment
from outkey.sending.core.request.headers import MAX_HEADERS, check_name, check_value
from outkey.sending.core.request.message import BodySource, Response

SUBJECT_HEADER = "x-outkey-subject-token"
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
        "set-cookie",
        # Who sent the request, from where, and through which proxies: what a proxy
        # in front of an API states, and the API believes. A caller must not state it.
        "cdn-loop",
        "cf-ipcountry",
        "cf-pseudo-ipv4",
        "cf-visitor",
        "client-ip",
        "fastly-client-ip",
        "fly-client-ip",
        "forwarded",
        "remote-addr",
        "remote-user",
        "true-client-ip",
        "via",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-originating-ip",
        "x-proxyuser-ip",
        "x-real-ip",
        "x-remote-addr",
        "x-remote-ip",
        "x-remote-user",
        # Another URL than the one that is checked and recorded.
        "x-host",
        "x-rewrite-url",
    }
)
_NOT_SENT_PREFIXES = (
    "cf-connecting-",
    "x-appengine-",
    "x-auth-request-",
    "x-azure-",
    "x-envoy-",
    "x-forwarded",
    "x-goog-authenticated-",
    "x-ms-client-principal",
    "x-original-",
    "x-outkey-",
    "x-ssl-client-",
)
# Another method than the one that is checked and recorded. Some APIs need it to get
# DELETE or PATCH through a POST, which is neither retried nor taken for a read.
_OTHER_METHOD = frozenset(
    {"x-http-method", "x-http-method-override", "x-method-override"}
)
# What a browser would take for a word of outkey's origin, since the response comes from
# there: about its cookies, its TLS, its pages, or who may read them.
_ABOUT_ORIGIN = frozenset(
    {
        "accept-ch",
        "activate-storage-access",
        "alt-svc",
        "clear-site-data",
        "content-security-policy",
        "content-security-policy-report-only",
        "cookie",
        "critical-ch",
        "document-policy",
        "document-policy-report-only",
        "expect-ct",
        "feature-policy",
        "nel",
        "observe-browsing-topics",
        "origin-agent-cluster",
        "origin-trial",
        "permissions-policy",
        "public-key-pins",
        "public-key-pins-report-only",
        "referrer-policy",
        "refresh",
        "report-to",
        "reporting-endpoints",
        "require-document-policy",
        "secure-session-registration",
        "service-worker-allowed",
        "set-cookie",
        "set-cookie2",
        "set-login",
        "sourcemap",
        "speculation-rules",
        "strict-transport-security",
        "supports-loading-mode",
        "timing-allow-origin",
        "use-as-dictionary",
        "x-content-security-policy",
        "x-content-type-options",
        "x-dns-prefetch-control",
        "x-download-options",
        "x-frame-options",
        "x-permitted-cross-domain-policies",
        "x-sourcemap",
        "x-ua-compatible",
        "x-webkit-csp",
        "x-xss-protection",
    }
)
# What a web server or a cache in front of outkey would obey: send a file or an internal
# page instead of the response, change its status, or store it. An API must not command
# ours.
_TO_WEB_SERVER = frozenset(
    {
        "edge-control",
        "forwarded",
        "status",
        "x-cascade",
    }
)
_NOT_RETURNED = _ABOUT_ORIGIN | _TO_WEB_SERVER
_NOT_RETURNED_PREFIXES = (
    "access-control-",
    "attribution-reporting-",
    "cross-origin-",
    "surrogate-",
    "x-accel-",
    "x-forwarded",
    "x-lighttpd-",
    "x-litespeed-",
    "x-outkey-",
    "x-reproxy-",
    "x-sendfile",
)
_CACHE_OF_NETWORK = "cdn-cache-control"  # also with the name of one before it
# With these a cache in front of outkey may store a response to a request that has a
# token, and serve it to others (RFC 9111 §3.5). The first two say so alone.
_FOR_SHARED_CACHES = frozenset({"public", "s-maxage"})
_DIRECTIVE = re.compile(r'(?:[^,"]|"(?:\\.|[^"\\])*+"?)++')
_PERMITS_SHARING = re.compile("public|s-maxage|must-revalidate", re.IGNORECASE)
# A browser that shows a response as a page runs nothing of it, and gives it no origin.
_OWN_POLICY = (
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "sandbox"),
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

    def subject_token(self) -> Secret | None:
        """Return the token of the user that the request is sent for, if it has one.

        The API does not get this header: it is for outkey alone.
        """
        for name, value in self.headers:
            if name.lower() == SUBJECT_HEADER:
                return Secret(value)
        return None

    def sent_headers(self) -> dict[str, str]:
        """Return the headers that the API gets from the caller."""
        named = _connection_options(self.headers)
        sent = {
            name: value
            for name, value in self.headers
            if not _is_of_connection(name, named) and self._is_sent(name.lower())
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

    def _is_sent(self, name: str) -> bool:
        """Whether a header of the caller is for the API."""
        if name in _OTHER_METHOD:
            return self.method.upper() == "POST"
        return name not in _NOT_SENT and not name.startswith(_NOT_SENT_PREFIXES)


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
    named = _connection_options(pairs)
    joined: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for name, value in pairs:
        lower = name.lower()
        if _is_of_connection(name, named) or not _is_returned(lower):
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
    if "cache-control" in joined:
        joined["cache-control"] = _unshared(joined["cache-control"])
    headers = [
        (names[lower], ", ".join(values)) for lower, values in joined.items() if values
    ]
    if response.cause is not None:
        headers.append(("X-Outkey-Cause", str(response.cause)))
    return [*headers, *_OWN_POLICY, ("X-Outkey-Attempt", response.attempt)]


def _unshared(values: list[str]) -> list[str]:
    """Return the directives of Cache-Control; private if they permit sharing."""
    if not any(map(_PERMITS_SHARING.search, values)):
        return values
    others = [
        directive.strip()
        for directive in _DIRECTIVE.findall(",".join(values))
        if directive.partition("=")[0].strip().lower()
        not in {"", "private", *_FOR_SHARED_CACHES}
    ]
    return ["private", *others]


def _is_returned(name: str) -> bool:
    """Whether a header of the API, in lower case, is for the caller."""
    return not (
        name in _NOT_RETURNED
        or name.startswith(_NOT_RETURNED_PREFIXES)
        or name.endswith(_CACHE_OF_NETWORK)
    )


def _connection_options(pairs: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the names of headers that a Connection header keeps to one connection."""
    return frozenset(
        option.strip().lower()
        for name, value in pairs
        if name.lower() == "connection"
        for option in value.split(",")
    )


def _is_of_connection(name: str, named: frozenset[str]) -> bool:
    """Whether a header ends at the next hop."""
    lower = name.lower()
    return lower in _HOP_BY_HOP or lower in named or lower.startswith("proxy-")
