"""Rotations of each kind of credentials, on SQLite and with a provider in memory."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.application import Application
from outkey.administration.engine.editing.rotating import CredentialRotation
from outkey.foundation.core.errors import (
    RotationPending,
    RotationUntested,
    SecretUnreadable,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.rotation.credential_sets import DAY, RotationState, Tally
from rotation_machine import Host
from third_host.database import SqliteDatabase
from third_host.host import sqlite_tables

BEARER = """
[configuration.acme]
base_url = "https://a.example.com"
authentication_type = "bearer"
limits = { retries = 0 }
verification = { test_path = "/me" }
"""
OLD, NEW = "canary-old", "canary-new"


@dataclass
class World:
    """One installation, and a provider that accepts what a test names."""

    host: Host
    home: Path
    accepted: set[str] = field(default_factory=lambda: {OLD, NEW})
    sent: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.respond: Callable[[Request], Response] = self.check_token
        self.host.transport.responses = lambda request: self.respond(request)
        self.application: Application = self.host.open()

    def check_token(self, request: Request) -> Response:
        token = value_of(request, "Authorization").removeprefix("Bearer ")
        self.sent.append(token)
        return Response(200 if token in self.accepted else 401)

    @property
    def rotation(self) -> CredentialRotation:
        administration = self.application.administration("ada")
        return self.application.credential_rotation(administration)

    @property
    def state(self) -> RotationState:
        sets = self.rotation.rotations.current("acme").sets
        return sets.state(self.host.clock.now())

    def apply(self, document: str, **secrets: str) -> None:
        administration = self.application.administration("ada")
        self.application.apply(administration, parse_document(document), dry_run=False)
        for name, value in secrets.items():
            administration.set_secret("acme", name, Secret(value))
        self.host.clock.advance(1)

    def stage(self, **parts: str) -> None:
        for name, value in parts.items():
            seen = self.rotation.rotations.current("acme")
            if name in {"username", "client_certificate"}:
                self.rotation.stage_companion(seen, name, value)
            else:
                self.rotation.stage_secret(seen, name, Secret(value))

    def try_out(self, share: int = 100, after: int = 3) -> None:
        assert self.rotation.test("acme").ok
        self.rotation.start("acme", share=share, after=after)
        self.sent.clear()

    def send(self, method: str = "GET") -> int:
        self.host.clock.advance(1)
        seen = self.application.registry.get("acme")
        body = b"{}" if method == "POST" else b""
        call = Call(seen, method, "/orders", body=body)
        return self.application.sender.send(call).status

    def execute(self, statement: str, *values: object) -> None:
        """Change the database without outkey."""
        file = self.home / "data" / "host.sqlite3"
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(statement, values)
            assert connection.total_changes
        self.application = self.host.open()


def value_of(request: Request, name: str) -> str:
    """Return the value of a header, as it is sent."""
    for header in request.headers:
        if header.name == name:
            value = header.value
            return value.reveal() if isinstance(value, Secret) else value
    return ""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    database = SqliteDatabase(tmp_path / "data" / "host.sqlite3")
    host = Host(lambda build: build(sqlite_tables(database), tmp_path))
    made = World(host, tmp_path)
    yield made
    made.application.sender.close()


@pytest.fixture
def acme(world: World) -> World:
    """A configuration with an entered token, and another one staged."""
    world.apply(BEARER, token=OLD)
    world.stage(token=NEW)
    return world


# ── clocks ──────────────────────────────────────────────────────────────────────────


def test_a_success_from_a_future_that_was_taken_back_proves_nothing(
    acme: World,
) -> None:
    assert acme.send() == 200
    acme.host.clock.jump(-DAY)
    assert acme.rotation.test("acme").ok
    acme.rotation.promote("acme")
    with pytest.raises(RotationUntested):
        acme.rotation.retire("acme")
    acme.host.clock.jump(2 * DAY)
    with pytest.raises(RotationUntested):
        acme.rotation.retire("acme")
    assert acme.send() == 200
    assert acme.rotation.retire("acme") == 1


def test_a_clock_that_jumps_during_a_trial_promotes_nothing_without_a_success(
    acme: World,
) -> None:
    acme.try_out(share=1)
    acme.host.clock.jump(30 * DAY)
    acme.send()
    acme.host.clock.jump(-60 * DAY)
    acme.send()
    assert acme.state is RotationState.TRIAL


# ── two users, and what the database says ───────────────────────────────────────────


def test_two_users_promote_once(acme: World) -> None:
    acme.rotation.test("acme")
    rotations = acme.rotation.rotations
    seen = rotations.current("acme")
    assert rotations.promote(seen, Tally(), "ada") == 2
    with pytest.raises(RotationPending, match="another step"):
        rotations.promote(seen, Tally(), "bob")
    with pytest.raises(RotationPending):
        rotations.stage_secret(seen, "token", Secret("third"), "bob")
    assert acme.state is RotationState.OVERLAP
    assert acme.send() == 200
    assert acme.sent[-1] == NEW
