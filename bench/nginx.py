"""The server of the benchmarks: one nginx worker on loopback that checks the token."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BODY = '{"text": "' + "x" * 1012 + '"}'  # 1 KiB of JSON
FILE_SIZES = (1_000, 100_000, 10_000_000)  # bytes of JSON, served as /files/SIZE
_DEBIAN_KEEPS_IT_OFF_THE_PATH = "/usr/sbin/nginx"
_PATIENCE = 10.0
_CONFIGURATION = """
worker_processes 1;
pid nginx.pid;
error_log error.log;
worker_rlimit_nofile 4096;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  default_type application/json;
  keepalive_requests 100000000;
  keepalive_timeout 1h;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{
    listen 127.0.0.1:{port};
    if ($http_authorization !~ "^{scheme} {token}") {{ return 401; }}
    location / {{ return 200 '{body}'; }}
    location /files/ {{ root .; }}
  }}
}}
"""


class NginxMissing(Exception):
    """nginx is not installed."""


@contextmanager
def serving(folder: Path, token: str, scheme: str = "Bearer") -> Iterator[str]:
    """Serve from a folder of its own as long as the block runs; gives the base URL.

    Signatures are not verified: for them, `token` is how the credentials begin.
    """
    program = shutil.which("nginx") or shutil.which(_DEBIAN_KEEPS_IT_OFF_THE_PATH)
    if program is None:
        raise NginxMissing
    port = _free_port()
    text = _CONFIGURATION.format(port=port, scheme=scheme, token=token, body=BODY)
    (folder / "nginx.conf").write_text(text, encoding="ascii")
    (folder / "files").mkdir()
    for size in FILE_SIZES:
        (folder / "files" / str(size)).write_bytes(b'"' + b"x" * (size - 2) + b'"')
    server = subprocess.Popen(
        [
            program,
            "-p",
            folder,
            "-e",
            "error.log",
            "-c",
            "nginx.conf",
            "-g",
            "daemon off;",
        ]
    )
    try:
        _wait_until_it_listens(server, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(_PATIENCE)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _wait_until_it_listens(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError("nginx did not start")
