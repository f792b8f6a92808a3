"""A server on loopback that records what arrives: an API, or an attacker."""

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Arrival(NamedTuple):
    path: str
    headers: dict[str, str]
    body: str


Respond = Callable[[dict[str, str]], tuple[int, str]]


class RecordingServer:
    """Grants a token at /token, and responds elsewhere as it is told."""

    def __init__(
        self, respond: Respond | None = None, context: ssl.SSLContext | None = None
    ) -> None:
        self.arrived: list[Arrival] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length).decode()
                headers = dict(self.headers.items())
                outer.arrived.append(Arrival(self.path, headers, body))
                status, text = outer.response(self.path, headers, respond)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = handle_any  # noqa: N815 - names of the library

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        scheme = "http"
        if context is not None:
            scheme = "https"
            socket = self.server.socket
            self.server.socket = context.wrap_socket(socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}"

    def response(
        self, path: str, headers: dict[str, str], respond: Respond | None
    ) -> tuple[int, str]:
        if path == "/token":
            token = {"access_token": "granted-canary", "token_type": "Bearer"}
            return 200, json.dumps(token)
        return (200, "{}") if respond is None else respond(headers)

    def saw(self, text: str) -> bool:
        return any(text in json.dumps(arrival) for arrival in self.arrived)
