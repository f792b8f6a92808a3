"""Real servers with records on loopback, that nobody here wrote.

- datasette with datasette-auth-tokens (Python): a cursor and a URL, for a Bearer token;
- docker-registry (Go): Link headers, for a password;
- json-server (Node.js): page numbers, offsets, Link headers, POST and PUT. It lets
  everybody in, so nginx stands before it, with one door for each kind of credential.

Nothing here knows outkey.
"""

import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from peers.authorization_servers import INSTALLED, require_node
from peers.certificates import Pki
from peers.registries import docker_registry_running
from peers.servers import listening, require, require_program

KEY = "key-of-the-door-0123456789"
TOKEN = "token-of-the-reader-0123456789"
Row = dict[str, object]

# What nginx checks itself before it passes a request on.
KEYED = f'if ($http_x_api_key != "{KEY}") {{ return 403; }}'
QUERY_KEY = "_auth_token"  # where datasette takes the token in the query
SIGNED = f"""
      secure_link $http_x_signature,$http_x_expires;
      secure_link_md5 "$secure_link_expires $request_method $request_uri {KEY}";
      if ($secure_link != 1) {{ return 403; }}"""
# A request without its Host makes json-server write addresses that lead past nginx.
_WITH_HOST = "proxy_set_header Host $http_host;"


@dataclass(frozen=True, slots=True)
class JsonServer:
    """A running json-server, and the file where it logs each request."""

    url: str
    log: Path


@contextmanager
def datasette_running(folder: Path, rows: Sequence[Row]) -> Iterator[str]:
    """Run datasette with a table `contacts` in a database `crm` during the block."""
    columns = list(rows[0])
    marks = ", ".join(f":{name}" for name in columns)
    with closing(sqlite3.connect(folder / "crm.db")) as database, database:
        database.execute(
            f"CREATE TABLE contacts ({', '.join(columns)}, PRIMARY KEY (id))"
        )
        database.executemany(f"INSERT INTO contacts VALUES ({marks})", rows)
    tokens = {
        "tokens": [{"token": TOKEN, "actor": {"id": "reader"}}],
        "param": QUERY_KEY,
    }
    settings = {"allow": {"id": "reader"}, "plugins": {"datasette-auth-tokens": tokens}}
    (folder / "metadata.json").write_text(json.dumps(settings))

    def command(port: int) -> list[str]:
        options = [
            "--metadata",
            "metadata.json",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        return [sys.executable, "-m", "datasette", "serve", "crm.db", *options]

    with listening(folder, "datasette", command) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def catalog_running(
    folder: Path, pki: Pki, repositories: Sequence[str]
) -> Iterator[str]:
    """Run docker-registry with these repositories until the block ends."""
    with docker_registry_running(folder, pki) as registry:
        kept = folder / "htpasswd/data/docker/registry/v2/repositories"
        for name in repositories:
            (kept / name / "_layers").mkdir(parents=True)
        yield registry.url


@contextmanager
def json_server_running(
    folder: Path, tables: Mapping[str, Sequence[Row]]
) -> Iterator[JsonServer]:
    """Run json-server with these tables until the block ends."""
    node = require_node()
    program = require(
        INSTALLED / "node_modules/json-server/lib/cli/bin.js",
        "missing npm package: json-server (make .venv/.dev installs it)",
    )
    (folder / "db.json").write_text(json.dumps(tables))

    def command(port: int) -> list[str]:
        options = ["--host", "127.0.0.1", "--port", str(port)]
        return [str(node), str(program), *options, "db.json"]

    with listening(folder, "json-server", command, "/db") as port:
        yield JsonServer(f"http://127.0.0.1:{port}", folder / "output")


@contextmanager
def door_running(
    folder: Path, behind: str, guard: str, *, places: str = "", host: str = _WITH_HOST
) -> Iterator[str]:
    """Run nginx before a server during the block; only accepted requests get there."""
    program = require_program("nginx")
    # Started by root, the worker would become a user who cannot write into the folder.
    user = "user root;" if os.geteuid() == 0 else ""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path temp;" for kind in kinds)

    def command(port: int) -> list[str]:
        (folder / "conf").write_text(f"""
{user} daemon off; pid "{folder}/pid"; worker_processes 1; events {{}}
http {{
  access_log off; {temporary}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      {guard}
      {host}
      proxy_pass {behind};
    }}
    {places}
  }}
}}""")
        return [
            program,
            "-p",
            f"{folder}/",
            "-e",
            f"{folder}/error.log",
            "-c",
            f"{folder}/conf",
        ]

    with listening(folder, "nginx", command) as port:
        yield f"http://127.0.0.1:{port}"


def token_guard(resource: str) -> dict[str, str]:
    """Let in whoever shows a token that a protected resource takes."""
    asked = f"proxy_pass {resource}; proxy_pass_request_body off;"
    nobody = 'proxy_set_header Content-Length "";'
    return {
        "guard": "auth_request /resource;",
        "places": f"location = /resource {{ internal; {asked} {nobody} }}",
    }
