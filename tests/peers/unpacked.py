"""Servers from Debian, unpacked by tools/peers.sh: for Digest, and as proxies.

- Apache httpd and lighttpd ask for Digest, each in its own way;
- squid and tinyproxy are proxies, squid also by https.

Their logs are the evidence of what arrived. Nothing here knows outkey.
"""

import hashlib
import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from peers.authorization_servers import INSTALLED
from peers.certificates import Pki
from peers.servers import listening, require, running, wait_until, write_users
from ports import free_port

USERS = {"alice": "digest-s3cret", "jürgen": "pässwörd€"}
PROXY_USERS = {"svc": "proxy-s3cret"}
REALM = "the inner circle"
_ROOT = INSTALLED / "debian"


def require_unpacked(name: str) -> tuple[list[str], Path]:
    """Return the command of a server, and the folder it is installed in."""
    installed = shutil.which(name, path=f"{os.defpath}:/usr/sbin:/sbin")
    if installed:
        return [installed], Path("/")
    places = (_ROOT / "usr/sbin" / name, _ROOT / "usr/bin" / name)
    program = require(
        next((place for place in places if place.exists()), None),
        f"missing program: {name} (make .venv/.dev unpacks it)",
    )
    libraries = ":".join(map(str, sorted((_ROOT / "usr/lib").glob("*-linux-*"))))
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(program)], _ROOT


def digest_line(user: str, password: str, algorithm: str) -> str:
    """Return a line of a password file for Digest."""
    text = f"{user}:{REALM}:{password}".encode()
    return f"{user}:{REALM}:{hashlib.new(algorithm, text).hexdigest()}\n"


# ── Digest ────────────────────────────────────────────────────────────────────────────


@contextmanager
def apache_running(port: int = 0) -> Iterator[str]:
    """Run Apache httpd with mod_auth_digest until the block ends; give its URL."""
    with folder_for_all() as folder, apache_in(folder, port) as url:
        yield url


@contextmanager
def apache_in(folder: Path, port: int) -> Iterator[str]:
    """Run Apache httpd with its files in a folder."""
    start, root = require_unpacked("apache2")
    lines = [digest_line(name, USERS[name], "md5") for name in USERS]
    (folder / "users").write_text("".join(lines), encoding="utf-8")
    (folder / "pages").mkdir()
    (folder / "pages" / "page").write_text("the page")
    modules = ("mpm_event", "authn_core", "authn_file", "authz_core", "authz_user")

    def command(port: int) -> list[str]:
        loaded = [
            f"LoadModule {name}_module {root}/usr/lib/apache2/modules/mod_{name}.so"
            for name in (*modules, "auth_digest")
        ]
        settings = [
            *loaded,
            f"Listen 127.0.0.1:{port}",
            f"ServerRoot {folder}",
            f"DefaultRuntimeDir {folder}",
            "ServerName 127.0.0.1",
            f"PidFile {folder}/pid",
            f"ErrorLog {folder}/error.log",
            'LogFormat "%>s %m %U %{Authorization}i"',
            f"TransferLog {folder}/access.log",
            f"DocumentRoot {folder}/pages",
            "<Location />",
            "AuthType Digest",
            f'AuthName "{REALM}"',
            f"AuthUserFile {folder}/users",
            "AuthDigestProvider file",
            "AuthDigestNonceLifetime 2",
            "Require valid-user",
            "</Location>",
        ]
        if os.geteuid() == 0:
            # The workers of root would become a user who cannot read the files.
            settings += ["User nobody", "Group nogroup"]
        (folder / "conf").write_text("\n".join(settings) + "\n")
        return [*start, "-D", "FOREGROUND", "-f", str(folder / "conf")]

    if port:
        with running(command(port), folder) as process:
            wait_until(partial(accepts, port), "apache2", process)
            yield f"http://127.0.0.1:{port}"
        return
    with listening(folder, "apache2", command) as free:
        yield f"http://127.0.0.1:{free}"


@contextmanager
def lighttpd_running(folder: Path, algorithm: str, hashed: str = "") -> Iterator[str]:
    """Run lighttpd with these algorithms of Digest; give its URL."""
    start, root = require_unpacked("lighttpd")
    hashed = hashed or algorithm.lower().replace("-", "")
    lines = [digest_line(name, USERS[name], hashed) for name in USERS]
    (folder / "users").write_text("".join(lines), encoding="utf-8")
    (folder / "pages").mkdir()
    (folder / "pages" / "page").write_text("the page")

    def command(port: int) -> list[str]:
        (folder / "conf").write_text(
            f"""
            server.bind = "127.0.0.1"
            server.port = {port}
            server.document-root = "{folder}/pages"
            server.errorlog = "{folder}/error.log"
            server.modules = ("mod_auth", "mod_authn_file")
            auth.backend = "htdigest"
            auth.backend.htdigest.userfile = "{folder}/users"
            auth.require = ("" => (
              "method" => "digest", "realm" => "{REALM}",
              "algorithm" => "{algorithm}", "require" => "valid-user"))
            """
        )
        modules = f"{root}/usr/lib/lighttpd"
        return [*start, "-D", "-f", str(folder / "conf"), "-m", modules]

    with listening(folder, "lighttpd", command) as port:
        yield f"http://127.0.0.1:{port}"


