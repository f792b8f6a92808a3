"""Storms at an endpoint: the server refuses or stores, goes on, and stays small."""

import http.client
import json
import signal
import socket
import subprocess
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from hmac import digest
from pathlib import Path
from typing import Any

import pytest

import forks
from cli.conftest import Terminal
from cli.test_own_pages import wait_for
from outkey.testing.canary import Canaries
from ports import free_port

KEY = "hook-secret-7f3a"
MEBIBYTE = 1024 * 1024
LIMIT = 25 * MEBIBYTE
AT_ONCE = 100
SLOW = 200
PATIENCE = 60.0
QUICK_SECONDS = 5.0  # for a response while a storm rages, on a machine that is busy
MORE_MEMORY = 96 * MEBIBYTE  # after a storm, for caches and fragments
DOCUMENT = """
[configuration.shop]
base_url = "https://api.shop.example"
no_auth_reason = "public_api"
[line.orders]
configuration = "shop"
path = "/orders"
direction = "pull"
target = "table:orders"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
[webhook.shop]
scheme = "shopify"
line = "orders"
"""


@dataclass(frozen=True)
class Shop:
    """A server with an endpoint."""

    terminal: Terminal
    port: int
    path: str
    pid: int

    def headers(self, body: bytes, event: str) -> dict[str, str]:
        return {
            "X-Shopify-Hmac-SHA256": b64encode(
                digest(KEY.encode(), body, sha256)
            ).decode(),
            "X-Shopify-Event-Id": event,
            "X-Shopify-Webhook-Id": event,
        }

    def post(self, body: bytes, event: str, path: str = "") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = self.headers(body, event)
            connection.request("POST", path or self.path, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 30)

    def status_of(self, *pieces: bytes) -> int:
        """Send bytes and end; return the status, 0 if there was no response."""
        with self.connect() as connection:
            with suppress(OSError):
                for piece in pieces:
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
            received = b""
            with suppress(OSError):
                while piece := connection.recv(65_536):
                    received += piece
        return int(received.split()[1]) if received else 0

    def memory(self) -> int:
        """Return the bytes of memory that the server has."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = [text for text in status.splitlines() if text.startswith("VmRSS")]
        return int(line.split()[1]) * 1024

    def assert_goes_on(self, event: str) -> None:
        began = time.monotonic()
        body = json.dumps({"id": 1, "event": event}).encode()
        assert self.post(body, event) == 200
        assert time.monotonic() - began < QUICK_SECONDS

    def inbox(self) -> dict[str, dict[str, Any]]:
        rows = self.terminal("webhook", "inbox", "shop", "--limit", "1000", "--json")
        return {row["event_id"]: row for row in rows.json}

    @contextmanager
    def staying_small(self) -> Iterator[None]:
        before = self.memory()
        yield
        deadline = time.monotonic() + PATIENCE
        while self.memory() > before + MORE_MEMORY:
            grown = (self.memory() - before) // MEBIBYTE
            assert time.monotonic() < deadline, f"the server has grown by {grown} MiB"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    outkey = Terminal(tmp_path_factory.mktemp("storms") / "home", Canaries())
    outkey.settings["OUTKEY_WEBHOOK_MEBIBYTES"] = "25"
    assert outkey("apply", "-", stdin=DOCUMENT).code == 0
    assert outkey("webhook", "secret", "shop", stdin=KEY).code == 0
    path = outkey("webhook", "show", "shop", "--json").json["endpoint"]
    port = free_port()
    process = forks.Popen(
        [*forks.OUTKEY, "serve", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=outkey.environment,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}")
        made = Shop(outkey, port, path, process.pid)
        with ThreadPoolExecutor(32) as pool:  # its threads are made and connected
            list(pool.map(lambda n: made.post(b"{}", f"first-{n}"), range(100)))
        yield made
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def head(shop: Shop, *lines: str) -> bytes:
    """Return the head of a request to the endpoint."""
    first = (f"POST {shop.path} HTTP/1.1", "Host: 127.0.0.1")
    return "\r\n".join([*first, *lines, "", ""]).encode()


def test_the_same_delivery_many_times_at_once_is_stored_once(shop: Shop) -> None:
    started = threading.Barrier(AT_ONCE)

    def post(_: int) -> int:
        started.wait(PATIENCE)
        return shop.post(b'{"id": 1}', "same")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert set(pool.map(post, range(AT_ONCE))) == {200}
    rows = shop.terminal("webhook", "inbox", "shop", "--limit", "1000", "--json").json
    assert [row["event_id"] for row in rows].count("same") == 1


def test_slow_bodies_do_not_stop_others(shop: Shop) -> None:
    ended = threading.Event()
    slow = [shop.connect() for _ in range(SLOW)]

    def dribble() -> None:
        while not ended.wait(1.0):
            for connection in slow:
                with suppress(OSError):
                    connection.send(b"x")

    with shop.staying_small():
        for connection in slow:
            connection.sendall(head(shop, "Content-Length: 1000"))
        thread = threading.Thread(target=dribble, daemon=True)
        thread.start()
        try:
            for number in range(5):
                shop.assert_goes_on(f"beside-slow-{number}")
                time.sleep(0.5)
        finally:
            ended.set()
            thread.join(PATIENCE)
            for connection in slow:
                connection.close()


def test_large_bodies_are_stored_up_to_the_limit_and_memory_is_released(
    shop: Shop,
) -> None:
    start = b'{"id": 1, "note": "' + b"x" * (LIMIT - 100)
    with shop.staying_small():
        with ThreadPoolExecutor(6) as pool:
            events = [f"large-{number}" for number in range(6)]
            statuses = pool.map(
                lambda event: shop.post(start + event.encode() + b'"}', event), events
            )
            assert set(statuses) == {200}
        assert shop.post(b"x" * LIMIT, "limit") == 200
        assert shop.post(b"x" * (LIMIT + 1), "over") == 413
        assert shop.status_of(head(shop, "Content-Length: 1000000000")) == 413
        shop.assert_goes_on("after-large")
    inbox = shop.inbox()
    assert {*events, "limit"} <= inbox.keys()
    assert "over" not in inbox


BODIES = {
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "digits": b'{"id": ' + b"9" * 5000 + b"}",
    "nan": b'{"id": NaN}',
    "infinity": b'{"id": -Infinity}',
    "double": b'{"id": 1, "id": 2}',
    "surrogate": b'{"id": "\\ud800"}',
    "not utf-8": b'{"id": "\xff"}',
    "empty": b"",
}


def test_verified_bodies_that_are_not_acceptable_json_are_stored_and_fail(
    shop: Shop,
) -> None:
    with shop.staying_small():
        for event, body in BODIES.items():
            assert shop.post(body, event) == 200
        deadline = time.monotonic() + PATIENCE
        while True:
            found = {event: shop.inbox()[event] for event in BODIES}
            if all(row["state"] != "received" for row in found.values()):
                break
            assert time.monotonic() < deadline, found
            time.sleep(0.3)
    outcomes = {event: (row["state"], row["reason"]) for event, row in found.items()}
    assert outcomes == dict.fromkeys(BODIES, ("failed", "not_json"))


def test_a_wrong_length_is_refused(shop: Shop) -> None:
    body = b'{"id": 1}'
    lines = [f"{name}: {value}" for name, value in shop.headers(body, "length").items()]
    lengths = {
        "too short": (["Content-Length: 4"], {401}),
        "too long": (["Content-Length: 4000"], {0, 400}),
        "two": (["Content-Length: 9", "Content-Length: 4"], {400}),
        "both": (["Content-Length: 9", "Transfer-Encoding: chunked"], {0, 400}),
        "negative": (["Content-Length: -9"], {400}),
        "text": (["Content-Length: nine"], {400}),
        "signed": (["Content-Length: +9"], {400}),
        "5,000 digits": ([f"Content-Length: {'9' * 5000}"], {400, 413}),
        "zeros": ([f"Content-Length: {'0' * 5000}"], {400, 401}),
    }
    with shop.staying_small():
        for name, (length, statuses) in lengths.items():
            status = shop.status_of(head(shop, *lines, *length), body)
            assert status in statuses, name
            shop.assert_goes_on(f"after-{name}")
    assert "length" not in shop.inbox()


def test_a_chunked_body_without_end_is_refused(shop: Shop) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    most = 2 * LIMIT // 0x10000
    with shop.staying_small():
        lines = ("Transfer-Encoding: chunked",)
        status = shop.status_of(head(shop, *lines), *([chunk] * most))
        assert status in {0, 413}
        assert shop.status_of(head(shop, *lines), b"fffffffffff\r\nx") in {0, 400, 413}
        assert shop.status_of(head(shop, *lines), b"nothing\r\nx") in {0, 400}
        shop.assert_goes_on("after-chunks")


def test_a_chunked_delivery_is_received(shop: Shop) -> None:
    body = b'{"id": 1}'
    values = shop.headers(body, "chunked")
    lines = [f"{name}: {value}" for name, value in values.items()]
    sent = head(shop, *lines, "Transfer-Encoding: chunked")
    assert shop.status_of(sent, b"9\r\n" + body + b"\r\n0\r\n\r\n") == 200


def test_ten_thousand_headers_are_refused(shop: Shop) -> None:
    short = ["a: b"] * 10_000
    long = [f"x-header-{number}: value" for number in range(10_000)]
    end = "Content-Length: 0"
    with shop.staying_small():
        for _ in range(3):
            assert shop.status_of(head(shop, *short, end)) in {401, 431}
            assert shop.status_of(head(shop, *long, end)) in {0, 431}
        shop.assert_goes_on("after-headers")


STRANGE_PATHS = (
    "",
    "x",
    "%00" * 22,
    "%ff%fe",
    "%C3%A4" * 11,
    "..%2f..%2fadmin",
    "a" * 4000,
    "a" * 22 + "/",
    "%7Bendpoint%7D",
)


@pytest.mark.parametrize("path", STRANGE_PATHS)
def test_a_strange_path_is_404(shop: Shop, path: str) -> None:
    assert shop.post(b"{}", "strange", f"/hooks/{path}") == 404


def test_raw_bytes_in_a_path_are_refused(shop: Shop) -> None:
    for path in (b"/hooks/\xff\xfe\x80", b"/hooks/" + b"\xc3\xa4" * 11):
        first = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        assert shop.status_of(first) in {400, 404}
    shop.assert_goes_on("after-bytes")


def test_a_flood_of_forgeries_is_refused_and_counted(shop: Shop) -> None:
    def forge(number: int) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", shop.port, timeout=60)
        try:
            headers = shop.headers(b"another body", f"forged-{number}")
            connection.request("POST", shop.path, b'{"id": 1}', headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def counted() -> int:
        shown = shop.terminal("webhook", "show", "shop", "--json").json
        return int(shown["refused"].get("wrong_signature", 0))

    before = counted()
    with shop.staying_small(), ThreadPoolExecutor(16) as pool:
        assert set(pool.map(forge, range(400))) == {401}
    deadline = time.monotonic() + PATIENCE
    while counted() != before + 400:
        assert time.monotonic() < deadline
        time.sleep(0.2)
