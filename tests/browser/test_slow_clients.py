"""Clients that send or read slowly, or not at all: others are served meanwhile."""

import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.cookiejar import CookieJar
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest
from waitress.wasyncore import close_all

import forks
from browser.conftest import Served, serving, wait_for
from outkey.hosts.django.api.aborted import RESPOND_WITHIN
from outkey.hosts.server.web import listener, middleware, places
from outkey.hosts.server.web.exposure import is_loopback
from outkey.hosts.server.web.listener import (
    HEAD_SECONDS,
    REQUEST_SECONDS,
    AddressOf,
    Server,
    peer_address,
)
from outkey.hosts.server.web.middleware import CountedAddress
from outkey.hosts.server.web.places import kind_of
from ports import free_port
from programs import program_command

HEAD = b"GET /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
BODY = (
    b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type:"
    b" application/x-www-form-urlencoded\r\nContent-Length: 5000\r\n\r\nusername="
)
BYTE_SECONDS = 0.5
STARTS = {"nothing": b"", "partial head": HEAD, "partial body": BODY}


@contextmanager
def slow_clients(url: str, count: int, start: bytes) -> Iterator[list[socket.socket]]:
    """Open connections that send the start of a request and then a byte at times."""
    port = int(url.rpartition(":")[2])
    connections = [
        socket.create_connection(("127.0.0.1", port), 10) for _ in range(count)
    ]
    ended = threading.Event()

    def dribble() -> None:
        while not ended.wait(BYTE_SECONDS):
            for connection in connections:
                try:
                    connection.send(b"x" if start else b"")
                except OSError:
                    continue  # the server has closed it

    for connection in connections:
        if start:
            connection.sendall(start)
    thread = threading.Thread(target=dribble, daemon=True)
    thread.start()
    try:
        yield connections
    finally:
        ended.set()
        thread.join(10)
        for connection in connections:
            connection.close()


def seconds_for_a_page(url: str) -> float:
    began = time.monotonic()
    with urllib.request.urlopen(f"{url}/login/", timeout=15) as response:
        assert response.status == 200
        response.read()
    return time.monotonic() - began


@pytest.mark.parametrize("count", [40, 400])
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_slow_clients_do_not_keep_others_from_the_pages(
    served: Served, count: int, start: bytes
) -> None:
    seconds_for_a_page(served.url)  # the first page of a process loads templates
    with slow_clients(served.url, count, start):
        time.sleep(1.5 * BYTE_SECONDS)
        durations = [seconds_for_a_page(served.url) for _ in range(3)]
    assert max(durations) < 1.0


def test_more_slow_clients_than_places_do_not_keep_others_out(served: Served) -> None:
    with slow_clients(served.url, 700, HEAD):
        time.sleep(1.5 * BYTE_SECONDS)
        assert seconds_for_a_page(served.url) < 2.0


def is_closed(connection: socket.socket, deadline: float) -> bool:
    connection.settimeout(max(deadline - time.monotonic(), 0.1))
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@dataclass(frozen=True)
class Patience:
    """A server, and how long it waits for a head and for a whole request."""

    url: str
    head: float
    request: float


@pytest.fixture(scope="module")
def patience(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Patience]:
    if pytestconfig.getoption("--full"):
        head, request = HEAD_SECONDS, REQUEST_SECONDS
    else:
        head, request = 2.0, 6.0
    command = program_command("browser/hasty_server", str(head), str(request))
    with serving(tmp_path_factory.mktemp("hasty"), command) as served:
        yield Patience(served.url, head, request)


def test_a_request_that_arrives_too_slowly_is_closed(patience: Patience) -> None:
    began = time.monotonic()
    last = began + patience.head + 4
    with slow_clients(patience.url, 2, HEAD) as connections:
        assert all(is_closed(connection, last) for connection in connections)
    assert time.monotonic() - began > 0.8 * patience.head


