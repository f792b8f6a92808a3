"""The API that the stored database of version 0.1.0 has configurations for.

Its address is a part of that database, since secrets are bound to an origin. No other
program uses it: it is one of the loopback addresses that Linux has besides 127.0.0.1.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

HOST = "127.61.0.10"
PORT = 8461
URL = f"http://{HOST}:{PORT}"
TEN_YEARS = 315_360_000
CONTACTS = [
    {"id": "c-1", "full_name": "First", "credit": "10.50"},
    {"id": "c-2", "full_name": "Second", "credit": "0.00"},
    {"id": "c-3", "full_name": "Third", "credit": "not a number"},
]


class Received(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]  # by their names in lower case
    body: str


class OldApi:
    """Records what arrives, and grants tokens that name their grant."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.respond()

            def do_POST(self) -> None:
                self.respond()

            def respond(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                body = self.rfile.read(length).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                path = urlsplit(self.path).path
                received.append(Received(self.command, path, headers, body))
                document = json.dumps(response_to(path, body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(document)))
                self.end_headers()
                self.wfile.write(document)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer((HOST, PORT), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def response_to(path: str, body: str) -> object:
    """Return the document for a request."""
    if path == "/token":
        grant = dict(parse_qsl(body))["grant_type"]
        return {
            "access_token": f"access-token-by-{grant}",
            "refresh_token": f"rotated-by-{grant}",
            "token_type": "Bearer",
            "expires_in": TEN_YEARS,
        }
    if path == "/contacts":
        return {"items": CONTACTS}
    return {"ok": True}
