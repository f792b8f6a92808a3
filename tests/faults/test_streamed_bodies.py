"""Bodies that are passed on part by part: both directions, and where they break."""

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from random import Random

import pytest

from contract.raw_peer import raw_peer, serving
from frames import every_frame, places_showing
from outkey.foundation.core.errors import (
    OutkeyError,
    ResponseBroken,
    ResponseTooLarge,
    TimedOut,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.transport import transport_sockets
from outkey.sending.adapters.transport.inflate import inflate, inflate_parts
from outkey.sending.adapters.transport.response_reader import MAX_WHOLE
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import (
    BodyStream,
    Header,
    Proxy,
    Request,
    Response,
    Route,
    Source,
)

MEBIBYTE = 1024 * 1024
BODY = Random(7).randbytes(300_000)
LIMIT = 10 * MEBIBYTE


@pytest.fixture
def transport() -> Iterator[SocketTransport]:
    made = SocketTransport()
    yield made
    made.close()


def ask(transport: SocketTransport, port: int, **changes: object) -> Response:
    origin = Origin("http", "127.0.0.1", port)
    values: dict[str, object] = {
        "addresses": ("127.0.0.1",),
        "partition": "p",
        "tls": TlsSettings(),
        "connect_timeout": 2.0,
        "read_timeout": 1.0,
        "time_left": 5.0,
        "response_bytes": LIMIT,
        "streams": True,
    }
    headers = (
        Header("Host", origin.authority, Source.DEFAULT),
        Header("Authorization", Secret("a-secret-header"), Source.AUTHENTICATION),
    )
    request = Request("GET", origin, "/", headers)
    return transport.send(request, Route(**(values | changes)))  # type: ignore[arg-type]


def stream_of(response: Response) -> BodyStream:
    assert response.body == b""
    assert response.stream is not None
    return response.stream


def with_length(body: bytes, *lines: bytes, status: bytes = b"200 OK") -> bytes:
    length = b"Content-Length: %d" % len(body)
    return b"\r\n".join([b"HTTP/1.1 " + status, length, *lines, b"", body])


def chunked(body: bytes, size: int = 10_000) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in parts]
    return head + b"".join(chunks) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "size"),
    [
        pytest.param(with_length(BODY), len(BODY), id="length"),
        pytest.param(chunked(BODY), None, id="chunked"),
        pytest.param(
            with_length(gzip.compress(BODY), b"Content-Encoding: gzip"), None, id="gzip"
        ),
        pytest.param(
            with_length(zlib.compress(BODY)[2:-4], b"Content-Encoding: deflate"),
            None,
            id="raw deflate",
        ),
        pytest.param(
            with_length(BODY, b"Content-Encoding: br"), len(BODY), id="unknown"
        ),
    ],
)
def test_a_large_body_arrives_in_parts_and_the_connection_is_kept(
    transport: SocketTransport, answer: bytes, size: int | None
) -> None:
    with raw_peer(answer) as peer:
        for _ in range(3):
            stream = stream_of(ask(transport, peer.port))
            assert stream.size == size
            parts = list(stream)
            assert b"".join(parts) == BODY
            # What was awaited for a moment, and one read.
            assert max(map(len, parts)) <= 2 * MAX_WHOLE
            stream.close()
        assert peer.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        with_length(b"x" * MAX_WHOLE),
        with_length(BODY, status=b"400 Bad Request"),
        with_length(BODY, status=b"302 Found"),
    ],
    ids=["small", "an error", "a redirect"],
)
def test_other_bodies_are_read_whole(transport: SocketTransport, answer: bytes) -> None:
    with raw_peer(answer) as peer:
        response = ask(transport, peer.port)
        assert response.stream is None
        assert response.body == answer.partition(b"\r\n\r\n")[2]


def test_a_body_that_arrived_with_its_head_is_whole(
    transport: SocketTransport,
) -> None:
    with raw_peer(chunked(b"ok")) as peer:
        assert ask(transport, peer.port).body == b"ok"


def test_a_part_arrives_before_the_next_one_is_sent(
    transport: SocketTransport,
) -> None:
    seen = threading.Event()

    def talk(stream: socket.socket) -> None:
        stream.recv(65536)
        stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        stream.sendall(b"1\r\na\r\n")
        assert seen.wait(5)
        stream.sendall(b"1\r\nb\r\n0\r\n\r\n")

    with serving(talk) as port:
        parts = iter(stream_of(ask(transport, port, read_timeout=5.0)))
        assert next(parts) == b"a"
        seen.set()
        assert b"".join(parts) == b"b"


def in_two_parts(stream: socket.socket) -> None:
    stream.recv(65536)
    stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    stream.sendall(b"1\r\na\r\n")
    time.sleep(0.2)
    stream.sendall(b"1\r\nb\r\n0\r\n\r\n")


def test_a_small_body_that_ends_soon_is_whole(
    transport: SocketTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_sockets, "SETTLE_SECONDS", 5.0)
    with serving(in_two_parts) as port:
        response = ask(transport, port)
        assert (response.body, response.stream) == (b"ab", None)


def test_nobody_waits_for_a_body_that_goes_on(transport: SocketTransport) -> None:
    with serving(in_two_parts) as port:
        assert list(stream_of(ask(transport, port))) == [b"a", b"b"]


