"""Bad manners of servers, played by the sparring provider or a raw socket."""

import gzip
import os
import resource
import socket
import subprocess
import textwrap
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.raw_peer import raw_peer, serving
from frames import every_frame, places_showing
from outkey import Gateway, Response
from outkey.foundation.core.errors import (
    ConnectionFailed,
    DnsFailed,
    EgressDenied,
    OutkeyError,
    ResponseBroken,
    ResponseTooLarge,
    TimedOut,
)
from outkey.foundation.core.origin import Origin
from outkey.hosts.file.loading import from_text
from outkey.sending.adapters.transport import connection_pool, transport_sockets
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import Header, Request, Route, Source
from outkey.spar import Spar
from programs import program_command


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture
def gateway(spar: Spar, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    monkeypatch.setenv("SPAR_TOKEN", "spar-token")
    spar.clear()
    text = f"""
        [configuration.spar]
        base_url = "{spar.url}"
        network = "internal"
        authentication_type = "bearer"
        token = "env:SPAR_TOKEN"
        [configuration.spar.limits]
        read_timeout = 1
        total_timeout = 2
        retries = 0
        response_mebibytes = 1
    """
    with from_text(textwrap.dedent(text)) as made:
        yield made


@pytest.fixture
def transport() -> Iterator[SocketTransport]:
    made = SocketTransport()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/slow/silent?seconds=5", TimedOut),
        ("/slow/headers?seconds=5", TimedOut),
        ("/slow/body?seconds=5", TimedOut),
        ("/reset", ConnectionFailed),
        ("/reset/body", ResponseBroken),
        ("/truncated", ResponseBroken),
        ("/truncated/chunked", ResponseBroken),
        ("/huge", ResponseTooLarge),
        ("/huge/chunked", ResponseTooLarge),
        ("/huge/unannounced", ResponseTooLarge),
        ("/bomb", ResponseTooLarge),
        ("/bomb?mebibytes=64&encoding=gzip,gzip", OutkeyError),
        ("/bomb?mebibytes=1&encoding=gzip,gzip,gzip,gzip,gzip,gzip", ResponseTooLarge),
        ("/headers?count=97", ResponseTooLarge),
        ("/headers?count=1&length=70000", ResponseTooLarge),
    ],
)
def test_a_bad_answer_is_a_typed_error_within_the_total_time(
    gateway: Gateway, path: str, error: type[OutkeyError]
) -> None:
    started = time.monotonic()
    with pytest.raises(error):
        gateway.send("spar", "GET", path)
    assert time.monotonic() - started < 2.5
    assert gateway.send("spar", "GET", "/bearer").status == 200


def test_as_many_headers_and_bytes_as_allowed_are_fine(gateway: Gateway) -> None:
    assert gateway.send("spar", "GET", "/headers?count=96").status == 200
    for form in ("", "/chunked", "/unannounced"):
        response = gateway.send("spar", "GET", f"/huge{form}?bytes=1048576")
        assert len(response.body) == 1048576


def test_early_hints_are_passed_over_and_the_connection_stays_in_step(
    gateway: Gateway,
) -> None:
    assert gateway.send("spar", "GET", "/hints").json() == {"hinted": True}
    assert gateway.send("spar", "GET", "/bearer").json() == {"token": "accepted"}


def test_an_answer_to_head_has_no_body_and_the_connection_stays_in_step(
    gateway: Gateway,
) -> None:
    assert gateway.send("spar", "HEAD", "/echo").body == b""
    assert gateway.send("spar", "GET", "/bearer").status == 200


def test_a_request_after_a_silent_close_is_never_sent_twice(
    gateway: Gateway, spar: Spar
) -> None:
    for _ in range(50):
        assert gateway.send("spar", "GET", "/impatient").status == 200
        spar.clear()
        arrived = 1
        try:
            gateway.send("spar", "POST", "/echo", data=b"x")
        except ConnectionFailed:
            arrived = 0  # the close was on its way when the request left
        assert [arrival.method for arrival in spar.journal] == ["POST"] * arrived