def test_a_body_has_more_time_than_a_head_and_not_for_ever(patience: Patience) -> None:
    began = time.monotonic()
    with slow_clients(patience.url, 1, BODY) as (connection,):
        assert not is_closed(connection, began + 1.4 * patience.head)
        assert is_closed(connection, began + patience.request + 5)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(served: Served) -> None:
    connection = HTTPConnection(
        "127.0.0.1", int(served.url.rpartition(":")[2]), timeout=10
    )
    connection.putrequest("POST", "/login/")
    connection.putheader("Content-Length", str(2**32))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_a_client_that_sends_too_large_a_body_to_its_end_gets_the_response(
    served: Served,
) -> None:
    """A proxy in front of the server does: reset, it would respond with 502."""
    size = 8 * 1024 * 1024
    connection = socket.create_connection(address_of(served.url), 10)
    head = f"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {size}\r\n\r\n"
    connection.sendall(head.encode())
    time.sleep(0.5)  # the response is there by now
    connection.sendall(b"x" * size)
    response = connection.makefile("rb").read()
    assert response.startswith(b"HTTP/1.1 413 ")
    connection.close()


def test_a_refused_client_does_not_send_for_ever(patience: Patience) -> None:
    began = time.monotonic()
    connection = socket.create_connection(address_of(patience.url), 10)
    head = (
        f"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {2**32}\r\n\r\n"
    )
    connection.sendall(head.encode())
    while sends(connection):
        assert time.monotonic() < began + patience.head + 5
        time.sleep(0.05)
    assert time.monotonic() - began > 0.8 * patience.head
    connection.close()


def sends(connection: socket.socket) -> bool:
    """Send something; whether the server still takes it."""
    try:
        connection.sendall(b"x" * 100)
    except ConnectionError:
        return False
    return True


def address_of(url: str) -> tuple[str, int]:
    return "127.0.0.1", int(url.rpartition(":")[2])


# ── clients that do not read ──────────────────────────────────────────────────────────

MEBIBYTE = 1024 * 1024
SENDING = "/api/v1/send/x"


@contextmanager
def plain_server(
    application: WSGIApplication, address_of: AddressOf = peer_address
) -> Iterator[int]:
    """Serve an application in a thread; yield the port."""
    port = free_port()
    server = Server(application, "127.0.0.1", port)
    server.count_sign_ins_by(address_of)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield port
    finally:
        server.stop()
        thread.join(20)
        server.finish()
        close_all(server._map)  # the process goes on, other than that of a server


def endless(port: int, path: str) -> socket.socket:
    """Request something, and read nothing of the response."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return connection


def wait_until_closed(connection: socket.socket, seconds: float) -> float:
    """Wait until the server ends a connection, without reading from it."""
    began = time.monotonic()
    while connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1:
        assert time.monotonic() < began + seconds, "the server keeps the connection"
        time.sleep(0.05)
    return time.monotonic() - began


class LargeResponses:
    """Responds with many parts; counts the responses that are being written."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.ended = threading.Semaphore(0)

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        if self.seconds is not None:
            environ[RESPOND_WITHIN](self.seconds)
        start_response("200 OK", [("Content-Length", str(64 * MEBIBYTE))])
        return self.parts()

    def parts(self) -> Iterator[bytes]:
        try:
            for _ in range(1024):
                yield b"x" * (64 * 1024)
        finally:
            self.ended.release()


@pytest.mark.parametrize("path", [SENDING, "/", f"/{SENDING}"])
def test_a_client_that_reads_nothing_loses_its_connection_and_frees_its_thread(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(listener, "STALLED_SECONDS", 1.0)
    application = LargeResponses()
    with plain_server(application) as port:
        connection = endless(port, path)
        assert wait_until_closed(connection, 15) > 0.8
        assert application.ended.acquire(timeout=10)
        connection.close()


def test_a_client_that_reads_a_byte_at_times_reads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "STALLED_SECONDS", 2.0)
    application = LargeResponses()
    with plain_server(application) as port:
        connection = endless(port, SENDING)
        deadline = time.monotonic() + 15
        while not application.ended.acquire(timeout=0.2):
            assert time.monotonic() < deadline
            connection.recv(1)
        connection.close()


