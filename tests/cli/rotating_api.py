"""An API that accepts the tokens a test names, and counts what each was used for."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import parse_qs

TOKENS = ("old", "new", "dlo", "wen")  # and those of the client secrets old and new


@dataclass
class RotatingApi:
    """The status for each token; others, and requests without one, are refused.

    With the status 0 the connection is closed without a response.
    """

    statuses: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOKENS, 200))
    url: str = ""
    seen: "Counter[tuple[str, int]]" = field(default_factory=Counter)
    # A token that is accepted so often, and refused after that.
    refused_after: dict[str, int] = field(default_factory=dict)
    locks_after: int = 0  # refusals in total, after which nothing is accepted
    delays: dict[str, float] = field(default_factory=dict)  # seconds, by token
    under_way: "Counter[str]" = field(default_factory=Counter)
    # How many requests with a token were under way at once, until one succeeded.
    most_unproved: "Counter[str]" = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)

    def status(self, token: str, known: int = 0) -> int:
        """Return the status of one more request with a token."""
        with self.lock:
            left = self.refused_after.get(token, 1)
            if token in self.refused_after:
                self.refused_after[token] = left - 1
            status = known or self.statuses.get(token, 401)
            if left <= 0:
                status = 401
            if self.locks_after and self.refusals >= self.locks_after:
                status = 423
            self.seen[token, status] += 1
        return status

    @contextmanager
    def counted(self, token: str) -> Iterator[None]:
        """Count a request as under way, and let it take its time."""
        with self.lock:
            self.under_way[token] += 1
            if not self.seen[token, 200]:
                most = max(self.most_unproved[token], self.under_way[token])
                self.most_unproved[token] = most
        time.sleep(self.delays.get(token, 0.0))
        yield
        with self.lock:
            self.under_way[token] -= 1

    @property
    def refusals(self) -> int:
        """How many requests with a token were refused."""
        return sum(
            count
            for (token, status), count in self.seen.items()
            if token and status == 401
        )

    def count(self, token: str) -> int:
        """Return how many requests had a token."""
        return sum(count for (used, _), count in self.seen.items() if used == token)


@contextmanager
def rotating_api() -> Iterator[RotatingApi]:
    """Serve the API until the end of the block."""
    api = RotatingApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == "/token":
                secret = parse_qs(sent.decode())["client_secret"][0]
                answer = {"access_token": secret[::-1], "token_type": "Bearer"}
                status = api.status(f"secret {secret}", api.statuses.get(secret, 401))
            else:
                header = self.headers.get("Authorization", "")
                token = header.removeprefix("Bearer ")
                with api.counted(token):
                    status = api.status(token)
                answer = {}
            if not status:
                self.close_connection = True
                return
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_args: object) -> None:
            """Nothing is logged."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 256
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
