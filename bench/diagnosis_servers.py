"""The servers of diagnosis.py, each started on loopback with its files in a folder.

None of them is used by a test, and nothing here knows outkey.
"""

import json
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

PASSWORD = "s3cret-of-alice"
_WAIT_SECONDS = 240  # rspamd compiles its rules first


class Prepared(NamedTuple):
    """How to start a server, and what its requests need."""

    command: list[str]
    url: str
    port: int
    values: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}


Prepare = Callable[[Path, Path], Prepared]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(name: str, servers: Path, folder: Path) -> Iterator[Prepared]:
    """Run a server until the block ends."""
    folder.mkdir()
    prepared = PREPARATIONS[name](servers, folder)
    with (
        (folder / "output").open("wb") as output,
        subprocess.Popen(
            prepared.command,
            cwd=folder,
            env={**os.environ, "HOME": str(folder), **prepared.environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            _wait_until_listening(prepared.port, process)
            yield prepared
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_listening(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"ended with {process.returncode}: {process.args!r}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"does not listen: {process.args!r}")


def _loopback(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def _unpacked(servers: Path, program: str) -> tuple[str, dict[str, str]]:
    """Return a program of Debian, and the environment that it needs."""
    root = servers / "debian"
    libraries = ":".join(
        str(place)
        for place in (
            root / "usr/lib/x86_64-linux-gnu",
            root / "usr/lib/aarch64-linux-gnu",
            root / "usr/lib/rspamd",
        )
    )
    return str(root / "usr/bin" / program), {"LD_LIBRARY_PATH": libraries}


def _supervisor(servers: Path, folder: Path) -> Prepared:
    port = free_port()
    (folder / "supervisord.conf").write_text(
        f"[inet_http_server]\nport=127.0.0.1:{port}\nusername=alice\n"
        f"password={PASSWORD}\n[supervisord]\nnodaemon=true\n"
        f"logfile={folder}/log\npidfile={folder}/pid\n"
        "[rpcinterface:supervisor]\n"
        "supervisor.rpcinterface_factory ="
        " supervisor.rpcinterface:make_main_rpcinterface\n"
    )
    program = str(servers / "supervisor/bin/supervisord")
    return Prepared([program, "-c", "supervisord.conf"], _loopback(port), port)


def _roundup(servers: Path, folder: Path) -> Prepared:
    port = free_port()
    admin = str(servers / "roundup/bin/roundup-admin")
    tracker = str(folder / "tracker")
    url = _loopback(port)

    def run(*words: str) -> None:
        subprocess.run(
            [admin, "-i", tracker, *words], check=True, capture_output=True, cwd=folder
        )

    settings = f"tracker_web={url}/demo/,mail_domain=a.example"
    run("install", "classic", "sqlite", settings)
    run("initialise", PASSWORD)
    for name, roles in (("demo", "Admin"), ("guest", "Anonymous")):
        run(
            "create",
            "user",
            f"username={name}",
            f"password=s3cret-of-{name}",
            f"roles={roles}",
            f"address={name}@a.example",
        )
    program = str(servers / "roundup/bin/roundup-server")
    command = [program, "-n", "127.0.0.1", "-p", str(port)]
    if os.geteuid() == 0:  # it refuses to run as root
        command += ["-u", "nobody", "-g", "nogroup"]
        folder.parent.chmod(0o755)
        subprocess.run(["chown", "-R", "nobody:nogroup", str(folder)], check=True)
    command.append(f"demo={tracker}")
    return Prepared(command, f"{url}/demo", port)


def _jupyterhub(servers: Path, folder: Path) -> Prepared:
    port = free_port()
    token = secrets.token_hex(16)
    other_token = secrets.token_hex(16)
    proxy = servers / "npm/node_modules/.bin/configurable-http-proxy"
    (folder / "config.py").write_text(
        f"""
c.JupyterHub.bind_url = "{_loopback(port)}"
c.JupyterHub.hub_bind_url = "{_loopback(free_port())}"
c.ConfigurableHTTPProxy.api_url = "{_loopback(free_port())}"
c.ConfigurableHTTPProxy.command = ["{proxy}"]
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.services = [
    {{"name": "erp", "api_token": "{token}"}},
    {{"name": "guest", "api_token": "{other_token}"}},
]
c.JupyterHub.load_roles = [
    {{"name": "lister", "scopes": ["list:users"], "services": ["erp"]}},
]
"""
    )
    program = str(servers / "jupyterhub/bin/jupyterhub")
    values = {"token": token, "other_token": other_token}
    return Prepared([program, "-f", "config.py"], _loopback(port), port, values)


def _octoprint(servers: Path, folder: Path) -> Prepared:
    port = free_port()
    key = secrets.token_hex(16).upper()
    program = str(servers / "octoprint/bin/octoprint")
    base = ["-b", str(folder / "base")]
    (folder / "base").mkdir()
    (folder / "base/config.yaml").write_text(
        f"api:\n  key: {key}\nserver:\n  firstRun: false\n  host: 127.0.0.1\n"
        f"  port: {port}\n"
    )
    subprocess.run(
        [program, *base, "user", "add", "alice", "--password", PASSWORD, "--admin"],
        check=True,
        capture_output=True,
    )
    command = [program, *base, "serve", "--iknowwhatimdoing", "--host", "127.0.0.1"]
    return Prepared(
        [*command, "--port", str(port)], _loopback(port), port, {"token": key}
    )


def _webdis(servers: Path, folder: Path) -> Prepared:
    port = free_port()
    redis_port = free_port()
    program, environment = _unpacked(servers, "webdis")
    redis, _ = _unpacked(servers, "redis-server")
    rights = {"http_basic_auth": f"alice:{PASSWORD}", "enabled": ["PING", "GET"]}
    settings = {
        "redis_host": "127.0.0.1",
        "redis_port": redis_port,
        "http_host": "127.0.0.1",
        "http_port": port,
        "daemonize": False,
        "database": 0,
        "acl": [{"disabled": ["*"]}, rights],
        "logfile": f"{folder}/log",
    }
    (folder / "webdis.json").write_text(json.dumps(settings))
    redis_words = f"--bind 127.0.0.1 --port {redis_port} --save ''"
    # Both end with the shell that waits for them.
    script = f"{redis} {redis_words} & {program} webdis.json & trap 'kill 0' TERM; wait"
    command = ["setsid", "sh", "-c", script]
    return Prepared(command, _loopback(port), port, {}, environment)


def _rspamd(servers: Path, folder: Path) -> Prepared:
    port = free_port()
    program, environment = _unpacked(servers, "rspamd")
    root = servers / "debian/usr/share/rspamd"
    (folder / "conf").write_text(
        f"""
options {{
  pidfile = "{folder}/pid"; filters = ""; history_file = "{folder}/history";
  control_socket = "{folder}/control mode=0600";
  dns {{ nameserver = ["127.0.0.1:{free_port()}"]; }}
  url_tld = "{root}/effective_tld_names.dat";
}}
logging {{ type = "console"; level = "warning"; }}
worker "controller" {{
  bind_socket = "127.0.0.1:{port}"; count = 1;
  password = "{PASSWORD}"; enable_password = "s3cret-of-admin";
  secure_ip = "192.0.2.1";
}}
"""
    )
    places = [
        f"--var={name}={place}"
        for name, place in (
            ("DBDIR", folder),
            ("RUNDIR", folder),
            ("LOGDIR", folder),
            ("RULESDIR", root / "rules"),
            ("LUALIBDIR", root / "lualib"),
            ("SHAREDIR", root),
            ("PLUGINSDIR", root / "plugins"),
        )
    ]
    command = [program, "-f", "-i", "-c", "conf", *places]
    values = {"token": PASSWORD}
    return Prepared(command, _loopback(port), port, values, environment)


def _victoria_metrics(servers: Path, folder: Path) -> Prepared:
    port = free_port()
    program, environment = _unpacked(servers, "victoria-metrics")
    command = [
        program,
        f"-httpListenAddr=127.0.0.1:{port}",
        f"-storageDataPath={folder}/data",
    ]
    command += ["-httpAuth.username=alice", f"-httpAuth.password={PASSWORD}"]
    command += ["-snapshotAuthKey=s3cret-of-snapshots"]
    return Prepared(command, _loopback(port), port, {}, environment)


def _dnsdist(servers: Path, folder: Path) -> Prepared:
    port = free_port()
    key = secrets.token_hex(16)
    program, environment = _unpacked(servers, "dnsdist")
    (folder / "conf").write_text(
        f'setLocal("127.0.0.1:{free_port()}")\nwebserver("127.0.0.1:{port}")\n'
        f'setWebserverConfig({{password="{PASSWORD}", apiKey="{key}",'
        ' acl="127.0.0.0/8"})\n'
    )
    command = [program, "--supervised", "--disable-syslog", "-C", "conf"]
    return Prepared(command, _loopback(port), port, {"token": key}, environment)


PREPARATIONS: dict[str, Prepare] = {
    "supervisor": _supervisor,
    "roundup": _roundup,
    "jupyterhub": _jupyterhub,
    "octoprint": _octoprint,
    "webdis": _webdis,
    "rspamd": _rspamd,
    "victoria-metrics": _victoria_metrics,
    "dnsdist": _dnsdist,
}
