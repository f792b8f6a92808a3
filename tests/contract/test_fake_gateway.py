"""One program, three gateways: a real one with a server, a table, a recording.

What the program sees must be the same: results, types, causes and errors.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import pytest

from outkey import Gateway, Response, Secret, errors
from outkey.foundation.core.errors import OutkeyError
from outkey.hosts.file.loading import from_text
from outkey.testing import FakeGateway, FakeRequest

ORDERS = {number: {"id": number, "article": f"a{number}"} for number in range(1, 6)}
PAGE = 2
REFUSALS = {
    "/busy": (503, "try later"),
    "/forbidden": (403, "missing permission"),
    "/limited": (429, "slow down"),
}
TEXT = """
[configuration.shop]
base_url = "{url}/v2"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
limits = {{ read_timeout = 2, total_timeout = 4, retries = 0 }}
"""


class Shop(BaseHTTPRequestHandler):
    """A small API of orders."""

    def do_GET(self) -> None:
        self.play(*self.path.removeprefix("/v2").split("?", 1))

    def play(self, path: str, query: str = "") -> None:
        assert self.headers["Authorization"] == "Bearer shop-token"
        if path == "/orders":
            page = int(parse_qs(query).get("page", ["1"])[0])
            ids = sorted(ORDERS)[(page - 1) * PAGE : page * PAGE]
            return self.respond(200, [ORDERS[number] for number in ids])
        if path == "/broken":
            return self.close_early()
        if path == "/report":
            return self.respond(200, None, body=b"id;article\r\n", kind="text/csv")
        if path in REFUSALS:
            status, error = REFUSALS[path]
            return self.respond(status, {"error": error})
        order = ORDERS.get(int(path.rpartition("/")[2]))
        return self.respond(200 if order else 404, order or {"error": "no such order"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Type"] == "application/json":
            self.respond(201, {"id": 6, **json.loads(body)})
        else:
            self.respond(202, {"received": body.decode()})

    def do_DELETE(self) -> None:
        self.send_response(204)
        self.end_headers()

    def respond(
        self,
        status: int,
        document: object,
        *,
        body: bytes = b"",
        kind: str = "application/json",
    ) -> None:
        content = body or json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def close_early(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"[")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


def table() -> FakeGateway:
    """Return the same API as a table."""

    def list_orders(request: FakeRequest) -> object:
        page = int(str(request.params.get("page", "1")))
        ids = sorted(ORDERS)[(page - 1) * PAGE : page * PAGE]
        return [ORDERS[number] for number in ids]

    gateway = FakeGateway()
    gateway.on("shop", "GET", "/orders").respond_with(list_orders)
    gateway.on("shop", "GET", "/orders/1").respond(json=ORDERS[1])
    gateway.on("shop", "GET", "/orders/77").respond(
        404, json={"error": "no such order"}
    )
    for path, (status, error) in REFUSALS.items():
        gateway.on("shop", "GET", path).respond(status, json={"error": error})
    gateway.on("shop", "GET", "/broken").raise_error(errors.ResponseBroken)
    gateway.on("shop", "GET", "/report").respond(
        data="id;article\r\n", headers={"Content-Type": "text/csv"}
    )
    gateway.on("shop", "POST", "/orders", json={"article": "a6"}).respond(
        201, json={"id": 6, "article": "a6"}
    )
    gateway.on("shop", "POST", "/orders", data={"article": "a 7"}).respond(
        202, json={"received": "article=a+7"}
    )
    gateway.on("shop", "DELETE", "/orders/1").respond(204)
    return gateway


class Outcome(NamedTuple):
    """What a program sees of one send."""

    kind: type
    status: int = 0
    document: object = None
    content_type: str = ""
    cause: object = None
    remedy: object = None
    facts: object = None


def outcome_of(response: Response) -> Outcome:
    document: object = response.text
    if "json" in response.headers.get("Content-Type"):
        document = response.json()
    bad: OutkeyError | None = None
    try:
        assert response.raise_for_cause() is response
    except errors.BadResponse as error:
        bad = error
    assert isinstance(response.attempt, str)
    assert response.attempt
    return Outcome(
        kind=type(response),
        status=response.status,
        document=document,
        content_type=response.headers.get("Content-Type"),
        cause=response.cause,
        remedy=response.remedy,
        facts=bad and bad.facts(),
    )


CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/orders", {}),
    ("GET", "/orders", {"params": {"page": 2}}),
    ("GET", "/orders?page=3", {}),
    ("GET", "orders/1", {"headers": {"X-Trace": "7"}}),
    ("get", "/orders/1", {"headers": {"X-Own": Secret("hidden")}}),
    ("GET", "/orders/77", {}),
    ("GET", "/busy", {}),
    ("GET", "/forbidden", {}),
    ("GET", "/limited", {}),
    ("GET", "/report", {}),
    ("GET", "/broken", {}),
    ("POST", "/orders", {"json": {"article": "a6"}}),
    ("POST", "/orders", {"data": {"article": "a 7"}, "actor": "me"}),
    ("DELETE", "/orders/1", {}),
    ("CONNECT", "/orders", {}),
    ("GET", "/orders#1", {}),
    ("GET", "/orders", {"params": {"page": None}}),
    ("POST", "/orders", {"json": 1, "data": "1"}),
    ("POST", "/orders", {"data": 1}),
    ("GET", "/orders", {"headers": {"Authorization": "mine"}}),
    ("GET", "/orders", {"headers": {"X Y": "1"}}),
]


def run(gateway: Gateway) -> list[Outcome]:
    outcomes = []
    for method, path, options in CALLS:
        try:
            response = gateway.send("shop", method, path, **options)
        except OutkeyError as error:
            outcomes.append(Outcome(type(error), facts=error.facts()))
        else:
            outcomes.append(outcome_of(response))
    return outcomes


def arun(gateway: Gateway) -> list[Outcome]:
    async def program() -> list[Outcome]:
        outcomes = []
        async with gateway:
            for method, path, options in CALLS:
                try:
                    response = await gateway.asend("shop", method, path, **options)
                except OutkeyError as error:
                    outcomes.append(Outcome(type(error), facts=error.facts()))
                else:
                    outcomes.append(outcome_of(response))
        return outcomes

    return asyncio.run(program())


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    monkeypatch.setenv("SHOP_TOKEN", "shop-token")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    with from_text(TEXT.format(url=url)) as gateway:
        yield gateway
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("program", [run, arun])
def test_a_program_sees_the_same_of_a_server_a_table_and_a_recording(
    real: Gateway, tmp_path: Path, program: Callable[[Gateway], list[Outcome]]
) -> None:
    path = tmp_path / "recording.json"
    with FakeGateway.record(real, path) as gateway:
        recorded = program(gateway)
    assert program(real) == recorded
    replay = FakeGateway.replay(path)
    for fake in (table(), replay):
        for call, expected, outcome in zip(CALLS, recorded, program(fake), strict=True):
            assert outcome == expected, call
    replay.assert_all_used()
    replay.assert_all_expected()
    kinds = {outcome.kind for outcome in recorded}
    assert {Response, errors.ResponseBroken, errors.HeaderConflict} < kinds


def test_the_fake_accepts_the_document_of_the_real_gateway(
    real: Gateway, tmp_path: Path
) -> None:
    document = tmp_path / "outkey.toml"
    url = real.preview("shop", path="/").url.removesuffix("/v2/")
    document.write_text(TEXT.format(url=url), encoding="utf-8")
    fake = FakeGateway(document)
    fake.on("shop").respond(json=[])
    for refused in (f"{url}/v2/orders", "https://other.example/orders"):
        ends: list[type] = []
        for gateway in (real, fake):
            try:
                ends.append(type(gateway.send("shop", "GET", refused)))
            except OutkeyError as error:
                ends.append(type(error))
        assert ends[0] is ends[1]
    assert fake.preview("shop", path="/orders") == real.preview("shop", path="/orders")
