"""A running server with an HTTP interface, its tokens, and what they are about."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

import forks
from cli.conftest import Terminal, document_for
from cli.json_times import unix_times
from outkey.spar import Spar
from outkey.testing.canary import Canaries
from ports import free_port

SYNC = """
direction = "pull"
target = "table:{name}"
keys = ["id"]
fields = [{{ api = "id", host = "id" }}]
"""
LINES = f"""
[line.contacts]
configuration = "acme"
path = "/records"
{SYNC.format(name="contacts")}
[line.orders]
configuration = "shop"
path = "/orders"
{SYNC.format(name="orders")}
[webhook.contacts]
configuration = "acme"
scheme = "github"
line = "contacts"
[webhook.deploys]
scheme = "github"
run = "contacts"
"""
SCOPES = ("read", "send", "manage", "run", "audit", "data")


@dataclass(frozen=True)
class Interface:
    """A running server, its tokens by name, and its commands."""

    url: str
    outkey: Terminal
    tokens: Mapping[str, str]
    log: Path
    password: str  # of the first user of the pages
    process: int

    def call(
        self,
        method: str,
        path: str,
        token: str = "all",  # the name of one; "" for none
        **content: Any,  # noqa: ANN401 - what httpx takes
    ) -> httpx.Response:
        headers = content.pop("headers", {})
        if token:
            headers = {"Authorization": f"Bearer {self.tokens[token]}"} | headers
        response = httpx.request(
            method, f"{self.url}/{path}", headers=headers, timeout=60, **content
        )
        is_json = response.headers.get("Content-Type") == "application/json"
        if is_json and not path.startswith("send/"):
            assert list(unix_times(response.json())) == []
        return response

    def audit(self) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = self.call("GET", "audit?limit=1000").json()
        return records

    def document(self) -> dict[str, Any]:
        described: dict[str, Any] = self.call("GET", "openapi.json", "").json()
        return described


@contextmanager
def serving_interface(spar: Spar, folder: Path) -> Iterator[Interface]:
    """Serve the pages and the interface of a home in which `acme` works."""
    outkey = Terminal(folder / "home", Canaries())
    applied = outkey("apply", "-", stdin=document_for(spar) + LINES)
    assert applied.code == 0, applied.err
    outkey("secret", "set", "acme", "token", stdin="spar-token")
    outkey("secret", "set", "acme", "header:X-API-Key", stdin="k")
    outkey("webhook", "secret", "contacts", stdin="hook-secret-7f3a")
    tokens = {scope: create_token(outkey, scope, "--scope", scope) for scope in SCOPES}
    tokens |= {
        name: create_token(outkey, name, *scopes(*SCOPES), *options)
        for name, *options in (
            ("all",),
            ("shop", "--configuration", "shop"),
            ("acme", "--configuration", "acme"),
            ("expired", "--expires", "2020-01-01"),
            ("revoked",),
            ("once", "--per-minute", "1"),
            ("internal", "--allow-internal"),
            ("targets", "--allow-targets"),
        )
    }
    tokens["unknown"] = "ok_" + "a" * 43
    tokens["malformed"] = tokens["all"][:-1]
    outkey("api-token", "revoke", "revoked")
    port = free_port()
    log = folder / "log"
    with log.open("w") as output:
        process = forks.Popen(
            [*forks.OUTKEY, "serve", "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            env=outkey.environment
            | {"OUTKEY_LOG_LEVEL": "DEBUG", "OUTKEY_REFERENCES": "env:ACME_TOKEN"},
        )
        assert process.stdout is not None
        printed = next(line for line in process.stdout if "Password" in line)
        url = f"http://127.0.0.1:{port}/api/v1"
        transport = httpx.HTTPTransport(retries=20)
        with httpx.Client(transport=transport, timeout=30) as client:
            client.get(f"{url}/openapi.json")
        yield Interface(
            url,
            outkey,
            tokens,
            log,
            password=printed.split()[-1],
            process=process.pid,
        )
        process.terminate()
        process.wait(20)
        process.stdout.close()


def scopes(*names: str) -> list[str]:
    return [word for name in names for word in ("--scope", name)]


def create_token(outkey: Terminal, name: str, *options: str) -> str:
    made = outkey("api-token", "create", name, *options)
    assert made.code == 0, made.err
    return made.out.strip()