def test_an_idempotent_request_after_a_silent_close_is_repeated_and_succeeds(
    spar: Spar,
) -> None:
    text = f'[configuration.a]\nbase_url = "{spar.url}"\nnetwork = "internal"'
    with from_text(text) as gateway:
        for _ in range(50):
            assert gateway.send("a", "GET", "/impatient").status == 200
            assert gateway.send("a", "GET", "/echo").status == 200


def test_a_post_on_a_connection_that_dies_under_it_is_not_repeated() -> None:
    """The server answers once, reads the next request and closes: it may have acted."""
    seen: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        stream, _ = listener.accept()
        with stream:
            seen.append(stream.recv(65536))
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            seen.append(stream.recv(65536))
        while True:
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            seen.append(b"a second connection")
            stream.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        text = f"""
            [configuration.a]
            base_url = "http://127.0.0.1:{listener.getsockname()[1]}"
            network = "internal"
            [configuration.a.limits]
            retries = 5
        """
        with from_text(textwrap.dedent(text)) as gateway:
            gateway.send("a", "GET", "/")
            with pytest.raises(ConnectionFailed):
                gateway.send("a", "POST", "/", data=b"x")
        listener.shutdown(socket.SHUT_RDWR)
    assert [request[:4] for request in seen] == [b"GET ", b"POST"]


# ── uploads ───────────────────────────────────────────────────────────────────────────


def upload(
    transport: SocketTransport, port: int, size: int, silence: float = 5.0
) -> Response:
    origin = Origin("http", "127.0.0.1", port)
    route = Route(("127.0.0.1",), "p", TlsSettings(), 1.0, silence, 20.0, 1024)
    length = Header("Content-Length", str(size), Source.DEFAULT)
    return transport.send(Request("PUT", origin, "/", (length,), b"x" * size), route)


def test_a_large_upload_arrives_whole(transport: SocketTransport) -> None:
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        for _ in range(2):
            assert upload(transport, server.port, 10_000_000).status == 204
        assert [
            len(request.partition(b"\r\n\r\n")[2]) for request in server.requests
        ] == [
            10_000_000,
            10_000_000,
        ]
        assert server.connections == 1


def test_an_answer_that_comes_before_the_upload_was_read_counts(
    transport: SocketTransport,
) -> None:
    def talk(stream: socket.socket) -> None:
        stream.recv(100)
        stream.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")

    with serving(talk, talk) as port:
        assert upload(transport, port, 30_000_000).status == 401
        # on another connection
        assert upload(transport, port, 30_000_000).status == 401


def test_an_upload_that_is_hung_up_on_is_a_failed_connection(
    transport: SocketTransport,
) -> None:
    with serving(lambda stream: stream.recv(100)) as port:
        with pytest.raises(ConnectionFailed) as caught:
            upload(transport, port, 30_000_000)
        assert not isinstance(caught.value, ResponseBroken)


def test_an_upload_that_nobody_reads_ends_at_the_silence(
    transport: SocketTransport,
) -> None:
    finished = threading.Event()
    with serving(lambda stream: stream.recv(1) and finished.wait(5)) as port:
        with pytest.raises(TimedOut):
            upload(transport, port, 30_000_000, silence=0.5)
        finished.set()


@pytest.mark.parametrize(
    "path", ["/slow/silent?seconds=5", "/reset", "/truncated", "/huge"]
)
def test_no_frame_of_a_failed_exchange_holds_the_credentials(
    gateway: Gateway, path: str
) -> None:
    with pytest.raises(OutkeyError) as caught:
        gateway.send("spar", "GET", path)
    assert places_showing("spar-token", caught.value, every_frame(caught.value)) == []