def test_a_client_that_reads_steadily_gets_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "STALLED_SECONDS", 1.0)
    monkeypatch.setattr(listener, "STALLED_BYTES", 1024)
    application = LargeResponses()
    size = 0
    with plain_server(application) as port:
        connection = endless(port, SENDING)
        # Meanwhile the server can pass nothing on: the system has megabytes itself.
        while size < 2 * MEBIBYTE:
            size += len(connection.recv(MEBIBYTE))
            time.sleep(0.005)
        while size < 64 * MEBIBYTE:
            size += len(connection.recv(MEBIBYTE))
        connection.close()
    assert size >= 64 * MEBIBYTE


def test_a_response_with_a_deadline_ends_there_though_its_client_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "STALLED_SECONDS", 60.0)
    application = LargeResponses(seconds=1.0)
    with plain_server(application) as port:
        connection = endless(port, SENDING)
        deadline = time.monotonic() + 15
        while not application.ended.acquire(timeout=0.1):
            assert time.monotonic() < deadline
            connection.recv(128 * 1024)
        connection.close()


def test_the_deadline_of_a_response_is_not_that_of_the_next_one() -> None:
    """Nor is it far ahead of a client only because the previous one was."""
    seen: list[int] = []

    def application(
        environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        channel = environ[RESPOND_WITHIN].__self__
        seen.append(channel.adj.outbuf_high_watermark)
        assert channel.respond_by is None
        environ[RESPOND_WITHIN](0.1)
        start_response("200 OK", [("Content-Length", "0")])
        return []

    with plain_server(application) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        for path in (SENDING, "/", SENDING):
            connection.request("GET", path)
            assert connection.getresponse().read() == b""
        connection.close()
    assert seen[0] == seen[2] == MEBIBYTE
    assert seen[1] > MEBIBYTE


def test_the_loop_rests_while_a_thread_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turning, it would take the interpreter from that thread and all others."""
    turns: list[float] = []
    poll = listener.Server._poll
    send = listener.Channel.send

    def count_and_poll(self: listener.Server) -> None:
        turns.append(time.monotonic())
        poll(self)

    def send_slowly(
        self: listener.Channel,
        data: bytes,
        do_close: bool = True,  # noqa: FBT001, FBT002 - waitress' own
    ) -> int:
        if not do_close:  # a thread does not
            self.server.pull_trigger()  # as another connection wakes the loop
            time.sleep(0.5)
        return send(self, data, do_close)

    monkeypatch.setattr(listener.Server, "_poll", count_and_poll)
    monkeypatch.setattr(listener.Channel, "send", send_slowly)

    def application(
        _environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Length", "5")])
        return [b"hello"]

    with plain_server(application) as port:
        assert status_of(port, "/") == 200
    assert len(turns) < 30


@pytest.mark.parametrize(("sent", "served"), [(3, 3), (100, listener.MAX_PIPELINED)])
def test_only_a_few_requests_are_read_ahead_of_their_responses(
    sent: int, served: int
) -> None:
    head = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    last = head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with (
        plain_server(Blocking()) as port,
        socket.create_connection(("127.0.0.1", port), 20) as connection,
    ):
        connection.sendall(head * (sent - 1) + last)
        received = connection.makefile("rb").read()
    assert received.count(b"HTTP/1.1 200 OK") == served
    assert received.count(b"Connection: close") == 1


# ── threads that others cannot take ───────────────────────────────────────────────────


class Blocking:
    """Does not respond to the query `block` before it is released; counts them."""

    def __init__(self) -> None:
        self.arrived = threading.Semaphore(0)
        self.released = threading.Event()

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        if environ["QUERY_STRING"] == "block":
            self.arrived.release()
            self.released.wait(20)
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    def has_served(self, count: int) -> bool:
        """Whether so many requests have got a thread since the last call, no more."""
        are_there = all(self.arrived.acquire(timeout=20) for _ in range(count))
        return are_there and not self.arrived.acquire(timeout=0.3)


@contextmanager
def requests_to(
    port: int,
    path: str,
    count: int,
    *,
    token: str = "t",
    method: str = "GET",
    source: str = "127.0.0.1",
    forwarded: str = "",
) -> Iterator[list[socket.socket]]:
    """Send requests at the same time, each on a connection of its own."""
    head = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        *([f"X-Forwarded-For: {forwarded}"] if forwarded else []),
    ]
    connections = [
        socket.create_connection(("127.0.0.1", port), 30, (source, 0))
        for _ in range(count)
    ]
    for connection in connections:
        connection.sendall("\r\n".join([*head, "", ""]).encode())
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


def status_of(port: int, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


PATHS = ("/healthz", "/readyz", "/metrics", "/hooks/x", "/login/", "/api/v1/lines")
BLOCKED = f"{SENDING}?block"


@pytest.mark.parametrize(
    ("path", "most"),
    [(SENDING, 8), ("/api/v1/lines", 12), ("/hooks/x", 25), ("/", 23), ("/readyz", 4)],
)
def test_requests_of_one_kind_leave_threads_for_the_others(
    path: str, most: int
) -> None:
    application = Blocking()
    others = [other for other in PATHS if kind_of(other) is not kind_of(path)]
    with plain_server(application) as port:
        with requests_to(port, f"{path}?block", 40):
            assert application.has_served(most)
            assert {status_of(port, other) for other in others} == {200}
            application.released.set()
        assert status_of(port, path) == 200


def test_one_token_does_not_take_all_threads_of_the_interface() -> None:
    application = Blocking()
    with (
        plain_server(application) as port,
        requests_to(port, "/api/v1/lines?block", 20, token="first"),
        requests_to(port, "//api/v1/lines?block", 20, token="second"),
    ):
        assert application.has_served(16)
        assert status_of(port, "/login/") == 200
        application.released.set()
        assert application.has_served(24)


def test_a_slow_api_leaves_threads_for_other_configurations_and_requests() -> None:
    application = Blocking()
    with plain_server(application) as port, ExitStack() as stack:

        def send(path: str, *, token: str) -> None:
            stack.enter_context(requests_to(port, f"{path}?block", 7, token=token))

        send("/api/v1/send/slow/x", token="first")
        send("/api/v1/send/%73low/y", token="second")
        assert application.has_served(8)
        send("/api/v1/send/slow%2Fother/x", token="third")
        assert application.has_served(6)  # those that send are 14 now
        send("/api/v1/lines", token="third")
        assert application.has_served(2)
        application.released.set()
        assert application.has_served(12)


def test_a_send_waits_for_its_own_api_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WAIT_SECONDS", 0.5)
    application = Blocking()
    slow = "/api/v1/send/slow/x"
    with plain_server(application) as port:
        with requests_to(port, f"{slow}?block", 8):
            assert application.has_served(8)
            assert status_of(port, "/api/v1/send/fast/x") == 200
            assert status_of(port, f"http://127.0.0.1:{port}{slow}") == 503
            application.released.set()
        assert status_of(port, slow) == 200


def test_a_request_that_waits_too_long_for_a_thread_gets_a_503_in_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "WAIT_SECONDS", 0.5)
    application = Blocking()
    with plain_server(application) as port, requests_to(port, BLOCKED, 8):
        assert application.has_served(8)
        with requests_to(port, BLOCKED, 1) as (late,):
            head, _, body = late.makefile("rb").read().partition(b"\r\n\r\n")
        application.released.set()
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nRetry-After: 5\r\n" in head
    assert b"\r\nContent-Type: application/json\r\n" in head
    assert json.loads(body)["error"]["code"] == "busy"


def test_a_flood_of_sign_ins_takes_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WAIT_SECONDS", 0.5)
    application = Blocking()
    with plain_server(application) as port, ExitStack() as stack:
        for number in range(1, 4):
            stack.enter_context(sign_ins(port, 1, f"127.0.0.{number}"))
        assert application.has_served(2)
        assert {status_of(port, other) for other in PATHS} == {200}
        with sign_ins(port, 1, "127.0.0.4") as (late,):
            response = late.makefile("rb").read()
        application.released.set()
    assert is_busy_page(response)


def sign_ins(
    port: int, count: int, source: str, forwarded: str = ""
) -> AbstractContextManager[list[socket.socket]]:
    """Send sign-ins of one machine that do not end by themselves."""
    return requests_to(
        port,
        "//login/?block",
        count,
        method="POST",
        source=source,
        forwarded=forwarded,
    )


def is_busy_page(response: bytes) -> bool:
    """Whether a user is asked to try again soon."""
    is_refused = response.startswith(b"HTTP/1.1 503 ")
    has_time = b"\r\nRetry-After: 5\r\n" in response
    return is_refused and has_time and b"Too many users are signing in" in response


def responses_of(clients: list[socket.socket], count: int) -> list[bytes]:
    """Return the responses to the first so many that get one."""
    deadline = time.monotonic() + 20
    ready: list[socket.socket] = []
    while len(ready) < count and time.monotonic() < deadline:
        time.sleep(0.1)
        ready = select.select(clients, [], [], 0)[0]
    return [client.recv(4096) for client in ready]


def test_one_machine_does_not_keep_others_from_signing_in() -> None:
    """It has one thread, two sign-ins that wait, and a 503 at once for the rest."""
    application = Blocking()
    with plain_server(application) as port, sign_ins(port, 1, "127.0.0.2"):
        assert application.has_served(1)
        with sign_ins(port, 8, "127.0.0.2") as flood:
            refused = responses_of(flood, 6)
            assert [is_busy_page(response) for response in refused] == [True] * 6
            with sign_ins(port, 1, "127.0.0.3"):
                assert application.has_served(1)
                application.released.set()
                assert application.has_served(2)


def test_behind_a_proxy_sign_ins_count_by_the_address_that_it_forwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OUTKEY_PROXIES", "127.0.0.9")
    application = Blocking()
    with plain_server(application, CountedAddress()) as port, ExitStack() as stack:
        for forwarded in ("2001:db8::1", "2001:db8::2", "192.0.2.1, 2001:db8::3"):
            stack.enter_context(sign_ins(port, 1, "127.0.0.9", forwarded))
        assert application.has_served(1)
        stack.enter_context(sign_ins(port, 1, "127.0.0.9", "2001:db8:1::1"))
        assert application.has_served(1)
        # What another client says of itself is not looked at.
        for number in range(2):
            stack.enter_context(sign_ins(port, 1, "127.0.0.2", f"192.0.2.{number}"))
        with sign_ins(port, 1, "127.0.0.2", "192.0.2.9") as flood:
            assert [is_busy_page(page) for page in responses_of(flood, 1)] == [True]
        application.released.set()


def test_a_forwarded_text_that_is_too_long_for_an_address_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OUTKEY_PROXIES", "127.0.0.9")
    address_of = CountedAddress()
    parsed = middleware._parse_address.cache_info().currsize
    for number in range(3):
        forwarded = f"fe80::1%{number}" + "x" * 100_000
        assert not address_of(
            {"REMOTE_ADDR": "127.0.0.9", "HTTP_X_FORWARDED_FOR": forwarded}
        )
    assert middleware._parse_address.cache_info().currsize <= parsed + 1  # the proxy's


class Client:
    """Somebody who is logged in."""

    def __init__(self, served: Served) -> None:
        self.url = served.url
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(cookies)
        page = self.open("/login/").read().decode()
        self.token = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', page)[1]  # type: ignore[index]
        self.open("/login/", username="admin", password=served.password)

    def open(self, path: str, **form: str):  # type: ignore[no-untyped-def]  # noqa: ANN201
        posted = form | {"csrfmiddlewaretoken": self.token} if form else {}
        data = urllib.parse.urlencode(posted).encode() if form else None
        return self._opener.open(self.url + path, data, timeout=30)


def slow_test(served: Served) -> tuple[Client, str]:
    """Return a client and the URL that tests a configuration at a slow server."""
    client = Client(served)
    page = client.open("/outkey/configuration/?q=bearer").read().decode()
    place = re.search(r"/outkey/configuration/[0-9a-f-]{36}/", page)
    assert place
    return client, place[0] + "test/"


def test_the_steps_of_a_test_arrive_one_by_one(served: Served) -> None:
    client, place = slow_test(served)
    page = client.open(place.removesuffix("test/")).read().decode()
    token = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token
    client.token = token[1]
    version = re.search('name="version" value="([^"]+)"', page)
    assert version
    response = client.open(place, version=version[1])
    assert response.headers["Transfer-Encoding"] == "chunked"
    pieces = []
    while piece := response.read1(65536):
        pieces.append(piece)
    assert len(pieces) > 1


@contextmanager
def own_server(
    home: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    port = free_port()
    process = forks.Popen(
        [*forks.OUTKEY, "serve", "--port", str(port), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "OUTKEY_HOME": str(home)},
    )
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate(timeout=20)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_at_once_though_slow_clients_are_connected(
    tmp_path: Path, number: signal.Signals
) -> None:
    with own_server(tmp_path / "home") as (process, url):
        wait_for(url)
        with slow_clients(url, 3, HEAD):
            process.send_signal(number)
            _out, err = process.communicate(timeout=15)
    assert process.returncode == 0
    assert err == ""


# ── too few descriptors ───────────────────────────────────────────────────────────────


def start_with_descriptors(
    home: Path, soft: int, hard: int
) -> subprocess.CompletedProcess[str]:
    """Run `outkey serve` with a limit, at a port that is in use."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        return subprocess.run(
            [
                *("prlimit", f"--nofile={soft}:{hard}", *forks.OUTKEY),
                *("serve", "--port", str(taken.getsockname()[1])),
            ],
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "OUTKEY_HOME": str(home)},
            check=False,
            timeout=120,
        )