def test_the_end_of_the_connection_ends_a_body_without_a_length(
    transport: SocketTransport,
) -> None:
    def talk(stream: socket.socket) -> None:
        stream.recv(65536)
        stream.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + BODY)

    with serving(talk) as port:
        assert b"".join(stream_of(ask(transport, port))) == BODY


def truncated(stream: socket.socket) -> None:
    stream.recv(65536)
    stream.sendall(with_length(BODY)[:100_000])


def stalled(stream: socket.socket) -> None:
    truncated(stream)
    stream.recv(1)


def endless(stream: socket.socket) -> None:
    stream.recv(65536)
    stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        stream.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")


@pytest.mark.parametrize(
    ("talk", "error"),
    [(truncated, ResponseBroken), (stalled, TimedOut), (endless, ResponseTooLarge)],
)
def test_a_body_that_breaks_is_a_typed_error_and_its_connection_is_closed(
    transport: SocketTransport, talk: object, error: type[OutkeyError]
) -> None:
    with serving(talk, talk) as port:  # type: ignore[arg-type]
        for _ in range(2):
            stream = stream_of(ask(transport, port))
            with pytest.raises(error) as caught:
                list(stream)
            frames = every_frame(caught.value)
            assert places_showing("a-secret-header", caught.value, frames) == []


def test_a_stated_length_over_the_limit_is_refused_at_once(
    transport: SocketTransport,
) -> None:
    with raw_peer(with_length(BODY)) as peer, pytest.raises(ResponseTooLarge):
        ask(transport, peer.port, response_bytes=100_000)


def test_a_bomb_ends_at_the_limit(transport: SocketTransport) -> None:
    body = gzip.compress(b"\0" * 100 * MEBIBYTE)
    with raw_peer(with_length(body, b"Content-Encoding: gzip")) as peer:
        stream = stream_of(ask(transport, peer.port))
        sizes: list[int] = []
        with pytest.raises(ResponseTooLarge):
            sizes.extend(map(len, stream))
        assert max(sizes) <= MAX_WHOLE
        assert sum(sizes) <= LIMIT


def test_a_body_that_nobody_reads_is_hung_up_on(transport: SocketTransport) -> None:
    closed = threading.Event()

    def talk(stream: socket.socket) -> None:
        stream.recv(65536)
        try:
            endless_parts(stream)
        except OSError:
            closed.set()

    def endless_parts(stream: socket.socket) -> None:
        stream.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            stream.sendall(b"x" * 65536)

    with serving(talk) as port:
        stream = stream_of(ask(transport, port))
        next(iter(stream))
        stream.close()
        stream.close()
        assert closed.wait(5)


def test_a_body_through_a_proxy_is_streamed_too(transport: SocketTransport) -> None:
    with raw_peer(with_length(BODY)) as peer:
        proxy = Proxy(Origin("http", "127.0.0.1", peer.port))
        stream = stream_of(ask(transport, 80, proxy=proxy))
        assert b"".join(stream) == BODY
    assert peer.requests[0].startswith(b"GET http://127.0.0.1/ ")


# ── requests ────────────────────────────────────────────────────────────────────────


class Repeated:
    """A body of zeros that is made as it is read."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.reads = 0

    def __len__(self) -> int:
        return self.size

    def parts(self) -> Iterator[bytes]:
        self.reads += 1
        for start in range(0, self.size, 65536):
            yield bytes(min(65536, self.size - start))


def test_a_body_from_a_source_arrives_whole_and_again(
    transport: SocketTransport,
) -> None:
    source = Repeated(3_000_000)
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        origin = Origin("http", "127.0.0.1", peer.port)
        length = Header("Content-Length", str(len(source)), Source.DEFAULT)
        request = Request("PUT", origin, "/", (length,), source)
        route = Route(("127.0.0.1",), "p", TlsSettings(), 1.0, 5.0, 20.0, 1024)
        for _ in range(2):
            assert transport.send(request, route).status == 204
        bodies = [request.partition(b"\r\n\r\n")[2] for request in peer.requests]
        assert bodies == [bytes(3_000_000)] * 2
    assert source.reads == 2


# ── compression ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("size", [1, 2, 7, 1000, 100_000])
@pytest.mark.parametrize(
    ("body", "encodings"),
    [
        (gzip.compress(BODY), ["gzip"]),
        (gzip.compress(BODY[:1000]) + gzip.compress(BODY[1000:]), ["x-gzip"]),
        (zlib.compress(BODY), ["deflate"]),
        (zlib.compress(BODY)[2:-4], ["deflate"]),
        (gzip.compress(zlib.compress(BODY)), ["deflate, gzip"]),
        (BODY, ["identity"]),
    ],
    ids=["gzip", "members", "zlib", "raw", "two layers", "none"],
)
def test_the_parts_of_a_compressed_body_do_not_matter(
    body: bytes, encodings: list[str], size: int
) -> None:
    assert inflate(body, encodings, LIMIT) == BODY
    parts = (body[start : start + size] for start in range(0, len(body), size))
    assert b"".join(inflate_parts(parts, encodings, LIMIT)) == BODY


def test_what_zlib_holds_back_is_not_lost() -> None:
    zeros = bytes(5 * MEBIBYTE + 1)
    for body in (gzip.compress(zeros), zlib.compress(zeros)):
        encoding = "gzip" if body[0] == 0x1F else "deflate"
        assert inflate(body, [encoding], LIMIT) == zeros
