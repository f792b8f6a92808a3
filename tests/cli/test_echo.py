"""A server that repeats every credential: nothing of it is printed or stored."""

import json
import sqlite3
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote, urlsplit

import pytest

from cli.conftest import Terminal
from outkey.testing.canary import Canaries

# A signature of 20 characters, which is short enough to be quoted as a word.
SCRIPT = """
import hashlib
import hmac

def compute_auth_header(sync_line):
    secret = sync_line.api_config_id.get_secret_key()
    digest = hmac.new(secret.encode(), b"fixed", hashlib.sha256).hexdigest()
    return {"X-Signature": digest[:20], "X-Version": "2024-10"}
"""
SECRET_NAMES = ("Authorization", "X-Signature", "X-API-Key")


class EchoHandler(BaseHTTPRequestHandler):
    """Repeats the request's credentials in the place that the path asks for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        secrets = {
            name: self.headers[name] for name in SECRET_NAMES if name in self.headers
        }
        self.server.seen.update(secrets)  # type: ignore[attr-defined]
        path = urlsplit(self.path).path
        if path == "/records":
            self._respond(200, {"items": list(_records(secrets)), "next": None})
        elif path == "/cursor":
            self._respond(200, {"items": [], "next": next(iter(secrets.values()))})
        elif path == "/denied":
            self._respond(401, {"message": f"unknown {secrets['X-Signature']}"})
        else:
            self._respond(200, {"headers": secrets, "version": "2024-10"})

    def _respond(self, status: int, document: object) -> None:
        body = json.dumps(document).replace("/", "\\/").encode()  # as PHP writes it
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in self.headers.items():
            if name in SECRET_NAMES and self.path == "/headers":
                self.send_header(f"X-Echo-{name}", value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def _records(secrets: dict[str, str]) -> Iterator[dict[str, object]]:
    yield {"id": "harmless", "full_name": "Ada", "version": "2024-10"}
    for number, value in enumerate(secrets.values()):
        secret = value.rpartition(" ")[2]
        raw = secret.encode()
        forms = [
            value,
            b64encode(b"xy" + raw).decode(),
            urlsafe_b64encode(raw).decode().rstrip("="),
            raw.hex().upper(),
            quote(secret, safe=""),
            secret[::-1],
            " ".join(secret),
        ]
        for place, form in enumerate(forms):
            yield {"id": f"{number}.{place}", "full_name": form}
        yield {"id": secret, "full_name": "in the key"}
        yield {"id": f"{number}.split", "full_name": secret[:6], "rest": secret[6:]}
        yield {"id": f"{number}.name", "full_name": "x", secret: 1}


class EchoServer:
    """The server on a port of its own, and what it was sent."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), EchoHandler)
        self._server.seen = {}  # type: ignore[attr-defined]
        self.seen: dict[str, str] = self._server.seen  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[EchoServer]:
    running = EchoServer()
    yield running
    running.close()


def document(server: EchoServer, path: str = "/records") -> str:
    return f"""
[configuration.acme]
base_url = "{server.url}"
network = "internal"
authentication_type = "bearer"
limits = {{ retries = 0 }}
verification = {{ test_path = "/denied", compare = false }}
script = '''
{SCRIPT}'''
headers = [{{ key = "X-API-Key", secret = true }}]

[line.contacts]
configuration = "acme"
direction = "pull"
path = "{path}"
records = "items"
target = "demo.contact"
keys = ["external_id"]
pagination = {{ kind = "cursor", position_parameter = "after", cursor = "next" }}
fields = [
    {{ api = "id", host = "external_id" }},
    {{ api = "full_name", host = "name" }},
]
"""


@pytest.fixture
def acme(outkey: Terminal, server: EchoServer, canary: Canaries) -> Terminal:
    outkey.settings["OUTKEY_DEMO"] = "1"
    assert outkey("apply", "-", stdin=document(server)).code == 0
    for field in ("token", "header:X-API-Key", "secret_key"):
        secret = canary.token(field.rpartition(":")[2])
        assert outkey("secret", "set", "acme", field, stdin=secret).code == 0
    return outkey


def shows_signature(server: EchoServer, output: str) -> bool:
    """Whether an output has the signature of the script, which no canary knows."""
    return server.seen["X-Signature"] in output


def test_a_run_stores_no_record_that_repeats_a_credential(
    acme: Terminal, server: EchoServer
) -> None:
    outputs = [acme("line", "run", "contacts", "--dry-run").out]
    run = acme("line", "run", "contacts", "--json")
    assert (run.code, run.json["created"], run.json["failed"]) == (0, 1, 30)
    outputs.append(run.out)
    shown = acme("run", "show", run.json["run"], "--json")
    outputs += [shown.out, acme("run", "list").out, acme("audit", "list").out]
    assert {one["reason"] for one in shown.json["left_out"]} == {"secret_in_record"}
    leaks = shows_signature(server, "".join(outputs))
    assert leaks is False
    (database,) = acme.home.rglob("*.sqlite3")
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "select external_id, name from demo_contact"
        ).fetchall()
        connection.execute("pragma wal_checkpoint(truncate)")
    assert rows == [("harmless", "Ada")]
    stored = b"".join(
        file.read_bytes() for file in database.parent.glob("*") if file.is_file()
    )
    stored_names = [
        name
        for name, value in server.seen.items()
        if value.split()[-1].encode() in stored
    ]
    assert stored_names == []


def test_a_cursor_that_repeats_a_credential_is_not_stored(
    acme: Terminal, server: EchoServer
) -> None:
    assert acme("apply", "-", stdin=document(server, "/cursor")).code == 0
    done = acme("line", "run", "contacts", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "sync_failed")
    assert "secret_in_cursor" in acme("run", "list", "--json").out


@pytest.mark.parametrize("form", [["--json"], ["--include"], []])
def test_a_request_prints_no_signature_that_the_api_repeats(
    acme: Terminal, server: EchoServer, form: list[str]
) -> None:
    done = acme("request", "acme", "/headers", *form)
    assert done.code == 0
    leaks = shows_signature(server, done.out + done.err)
    assert leaks is False
    assert "***" in done.out
    assert "2024-10" in done.out  # it stands in the script, and is no secret


def test_a_test_quotes_no_signature_that_the_api_repeats(
    acme: Terminal, server: EchoServer
) -> None:
    done = acme("test", "acme", "--json")
    assert done.code == 1
    leaks = shows_signature(server, done.out)
    assert leaks is False
    assert done.json["steps"][-1]["detail"] == "status 401"