def test_a_kept_connection_is_used_again(transport: SocketTransport) -> None:
    with raw_peer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as peer:
        for _ in range(5):
            assert send_raw(transport, peer.port).body == b"ok"
        assert peer.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and something nobody"
            b" asked for"
        ),
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" * 2,
    ],
)
def test_a_connection_that_ends_or_is_out_of_step_is_not_used_again(
    transport: SocketTransport, answer: bytes
) -> None:
    with raw_peer(answer) as peer:
        for _ in range(3):
            assert send_raw(transport, peer.port).body == b"ok"
        assert peer.connections == 3


@pytest.mark.parametrize(
    "answer",
    [
        (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection:"
            b" upgrade\r\n\r\n"
        ),
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    ],
)
def test_an_answer_that_is_out_of_step_is_refused(
    transport: SocketTransport, answer: bytes
) -> None:
    with raw_peer(answer) as server, pytest.raises(ConnectionFailed):
        send_raw(transport, server.port)


def test_a_small_body_in_a_large_wrapping_is_refused(
    transport: SocketTransport,
) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"1;" + b"x" * 1_500_000 + b"\r\na\r\n0\r\n\r\n"
    with raw_peer(head + chunks) as server, pytest.raises(ResponseTooLarge):
        send_raw(transport, server.port)


@pytest.mark.parametrize(
    "answer",
    [
        b"this is not HTTP\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 50,
    ],
)
def test_an_answer_that_is_no_http_is_a_failed_connection(
    transport: SocketTransport, answer: bytes
) -> None:
    with raw_peer(answer) as peer, pytest.raises((ConnectionFailed, TimedOut)):
        send_raw(transport, peer.port)


def test_folded_header_lines_become_one(transport: SocketTransport) -> None:
    answer = b"HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 0\r\n\r\n"
    with raw_peer(answer) as peer:
        assert send_raw(transport, peer.port).headers["X-Folded"] == "a b"


ENCODED = {
    "gzip": gzip.compress(b"hello"),
    "x-gzip": gzip.compress(b"hello"),
    "deflate": zlib.compress(b"hello"),
    "deflate, identity": zlib.compress(b"hello"),
    "gzip, gzip": gzip.compress(gzip.compress(b"hello")),
    "GZIP": gzip.compress(b"hel") + gzip.compress(b"lo"),
    "br": b"hello",
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_compressed_answers_are_inflated_and_unknown_ones_left_alone(
    transport: SocketTransport, encoding: str
) -> None:
    assert inflate_over_the_wire(transport, encoding, ENCODED[encoding]) == b"hello"


def test_raw_deflate_is_read_too(transport: SocketTransport) -> None:
    compressor = zlib.compressobj(wbits=-15)
    body = compressor.compress(b"hello") + compressor.flush()
    assert inflate_over_the_wire(transport, "deflate", body) == b"hello"


@pytest.mark.parametrize(
    "body", [b"not gzip at all", gzip.compress(b"hello" * 100)[:-20]]
)
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_damaged_compression_is_a_broken_answer(
    transport: SocketTransport, encoding: str, body: bytes
) -> None:
    with pytest.raises(ResponseBroken):
        inflate_over_the_wire(transport, encoding, body)


def inflate_over_the_wire(
    transport: SocketTransport, encoding: str, body: bytes
) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length:"
        f" {len(body)}\r\n\r\n"
    )
    with raw_peer(head.encode() + body) as peer:
        return send_raw(transport, peer.port).body


def send_raw(
    transport: SocketTransport, port: int, method: str = "GET", **changes: object
) -> Response:
    origin = Origin("http", "127.0.0.1", port)
    values: dict[str, object] = {
        "addresses": ("127.0.0.1",),
        "partition": "p",
        "tls": TlsSettings(),
        "connect_timeout": 2.0,
        "read_timeout": 1.0,
        "time_left": 2.0,
        "response_bytes": 1024,
    }
    request = Request(
        method, origin, "/", (Header("Host", origin.authority, Source.DEFAULT),)
    )
    route = Route(**(values | changes))  # type: ignore[arg-type]
    return transport.send(request, route)


