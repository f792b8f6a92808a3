"""Real servers on loopback: nginx, and httpbin under gunicorn.

nginx's access log is the evidence of what arrived. Nothing here knows outkey.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from string import Template

import pytest

from peers.certificates import Pki, careless_context
from ports import free_port

STATUSES = (301, 302, 303, 307, 308)
USERS = {"alice": "s3cret", "jürgen": "pässwörd€", "nopass": "", "colon": "a:b:c"}
PACKAGES = {"nginx": "nginx-light", "htpasswd": "apache2-utils", "curl": "curl"}
_PATIENCE = 60.0
_ATTEMPTS = 3
_PLAIN_SERVERS = ("main", "elsewhere", "sentinel", "small")
_TLS_SERVERS = {
    "good": "ssl_protocols TLSv1.2 TLSv1.3;",
    "expired": "",
    "wronghost": "",
    "selfsigned": "",
    "stranger": "",
    # OpenSSL 3 speaks TLS 1.1 at security level 0 only.
    "tls11": "ssl_protocols TLSv1.1; ssl_ciphers ALL:@SECLEVEL=0;",
    "tls12": "ssl_protocols TLSv1.2;",
    "tls13": "ssl_protocols TLSv1.3;",
    "mutual": "ssl_verify_client on;",
}


def require_program(name: str) -> str:
    """Return a program's path, or skip the test with the name of what is missing."""
    # Debian keeps servers where only root's PATH leads.
    found = shutil.which(
        name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    )
    return str(
        require(found, f"missing program: {name} (Debian package {PACKAGES[name]})")
    )


def require(path: Path | str | None, missing: str) -> Path:
    """Return a path, or skip the test with a line that names what is missing."""
    if path and Path(path).exists():
        return Path(path)
    if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING"):
        pytest.fail(missing)
    pytest.skip(missing)


# ── nginx ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request as a server logged it."""

    server: str
    method: str
    target: str
    status: int
    host: str
    authorization: str
    api_key: str
    session: str
    user: str
    content_length: str
    tls: str
    client: str
    connection: int
    at: float

    @property
    def credentials(self) -> tuple[str, str, str]:
        """Every header that could have carried a credential."""
        return (self.authorization, self.api_key, self.session)


class AccessLog:
    """nginx's log, read only after everything that arrived before has been written."""

    def __init__(self, path: Path, sentinel_port: int) -> None:
        self._path = path
        self._sentinel_port = sentinel_port
        self._numbers = count()

    def settle(self) -> None:
        """Wait until the log is complete.

        nginx logs a request after it has answered. With one worker, a later request is
        logged later, so a sentinel's line says that all the lines before it are there.
        """
        target = f"/{next(self._numbers)}"
        start = self.size()
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._sentinel_port, timeout=5
        )
        try:
            connection.request("GET", target)
            connection.getresponse().read()
        finally:
            connection.close()
        line = f'"server":"sentinel","method":"GET","target":"{target}"'.encode()
        wait_until(lambda: self._has_line(line, start), "nginx's log")

    def size(self) -> int:
        return self._path.stat().st_size

    def arrivals(self, start: int) -> list[Arrival]:
        # A TLS handshake sent to a plain port is logged as a request of raw bytes.
        text = self._read(start).decode("utf-8", "backslashreplace")
        found = [_arrival(json.loads(line)) for line in text.splitlines()]
        return [arrival for arrival in found if arrival.server != "sentinel"]

    def _has_line(self, line: bytes, start: int) -> bool:
        text = self._read(start)
        return line in text and text.endswith(b"\n")  # else it is being written

    def _read(self, start: int) -> bytes:
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read()


def _arrival(facts: dict[str, str]) -> Arrival:
    numbers = {"status": int, "connection": int, "at": float}
    return Arrival(
        **{key: numbers.get(key, str)(value) for key, value in facts.items()}
    )


class Wire:
    """What arrived at nginx since this object was made."""

    def __init__(self, log: AccessLog) -> None:
        self._log = log
        log.settle()
        self._start = log.size()

    def arrivals(self, server: str | None = None) -> list[Arrival]:
        """Return the requests of one server or of all, oldest first."""
        self._log.settle()
        found = self._log.arrivals(self._start)
        return [arrival for arrival in found if server in {None, arrival.server}]


