"""The servers of the sparring provider. Their responses are in `scenes.py`."""

import contextlib
import os
import socket
import ssl
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qsl, urlsplit

from outkey.spar.approval import ISSUER_PATH
from outkey.spar.authority import Authority
from outkey.spar.budgets import Budgets
from outkey.spar.exchange import Arrival, Neighbours, Stage
from outkey.spar.reports import Reports
from outkey.spar.scenes import play
from outkey.spar.stored_records import StoredRecords

if TYPE_CHECKING:
    import trustme

_JOURNAL_LENGTH = 10_000
_MAX_BODY = 64 * 1024 * 1024
_UNJOURNALED = frozenset({"/journal", "/oauth/journal"})


def _new_authority() -> "trustme.CA":
    """Return a certificate authority of this process."""
    import trustme  # noqa: PLC0415 - only the TLS scenes need it

    return trustme.CA()


class Spar:
    """Loopback servers: `url`, `elsewhere` (another origin) and, if asked, `secure`.

    `authorization` controls the authorization server, whose identifier is `issuer`;
    `stored` has the records that were sent to `/records/stored`, `budgets` counts the
    requests for records with a `?budget=`, `reports` has the reports that were ordered.
    """

    def __init__(self, *, port: int = 0, tls: bool = False) -> None:
        authority = _new_authority() if tls else None  # before a port is opened
        self._journal: deque[Arrival] = deque(maxlen=_JOURNAL_LENGTH)
        self._closing = contextlib.ExitStack()
        self.authorization = Authority()
        self.stored = StoredRecords()
        self.budgets = Budgets()
        self.reports = Reports()
        self._main = self._server("main", port)
        self._elsewhere = self._server("elsewhere", 0)
        self.url = f"http://127.0.0.1:{self._main.server_port}"
        self.elsewhere = f"http://127.0.0.1:{self._elsewhere.server_port}"
        self.issuer = self.url + ISSUER_PATH
        self.secure = ""
        self.ca_file = ""
        if authority is not None:
            self._serve_tls(authority)
        neighbours = Neighbours(self.url, self.elsewhere, self.secure)
        for server in self._servers:
            server.neighbours = neighbours

    @property
    def journal(self) -> list[Arrival]:
        """The requests so far, oldest first."""
        return list(self._journal)

    def clear(self) -> None:
        """Empty the journal."""
        self._journal.clear()

    def start(self) -> Self:
        """Serve in background threads."""
        for server in self._servers:
            thread = threading.Thread(
                target=server.serve_forever, args=(0.05,), daemon=True
            )
            thread.start()
            self._closing.callback(thread.join)
            self._closing.callback(server.shutdown)
        return self

    def wait(self) -> None:
        """Serve in the foreground until interrupted."""
        self.start()
        threading.Event().wait()

    def close(self) -> None:
        """Stop serving and remove the certificates."""
        self._closing.close()

    def __enter__(self) -> Self:
        self._process = os.getpid()
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        # A forked child has no threads to wait for.
        if os.getpid() == self._process:
            self.close()

    @property
    def _servers(self) -> Iterator["SparServer"]:
        yield from (self._main, self._elsewhere)
        if self.secure:
            yield self._secure_server

    def _server(self, name: str, port: int) -> "SparServer":
        server = SparServer(name, port, self._journal, self.authorization, self.stored)
        server.budgets = self.budgets
        server.reports = self.reports
        self._closing.callback(server.server_close)
        return server

    def _serve_tls(self, authority: "trustme.CA") -> None:
        folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory()))
        authority.cert_pem.write_to_path(folder / "ca.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
        self._secure_server = self._server("secure", 0)
        self._secure_server.context = context
        self.secure = f"https://localhost:{self._secure_server.server_port}"
        self.ca_file = str(folder / "ca.pem")


class SparServer(ThreadingHTTPServer):
    """One of the servers, which journals what arrives."""

    daemon_threads = True
    request_queue_size = 512
    context: ssl.SSLContext | None = None
    neighbours: Neighbours
    budgets: Budgets
    reports: Reports

    def __init__(
        self,
        name: str,
        port: int,
        journal: deque[Arrival],
        authority: Authority,
        stored: StoredRecords,
    ) -> None:
        self.name = name
        self.stored = stored
        self.journal = journal
        self.authority = authority
        super().__init__(("127.0.0.1", port), SparHandler)

    def finish_request(self, request: object, client_address: object) -> None:
        """Do the TLS handshake in the thread of the connection: none blocks others."""
        if self.context is None or not isinstance(request, socket.socket):
            super().finish_request(request, client_address)  # type: ignore[arg-type]
            return
        with (
            contextlib.suppress(OSError),
            self.context.wrap_socket(request, server_side=True) as wrapped,
        ):
            super().finish_request(wrapped, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay quiet: peers that hang up are what this server is for."""


class SparHandler(BaseHTTPRequestHandler):
    """One connection, which plays a scene for each request."""

    protocol_version = "HTTP/1.1"
    server: SparServer
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        """Read one request, journal it and play the scene that its path names."""
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline:
            self.close_connection = True
            return
        if not self.parse_request():
            return
        body = self._body()
        parts = urlsplit(self.path)
        headers = tuple(self.headers.items())
        arrival = Arrival(
            self.server.name, self.command, parts.path, parts.query, headers, body
        )
        if parts.path not in _UNJOURNALED:
            self.server.journal.append(arrival)
        stage = Stage(
            method=self.command,
            path=parts.path,
            query=dict(parse_qsl(parts.query)),
            raw_query=parts.query,
            headers={name.lower(): value for name, value in headers},
            body=body,
            server=self.server.name,
            neighbours=self.server.neighbours,
            authority=self.server.authority,
            stored=self.server.stored,
            budgets=self.server.budgets,
            reports=self.server.reports,
            journal=self.server.journal,
            connection=self.connection,
            write=self.wfile.write,
        )
        play(stage)
        if stage.hang_up:
            self.close_connection = True

    def _body(self) -> bytes:
        """Read a body by its length or in chunks (RFC 9112 §7.1), up to our limit."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            length = int(self.headers.get("Content-Length") or 0)
            return self.rfile.read(min(length, _MAX_BODY))
        body = b""
        while len(body) < _MAX_BODY and (
            size := int(self.rfile.readline(20) or b"0", 16)
        ):
            body += self.rfile.read(min(size, _MAX_BODY))
            self.rfile.readline(20)
        self.rfile.readline(20)
        return body

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited
        """Write no access log; the journal is the log."""
