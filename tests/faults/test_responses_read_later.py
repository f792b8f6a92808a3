"""A request that was sent, whose response is read once its caller has time."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from outkey.foundation.core.errors import ConnectionFailed, OutkeyError, TimedOut
from outkey.foundation.core.origin import Origin
from outkey.sending.adapters.transport import transport_sockets
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import Request, Route

pytestmark = pytest.mark.skipif(
    not transport_sockets._CAN_LEAVE, reason="another thread does it there"
)
PATIENCE = 30.0


def response_of(body: bytes, *, length: int = 0) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (
        length or len(body),
        body,
    )


class Peer:
    """A server on one connection, whose responses the test writes itself."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._connected: socket.socket | None = None
        self.transport = SocketTransport()
        self.origin = Origin("http", "127.0.0.1", self._listening.getsockname()[1])

    def request(self, body: bytes = b"") -> Request:
        return Request("GET", self.origin, "/", (), body)

    def route(self, seconds: float = PATIENCE) -> Route:
        return Route(
            addresses=("127.0.0.1",),
            partition="shop",
            tls=TlsSettings(),
            connect_timeout=PATIENCE,
            read_timeout=seconds,
            time_left=seconds,
            response_bytes=1024 * 1024,
        )

    def open(self, body: bytes = b"first") -> None:
        """Exchange one request, after which the connection is idle."""
        thread = threading.Thread(target=self._respond_first, args=(body,))
        thread.start()
        assert self.transport.send(self.request(), self.route()).body == body
        thread.join()

    def _respond_first(self, body: bytes) -> None:
        self._connected, _ = self._listening.accept()
        self._connected.settimeout(PATIENCE)
        self.respond(body)

    def respond(self, body: bytes) -> None:
        self.receive()
        self.write(response_of(body))

    def receive(self) -> bytes:
        assert self._connected is not None
        return self._connected.recv(65536)

    def write(self, data: bytes) -> None:
        assert self._connected is not None
        self._connected.sendall(data)

    def hang_up(self) -> None:
        assert self._connected is not None
        self._connected.close()

    def close(self) -> None:
        self.transport.close()
        self._listening.close()
        if self._connected is not None:
            self._connected.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    yield made
    made.close()


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that have passed besides those of the clock."""
    seconds = [0.0]
    real = time.monotonic
    monkeypatch.setattr(
        transport_sockets.time, "monotonic", lambda: real() + seconds[0]
    )
    return seconds


def test_the_request_is_sent_at_once_and_the_response_read_when_it_is_wanted(
    peer: Peer,
) -> None:
    peer.open()
    for body in (b"second", b"third"):  # on the same connection
        begun = peer.transport.begin(peer.request(), peer.route())
        assert begun is not None
        assert peer.receive().startswith(b"GET / HTTP/1.1")
        assert not begun.wait(0.0)
        peer.write(response_of(body))
        assert begun.wait(PATIENCE)
        response = begun.result()
        assert (response.status, response.body) == (200, body)


def test_a_response_has_arrived_only_if_all_of_it_has(peer: Peer) -> None:
    peer.open()
    begun = peer.transport.begin(peer.request(), peer.route())
    assert begun is not None
    peer.write(response_of(b"hel", length=5))
    assert not begun.wait(0.05)
    peer.write(b"lo")
    assert begun.wait(PATIENCE)
    assert begun.result().body == b"hello"


def test_what_cannot_be_sent_at_once_is_not_sent(peer: Peer) -> None:
    assert peer.transport.begin(peer.request(), peer.route()) is None  # no connection
    peer.open()
    large = b"x" * (transport_sockets._LEFT + 1)
    assert peer.transport.begin(peer.request(large), peer.route()) is None
    streaming = peer.route()._replace(streams=True)
    assert peer.transport.begin(peer.request(), streaming) is None


def test_after_a_large_response_a_thread_must_read_the_next_one(peer: Peer) -> None:
    peer.open(b"x" * (transport_sockets._LEFT + 1))
    assert peer.transport.begin(peer.request(), peer.route()) is None
    # The connection stays idle for that thread.
    thread = threading.Thread(target=peer.respond, args=(b"again",))
    thread.start()
    assert peer.transport.send(peer.request(), peer.route()).body == b"again"
    thread.join()


def test_the_time_in_which_a_response_waits_does_not_count(
    peer: Peer, away: list[float]
) -> None:
    peer.open()
    begun = peer.transport.begin(peer.request(), peer.route(5.0))
    assert begun is not None
    peer.write(response_of(b"early"))
    while not begun._exchange.connection.has_input_within(PATIENCE):
        pass
    away[0] = 600.0
    assert begun.result().body == b"early"


def test_it_arrived_when_the_system_got_it_and_not_when_it_was_looked_for(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.open()
    begun = peer.transport.begin(peer.request(), peer.route())
    assert begun is not None
    assert begun.arrived_at == pytest.approx(time.monotonic(), abs=PATIENCE)
    connection = transport_sockets._SocketConnection
    monkeypatch.setattr(connection, "silent_seconds", lambda _connection: 7.0)
    peer.write(response_of(b"early"))
    assert begun.wait(PATIENCE)
    assert time.monotonic() - begun.arrived_at >= 7.0


def test_the_system_knows_for_how_long_nothing_has_arrived(peer: Peer) -> None:
    peer.open()
    begun = peer.transport.begin(peer.request(), peer.route())
    assert begun is not None
    peer.write(response_of(b"early"))
    connection = begun._exchange.connection
    assert connection.has_input_within(PATIENCE)
    before = connection.silent_seconds()
    deadline = time.monotonic() + PATIENCE
    while connection.silent_seconds() < before + 0.05:
        assert time.monotonic() < deadline
    assert begun.result().body == b"early"


def test_silence_ends_at_the_time_left(peer: Peer) -> None:
    peer.open()
    begun = peer.transport.begin(peer.request(), peer.route(0.2))
    assert begun is not None
    with pytest.raises(TimedOut):
        begun.result()


def test_a_connection_that_ends_is_the_error_of_its_response(peer: Peer) -> None:
    peer.open()
    begun = peer.transport.begin(peer.request(), peer.route())
    assert begun is not None
    assert peer.receive()
    peer.hang_up()
    assert begun.wait(PATIENCE)
    with pytest.raises(ConnectionFailed):
        begun.result()


def test_a_request_that_cannot_be_written_is_an_error_of_its_response(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> bool:
        raise TimeoutError

    peer.open()
    monkeypatch.setattr(transport_sockets, "_write_request", fail)
    begun = peer.transport.begin(peer.request(), peer.route())
    assert begun is not None
    with pytest.raises(TimedOut):
        begun.result()


def test_a_compressed_body_over_the_limit_is_refused(peer: Peer) -> None:
    peer.open()
    begun = peer.transport.begin(peer.request(), peer.route())
    assert begun is not None
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n"
    peer.write(head + b"odd")
    with pytest.raises(OutkeyError):
        begun.result()


def test_an_abandoned_connection_is_closed(peer: Peer) -> None:
    peer.open()
    begun = peer.transport.begin(peer.request(), peer.route())
    assert begun is not None
    assert peer.receive()
    begun.abandon()
    assert peer.receive() == b""