@dataclass(frozen=True, slots=True)
class Nginx:
    """A running nginx; its servers are known by name."""

    ports: Mapping[str, int]
    log: AccessLog
    pki: Pki

    def url(
        self, server: str, host: str = "127.0.0.1", scheme: str | None = None
    ) -> str:
        """Return the URL of a server, in the scheme it speaks unless told otherwise."""
        scheme = scheme or ("https" if server in _TLS_SERVERS else "http")
        return f"{scheme}://{host}:{self.ports[server]}"

    def careless_get(self, server: str) -> int:
        """Send to a TLS server without any verification, and return the status."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.ports[server], timeout=5, context=careless_context()
        )
        try:
            connection.request("GET", "/careless")
            response = connection.getresponse()
            response.read()
        finally:
            connection.close()
        return response.status


@contextmanager
def nginx_running(folder: Path, pki: Pki) -> Iterator[Nginx]:
    """Run nginx with all its servers until the block ends."""
    program = require_program("nginx")
    (folder / "temp").mkdir()
    write_users(folder / "users")
    command = [
        program,
        "-p",
        f"{folder}/",
        "-e",
        f"{folder}/error.log",
        "-c",
        f"{folder}/conf",
    ]
    for attempt in range(_ATTEMPTS):
        ports = _free_ports([*_PLAIN_SERVERS, *_TLS_SERVERS])
        (folder / "conf").write_text(_nginx_conf(folder, pki, ports))
        nginx = Nginx(ports, AccessLog(folder / "access.log", ports["sentinel"]), pki)
        with running(command, folder) as process:
            try:
                wait_until(partial(_answers, nginx.log.settle), "nginx", process)
            except ServerEnded:
                # Somebody took one of the ports in between; other ports may do.
                if attempt + 1 < _ATTEMPTS:
                    continue
                raise
            yield nginx
            return


def redirect_targets(ports: Mapping[str, int]) -> dict[str, str]:
    """Return addresses at other origins, by the way in which they are other."""
    main = f"127.0.0.1:{ports['main']}"
    return {
        "port": f"http://127.0.0.1:{ports['elsewhere']}/landed",
        "host": f"http://localhost:{ports['main']}/landed",
        "upgrade": f"https://127.0.0.1:{ports['good']}/landed",
        "downgrade": f"http://127.0.0.1:{ports['elsewhere']}/landed",
        "scheme-relative": f"//localhost:{ports['elsewhere']}/landed",
        "userinfo": f"http://{main}@localhost:{ports['elsewhere']}/landed",
    }


def write_users(path: Path, users: Mapping[str, str] = USERS) -> None:
    """Write a password file as nginx and others read it."""
    program = require_program("htpasswd")
    path.touch()
    for name, password in users.items():
        command = [program, "-b", "-B", "-C", "4", str(path), name, password]
        subprocess.run(command, check=True, capture_output=True, timeout=10)


def _nginx_conf(folder: Path, pki: Pki, ports: Mapping[str, int]) -> str:
    class Percent(Template):
        delimiter = "%"

    elsewhere = redirect_targets(ports)
    nearby = {
        "same/open": "/open/landed",
        "same/relative": "/basic/landed",
        "same/absolute": f"http://127.0.0.1:{ports['main']}/basic/landed",
        "same/shouted": f"HTTP://127.0.0.1:{ports['main']}/basic/landed",
    }
    downgrade = {"downgrade": elsewhere.pop("downgrade")}
    tls = "\n".join(
        _tls_server(name, extra, pki, ports[name], downgrade if name == "good" else {})
        for name, extra in _TLS_SERVERS.items()
    )
    template = Path(__file__).with_name("nginx.conf").read_text()
    return Percent(template).substitute(
        {name: str(ports[name]) for name in _PLAIN_SERVERS},
        folder=folder,
        # Started by root, the worker would become a user who cannot read the files.
        user="user root;" if os.geteuid() == 0 else "",
        redirects=_redirects(elsewhere | nearby),
        tls_servers=tls,
    )


def _tls_server(
    name: str, extra: str, pki: Pki, port: int, redirects: Mapping[str, str]
) -> str:
    shown = "good" if name in {"tls11", "tls12", "tls13", "mutual"} else name
    return f"""
    server {{
      server_name {name};
      listen 127.0.0.1:{port} ssl;
      ssl_certificate "{pki.certificate(shown)}";
      ssl_certificate_key "{pki.key(shown)}";
      ssl_client_certificate "{pki.ca}";
      {extra}
      {_redirects(redirects)}
      location /basic {{
        auth_basic "api";
        auth_basic_user_file users;
        try_files /nothing @user;
      }}
      location @user {{
        return 200 '{{"user":"$remote_user"}}';
      }}
      location / {{
        return 200 '{{"tls":"$ssl_protocol","client":"$ssl_client_s_dn"}}';
      }}
    }}"""


def _redirects(targets: Mapping[str, str]) -> str:
    return "\n".join(
        f"location = /to/{name}/{status} {{ return {status} {target}; }}"
        for name, target in targets.items()
        for status in STATUSES
    )


# ── httpbin ───────────────────────────────────────────────────────────────────────────


@contextmanager
def httpbin_running(folder: Path) -> Iterator[str]:
    """Run httpbin under gunicorn until the block ends; give its address."""
    # The socket is bound here and inherited, so nobody else can take the port.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        options = ["--workers", "1", "--threads", "8", "--log-level", "warning"]
        bind = ["--bind", f"fd://{listener.fileno()}"]
        command = [sys.executable, "-m", "gunicorn", *options, *bind, "httpbin:app"]
        with running(command, folder, inherited=[listener.fileno()]) as process:
            wait_until(
                partial(_answers, partial(_get, port, "/status/204")),
                "httpbin",
                process,
            )
            yield f"http://127.0.0.1:{port}"


def _get(port: int, target: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    try:
        connection.request("GET", target)
        connection.getresponse().read()
    finally:
        connection.close()


# ── processes ─────────────────────────────────────────────────────────────────────────


class ServerEnded(Exception):
    """A server ended by itself."""


@contextmanager
def running(
    command: Sequence[str], folder: Path, *, inherited: Sequence[int] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in a folder until the block ends."""
    # The folder is its home too: gunicorn keeps files there.
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
    with ExitStack() as closing:
        output = closing.enter_context((folder / "output").open("wb"))
        process = closing.enter_context(
            subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
            )
        )
        try:
            yield process
        except ServerEnded as error:
            said = (folder / "output").read_text(errors="replace")[-2000:]
            raise ServerEnded(f"{error}: {said}") from None
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def listening(
    folder: Path, what: str, command: Callable[[int], Sequence[str]], target: str = "/"
) -> Iterator[int]:
    """Run a program that is told its port, until the block ends; give the port."""
    for attempt in range(_ATTEMPTS):
        port = _free_ports([what])[what]
        with running(command(port), folder) as process:
            try:
                wait_until(
                    partial(_answers, partial(_get, port, target)), what, process
                )
            except ServerEnded:
                # Somebody took the port in between; another one may do.
                if attempt + 1 < _ATTEMPTS:
                    continue
                raise
            yield port
            return


def wait_until(
    condition: Callable[[], bool],
    what: str,
    process: subprocess.Popen[bytes] | None = None,
) -> None:
    """Wait for a condition, as long as the process lives."""
    ends = time.monotonic() + _PATIENCE
    while not condition():
        if process and process.poll() is not None:
            raise ServerEnded(f"{what} ended with status {process.returncode}")
        if time.monotonic() > ends:
            raise TimeoutError(f"waited {_PATIENCE:g} s for {what}")
        time.sleep(0.02)


def _answers(ask: Callable[[], None]) -> bool:
    try:
        ask()
    except (OSError, http.client.HTTPException):
        return False
    return True


def _free_ports(names: Sequence[str]) -> dict[str, int]:
    ports: set[int] = set()
    while len(ports) < len(names):
        ports.add(free_port())
    return dict(zip(names, ports, strict=True))
