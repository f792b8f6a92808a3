"""A killed server: what senders were told is stored is stored, and each event once."""

import http.client
import itertools
import json
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from hmac import digest
from pathlib import Path

import psycopg
import pytest

import forks
from cli.conftest import Terminal
from database.conftest import POSTGRESQL, Cluster
from ports import free_port

QUICK, FULL = 3, 50
SENDERS = 16
PATIENCE = 120.0
KEY = "hook-secret-7f3a"
# Deliveries are processed meanwhile, where the server does that.
HANDLER = "builtins.bool"
DOCUMENT = f"""
[webhook.shop]
scheme = "shopify"
handler = "{HANDLER}"
"""
STORED = "SELECT event_id FROM outkey_delivery"


class Senders:
    """Threads that send one event after the other, each until it is answered 200."""

    def __init__(self, port: int, path: str) -> None:
        self._port = port
        self._path = path
        self._numbers = itertools.count()
        self._ended = threading.Event()
        self.answered: list[str] = []
        self.interruptions = 0
        self._threads = [
            threading.Thread(target=self._send_all, daemon=True) for _ in range(SENDERS)
        ]

    @contextmanager
    def sending(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads)

    def _send_all(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        while not self._ended.is_set():
            event = f"e{next(self._numbers)}"
            while self._send(connection, event) != 200:
                time.sleep(0.05)
            self.answered.append(event)
        connection.close()

    def _send(self, connection: http.client.HTTPConnection, event: str) -> int:
        body = json.dumps({"id": event, "note": "x" * 500}).encode()
        code = digest(KEY.encode(), body, sha256)
        headers = {
            "X-Shopify-Hmac-SHA256": b64encode(code).decode(),
            "X-Shopify-Event-Id": event,
            "X-Shopify-Webhook-Id": event,
        }
        try:
            connection.request("POST", self._path, body, headers)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            self.interruptions += 1
            return 0
        return response.status


class Server:
    """`outkey serve`, started again after each kill."""

    def __init__(self, terminal: Terminal, port: int) -> None:
        self._terminal = terminal
        self._port = port
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self._process = forks.Popen(
            [*forks.OUTKEY, "serve", "--port", str(self._port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._terminal.environment,
        )
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 5).close()
            except OSError:
                assert time.monotonic() < deadline, "the server did not start"
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(30)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    if not POSTGRESQL:
        reason = "missing program: initdb (Debian package postgresql)"
        (pytest.fail if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING") else pytest.skip)(
            reason
        )
    folder = Path(tempfile.mkdtemp(prefix="outkey-postgresql-"))
    made = Cluster(folder)
    yield made
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)


def assert_each_event_is_stored_once(
    outkey: Terminal, kills: int, cluster: Cluster | None, stored: Iterator[str]
) -> None:
    """Kill the server again and again while events arrive, then look at the table."""
    chance = random.Random(20261117)
    outkey.settings["OUTKEY_WEBHOOK_HANDLERS"] = HANDLER
    assert outkey("apply", "-", stdin=DOCUMENT).code == 0
    assert outkey("webhook", "secret", "shop", stdin=KEY).code == 0
    path = outkey("webhook", "show", "shop", "--json").json["endpoint"]
    port = free_port()
    server = Server(outkey, port)
    senders = Senders(port, path)
    server.start()
    try:
        with senders.sending():
            for turn in range(kills):
                before = len(senders.answered)
                wait_until_more(senders, before)
                time.sleep(chance.uniform(0, 0.5))
                if cluster is not None and turn == kills // 2:
                    cluster.stop()
                    cluster.start()
                    wait_until_more(senders, len(senders.answered))
                server.kill()
                server.start()
            wait_until_more(senders, len(senders.answered))
    finally:
        server.kill()
    counts = Counter(stored)
    assert senders.interruptions >= kills
    assert len(senders.answered) == len(set(senders.answered))
    assert counts == Counter(senders.answered)


def wait_until_more(senders: Senders, before: int) -> None:
    """Wait until deliveries are stored again."""
    deadline = time.monotonic() + PATIENCE
    while len(senders.answered) < before + SENDERS:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_no_event_is_lost_or_doubled_by_a_killed_server(
    outkey: Terminal, pytestconfig: pytest.Config
) -> None:
    def stored() -> Iterator[str]:
        file = outkey.home / "data" / "outkey.sqlite3"
        with closing(sqlite3.connect(file, timeout=10)) as database:
            yield from (event for (event,) in database.execute(STORED))

    kills = FULL if pytestconfig.getoption("--full") else QUICK
    assert_each_event_is_stored_once(outkey, kills, None, stored())


def test_no_event_is_lost_or_doubled_by_a_killed_server_or_database(
    outkey: Terminal, cluster: Cluster, pytestconfig: pytest.Config
) -> None:
    url = cluster.create("killed")
    outkey.settings["OUTKEY_DATABASE_URL"] = url

    def stored() -> Iterator[str]:
        with psycopg.connect(url) as database:
            yield from (event for (event,) in database.execute(STORED).fetchall())

    kills = FULL if pytestconfig.getoption("--full") else QUICK
    assert_each_event_is_stored_once(outkey, kills, cluster, stored())
