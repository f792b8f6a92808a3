"""Parallel requests of a run with an installation: the database stays off the loop."""

import gc
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import override_settings

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import BadResponse
from outkey.sending.core.request.rate_limit import RateLimit
from outkey.sync.core.run.run import Counts

if TYPE_CHECKING:
    from outkey.sync.engine.runs.runner import SyncRunner

# Django's connections end with the threads of the loop.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
COUNT, PER_MINUTE = 28, 600


class Server(ThreadingHTTPServer):
    """A slow API with one record a page, which records what was requested and when."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.arrived: list[float] = []
        self.inside: list[object] = []
        self.most = 0
        self.taken: list[str] = []
        self.refuses: set[str] = set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def answer(self) -> None:
        self.server.arrived.append(time.monotonic())
        self.server.inside.append(self)
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(0.02)
        self.server.most = max(self.server.most, len(self.server.inside))
        self.server.inside.remove(self)
        number = int(parse_qs(urlsplit(self.path).query).get("page", ["1"])[0])
        status, found = 200, [{"id": f"c{number}"}] if number <= COUNT else []
        if sent:
            identity = json.loads(sent)["id"]
            status = 503 if identity in self.server.refuses else 200
            self.server.taken.append(identity)
        body = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer  # noqa: N815 - the names that it calls

    def log_message(self, *_arguments: object) -> None:
        """Write no access log."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def runner(database: str, tmp_path: Path, server: Server) -> Iterator["SyncRunner"]:
    from outkey.hosts.django.wiring import install

    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    application = install(home, {})
    fields = '[{ api = "id", host = "external_id" }, { api = "id2", host = "name" }]'
    text = f"""
[configuration.shop]
base_url = "http://127.0.0.1:{server.server_port}"
network = "internal"
[configuration.shop.limits]
requests_per_minute = {PER_MINUTE}
[line.pull]
configuration = "shop"
direction = "pull"
path = "/contacts"
target = "demo.contact"
keys = ["external_id"]
parallel = 10
pagination = {{ kind = "page", size = 1, position_parameter = "page" }}
fields = {fields.replace("id2", "id")}
[line.push]
configuration = "shop"
direction = "push"
method = "POST"
path = "/contacts"
target = "demo.contact"
parallel = 10
fields = {fields}
"""
    administration = Administration(
        application.registry, application.secrets, application.audit, "tester"
    )
    application.apply(administration, parse_document(text), dry_run=False)
    with override_settings(OUTKEY={"RECORDS": {"demo.Contact": {"active": False}}}):
        yield application.sync.runner()
    application.gateway.close()
    application.audit.close()
    gc.collect()


def keep_contacts(count: int) -> list[str]:
    from outkey.hosts.demo_records.models import Contact

    Contact.objects.bulk_create(
        Contact(external_id=f"c{n}", name="x") for n in range(count)
    )
    return sorted(Contact.objects.values_list("external_id", flat=True))


def test_pages_come_together_within_the_rate_limit_and_every_record_is_there(
    runner: "SyncRunner", server: Server
) -> None:
    from outkey.hosts.demo_records.models import Contact

    *_, done = runner.run("pull", "ada")
    assert done.counts == Counts(created=COUNT)
    assert Contact.objects.count() == COUNT
    refuse_more_than_permitted(server)


def refuse_more_than_permitted(server: Server) -> None:
    limit, arrived = RateLimit(PER_MINUTE), server.arrived
    assert len(arrived) > limit.burst
    assert server.most > 2
    for first, begun in enumerate(arrived):
        for number, now in enumerate(arrived[first:], start=1):
            permitted = limit.burst + (now - begun) / limit.interval
            assert number <= permitted + 2  # some take longer on their way than others


def test_a_push_that_stops_goes_on_and_sends_nothing_twice(
    runner: "SyncRunner", server: Server
) -> None:
    everything = keep_contacts(COUNT)
    server.refuses = {"c5"}
    with pytest.raises(BadResponse):
        list(runner.run("push", "ada"))
    server.refuses = set()
    *_, done = runner.run("push", "ada")
    assert done.counts == Counts(created=COUNT)
    assert sorted(server.taken) == sorted([*everything, "c5"])
    refuse_more_than_permitted(server)
