"""Proxies: the requests to them, their credentials, their failures, and the policy.

A proxy gets its own credentials and never those of the API, and the other way round:
https goes through a tunnel (CONNECT), so that the proxy sees host and port only.
"""

from base64 import b64encode
from dataclasses import dataclass
from typing import NamedTuple

from outkey.foundation.core.errors import (
    HeaderFormatError,
    ProxyConnectionFailed,
    ProxyFailed,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.reference import Reference
from outkey.sending.core.request.headers import CONTROL_CHARACTER, check_length
from outkey.sending.core.request.message import Header, Proxy, Request, Response, Source

_FIELD = "proxy.password"


@dataclass(frozen=True, slots=True)
class ProxyPolicy:
    """The operator's policy for proxies.

    `url` is that of the proxy for all configurations without their own. `allowed` are
    the only proxies that may be used, by host and port; None if there is no list.
    """

    url: str = ""
    username: str = ""
    password: Reference | None = None
    allowed: frozenset[tuple[str, int]] | None = None


class ProxyFailure(NamedTuple):
    """One way in which a proxy fails: what the user reads, and what was sent before.

    The ids are those of the reasons in `sending.core.diagnosis`.
    """

    message: Text
    hint: Text
    kind: type[ProxyFailed] = ProxyFailed


FAILURES = {
    "proxy-credentials": ProxyFailure(
        Text("the proxy requires other credentials"),
        Text("Check Proxy user and Proxy password; outkey sends them as Basic."),
    ),
    "proxy-refused": ProxyFailure(
        Text("the proxy does not allow requests to this host and port"),
        Text("Have the proxy's operator allow the host and port of the URL."),
    ),
    "proxy-cannot-reach": ProxyFailure(
        Text("the proxy could not connect to the server"),
        Text("Check the host of the URL, and whether the proxy can reach it."),
        ProxyConnectionFailed,
    ),
    "proxy-unreachable": ProxyFailure(
        Text("the proxy cannot be reached"),
        Text("Check host and port of the proxy, and whether it is up."),
        ProxyConnectionFailed,
    ),
    "proxy-tls": ProxyFailure(
        Text("the TLS handshake with the proxy failed"),
        Text(
            "Check scheme and certificate of the proxy; add a private CA to CA"
            " certificates (tls.ca_file)."
        ),
    ),
    "proxy-not-http": ProxyFailure(
        Text("the proxy closed the connection, or its response is not HTTP"),
        Text("Check host, port and scheme of the proxy: another service may be there."),
        ProxyConnectionFailed,
    ),
}


def proxy_failure(reason: str) -> ProxyFailed:
    """Return the error for one of the failures above."""
    message, hint, kind = FAILURES[reason]
    return kind(message, hint=hint, field="proxy.url", reason=reason)


def tunnel_failure(status: int) -> ProxyFailed | None:
    """Return the error for a response to CONNECT, None if the tunnel is open."""
    if 200 <= status < 300:
        return None
    if status in {401, 407}:  # tinyproxy responds with 401 to wrong credentials
        return proxy_failure("proxy-credentials")
    return proxy_failure("proxy-cannot-reach" if status >= 500 else "proxy-refused")


def own_failure(response: Response) -> ProxyFailed | None:
    """Return the error if a proxy responds to plain http itself, and not the server."""
    headers = response.headers
    is_its_own = (
        response.status == 407
        or "X-Squid-Error" in headers
        or headers.get("Server").startswith("tinyproxy/")
    )
    return tunnel_failure(response.status) if is_its_own else None


def credentials_at(username: str, password: Secret) -> Secret:
    """Return the credentials as a proxy reads them (RFC 7617)."""

    def encode(text: str) -> str:
        if CONTROL_CHARACTER.search(username + text):
            raise HeaderFormatError(
                Text("Proxy user or Proxy password has a control character"),
                field=_FIELD,
                fault="invisible-characters",
            )
        pair = b64encode(f"{username}:{text}".encode()).decode("ascii")
        return check_length(f"Basic {pair}", field=_FIELD)

    return password.derive(encode)


def connect_request(origin: Origin, proxy: Proxy) -> Request:
    """Return the request for a tunnel to an origin (RFC 9110 §9.3.6)."""
    authority = origin.bound.partition("://")[2]
    host = Header("Host", authority, Source.DEFAULT)
    return Request(
        "CONNECT", proxy.origin, authority, (host, *_credential_headers(proxy))
    )


def absolute_request(request: Request, proxy: Proxy) -> Request:
    """Return a request of plain http as a proxy takes it (RFC 9112 §3.2.2)."""
    return request._replace(
        target=request.url, headers=(*request.headers, *_credential_headers(proxy))
    )


def _credential_headers(proxy: Proxy) -> tuple[Header, ...]:
    """Return the header with the credentials of a proxy, if it has some."""
    if proxy.credentials is None:
        return ()
    header = Header("Proxy-Authorization", proxy.credentials, Source.AUTHENTICATION)
    return (header,)