# ── proxies ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class RunningProxy:
    """A proxy that asks for credentials, and its log."""

    url: str
    secure_url: str  # the same by https, "" if it does not have that
    log: Path

    def logged(self) -> str:
        """Return what it has logged so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


@contextmanager
def squid_running(
    pki: Pki, *, users: Mapping[str, str] = PROXY_USERS
) -> Iterator[RunningProxy]:
    """Run squid until the block ends; it forbids the host forbidden.example."""
    with folder_for_all() as folder, squid_in(folder, pki, users) as proxy:
        yield proxy


@contextmanager
def squid_in(
    folder: Path, pki: Pki, users: Mapping[str, str]
) -> Iterator[RunningProxy]:
    """Run squid with its files in a folder."""
    start, root = require_unpacked("squid")
    secure_port = free_port()
    write_users(folder / "users", users)
    log = folder / "access.log"
    log.touch()
    log.chmod(0o666)

    helper = write_helper(folder, start, root)
    certificate = f"tls-cert={pki.certificate('good')} tls-key={pki.key('good')}"
    authentication = [
        f"auth_param basic program {helper}",
        "auth_param basic children 1",
        "acl known proxy_auth REQUIRED",
        "http_access deny !known",
    ]

    def command(port: int) -> list[str]:
        settings = [
            f"http_port 127.0.0.1:{port}",
            f"https_port 127.0.0.1:{secure_port} {certificate}",
            "logformat plain %>Hs %rm %ru api=%{Authorization}>h",
            f"access_log stdio:{log} logformat=plain",
            f"cache_log {folder}/cache.log",
            f"coredump_dir {folder}",
            f"mime_table {root}/usr/share/squid/mime.conf",
            f"icon_directory {root}/usr/share/squid/icons",
            f"error_directory {root}/usr/share/squid-langpack/en",
            f"unlinkd_program {root}/usr/lib/squid/unlinkd",
            f"logfile_daemon {root}/usr/lib/squid/log_file_daemon",
            "cache deny all",
            "cache_mem 8 MB",
            "pid_filename none",
            "netdb_filename none",
            "pinger_enable off",
            "shutdown_lifetime 1 seconds",
            "connect_timeout 2 seconds",
            "visible_hostname proxy.example",
            *(authentication if users else ()),
            "acl forbidden dstdomain forbidden.example",
            "http_access deny forbidden",
            "http_access allow all",
        ]
        if os.geteuid() == 0:
            settings.append("cache_effective_user nobody")
        (folder / "conf").write_text("\n".join(settings) + "\n")
        return [*start, "-N", "-f", str(folder / "conf")]

    with listening(folder, "squid", command) as port:
        yield RunningProxy(
            f"http://127.0.0.1:{port}", f"https://127.0.0.1:{secure_port}", log
        )


def write_helper(folder: Path, start: Sequence[str], root: Path) -> Path:
    """Write what squid checks passwords with; it runs without our environment."""
    program = Path(root, "usr/lib/squid/basic_ncsa_auth")
    helper = folder / "helper"
    environment = "".join(f"{word} " for word in start[1:-1])
    helper.write_text(f"#!/bin/sh\n{environment}exec {program} {folder}/users\n")
    helper.chmod(0o755)
    return helper


@contextmanager
def tinyproxy_running(
    folder: Path, *, users: Mapping[str, str] = PROXY_USERS
) -> Iterator[RunningProxy]:
    """Run tinyproxy until the block ends; it forbids the host forbidden.example."""
    start, _ = require_unpacked("tinyproxy")
    log = folder / "log"
    (folder / "filter").write_text("^forbidden\\.example$\n")

    def command(port: int) -> list[str]:
        settings = [
            f"Port {port}",
            "Listen 127.0.0.1",
            "Timeout 60",
            f'LogFile "{log}"',
            "LogLevel Info",
            "MaxClients 50",
            f'Filter "{folder}/filter"',
            *(f"BasicAuth {name} {password}" for name, password in users.items()),
        ]
        (folder / "conf").write_text("\n".join(settings) + "\n")
        return [*start, "-d", "-c", str(folder / "conf")]

    with listening(folder, "tinyproxy", command) as port:
        yield RunningProxy(f"http://127.0.0.1:{port}", "", log)


def accepts(port: int) -> bool:
    """Whether something listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """Make a folder that the workers of a server can read, which are not root.

    Not one of pytest: each pytest that starts closes the folder above its own.
    """
    with TemporaryDirectory(prefix="outkey-peer-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder
