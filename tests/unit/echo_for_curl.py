"""Servers on loopback that record what curl sends, and a curl that knows no other."""

import os
import shlex
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Sent:
    """One request as it arrived."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str:
        return next((v for key, v in self.headers if key.lower() == name), "")


@dataclass
class CurlEcho:
    """Runs commands with the real curl, and returns what it sent."""

    folder: Path
    requests: list[Sent] = field(default_factory=list)

    def run_shell(self, command: str) -> list[Sent]:
        """Run a command by bash; `$ ` before it is a prompt."""
        return self._run(["bash", "-c", command.removeprefix("$ ")])

    def run_arguments(self, arguments: Sequence[str]) -> list[Sent]:
        """Run curl with these arguments."""
        return self._run([str(self.folder / "curl"), *arguments])

    def _run(self, command: list[str]) -> list[Sent]:
        self.requests.clear()
        subprocess.run(
            command,
            env={
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "HOME": str(self.folder),
            },
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
        return list(self.requests)


@contextmanager
def curl_echo(folder: Path, curl: str) -> Iterator[CurlEcho]:
    """Start both servers, and write a curl that connects everything to them."""
    echo = CurlEcho(folder)
    recorded = echo.requests

    class Recorder(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def parse_request(self) -> bool:
            is_read = super().parse_request()
            if is_read:
                headers = tuple(self.headers.items())
                recorded.append(Sent(self.command, self.path, headers))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                length = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(length)
            return False

        def log_message(self, *_arguments: object) -> None:
            """Print nothing: the requests hold what looks like secrets."""

    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Recorder) for _ in range(2)]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("a.example").configure_cert(context)
    servers[1].socket = context.wrap_socket(servers[1].socket, server_side=True)
    threads = [threading.Thread(target=one.serve_forever) for one in servers]
    for thread in threads:
        thread.start()
    plain, secure = (server.server_address[1] for server in servers)
    wrapper = folder / "curl"
    wrapper.write_text(
        "#!/bin/sh\n"
        f"exec {shlex.quote(curl)} --disable --insecure --silent --max-time 20"
        f" --connect-to :443:127.0.0.1:{secure} --connect-to :8443:127.0.0.1:{secure}"
        f" --connect-to ::127.0.0.1:{plain} --noproxy '*' \"$@\"\n"
    )
    wrapper.chmod(0o755)
    try:
        yield echo
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()