def test_a_server_with_too_few_descriptors_does_not_start(tmp_path: Path) -> None:
    refused = start_with_descriptors(tmp_path / "few", 120, 599)
    assert refused.returncode == 2
    assert "may open 599 files and connections, and needs 600" in refused.stderr
    assert "ulimit -n 1024" in refused.stderr
    # It takes what it may have; then the port is what is wrong.
    started = start_with_descriptors(tmp_path / "enough", 120, 600)
    assert started.returncode == 2
    assert "cannot listen" in started.stderr


def test_a_server_that_runs_out_of_descriptors_logs_it_once_and_recovers(
    tmp_path: Path,
) -> None:
    with own_server(tmp_path / "home") as (process, url):
        wait_for(url)
        limits = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        opened = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (opened + 5, limits[1]))
        connections = [socket.create_connection(address_of(url)) for _ in range(40)]
        time.sleep(3)
        for connection in connections:
            connection.close()
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, limits)
        assert seconds_for_a_page(url) < 10
        process.terminate()
        _out, err = process.communicate(timeout=20)
    assert "no connection can be accepted: Too many open files" in err
    assert "Traceback" not in err
    assert len(err.splitlines()) < 10


WARNING = "Put a reverse proxy in front"


def test_an_address_that_others_reach_is_warned_about(tmp_path: Path) -> None:
    with own_server(tmp_path / "home", "--host", "0.0.0.0") as (process, url):
        wait_for(url)
        process.terminate()
        _out, err = process.communicate(timeout=15)
    assert WARNING in err
    assert process.returncode == 0


def test_an_address_that_is_taken_is_told_in_words(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = forks.run(
            [*forks.OUTKEY, "serve", "--port", port],
            {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(tmp_path / "home")},
        )
    assert done.returncode == 2
    assert "cannot listen" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_needs_no_proxy(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "erp.example"])
def test_every_other_address_needs_one(host: str) -> None:
    assert not is_loopback(host)
