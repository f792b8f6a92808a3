"""A Vault on loopback that behaves as its documentation says, well or badly.

KV 1 at `old`, KV 2 at `secret`; log-ins token, approle, kubernetes and jwt. What a test
wants it to do wrong is an attribute.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

DELETED = None  # the data of a version that was deleted


class FakeVault:
    """The state of the server, and what it has seen."""

    def __init__(self) -> None:
        self.url = ""
        self.root = "s.root-token"
        self.secrets: dict[str, list[dict[str, object] | None]] = {}
        self.plain: dict[str, dict[str, object]] = {}
        self.roles = {"role": "secret-id"}
        self.jwts = {"outkey": "jwt-of-pod"}
        self.tokens: dict[str, float] = {}  # the end of each, by the monotonic clock
        self.denied: set[str] = set()
        self.lease = 3600
        self.sealed = False
        self.status = 0  # for every request
        self.delay = 0.0
        self.lies_about_version = False
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self._made = 0
        self._lock = threading.Lock()

    def put(self, path: str, **fields: object) -> int:
        """Store a new version of a secret, and return its number."""
        versions = self.secrets.setdefault(path, [])
        versions.append(fields)
        return len(versions)

    def reads(self) -> int:
        """Return how many secrets were asked for."""
        return sum("/data/" in path or "/old/" in path for _, path, _ in self.seen)

    def log_ins(self) -> int:
        """Return how many log-ins there were."""
        return sum(path.endswith("/login") for _, path, _ in self.seen)

    def respond(
        self, method: str, url: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, object]:
        """Return status and document of a response."""
        path = urlsplit(url).path
        with self._lock:
            self.seen.append((method, url, headers))
        time.sleep(self.delay)
        if self.status:
            return self.status, {"errors": ["as the test wants"]}
        if self.sealed:
            return 503, {"errors": ["Vault is sealed"]}
        if path.endswith("/login"):
            return self._log_in(path, json.loads(body or b"{}"))
        if not self._accepts(headers):
            return 403, {"errors": ["permission denied"]}
        if path == "/v1/auth/token/renew-self":
            return self._extend(headers.get("x-vault-token", ""))
        return self._read(path, url)

    def _accepts(self, headers: dict[str, str]) -> bool:
        token = headers.get("x-vault-token", "")
        return token == self.root or self.tokens.get(token, 0.0) > time.monotonic()

    def _log_in(self, path: str, body: dict[str, str]) -> tuple[int, object]:
        if path == "/v1/auth/approle/login":
            role = body.get("role_id", "")
            is_good = role in self.roles and self.roles[role] == body.get("secret_id")
        else:
            role = body.get("role", "")
            is_good = role in self.jwts and self.jwts[role] == body.get("jwt")
        if not is_good:
            return 400, {"errors": ["invalid role or secret ID"]}
        with self._lock:
            self._made += 1
            token = f"s.made-{self._made}"
        return self._extend(token)

    def _extend(self, token: str) -> tuple[int, object]:
        self.tokens[token] = time.monotonic() + self.lease
        auth = {"client_token": token, "lease_duration": self.lease, "renewable": True}
        return 200, {"auth": {**auth, "policies": ["outkey"], "accessor": "a"}}

    def _read(self, path: str, url: str) -> tuple[int, object]:
        if path.startswith("/v1/old/"):
            fields = self.plain.get(unquote(path.removeprefix("/v1/old/")))
            return (200, {"data": fields}) if fields else (404, {"errors": []})
        match = re.fullmatch("/v1/secret/data/(.+)", path)
        if match is None:
            warning = "Invalid path for a versioned K/V secrets engine."
            return 404, {"data": None, "warnings": [warning], "errors": []}
        name = unquote(match[1])
        if name in self.denied:
            return 403, {"errors": ["1 error occurred:\n\t* permission denied\n\n"]}
        versions = self.secrets.get(name, [])
        [wanted] = parse_qs(urlsplit(url).query).get("version", ["0"])
        number = int(wanted) or len(versions)
        if not 1 <= number <= len(versions):
            return 404, {"errors": []}
        data = versions[number - 1]
        metadata: dict[str, Any] = {
            "created_time": "2026-11-19T10:00:00Z",
            "custom_metadata": None,
            "deletion_time": "2026-11-19T11:00:00Z" if data is DELETED else "",
            "destroyed": False,
            "version": number + self.lies_about_version,
        }
        document = {"data": {"data": data, "metadata": metadata}}
        return (404 if data is DELETED else 200), document


@contextmanager
def serve_vault() -> Iterator[FakeVault]:
    """Serve a fake Vault on a free port of loopback."""
    vault = FakeVault()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._respond()

        def do_POST(self) -> None:
            self._respond()

        def do_PUT(self) -> None:
            self._respond()

        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, document = vault.respond(self.command, self.path, headers, body)
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_args: object) -> None:
            """Write nothing to the output of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    vault.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield vault
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
