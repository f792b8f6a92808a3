"""Recordings of exchanges with an API that repeats secrets in every way."""

import asyncio
import json
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, quote_plus, unquote_plus

import pytest

from outkey import Gateway, Secret, errors
from outkey.foundation.core.echo.encodings import forms
from outkey.hosts.file.loading import from_text
from outkey.spar import Spar
from outkey.testing import FakeGateway
from outkey.testing.canary import Canaries, find

TEXT = """
[configuration.basic]
base_url = "{url}/v2"
network = "internal"
authentication_type = "basic"
username = "user"
password = "env:CANARY_PASSWORD"
headers = [{{ key = "X-API-Key", value = "env:CANARY_KEY" }}]
query = [{{ key = "site", value = "env:CANARY_SITE" }}]
limits = {{ read_timeout = 1, total_timeout = 2, retries = 0 }}

[configuration.oauth]
base_url = "{spar}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
oauth2 = {{ token_url = "{spar}/oauth/token", client_id = "spar-client", client_secret = "env:CLIENT_SECRET", client_auth = "body" }}
"""  # noqa: E501 - an inline table has one line
EVERY_FORM = sorted(forms("secret-0123456789~/+"))
Respond = Callable[["Echo"], tuple[str, bytes]]


class Echo(BaseHTTPRequestHandler):
    """An API that responds as the test says."""

    respond: Respond

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content_type, body = type(self).respond(self)
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", f"session={self.secrets()[0]}; Path=/; HttpOnly")
        self.send_header("X-Auth-Token", "issued-by-the-server")
        self.send_header("X-Echo", quote(self.headers["Authorization"]))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def secrets(self) -> list[str]:
        """Return the password, the key and the parameter that were sent."""
        pair = b64decode(self.headers["Authorization"].partition(" ")[2]).decode()
        _, _, query = self.path.partition("site=")
        return [
            pair.partition(":")[2],
            self.headers["X-API-Key"],
            unquote_plus(query.partition("&")[0]),
        ]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing: the query has a secret."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture
def gateway(
    url: str, spar: Spar, canary: Canaries, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Gateway]:
    logging.getLogger("outkey.audit").setLevel(logging.DEBUG)
    monkeypatch.setenv("CANARY_PASSWORD", canary("password", username="user"))
    monkeypatch.setenv("CANARY_KEY", canary("key"))
    monkeypatch.setenv("CANARY_SITE", canary("site"))
    monkeypatch.setenv("CLIENT_SECRET", "spar-client-secret")
    with from_text(TEXT.format(url=url, spar=spar.url)) as made:
        yield made


def record(gateway: Gateway, path: Path, respond: Respond) -> dict[str, object]:
    """Record one request to which the API responds like this."""
    Echo.respond = respond
    with FakeGateway.record(gateway, path) as recording:
        recording.send("basic", "GET", "/orders", params={"page": 2})
    [exchange] = json.loads(path.read_text("utf-8"))["exchanges"]
    assert exchange["request"] == {
        "configuration": "basic",
        "method": "GET",
        "path": "/orders",
        "params": {"page": "2"},
    }
    response: dict[str, object] = exchange["response"]
    assert response["headers"]["Set-Cookie"] == "session=***; Path=/; HttpOnly"  # type: ignore[index]
    assert response["headers"]["X-Auth-Token"] == "***"  # type: ignore[index]
    return response


@pytest.mark.parametrize("form", EVERY_FORM)
@pytest.mark.parametrize("kind", ["json", "text", "bytes"])
def test_a_secret_that_the_api_repeats_is_masked_in_every_form(
    gateway: Gateway, tmp_path: Path, form: str, kind: str
) -> None:
    def respond(api: Echo) -> tuple[str, bytes]:
        encoded = [forms(text, "user").get(form, b"") for text in api.secrets()]
        if kind == "bytes":
            return "image/png", b"\xff".join([b"", *encoded])
        texts = [text.decode("latin-1") for text in encoded]
        if kind == "json":
            return "application/json", json.dumps({"seen": texts, "id": 7}).encode()
        return "text/plain", "\n".join(["seen", *texts]).encode()

    response = record(gateway, tmp_path / "recording.json", respond)
    assert response.keys() & {"json", "text"}


@pytest.mark.parametrize(
    "document",
    [
        lambda secret: {secret: 1, "list": [[secret]]},
        lambda secret: {"first": secret[:14], "last": secret[14:]},
        lambda secret: {"spaced": "-".join(secret)},
        lambda secret: {"basic": b64encode(f"user:{secret}".encode()).decode()},
        lambda secret: {"url": f"https://api.example/?a=1&k={quote_plus(secret)}"},
        lambda secret: json.dumps({"nested": json.dumps({"again": secret})}),
    ],
)
def test_a_secret_is_masked_wherever_it_is_in_a_document(
    gateway: Gateway, tmp_path: Path, document: Callable[[str], object]
) -> None:
    def respond(api: Echo) -> tuple[str, bytes]:
        documents = [document(text) for text in api.secrets()]
        return "application/json", json.dumps({"ok": True, "all": documents}).encode()

    path = tmp_path / "recording.json"
    record(gateway, path, respond)
    haystack = path.read_bytes()
    assert b"-".join([b"p", b"a", b"s", b"s"]) not in haystack  # spaced