def test_the_second_vetted_address_is_tried_when_the_first_refuses(
    transport: SocketTransport,
) -> None:
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        assert (
            send_raw(transport, peer.port, addresses=("127.0.0.2", "127.0.0.1")).status
            == 204
        )


def test_a_kept_connection_to_an_address_no_longer_vetted_is_dropped(
    transport: SocketTransport,
) -> None:
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        send_raw(transport, peer.port)
        with pytest.raises(ConnectionFailed):
            send_raw(transport, peer.port, addresses=("127.0.0.2",))
        assert peer.connections == 1


def test_partitions_never_share_a_connection(transport: SocketTransport) -> None:
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        for partition in ("a", "b", "a", "b"):
            send_raw(transport, peer.port, partition=partition)
        assert peer.connections == 2


def test_idle_connections_are_bounded(
    transport: SocketTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "MAX_IDLE", 3)
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        for partition in "abcde":
            send_raw(transport, peer.port, partition=partition)
        for partition in "edc":
            send_raw(transport, peer.port, partition=partition)
        assert peer.connections == 5
        send_raw(transport, peer.port, partition="a")
        assert peer.connections == 6


def test_an_old_idle_connection_is_not_used(
    transport: SocketTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "IDLE_SECONDS_UNREPEATABLE", -1.0)
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        send_raw(transport, peer.port)
        send_raw(transport, peer.port)
        assert peer.connections == 1
        send_raw(transport, peer.port, method="POST")
        assert peer.connections == 2
    monkeypatch.setattr(connection_pool, "IDLE_SECONDS", -1.0)
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        send_raw(transport, peer.port)
        send_raw(transport, peer.port)
        assert peer.connections == 2


def test_a_child_process_leaves_the_parents_connections_alone(
    transport: SocketTransport,
) -> None:
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as peer:
        send_raw(transport, peer.port)
        child = os.fork()
        if child == 0:  # pragma: no cover - the child's lines are not measured
            try:
                send_raw(transport, peer.port)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        send_raw(transport, peer.port)
        assert peer.connections == 2


def test_a_connection_that_meets_itself_is_refused(transport: SocketTransport) -> None:
    """A connection to a free ephemeral port can reach itself; enforced here."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.connect(("127.0.0.1", port))  # a simultaneous open with itself
        assert probe.getsockname() == probe.getpeername()

        with pytest.raises(EgressDenied, match="back to itself"):
            transport_sockets._refuse_self_connection(probe)


def test_an_unknown_host_is_a_dns_failure() -> None:
    text = (
        '[configuration.a]\nbase_url = "https://nowhere.invalid"\nno_auth_reason ='
        ' "public_api"'
    )
    with from_text(text) as gateway, pytest.raises((DnsFailed, TimedOut)):
        gateway.send("a", "GET", "/")


@pytest.mark.parametrize(
    "path", ["/bomb", "/huge", "/huge/chunked", "/huge/unannounced"]
)
def test_bombs_and_floods_end_in_two_seconds_and_150_mebibytes(
    spar: Spar, path: str
) -> None:
    done = subprocess.run(
        program_command("faults/read_flood", spar.url, path),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    result, peak = done.stdout.splitlines()
    code, seconds = result.split()
    assert code == "response_too_large"
    assert float(seconds) < 2
    assert float(peak) / 1024 < 150


def test_descriptors_do_not_leak_over_many_failures(gateway: Gateway) -> None:
    def open_descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def fail() -> None:
        for path in (
            "/reset",
            "/truncated",
            "/reset/body",
            "/headers?count=97",
            "/bomb",
        ):
            with pytest.raises(OutkeyError):
                gateway.send("spar", "GET", path)

    fail()
    time.sleep(0.2)
    before = open_descriptors()
    for _ in range(10):
        fail()
    time.sleep(0.2)
    assert open_descriptors() <= before + 2
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > before
