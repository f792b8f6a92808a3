"""nginx, Caddy and Apache httpd with the examples of deploy/, in front of a server.

Of an example only ports, certificates and the port of the server behind are replaced.
"""

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpcore
import httpx
import trustme

from peers.servers import require_program, running, wait_until
from peers.unpacked import accepts, folder_for_all, require_unpacked
from ports import free_port

EXAMPLES = Path(__file__).parents[2] / "deploy"
HOST = "outkey.example.com"  # as in the examples
BEHIND = "127.0.0.1:8765"  # where they expect the server
CERTIFICATE = "/etc/ssl/outkey/certificate.pem"
KEY = "/etc/ssl/outkey/key.pem"
APACHE_MODULES = (
    "mpm_event",
    "authz_core",
    "socache_shmcb",
    "ssl",
    "headers",
    "proxy",
    "proxy_http",
    "alias",
)


class LoopbackNetwork(httpcore.SyncBackend):
    """Connects to a port of this machine, whatever the URL is."""

    def __init__(self, ports: Mapping[int, int]) -> None:
        self._ports = ports

    def connect_tcp(
        self, host: str, port: int, *arguments: object, **options: object
    ) -> httpcore.NetworkStream:
        """Connect to the port that stands for the one in the URL."""
        assert host == HOST
        return super().connect_tcp(
            "127.0.0.1", self._ports[port], *arguments, **options
        )  # type: ignore[arg-type]


class LoopbackTransport(httpx.HTTPTransport):
    """Sends from one of the addresses of this machine."""

    def __init__(
        self, ports: Mapping[int, int], context: ssl.SSLContext, address: str
    ) -> None:
        super().__init__(verify=context)
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            local_address=address,
            network_backend=LoopbackNetwork(ports),
        )


@dataclass(frozen=True, slots=True)
class ReverseProxy:
    """A running reverse proxy."""

    port: int
    plain_port: int
    authority: trustme.CA

    def client(self, address: str = "127.0.0.2") -> httpx.Client:
        """Return a client with a loopback address of its own, which verifies TLS."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        ports = {443: self.port, 80: self.plain_port}
        return httpx.Client(
            transport=LoopbackTransport(ports, context, address),
            base_url=f"https://{HOST}",
            timeout=60,
            trust_env=False,
        )


@contextmanager
def reverse_proxy_running(name: str, behind: int) -> Iterator[ReverseProxy]:
    """Run a reverse proxy with its example during the block."""
    authority = trustme.CA()
    certificate = authority.issue_cert(HOST)
    proxy = ReverseProxy(free_port(), free_port(), authority)
    with folder_for_all() as folder:
        certificate.cert_chain_pems[0].write_to_path(folder / "certificate.pem")
        certificate.private_key_pem.write_to_path(folder / "key.pem")
        command = COMMANDS[name](folder, proxy, behind)
        with running(command, folder) as process:
            for port in (proxy.port, proxy.plain_port):
                wait_until(partial(accepts, port), name, process)
            yield proxy


def example(name: str, replacements: Mapping[str, str]) -> str:
    """Return an example of deploy/; what is replaced in it must be there."""
    text = (EXAMPLES / name).read_text()
    for before, after in replacements.items():
        assert before in text, f"deploy/{name} has no {before!r} any more"
        text = text.replace(before, after)
    return text


def nginx_command(folder: Path, proxy: ReverseProxy, behind: int) -> list[str]:
    program = require_program("nginx")
    servers = example(
        "nginx.conf",
        {
            "listen 443 ssl;": f"listen 127.0.0.1:{proxy.port} ssl;",
            "listen 80;": f"listen 127.0.0.1:{proxy.plain_port};",
            CERTIFICATE: str(folder / "certificate.pem"),
            KEY: str(folder / "key.pem"),
            f"http://{BEHIND}": f"http://127.0.0.1:{behind}",
        },
    )
    # Started by root, the worker would become a user who cannot write into the folder.
    user = "user root;" if os.geteuid() == 0 else ""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path temp;" for kind in kinds)
    main = f'{user} daemon off; pid "{folder}/pid"; worker_processes 1; events {{}}'
    (folder / "conf").write_text(
        f"{main}\nhttp {{\naccess_log off; {temporary}\n{servers}\n}}\n"
    )
    log = f"{folder}/error.log"
    return [program, "-p", f"{folder}/", "-e", log, "-c", f"{folder}/conf"]


def caddy_command(folder: Path, proxy: ReverseProxy, behind: int) -> list[str]:
    start, _ = require_unpacked("caddy")
    site = f"{HOST} {{\n"
    certificate = f"\ttls {folder}/certificate.pem {folder}/key.pem\n"
    sites = example(
        "Caddyfile",
        {
            site: site + "\tbind 127.0.0.1\n" + certificate,
            f"reverse_proxy {BEHIND}": f"reverse_proxy 127.0.0.1:{behind}",
        },
    )
    settings = [
        "admin off",
        f"storage file_system {folder}/storage",
        f"http_port {proxy.plain_port}",
        f"https_port {proxy.port}",
    ]
    (folder / "Caddyfile").write_text("\n".join(["{", *settings, "}", sites]))
    return [*start, "run", "--config", f"{folder}/Caddyfile", "--adapter", "caddyfile"]


def apache_command(folder: Path, proxy: ReverseProxy, behind: int) -> list[str]:
    start, root = require_unpacked("apache2")
    hosts = example(
        "apache.conf",
        {
            "*:443": f"127.0.0.1:{proxy.port}",
            "*:80": f"127.0.0.1:{proxy.plain_port}",
            CERTIFICATE: str(folder / "certificate.pem"),
            KEY: str(folder / "key.pem"),
            f"http://{BEHIND}": f"http://127.0.0.1:{behind}",
        },
    )
    modules = f"{root}/usr/lib/apache2/modules"
    settings = [
        *(
            f"LoadModule {name}_module {modules}/mod_{name}.so"
            for name in APACHE_MODULES
        ),
        f"Listen 127.0.0.1:{proxy.port}",
        f"Listen 127.0.0.1:{proxy.plain_port}",
        f"ServerRoot {folder}",
        f"DefaultRuntimeDir {folder}",
        "ServerName 127.0.0.1",
        f"PidFile {folder}/pid",
        f"ErrorLog {folder}/error.log",
    ]
    if os.geteuid() == 0:
        # The workers of root would become a user who cannot read the files.
        settings += ["User nobody", "Group nogroup"]
    (folder / "conf").write_text("\n".join([*settings, hosts]))
    return [*start, "-D", "FOREGROUND", "-f", str(folder / "conf")]


COMMANDS = {
    "nginx": nginx_command,
    "caddy": caddy_command,
    "apache2": apache_command,
}
