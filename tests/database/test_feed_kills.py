"""A copy of a table by its changes, while writers and the reader are killed.

Two lines write one table at the same time, each in a process of its own. The reader is
the program of the handbook.
"""

import json
import logging
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

import forks
from database.conftest import Cluster
from database.test_table_kills import execute
from ports import free_port

CHANGES, FULL_CHANGES = 600, 100_000
ROWS, FULL_ROWS = 60, 2000  # of each line
PATIENCE = 120.0
PROGRAMS = Path(__file__).parent / "programs"
LINE = """
[line.{name}]
configuration = "list"
direction = "pull"
path = "/{name}"
records = "items"
target = "table:orders"
keys = ["id"]
gone = "{gone}"
guard_percent = 100
feed = true
pagination = {{ kind = "page", size = {size}, size_parameter = "size", \
position_parameter = "page" }}
fields = [
  {{ api = "id", host = "id", transform = "text" }},
  {{ api = "value", host = "value", transform = "decimal" }},
  {{ api = "note", host = "{name}_note" }},
]
"""
CONFIGURATION = """
[configuration.list]
base_url = "{url}"
network = "internal"
authentication_type = "none"
no_auth_reason = "development"
limits = {{ requests_per_minute = 100000 }}
"""


@contextmanager
def changing_lists(rows: int) -> Iterator[str]:
    """Serve two lists that share half of their records, with other values each time."""
    chance = random.Random(20261119)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = parse_qs(parts.query)
            page, size = int(query["page"][0]), int(query["size"][0])
            first = (page - 1) * size + (0 if parts.path == "/a" else rows // 2)
            last = min(first + size, rows + (0 if parts.path == "/a" else rows // 2))
            items = [
                {
                    "id": str(number),
                    "value": chance.randrange(10**6) / 100,
                    "note": chance.choice(["x", "ä\t", None]),
                }
                for number in range(first, last)
                if chance.random() < 0.98 or number == last - 1
            ]
            body = json.dumps({"items": items if first < last else []}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serving(environment: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Serve the HTTP interface of a home; return its URL."""
    port = free_port()
    with (folder / "served").open("w") as log:
        process = forks.Popen(
            [*forks.OUTKEY, "serve", "--port", str(port)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
        )
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(transport=httpx.HTTPTransport(retries=20), timeout=60) as client:
        client.get(f"{url}/api/v1/openapi.json")
    try:
        yield url
    finally:
        process.terminate()
        process.wait(30)


class Killed:
    """A program that is killed and started again."""

    def __init__(self, program: str, *arguments: str, env: Mapping[str, str]) -> None:
        self._command = [sys.executable, PROGRAMS / program, *arguments]
        self._environment = env
        self.kills = 0
        self.start()

    def start(self) -> None:
        self.process = forks.Popen(
            self._command,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill(self) -> None:
        """Kill it; it must not have failed before."""
        assert self.process.poll() is None, self.process.communicate()[1]
        self.process.kill()
        self.process.communicate()
        self.kills += 1


class Reading:
    """What a program with a token reads of the table."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(headers=headers, base_url=url, timeout=60)

    def page(self, after: object = "") -> dict[str, Any]:
        """Return a page of rows."""
        query = {"limit": "1000", "after": str(after)}
        for _ in range(20):
            response = self._client.get("/api/v1/tables/orders/rows", params=query)
            if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break  # SQLite was not busy
            time.sleep(1)
        assert response.status_code == 200, response.text
        page: dict[str, Any] = response.json()
        return page

    def close(self) -> None:
        """Close the connection to the server."""
        self._client.close()

    def last_change(self) -> int:
        """Return the number of the last change."""
        return number_of(self.page()["cursor"])

    def rows(self) -> dict[str, Any]:
        """Return all rows, by their IDs."""
        page = self.page()
        rows = list(page["rows"])
        while page["next"] is not None:
            page = self.page(page["next"])
            rows += page["rows"]
        return {str(row["outkey_id"]): row for row in rows}


def number_of(cursor: str) -> int:
    return int(cursor.rpartition("-")[2])


def place_of(copy: Path) -> int:
    """Return the number of the last change that was applied; -1 before the first."""
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(copy)) as opened:
        found = opened.execute("SELECT cursor FROM place").fetchone()
        return number_of(found[0]) if found else -1
    return -1


def wait_for_progress(copy: Path, seconds: float) -> None:
    """Wait until the copy has more changes, but not longer."""
    before = place_of(copy)
    ends = time.monotonic() + seconds
    while place_of(copy) == before and time.monotonic() < ends:
        time.sleep(0.01)


def kill_until(
    is_done: Callable[[], bool],
    reader: Killed,
    writers: list[Killed],
    *,
    copy: Path,
    own: str,
) -> None:
    """Kill processes at random moments, and start them again."""
    chance = random.Random(7)
    ends = time.monotonic() + 20 * PATIENCE
    while not is_done():
        assert time.monotonic() < ends
        # Mostly while it reads: a slow machine takes long to start it.
        wait_for_progress(copy, chance.choice([0.5, PATIENCE, PATIENCE, PATIENCE]))
        time.sleep(chance.uniform(0, 0.4))
        reader.kill()
        reader.start()
        if chance.random() < 0.2:
            writer = chance.choice(writers)
            writer.kill()
            with suppress(Exception):  # SQLite is busy: the lease ends anyway
                execute(own, "UPDATE outkey_run SET until = 0")
            writer.start()


@pytest.mark.parametrize(
    "where", ["sqlite", pytest.param("postgresql", marks=pytest.mark.full)]
)
def test_a_reader_that_is_killed_loses_no_change_and_applies_none_twice(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    is_full = request.config.getoption("--full")
    rows, wanted = (FULL_ROWS, FULL_CHANGES) if is_full else (ROWS, CHANGES)
    environment = {"PATH": "/usr/bin:/bin", "OUTKEY_HOME": str(tmp_path / "home")}
    own = f"sqlite:///{tmp_path / 'home' / 'data' / 'outkey.sqlite3'}"
    if where == "postgresql":
        cluster: Cluster = request.getfixturevalue("postgresql")
        own = environment["OUTKEY_DATABASE_URL"] = cluster.create("feeds")

    def outkey(*words: str, stdin: str = "") -> str:
        done = forks.run([*forks.OUTKEY, *words], environment, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    copy = tmp_path / "copy.db"
    with ExitStack() as stack:
        lists = stack.enter_context(changing_lists(rows))
        lines = LINE.format(name="a", size=rows // 4, gone="delete")
        lines += LINE.format(name="b", size=rows // 4, gone="archive")
        outkey("apply", "-", stdin=CONFIGURATION.format(url=lists) + lines)
        outkey("line", "run", "b")
        token = outkey("api-token", "create", "copy", "--scope", "data").strip()
        url = stack.enter_context(serving(environment, tmp_path))
        reading = Reading(url, token)
        stack.callback(reading.close)
        access = {"OUTKEY_URL": url, "OUTKEY_TOKEN": token}
        arguments = ("feed_consumer.py", "orders", str(copy))
        reader = Killed(*arguments, env=environment | access)
        writers = [
            Killed("feed_writer.py", name, "100000", env=environment) for name in "ab"
        ]
        began = time.monotonic()
        kill_until(
            lambda: reading.last_change() >= wanted,
            reader,
            writers,
            copy=copy,
            own=own,
        )
        seconds = time.monotonic() - began
        for writer in writers:
            writer.kill()
        last = reading.last_change()
        while place_of(copy) != last:
            assert reader.process.poll() is None, reader.process.communicate()[1]
            assert time.monotonic() - began < 21 * PATIENCE
            time.sleep(0.1)
        reader.kill()
        stored = reading.rows()
    with closing(sqlite3.connect(copy)) as database:
        copied = dict(database.execute("SELECT * FROM rows").fetchall())
        seen = [number_of(row[0]) for row in database.execute("SELECT * FROM seen")]
    assert {key: json.loads(row) for key, row in copied.items()} == stored
    # Each change after the rows that were read first, and each once.
    assert sorted(seen) == list(range(last + 1 - len(seen), last + 1))
    assert len(stored) > rows
    kills = sum(writer.kills for writer in writers)
    logging.getLogger(__name__).info(
        "%s: %d changes in %.0f s, %d applied to a copy; kills: reader %d, writers %d",
        where,
        last,
        seconds,
        len(seen),
        reader.kills,
        kills,
    )
