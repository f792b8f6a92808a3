"""TOML documents for gateways that talk to the real servers."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from outkey import Gateway

GatewayFor = Callable[..., Gateway]  # called with configurations as name=table
Table = dict[str, object]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Given:
    """A secret's value. The document gets a reference to where the value is kept."""

    value: str


def run_on_loop(gateway: Gateway, awaited: Coroutine[Any, Any, Result]) -> Result:
    """Run on an event loop of its own, and close its connections."""

    async def run() -> Result:
        try:
            return await awaited
        finally:
            await gateway.aclose()

    return asyncio.run(run())


def basic(username: str, password: str) -> Table:
    return {
        "authentication_type": "basic",
        "username": username,
        "password": Given(password),
    }


def bearer(token: str) -> Table:
    return {"authentication_type": "bearer", "token": Given(token)}


def row(key: str, value: str) -> Table:
    return {"headers": [{"key": key, "value": Given(value), "secret": True}]}


def document(configurations: Mapping[str, Table], keep: Callable[[str], str]) -> str:
    """Write configurations of a trusted network as TOML.

    `keep` turns a secret into a reference.
    """
    parts = []
    for name, table in configurations.items():
        whole = {"network": "internal", "environment": "test"} | table
        lines = [f"{key} = {_toml(value, keep)}" for key, value in whole.items()]
        parts.append("\n".join([f"[configuration.{name}]", *lines, ""]))
    return "\n".join(parts)


def _toml(value: object, keep: Callable[[str], str]) -> str:
    match value:
        case Given():
            return _toml(keep(value.value), keep)
        case dict():
            return (
                "{"
                + ", ".join(f"{k} = {_toml(v, keep)}" for k, v in value.items())
                + "}"
            )
        case list():
            return "[" + ", ".join(_toml(each, keep) for each in value) + "]"
    return json.dumps(value, ensure_ascii=False)


# ── the kinds of credential that must not get away ────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Credential:
    """One way to authenticate, and what nginx's log shows of it."""

    name: str
    table: Table
    logged_as: str
    logged: str


CREDENTIALS = (
    Credential(
        "Basic",
        basic("alice", "s3cret"),
        "authorization",
        "Basic " + b64encode(b"alice:s3cret").decode(),
    ),
    Credential("Bearer", bearer("good-token"), "authorization", "Bearer good-token"),
    Credential("X-API-Key", row("X-API-Key", "k-123"), "api_key", "k-123"),
    Credential("X-Session", row("X-Session", "s-456"), "session", "s-456"),
)