def test_a_secret_is_masked_in_what_the_program_sends(
    gateway: Gateway, canary: Canaries, tmp_path: Path
) -> None:
    Echo.respond = lambda _api: ("application/json", b"{}")
    secret = canary.made["key"]
    own = canary.token("own")
    path = tmp_path / "recording.json"
    with FakeGateway.record(gateway, path) as recording:
        recording.send(
            "basic",
            "POST",
            f"/keys/{quote(secret, safe='')}",
            params={"q": secret, "api_key": own},
            json={"text": f"it is {secret}", "client_secret": own, "total": 5},
            headers={"X-Copy": Secret(own), "X-My-Token": own, "X-Trace": "7"},
        )
        form = {"password": own, "name": "x", "note": secret}
        recording.send("basic", "POST", "/form", data=form)
        recording.send("basic", "POST", "/text", data=f"note={secret}")
        recording.send("basic", "POST", "/bytes", data=b"\xff" + secret.encode())
    requests = [
        exchange["request"] for exchange in json.loads(path.read_text())["exchanges"]
    ]
    assert requests[0] == {
        "configuration": "basic",
        "method": "POST",
        "path": "/keys/***",
        "params": {"q": "***", "api_key": "***"},
        "headers": {"X-Copy": "***", "X-My-Token": "***", "X-Trace": "7"},
        "json": {"text": "it is ***", "client_secret": "***", "total": 5},
    }
    assert requests[1]["form"] == {"password": "***", "name": "x", "note": "***"}
    assert (requests[2]["text"], requests[3]["text"]) == ("note=***", "***")
    replay = FakeGateway.replay(path)  # with other secrets than the recorded ones
    replay.send(
        "basic",
        "POST",
        "/keys/abc",
        params={"q": "abc", "api_key": "abc"},
        json={"text": "it is me", "client_secret": "abc", "total": 5},
    )
    other_form = {"password": "a", "name": "x", "note": "c"}
    replay.send("basic", "POST", "/form", data=other_form)
    replay.send("basic", "POST", "/text", data="note=abc")
    replay.send("basic", "POST", "/bytes", data=b"\xff")
    replay.assert_all_used()
    with pytest.raises(AssertionError, match="the body is json"):
        replay.send(
            "basic",
            "POST",
            "/keys/abc",
            params={"q": "abc", "api_key": "abc"},
            json={"text": "it was me", "client_secret": "abc", "total": 5},
        )


def test_a_short_secret_is_masked_where_it_is_a_whole_value(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PASSWORD": "pin", "KEY": "hunter2", "SITE": "4711"}.items():
        monkeypatch.setenv(f"CANARY_{name}", value)
    body = {"a": "pin", "b": 4711, "c": "it is hunter2.", "d": "spinning"}
    text = TEXT.format(url=url, spar=url)
    with from_text(text) as gateway:
        response = record(
            gateway,
            tmp_path / "recording.json",
            lambda _api: ("application/json", json.dumps(body).encode()),
        )
    masked = {"a": "***", "b": "***", "c": "it is ***.", "d": "spinning"}
    assert response["json"] == masked


def test_tokens_that_were_fetched_are_masked(
    gateway: Gateway, spar: Spar, tmp_path: Path
) -> None:
    path = tmp_path / "recording.json"
    with FakeGateway.record(gateway, path) as recording:
        assert recording.send("oauth", "GET", "/oauth/api").status == 200
        spar.authorization.expire_all()
        asyncio.run(send_async(recording))
        # The API issues a token to the program itself.
        form = {
            "grant_type": "client_credentials",
            "client_id": "spar-client",
            "client_secret": "spar-client-secret",
        }
        issued = recording.send("oauth", "GET", "/oauth/seed")
        recording.send("oauth", "POST", "/oauth/introspect", data=form)
    haystack = path.read_bytes()
    tokens = [
        value
        for key, value in issued.json().items()
        if key.endswith("token")  # type: ignore[attr-defined]
    ]
    assert tokens
    tokens += [
        header.partition(" ")[2]
        for arrival in spar.journal
        for header in arrival.values("Authorization")
    ]
    assert len(tokens) > 3
    for token in {*tokens, "spar-client-secret"}:
        assert find(haystack, token) == []


async def send_async(gateway: Gateway) -> None:
    async with gateway:
        response = await gateway.asend("oauth", "GET", "/oauth/api")
        assert response.status == 200


def test_an_error_is_recorded_without_secrets(gateway: Gateway, tmp_path: Path) -> None:
    path = tmp_path / "recording.json"
    with FakeGateway.record(gateway, path) as recording:
        with pytest.raises(errors.ConnectionFailed) as recorded:
            recording.send("oauth", "POST", "/reset", json={"password": "made up"})
        with pytest.raises(errors.UnknownConfiguration):
            recording.send("unknown", "GET", "/orders")
    [exchange] = json.loads(path.read_text())["exchanges"]
    assert exchange["request"]["json"] == {"password": "***"}
    replay = FakeGateway.replay(path)
    with pytest.raises(errors.ConnectionFailed) as replayed:
        replay.send("oauth", "POST", "/reset", json={"password": "other"})
    assert type(replayed.value) is type(recorded.value)
    assert replayed.value.facts() == recorded.value.facts()


def test_nothing_is_written_if_the_program_fails(
    gateway: Gateway, tmp_path: Path
) -> None:
    Echo.respond = lambda _api: ("application/json", b"{}")
    path = tmp_path / "recording.json"

    def program() -> None:
        with FakeGateway.record(gateway, path) as recording:
            recording.send("basic", "GET", "/orders")
            raise KeyError

    with pytest.raises(KeyError):
        program()
    assert not path.exists()
