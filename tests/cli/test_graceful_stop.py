"""A process that is told to stop: what is under way ends, and nothing is done twice."""

import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest

import forks
from cli.conftest import Terminal
from database.conftest import Cluster, postgresql
from outkey.testing.canary import Canaries
from ports import free_port
from programs import program_command

__all__ = ["postgresql"]  # a fixture of the tests of databases
PATIENCE = 60.0
PAGES = 6
SIZE = 5
HOOK_KEY = "hook-secret-7f3a"
DOCUMENT = """
[configuration.shop]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
limits = {{ retries = 0, read_timeout = 60 }}

[line.contacts]
configuration = "shop"
direction = "pull"
path = "/contacts"
target = "demo.contact"
keys = ["external_id"]
fields = [
  {{ api = "id", host = "external_id" }},
  {{ api = "name", host = "name" }},
]
[line.contacts.pagination]
kind = "page"
position_parameter = "page"
size_parameter = "size"
size = {size}

[webhook.deploys]
scheme = "github"
handler = "builtins.bool"
"""


class GatedApi(ThreadingHTTPServer):
    """An API that responds to a request once the test lets it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), GatedHandler)
        self.arrived: list[str] = []
        self._gate = threading.Semaphore(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def let_through(self, count: int) -> None:
        self._gate.release(count)

    def wait_for_gate(self) -> None:
        assert self._gate.acquire(timeout=PATIENCE)

    def wait_for_arrivals(self, count: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while len(self.arrived) < count:
            assert time.monotonic() < deadline, self.arrived
            time.sleep(0.01)


class GatedHandler(BaseHTTPRequestHandler):
    """Gives pages of records, and anything else an empty object."""

    protocol_version = "HTTP/1.1"
    server: GatedApi

    def do_GET(self) -> None:
        self.server.arrived.append(self.path)
        self.server.wait_for_gate()
        parts = urlsplit(self.path)
        records: object = {}
        if parts.path == "/contacts":
            page = int(parse_qs(parts.query)["page"][0])
            first = (page - 1) * SIZE
            numbers = range(first, first + SIZE) if page <= PAGES else ()
            records = [{"id": f"c{number}", "name": "x"} for number in numbers]
        body = json.dumps(records).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited
        """Write no log."""


@dataclass
class Site:
    """A home, the API of its line, and the processes that serve and work."""

    outkey: Terminal
    api: GatedApi
    folder: Path
    database_url: str = ""
    port: int = field(default_factory=free_port)
    processes: list["subprocess.Popen[Any]"] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def set_up(self) -> None:
        self.outkey.settings |= {
            "SHOP_TOKEN": "shop-token",
            "OUTKEY_DEMO": "1",
            "OUTKEY_WEBHOOK_HANDLERS": "builtins.bool",
        }
        if self.database_url:
            self.outkey.settings["OUTKEY_DATABASE_URL"] = self.database_url
        document = DOCUMENT.format(url=self.api.url, size=SIZE)
        applied = self.outkey("apply", "-", stdin=document)
        assert applied.code == 0, applied.err

    def token(self, scope: str) -> dict[str, str]:
        """Return the header of a new API token."""
        made = self.outkey("api-token", "create", scope, "--scope", scope)
        return {"Authorization": f"Bearer {made.out.strip()}"}

    def start(self, *command: str) -> "subprocess.Popen[Any]":
        with (self.folder / "log").open("a") as log:
            process = forks.Popen(
                [*command], stdout=log, stderr=log, env=self.outkey.environment
            )
        self.processes.append(process)
        return process

    def start_server(self) -> "subprocess.Popen[Any]":
        process = self.start(*forks.OUTKEY, "serve", "--port", str(self.port))
        deadline = time.monotonic() + PATIENCE
        while not self.accepts():
            assert process.poll() is None, self.log()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return process

    def start_worker(self) -> "subprocess.Popen[Any]":
        """Start a worker that looks every second for what is due."""
        return self.start(*program_command("database/quick_worker"), "worker")

    def accepts(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except OSError:
            return False
        return True

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def audit(self, tag: str) -> list[dict[str, Any]]:
        records = self.outkey("audit", "list", "--limit", "1000", "--json").json
        return [record for record in records if record["tag"] == tag]

    def run(self) -> dict[str, Any]:
        (run,) = self.outkey("run", "list", "--json").json
        return dict(run)

    def wait_for_state(self, state: str) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while (run := self.run())["state"] != state:
            assert time.monotonic() < deadline, run
            time.sleep(0.1)
        return run

    def contacts(self) -> list[str]:
        statement = "SELECT external_id FROM demo_contact ORDER BY id"
        if self.database_url:
            with psycopg.connect(self.database_url) as connection:
                return [key for (key,) in connection.execute(statement).fetchall()]
        file = self.outkey.home / "data" / "outkey.sqlite3"
        with closing(sqlite3.connect(file, timeout=10)) as database:
            return [key for (key,) in database.execute(statement)]


@pytest.fixture
def api() -> Iterator[GatedApi]:
    with GatedApi() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.let_through(1000)
        server.shutdown()
        thread.join()


@pytest.fixture
def site(api: GatedApi, tmp_path: Path, canary: Canaries) -> Iterator[Site]:
    made = Site(Terminal(tmp_path / "home", canary), api, tmp_path)
    made.set_up()
    yield made
    end_processes(made)


@pytest.fixture
def shared_site(
    api: GatedApi, postgresql: Cluster, tmp_path: Path, canary: Canaries
) -> Iterator[Site]:
    url = postgresql.create("graceful")
    made = Site(Terminal(tmp_path / "home", canary), api, tmp_path, url)
    made.set_up()
    yield made
    end_processes(made)


def end_processes(site: Site) -> None:
    site.api.let_through(1000)
    for process in site.processes:
        if process.poll() is None:
            process.kill()
        process.wait(30)
    assert "Traceback" not in site.log()


def seconds_until_end(process: "subprocess.Popen[Any]", began: float) -> float:
    assert process.wait(30) == 0
    return time.monotonic() - began


def report(since: str, seconds: float) -> None:
    sys.stdout.write(f"the process ended {seconds:.2f} s {since}\n")


# ── requests ──────────────────────────────────────────────────────────────────────────


def test_a_send_that_is_under_way_gets_its_response_and_its_record(
    site: Site, api: GatedApi
) -> None:
    headers = site.token("send")
    server = site.start_server()
    path = f"{site.url}/api/v1/send/shop/slow"
    with ThreadPoolExecutor(1) as pool, httpx.Client(timeout=PATIENCE) as client:
        sent = pool.submit(client.get, path, headers=headers)
        api.wait_for_arrivals(1)
        server.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while site.accepts():
            assert time.monotonic() < deadline, "it still accepts connections"
            time.sleep(0.02)
        time.sleep(0.5)
        assert server.poll() is None, "it waits for the send"
        api.let_through(1)
        began = time.monotonic()
        response = sent.result(PATIENCE)
        assert (response.status_code, response.json()) == (200, {})
        assert response.headers["Connection"] == "close"
    seconds = seconds_until_end(server, began)
    report("after the last response", seconds)
    assert seconds < 10
    assert api.arrived == ["/slow"]
    assert [record["outcome"] for record in site.audit("engine:send:ended")] == ["ok"]
    assert site.outkey("audit", "verify").code == 0


def test_a_second_signal_ends_a_server_at_once_and_leaves_its_audit_whole(
    site: Site, api: GatedApi
) -> None:
    headers = site.token("send")
    server = site.start_server()
    path = f"{site.url}/api/v1/send/shop/slow"
    with ThreadPoolExecutor(1) as pool, httpx.Client(timeout=PATIENCE) as client:
        sent = pool.submit(client.get, path, headers=headers)
        api.wait_for_arrivals(1)
        server.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        server.send_signal(signal.SIGTERM)
        assert server.wait(10) == -signal.SIGTERM
        assert isinstance(sent.exception(PATIENCE), httpx.TransportError)
    assert len(site.audit("engine:send:intended")) == 1
    assert site.outkey("audit", "verify").code == 0


# ── runs ──────────────────────────────────────────────────────────────────────────────


def assert_a_run_goes_on_in_the_next_process(
    site: Site,
    first: "subprocess.Popen[Any]",
    start_next: Any,  # noqa: ANN401 - a method that starts a process
    *,
    signals: int = 1,
) -> None:
    """Stop the process of a run in the middle of its third page, and start the next."""
    api = site.api
    api.let_through(2)
    api.wait_for_arrivals(3)
    # A stop before the second one is saved would not wait for the third.
    until = time.monotonic() + PATIENCE
    while site.run()["pages"] < 2:
        assert time.monotonic() < until
    time.sleep(0.5)
    for _ in range(signals):
        first.send_signal(signal.SIGTERM)
        time.sleep(0.3)
    assert first.poll() is None, "it waits for the page"
    api.let_through(1)
    seconds = seconds_until_end(first, time.monotonic())
    report("after the page", seconds)
    assert seconds < 10
    released = site.run()
    assert (released["state"], released["cause"]) == ("waiting", "stopping")
    assert (released["pages"], released["created"]) == (3, 3 * SIZE)
    api.let_through(1000)
    began = time.monotonic()
    start_next()
    done = site.wait_for_state("done")
    # Not after its lease has ended, which takes a minute.
    assert time.monotonic() - began < 30
    assert (done["created"], done["updated"], done["attempt"]) == (PAGES * SIZE, 0, 1)
    pages = [parse_qs(urlsplit(path).query)["page"][0] for path in api.arrived]
    requested = list(dict.fromkeys(pages))
    assert requested == [str(number) for number in range(1, PAGES + 2)]
    # The page that was requested ahead when the process was stopped is requested again.
    assert len(pages) - len(requested) <= 1
    assert site.contacts() == [f"c{number}" for number in range(PAGES * SIZE)]


def test_a_server_on_sqlite_releases_a_run_at_its_next_page(site: Site) -> None:
    headers = site.token("run")
    server = site.start_server()
    asked = httpx.post(f"{site.url}/api/v1/lines/contacts/runs", headers=headers)
    assert asked.status_code in {200, 201, 202}, asked.text
    assert_a_run_goes_on_in_the_next_process(site, server, site.start_server)


@pytest.mark.parametrize("signals", [pytest.param(1, marks=pytest.mark.full), 3])
def test_a_worker_on_postgresql_releases_a_run_at_its_next_page(
    shared_site: Site, signals: int
) -> None:
    site = shared_site
    headers = site.token("run")
    server = site.start_server()
    asked = httpx.post(f"{site.url}/api/v1/lines/contacts/runs", headers=headers)
    assert asked.status_code in {200, 201, 202}, asked.text
    worker = site.start_worker()
    assert_a_run_goes_on_in_the_next_process(
        site, worker, site.start_worker, signals=signals
    )
    began = time.monotonic()
    for process in (server, site.processes[-1]):
        process.send_signal(signal.SIGTERM)
    for process in (server, site.processes[-1]):
        report("after the signal", seconds_until_end(process, began))


# ── deliveries ────────────────────────────────────────────────────────────────────────


def test_deliveries_that_were_accepted_are_processed_after_a_restart(
    site: Site,
) -> None:
    site.outkey("webhook", "secret", "deploys", stdin=HOOK_KEY)
    endpoint = site.outkey("webhook", "show", "deploys", "--json").json["endpoint"]
    path = urlsplit(endpoint).path
    server = site.start_server()
    accepted = 0
    with httpx.Client(timeout=PATIENCE) as client:
        for number in range(200):
            if number == 100:
                server.send_signal(signal.SIGTERM)
            body = json.dumps({"number": number}).encode()
            code = digest(HOOK_KEY.encode(), body, sha256).hex()
            headers = {
                "X-Hub-Signature-256": f"sha256={code}",
                "X-GitHub-Delivery": f"e{number}",
                "X-GitHub-Event": "push",
            }
            try:
                response = client.post(site.url + path, content=body, headers=headers)
            except httpx.TransportError:
                break
            assert response.status_code == 200
            accepted += 1
    assert 100 <= accepted < 200
    assert server.wait(30) == 0
    site.start_server()
    deadline = time.monotonic() + PATIENCE
    while True:
        listed = site.outkey(
            "webhook", "inbox", "deploys", "--limit", "1000", "--json"
        ).json
        states = {delivery["state"] for delivery in listed}
        if states == {"processed"}:
            break
        assert time.monotonic() < deadline, states
        time.sleep(0.2)
    assert len(listed) == accepted
