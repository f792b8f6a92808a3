"""What both transports promise about proxies, at proxies that misbehave."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from contract.raw_peer import raw_peer, serving
from frames import places_showing, product_frames
from outkey.foundation.core.errors import (
    ConnectionFailed,
    ConnectTimedOut,
    OutkeyError,
    ProxyConnectionFailed,
    ProxyFailed,
    ResponseBroken,
    TimedOut,
    TlsFailed,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.transport.transport_asyncio import AsyncioTransport
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import Header, Proxy, Request, Route, Source
from outkey.sending.ports.sending import Transport
from outkey.testing.contracts import OnLoop
from ports import free_port

API_SECRET = "the-secret-of-the-api"
PROXY_SECRET = "Basic the-secret-of-the-proxy"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
KEPT = OK.replace(b"Content", b"Connection: keep-alive\r\nContent", 1)
OPENED = b"HTTP/1.1 200 Connection established\r\n\r\n"
Talk = Callable[[socket.socket], None]


@pytest.fixture(params=["blocking", "asynchronous"])
def transport(request: pytest.FixtureRequest) -> Iterator[Transport | OnLoop]:
    if request.param == "blocking":
        made = SocketTransport()
        yield made
        made.close()
        return
    with asyncio.Runner() as runner:
        on_loop = OnLoop(runner, AsyncioTransport())
        yield on_loop
        on_loop.close()


def request_to(scheme: str, method: str = "GET", target: str = "/path?q=1") -> Request:
    origin = Origin(scheme, "api.acme.example", 8443)
    headers = (
        Header("Host", origin.authority, Source.DEFAULT),
        Header("Authorization", Secret(API_SECRET), Source.AUTHENTICATION),
    )
    return Request(method, origin, target, headers)


def route_through(
    port: int,
    *,
    scheme: str = "http",
    credentials: str | None = PROXY_SECRET,
    addresses: tuple[str, ...] = ("127.0.0.1",),
    connect_timeout: float = 2.0,
) -> Route:
    proxy = Proxy(
        Origin(scheme, "proxy.acme.example", port),
        Secret(credentials) if credentials is not None else None,
    )
    return Route(
        addresses=addresses,
        partition="acme",
        tls=TlsSettings(),
        connect_timeout=connect_timeout,
        read_timeout=5.0,
        time_left=10.0,
        response_bytes=1024,
        proxy=proxy,
    )


def read_head(stream: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += stream.recv(65536)
    return data


def answering(*parts: bytes, pause: float = 0.0) -> Talk:
    """Read a request, send something, wait, and close."""

    def talk(stream: socket.socket) -> None:
        read_head(stream)
        for part in parts:
            stream.sendall(part)
        time.sleep(pause)

    return talk


def failure_of(transport: Transport | OnLoop, request: Request, route: Route) -> str:
    with pytest.raises(ProxyFailed) as failed:
        transport.send(request, route)
    for secret in (API_SECRET, PROXY_SECRET.partition(" ")[2]):
        assert secret not in f"{failed.value!r} {failed.value.facts()}"
    return failed.value.reason


def test_plain_http_is_sent_in_absolute_form_with_both_credentials(
    transport: Transport | OnLoop,
) -> None:
    with raw_peer(OK) as peer:
        assert (
            transport.send(request_to("http"), route_through(peer.port)).body == b"ok"
        )
    assert peer.requests == [
        (
            b"GET http://api.acme.example:8443/path?q=1 HTTP/1.1\r\n"
            b"Host: api.acme.example:8443\r\n"
            b"Authorization: the-secret-of-the-api\r\n"
            b"Proxy-Authorization: Basic the-secret-of-the-proxy\r\n\r\n"
        )
    ]


def test_a_secret_parameter_follows_the_absolute_form(
    transport: Transport | OnLoop,
) -> None:
    request = request_to("http").with_parameter("key", Secret("k 1"))
    with raw_peer(OK) as peer:
        transport.send(request, route_through(peer.port, credentials=None))
    assert peer.requests[0].startswith(
        b"GET http://api.acme.example:8443/path?q=1&key=k+1 HTTP/1.1\r\n"
    )
    assert b"Proxy-Authorization" not in peer.requests[0]


def test_a_tunnel_is_asked_for_without_anything_of_the_api(
    transport: Transport | OnLoop,
) -> None:
    with raw_peer(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as peer:
        route = route_through(peer.port)
        assert failure_of(transport, request_to("https"), route) == "proxy-refused"
    assert peer.requests == [
        (
            b"CONNECT api.acme.example:8443 HTTP/1.1\r\n"
            b"Host: api.acme.example:8443\r\n"
            b"Proxy-Authorization: Basic the-secret-of-the-proxy\r\n\r\n"
        )
    ]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (302, "proxy-refused"),
        (400, "proxy-refused"),
        (401, "proxy-credentials"),
        (407, "proxy-credentials"),
        (500, "proxy-cannot-reach"),
        (504, "proxy-cannot-reach"),
    ],
)
def test_the_status_of_a_refused_tunnel_tells_why(
    transport: Transport | OnLoop, status: int, reason: str
) -> None:
    with raw_peer(f"HTTP/1.1 {status} No\r\n\r\n".encode()) as peer:
        route = route_through(peer.port)
        assert failure_of(transport, request_to("https"), route) == reason


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\nBroken",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    ],
)
def test_a_tunnel_of_something_else_is_named(
    transport: Transport | OnLoop, answer: bytes
) -> None:
    with serving(answering(answer)) as port:
        reason = failure_of(transport, request_to("https"), route_through(port))
    assert reason == "proxy-not-http"


@pytest.mark.parametrize("answer", [b"", b"220 mail.example ESMTP\r\n"])
def test_plain_http_to_something_else_is_named(
    transport: Transport | OnLoop, answer: bytes
) -> None:
    with serving(answering(answer)) as port:
        reason = failure_of(transport, request_to("http"), route_through(port))
    assert reason == "proxy-not-http"


def test_a_response_that_breaks_off_is_not_blamed_on_the_proxy(
    transport: Transport | OnLoop,
) -> None:
    with (
        serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) as port,
        pytest.raises(ResponseBroken),
    ):
        transport.send(request_to("http"), route_through(port))


def test_a_refusal_of_the_proxy_that_breaks_off_is_one(
    transport: Transport | OnLoop,
) -> None:
    with serving(
        answering(b"HTTP/1.1 407 No\r\nContent-Length: 9\r\n\r\nhalf")
    ) as port:
        reason = failure_of(transport, request_to("http"), route_through(port))
    assert reason == "proxy-credentials"


def test_a_tunnel_that_is_not_opened_in_time_is_named(
    transport: Transport | OnLoop,
) -> None:
    started = time.monotonic()
    with raw_peer(None) as peer:
        route = route_through(peer.port, connect_timeout=0.3)
        reason = failure_of(transport, request_to("https"), route)
    assert reason == "proxy-cannot-reach"
    assert time.monotonic() - started < 2.0


def test_a_silent_server_behind_a_proxy_is_not_blamed_on_the_proxy(
    transport: Transport | OnLoop,
) -> None:
    with raw_peer(None) as peer:
        route = route_through(peer.port)._replace(read_timeout=0.3)
        with pytest.raises(TimedOut):
            transport.send(request_to("http"), route)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("proxy_scheme", ["http", "https"])
def test_a_proxy_that_is_not_there_is_named_and_may_be_tried_again(
    transport: Transport | OnLoop, scheme: str, proxy_scheme: str
) -> None:
    route = route_through(free_port(), scheme=proxy_scheme)
    with pytest.raises(ProxyConnectionFailed) as failed:
        transport.send(request_to(scheme), route)
    assert (failed.value.reason, failed.value.retryable) == ("proxy-unreachable", True)


def test_an_https_proxy_that_does_no_tls_is_named(
    transport: Transport | OnLoop,
) -> None:
    def talk(stream: socket.socket) -> None:
        stream.recv(65536)
        stream.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with serving(talk) as port:
        route = route_through(port, scheme="https")
        assert failure_of(transport, request_to("https"), route) == "proxy-tls"


def test_the_second_vetted_address_of_a_proxy_is_tried(
    transport: Transport | OnLoop,
) -> None:
    with raw_peer(OK) as peer:
        route = route_through(peer.port, addresses=("127.0.0.2", "127.0.0.1"))
        assert transport.send(request_to("http"), route).body == b"ok"


@pytest.mark.parametrize(
    ("talk", "kind"),
    [
        (answering(OPENED), ConnectionFailed),
        (answering(OPENED, b"not TLS at all\r\n"), OutkeyError),
        (answering(OPENED, pause=1.0), ConnectTimedOut),
    ],
)
def test_a_failed_handshake_with_the_server_is_the_servers(
    transport: Transport | OnLoop, talk: Talk, kind: type[OutkeyError]
) -> None:
    with serving(talk) as port, pytest.raises(kind) as failed:
        transport.send(request_to("https"), route_through(port, connect_timeout=0.5))
    assert not isinstance(failed.value, ProxyFailed)
    assert isinstance(failed.value, ConnectionFailed | TlsFailed | TimedOut)


def test_a_connection_is_used_again_only_with_the_same_proxy_and_credentials(
    transport: Transport | OnLoop,
) -> None:
    with raw_peer(KEPT) as peer:
        route = route_through(peer.port)
        for _ in range(3):
            transport.send(request_to("http"), route)
        assert peer.connections == 1
        others = (
            route_through(peer.port, credentials="Basic other"),
            route_through(peer.port, credentials=None),
            route._replace(proxy=Proxy(Origin("http", "other.example", peer.port))),
        )
        for number, other in enumerate(others, start=2):
            transport.send(request_to("http"), other)
            assert peer.connections == number
        direct = request_to("http")._replace(
            origin=Origin("http", "api.acme.example", peer.port)
        )
        transport.send(direct, route._replace(proxy=None))
        assert peer.connections == len(others) + 2
    assert b"Proxy-Authorization" not in peer.requests[-1]


def test_a_connection_that_the_proxy_may_close_without_a_word_is_not_used_again(
    transport: Transport | OnLoop,
) -> None:
    with raw_peer(OK) as peer:
        for number in (1, 2):
            transport.send(request_to("http"), route_through(peer.port))
            assert peer.connections == number


def test_no_frame_of_a_failed_tunnel_holds_the_credentials(
    transport: Transport | OnLoop,
) -> None:
    with raw_peer(b"HTTP/1.1 407 No\r\n\r\n") as peer:
        try:
            transport.send(request_to("https"), route_through(peer.port))
        except ProxyFailed as error:
            failure = error
    frames = product_frames(failure)
    assert places_showing("the-secret-of", failure, frames) == []
