"""Rotations of each kind of credentials, on SQLite and with a provider in memory."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.administration.engine.application import Application
from outkey.administration.engine.editing.rotating import CredentialRotation
from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    RotationPending,
    RotationUntested,
    SecretUnreadable,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.request.script import ScriptCall
from outkey.sending.core.rotation.credential_sets import (
    COMPANIONS,
    DAY,
    RotationState,
    Tally,
)
from outkey.testing.fakes.basic import FakeScripts
from peers.certificates import make_pki
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
LOGIN = """
[configuration.acme]
base_url = "https://a.example.com"
authentication_type = "bearer"
token_source = "login"
username = "old"
limits = { retries = 0 }
verification = { test_path = "/me" }
[configuration.acme.login]
path = "/login"
body = '{"user": "{username}", "password": "{password}"}'
token = "token"
"""
SCRIPTED = BEARER.replace(
    "limits",
    '''script_enabled = true
script = """
def compute_auth_header(sync_line):
    return {"X-Key": sync_line.api_config_id.get_secret_key()}
"""
limits''',
)


@dataclass
class LoginApi:
    """Logs in users, and accepts the tokens that they got."""

    tokens: dict[tuple[str, str], str]
    seen: list[str] = field(default_factory=list)

    def respond(self, request: Request) -> Response:
        """Answer a login or another request."""
        if request.target != "/login":
            token = value_of(request, "Authorization").removeprefix("Bearer ")
            self.seen.append(token)
            return Response(200 if token in self.tokens.values() else 401)
        body = request.body
        assert isinstance(body, bytes | Secret)
        text = body.reveal() if isinstance(body, Secret) else body
        sent = json.loads(text)
        self.seen.append(f"log in {sent['user']}")
        token = self.tokens.get((sent["user"], sent["password"]), "")
        answer = json.dumps({"token": token}).encode()
        return Response(200, body=answer) if token else Response(401)


@dataclass
class World:
    """One installation, and a provider that accepts what a test names."""

    host: Host
    home: Path
    accepted: set[str] = field(default_factory=lambda: {OLD, NEW})
    sent: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.respond: Callable[[Request], Response] = self.check_token
        self.host.transport.responses = self.answer
        self.application: Application = self.host.open()

    def answer(self, request: Request) -> Response:
        return self.respond(request)

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
            if name in COMPANIONS:
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

    def try_steps(self) -> None:
        """Take those steps that are possible."""
        rotation = self.rotation
        for step in (
            partial(rotation.test, "acme"),
            partial(rotation.start, "acme", share=100, after=1),
            self.send,
            partial(rotation.promote, "acme"),
            partial(rotation.back, "acme"),
            partial(rotation.back, "acme"),
        ):
            with suppress(OutkeyError):
                step()

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


def secret_of(call: ScriptCall) -> str:
    return call.secret.reveal() if call.secret else ""


def exported(world: World) -> str:
    """Return the document that an export writes."""
    return render(world.application.registry.all(), [])


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


def test_the_fields_of_no_set_and_those_in_use_are_refused(acme: World) -> None:
    rotation = acme.rotation
    seen = rotation.rotations.current("acme")
    refused = {"proxy_password": "x", "refresh_token": "x", "token": OLD}
    for name, value in refused.items():
        with pytest.raises(ConfigError):
            rotation.stage_secret(seen, name, Secret(value))
    reference = parse_reference("env:A", field="token")
    rotation.administration.set_reference("acme", "token", reference)
    with pytest.raises(ConfigError):
        rotation.stage_reference(rotation.rotations.current("acme"), "token", reference)
    assert acme.state is RotationState.STAGED


# ── each kind of credentials ────────────────────────────────────────────────────────


def test_the_secrets_of_rows_change_together(world: World) -> None:
    rows = 'headers = [{ key = "X-Id" }]\nquery = [{ key = "key" }]\nlimits'
    document = BEARER.replace("limits", rows)
    world.apply(document, token=OLD, **{"header:X-Id": "1", "query:key": "1"})
    pairs: list[tuple[str, str]] = []

    def respond(request: Request) -> Response:
        key = request.secret_parameters.get("key", Secret(""))
        pairs.append((value_of(request, "X-Id"), key.reveal()))
        return Response(200 if pairs[-1] in {("1", "1"), ("2", "2")} else 401)

    world.respond = respond
    world.stage(**{"header:X-Id": "2"})
    assert not world.rotation.test("acme").ok, "half of a pair"
    world.stage(**{"query:key": "2"})
    world.try_out(after=2)
    pairs.clear()
    assert [world.send() for _ in range(3)] == [200] * 3
    assert (set(pairs), world.state) == ({("2", "2")}, RotationState.OVERLAP)
    world.rotation.back("acme")
    world.send()
    assert pairs[-1] == ("1", "1")


def test_a_login_of_the_next_set_that_is_refused_costs_no_request(
    world: World,
) -> None:
    api = LoginApi({("old", "p-old"): "t-old", ("new", "p-new"): "t-new"})
    world.respond = api.respond
    world.apply(LOGIN, password="p-old")
    world.stage(username="new", password="p-new")
    world.try_out()
    api.seen.clear()
    assert [world.send("POST"), world.send("POST")] == [200, 200]
    assert set(api.seen) <= {"log in new", "t-new"}, "one set throughout"
    del api.tokens["new", "p-new"]
    api.seen.clear()
    assert world.send("POST") == 200
    assert api.seen == ["t-new", "log in new", "log in old", "t-old"]
    assert world.state is RotationState.REJECTED


def test_a_script_gets_the_key_of_the_set_that_its_request_has(world: World) -> None:
    world.apply(SCRIPTED, token=OLD, secret_key="key-old")
    scripts = FakeScripts()
    scripts.answer = lambda call: {
        "X-Key": call.secret.reveal() if call.secret else "none"
    }
    sender = world.application.sender
    sender.context = replace(sender.context, scripts=scripts)
    world.respond = lambda request: Response(
        200 if value_of(request, "X-Key") in {"key-old", "key-new"} else 401
    )
    world.stage(secret_key="key-new")
    world.try_out(after=1)
    scripts.calls.clear()
    assert world.send() == 200
    assert [secret_of(call) for call in scripts.calls] == ["key-new"]
    assert world.rotation.back("acme") == 1
    assert world.send() == 200
    assert secret_of(scripts.calls[-1]) == "key-old"


def test_a_client_certificate_has_connections_of_its_own(
    world: World, tmp_path: Path
) -> None:
    pki = make_pki(tmp_path)
    keys = {name: Path(pki.key(name)).read_text() for name in ("good", "client")}
    tls = f'[configuration.acme.tls]\nclient_certificate = "{pki.certificate("good")}"'
    world.apply(BEARER + tls, token=OLD, client_key=keys["good"])
    world.host.clock.jump(time.time() - world.host.clock.now())
    world.stage(client_certificate=pki.certificate("client"))
    with pytest.raises(OutkeyError):  # it is not the certificate of this key
        world.rotation.test("acme")
    assert world.sent == []
    world.stage(client_key=keys["client"], token=NEW)
    world.try_out(share=50, after=10_000)
    world.host.transport.sent.clear()
    for _ in range(20):
        assert world.send() == 200
    used = {
        (token, route.tls.client_certificate, route.partition)
        for token, (_, route) in zip(world.sent, world.host.transport.sent, strict=True)
    }
    assert {(token, file) for token, file, _ in used} == {
        (OLD, pki.certificate("good")),
        (NEW, pki.certificate("client")),
    }
    assert len({partition for _, _, partition in used}) == 2
    world.host.clock.jump(-365 * 50 * DAY)
    world.rotation.back("acme")
    with pytest.raises(ConfigError, match="valid from"):
        world.rotation.test("acme")


# ── what others see, and what others change ─────────────────────────────────────────


def test_no_output_has_a_value_of_another_set(
    acme: World, caplog: pytest.LogCaptureFixture
) -> None:
    shown = [json.dumps(acme.rotation.status("acme"))]
    acme.try_out()
    acme.send()
    acme.accepted.discard(NEW)
    acme.send()
    shown += [json.dumps(acme.rotation.status("acme")), exported(acme)]
    report = acme.rotation.test("acme")
    shown += [
        str(report),
        repr(report.error),
        repr(acme.rotation.rotations.current("acme")),
    ]
    acme.stage(token="canary-third")
    acme.accepted.add("canary-third")
    acme.rotation.test("acme")
    acme.rotation.promote("acme")
    acme.accepted.discard(OLD)
    shown += [str(acme.rotation.probe("acme")), exported(acme)]
    shown += [json.dumps(acme.rotation.status("acme")), caplog.text]
    acme.application.sender.flush_audit()
    trail = acme.application.audit_trail.rows
    shown += [json.dumps(trail.newest(500), default=str)]
    file = (acme.home / "data" / "host.sqlite3").read_bytes()
    log = acme.home / "data" / "host.sqlite3-wal"
    file += log.read_bytes() if log.exists() else b""
    for text in shown:
        assert "canary" not in text
    assert b"canary" not in file


# Statements that change the database without outkey.
SETTINGS = "UPDATE configuration SET settings = replace(settings, ?, ?)"
REMOVE_SETS = "UPDATE configuration SET settings = json_remove(settings, ?)"
USE_NEXT = """
UPDATE secret SET label = CASE label WHEN 'current' THEN 'x' ELSE 'current' END
WHERE field = 'token' AND label IN ('current', 'other_set')
"""
COPY = """
UPDATE secret SET sealed = (
    SELECT sealed FROM secret WHERE label = 'current' AND field = 'token'
) WHERE label = 'other_set'
"""
REFER = "UPDATE secret SET sealed = NULL, reference = 'env:HOME' WHERE label = ?"
REPLACE_NEXT = """
UPDATE secret SET sealed = NULL, reference = 'env:HOME', version = 7
WHERE label = 'other_set'
"""


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (REMOVE_SETS, ("$.credential_sets",)),
        (SETTINGS, ('"version": 2', '"version": 1')),
        (SETTINGS, ('"tally": [0,', '"tally": [9,')),
        (SETTINGS, ('"trial": [1, 3,', '"trial": [100, 1,')),
    ],
)
def test_nothing_is_sent_with_sets_that_were_changed_in_the_database(
    acme: World, statement: str, values: tuple[str, ...]
) -> None:
    acme.try_out(share=1)
    acme.execute(statement, *values)
    with pytest.raises(SecretUnreadable):
        acme.send()
    with pytest.raises(OutkeyError):
        acme.rotation.promote("acme")
    for step in (acme.rotation.test, acme.rotation.back, acme.rotation.discard):
        with suppress(OutkeyError):
            step("acme")
    assert acme.sent == []


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (USE_NEXT, ()),
        (REFER, ("current",)),
        (REFER, ("other_set",)),
        (REPLACE_NEXT, ()),
        (COPY, ()),
    ],
)
def test_no_step_vouches_for_secrets_that_were_changed_in_the_database(
    acme: World, statement: str, values: tuple[str, ...]
) -> None:
    assert acme.rotation.test("acme").ok
    acme.execute(statement, *values)
    acme.sent.clear()
    with pytest.raises(SecretUnreadable):
        acme.rotation.promote("acme")
    acme.try_steps()
    assert not set(acme.sent) - {OLD, NEW, ""}
    acme.sent.clear()
    with suppress(OutkeyError):
        acme.send()
    assert not set(acme.sent) - {OLD}


@pytest.mark.parametrize(("statement", "values"), [(REFER, ("other_set",)), (COPY, ())])
def test_no_step_goes_back_to_a_secret_that_was_changed_in_the_database(
    acme: World, statement: str, values: tuple[str, ...]
) -> None:
    acme.rotation.test("acme")
    acme.rotation.promote("acme")
    acme.execute(statement, *values)
    acme.sent.clear()
    with suppress(OutkeyError):
        acme.rotation.probe("acme")
    with pytest.raises(SecretUnreadable):
        acme.rotation.back("acme")
    assert acme.send() == 200
    assert set(acme.sent) == {NEW}


def test_a_destroyed_secret_does_not_come_back_with_its_version(acme: World) -> None:
    file = acme.home / "data" / "host.sqlite3"
    query = "SELECT sealed FROM secret WHERE label = 'other_set'"
    with closing(sqlite3.connect(file)) as connection:
        (destroyed,) = connection.execute(query).fetchone()
    acme.rotation.discard("acme")
    acme.stage(token="canary-third")
    acme.execute("UPDATE secret SET sealed = ? WHERE label = 'other_set'", destroyed)
    with pytest.raises(SecretUnreadable):
        acme.stage(username="third")
    with pytest.raises(SecretUnreadable):
        acme.rotation.test("acme")
    assert acme.sent == []


def test_a_row_from_before_a_promotion_is_not_believed(acme: World) -> None:
    file = acme.home / "data" / "host.sqlite3"
    acme.rotation.test("acme")
    with closing(sqlite3.connect(file)) as connection:
        (before,) = connection.execute("SELECT settings FROM configuration").fetchone()
    acme.rotation.promote("acme")
    acme.execute("UPDATE configuration SET settings = ?", before)
    with pytest.raises(SecretUnreadable):
        acme.send()
