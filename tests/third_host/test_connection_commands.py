"""Connections as an operator manages and uses them by commands."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from outkey.sending.core.oauth2.grants import DeviceCode
from outkey.sending.engine.tokens.actions import TokenActions
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from third_host.database import SqliteDatabase
from third_host.test_connections import DOCUMENT, Server
from third_host.test_third_host import Commands

ROW_KEYS = {"id", "owner", "state", "created_at", "connected_at", "last_used_at"}
SHOW_KEYS = ROW_KEYS | {
    "configuration",
    "username",
    "variables",
    "secrets",
    "token",
    "paused_because",
}
PASSWORDS = {"ann": "of-ann", "bob": "of-bob"}


class Operator(Commands):
    """Commands of one operator, whose secrets come from standard input."""

    monkeypatch: pytest.MonkeyPatch

    def enter(self, text: str, *arguments: str, code: int = 0) -> Any:  # noqa: ANN401
        """Run a command that reads standard input; return what it prints as JSON."""
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return self.json(*arguments, code=code)

    def apply(self, document: str) -> None:
        self.enter(document, "apply", "-")

    def connect(self, connection: str, username: str, password: str) -> None:
        """Create an account with its password."""
        self.json("connection", "create", "books", connection, "--username", username)
        self.set_password(connection, password)

    def set_password(self, connection: str, password: str) -> None:
        account = ("--connection", connection)
        self.enter(password, "secret", "set", "books", "password", *account)

    def ids(self, *options: str) -> list[str]:
        """Return the ids that a list shows."""
        rows = self.json("connection", "list", "books", *options)
        return [row["id"] for row in rows]

    def state(self, connection: str) -> str:
        shown: str = self.json("connection", "show", "books", connection)["state"]
        return shown

    def code_of(self, *arguments: str, code: int = 2) -> str:
        """Return the code of the error that a command fails with."""
        error: str = self.json(*arguments, code=code)["error"]["code"]
        return error


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def operator(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Operator]:
    made = Operator(tmp_path / "home", capsys)
    made.monkeypatch = monkeypatch
    yield made
    made.application.gateway.close()


@pytest.fixture
def books(operator: Operator, server: Server) -> Operator:
    """An operator with the accounts `acme` and `other`."""
    operator.apply(DOCUMENT.format(url=server.url, mode="required"))
    operator.enter("app-key", "secret", "set", "books", "header:X-App-Key")
    operator.connect("acme", "ann", "of-ann")
    operator.connect("other", "bob", "of-bob")
    return operator


# ── list and show ───────────────────────────────────────────────────────────────────


def test_a_list_has_the_connections_by_id_in_pages(books: Operator) -> None:
    for name in ("Zeta", "acme-2", "acme.1"):
        books("connection", "create", "books", name, "--owner", "north")
    assert books.ids() == ["Zeta", "acme", "acme-2", "acme.1", "other"]
    assert books.ids("--limit", "2") == ["Zeta", "acme"]
    assert books.ids("--limit", "2", "--after", "acme") == ["acme-2", "acme.1"]
    assert books.ids("--prefix", "acme") == ["acme", "acme-2", "acme.1"]
    assert books.ids("--owner", "north", "--after", "Zeta") == ["acme-2", "acme.1"]
    assert books.ids("--state", "working") == ["acme", "other"]
    assert books.ids("--state", "paused") == []
    for row in books.json("connection", "list", "books"):
        assert set(row) == ROW_KEYS
    text = books("connection", "list", "books")
    assert "acme.1" in text
    assert "north" in text
    assert " UTC" in books("connection", "list", "books", "--utc")


@pytest.mark.parametrize(
    "options", [("--limit", "0"), ("--limit", "10001"), ("--state", "odd")]
)
def test_a_list_refuses_what_is_out_of_its_limits(
    books: Operator, options: tuple[str, str]
) -> None:
    code = books.code_of("connection", "list", "books", *options)
    assert code == "configuration"
    assert len(books.ids("--limit", "10000")) == 2


def test_a_connection_is_shown_without_any_secret(books: Operator) -> None:
    shown = books.json("connection", "show", "books", "acme")
    assert set(shown) == SHOW_KEYS
    assert shown["configuration"] == "books"
    assert shown["username"] == "ann"
    assert shown["state"] == "working"
    assert shown["variables"] == {}
    assert (shown["token"], shown["paused_because"]) == (None, None)
    (field,) = shown["secrets"]
    state = shown["secrets"][field]
    assert (field, state["set"], state["reference"]) == ("password", True, None)
    assert state["set_at"] == shown["connected_at"] >= shown["created_at"]
    text = books("connection", "show", "books", "acme")
    for printed in (json.dumps(shown), text):
        assert "of-ann" not in printed
    assert "ann" in text


# ── changes ─────────────────────────────────────────────────────────────────────────


def test_changes_say_what_was_done(books: Operator) -> None:
    def change(action: str, *options: str) -> str:
        facts = books.json("connection", action, "books", "new", *options)
        assert facts == {
            "done": facts["done"],
            "configuration": "books",
            "connection": "new",
        }
        done: str = facts["done"]
        return done

    assert change("create", "--owner", "north") == "created"
    assert books.code_of("connection", "create", "books", "new") == "conflict"
    assert books.state("new") == "new"
    assert change("update", "--username", "ann") == "updated"
    assert change("update", "--username", "ann") == "unchanged"
    assert change("update") == "unchanged"
    assert change("pause") == "paused"
    assert change("pause") == "unchanged"
    shown = books.json("connection", "show", "books", "new")
    assert (shown["state"], shown["paused_because"]) == ("paused", "operator")
    assert (shown["owner"], shown["username"]) == ("north", "ann")
    assert change("resume") == "resumed"
    assert change("resume") == "unchanged"
    assert change("remove", "--yes") == "removed"
    assert "new" not in books.ids()


VARIABLES = """
[configuration.books]
base_url = "{url}/{{region}}"
network = "internal"
authentication_type = "basic"
connections = "required"
allowed_origins = ["{url}"]
[configuration.books.connect.variables]
region = "entered"
tenant = "entered"
"""


def test_variables_are_entered_and_shown(operator: Operator, server: Server) -> None:
    operator.apply(VARIABLES.format(url=server.url))
    account = ("books", "acme")

    def change(action: str, *options: str) -> str:
        done: str = operator.json("connection", action, *account, *options)["done"]
        return done

    def shown() -> dict[str, str]:
        facts = operator.json("connection", "show", *account)
        variables: dict[str, str] = facts["variables"]
        return variables

    region = ("--set", "region=eu1")
    assert change("create", *region) == "created"
    assert shown() == {"region": "eu1"}
    assert change("update", "--set", "region=eu2", "--set", "tenant=a=b") == "updated"
    assert change("update", "--username", "ann") == "updated"
    assert shown() == {"region": "eu2", "tenant": "a=b"}
    assert change("update", "--set", "region=eu2") == "unchanged"
    text = operator("connection", "show", *account)
    assert "variable region" in text
    for odd in ("region", "nope=1", "region=", "region=a\nb"):
        refused = operator.code_of("connection", "update", *account, "--set", odd)
        assert refused == "configuration"
    twice = operator.code_of("connection", "update", *account, *region, *region)
    assert twice == "configuration"
    assert shown() == {"region": "eu2", "tenant": "a=b"}


def test_a_removal_asks_before_it_deletes(books: Operator) -> None:
    remove = ("connection", "remove", "books", "acme")
    assert books.enter("", *remove, code=2)["error"]["code"] == "configuration"
    assert "acme" in books.ids()
    books(*remove, "--yes")
    for action in ("remove", "show", "pause", "resume", "update"):
        code = books.code_of("connection", action, "books", "acme")
        assert code == "unknown_connection"
    books("connection", "create", "books", "acme", "--username", "ann")
    error = books.code_of("request", "books", "/", "--connection", "acme")
    assert error == "secret_missing"


@pytest.mark.parametrize("name", ["", "no id", "-x", "é", "a" * 121])
def test_a_bad_id_is_refused(books: Operator, name: str) -> None:
    for action in ("create", "update", "pause"):
        code = books.code_of("connection", action, "books", "--", name)
        assert code == "configuration"
    assert books.ids() == ["acme", "other"]


def test_a_configuration_without_connections_has_none(
    operator: Operator, server: Server
) -> None:
    operator.apply(DOCUMENT.format(url=server.url, mode="none"))
    for arguments in (
        ("connection", "list", "books"),
        ("connection", "create", "books", "acme"),
        ("connection", "show", "books", "acme"),
        ("request", "books", "/", "--connection", "acme"),
        ("token", "status", "books", "--connection", "acme"),
    ):
        assert operator.code_of(*arguments) == "unknown_connection"
    assert operator.code_of("connection", "list", "nope") == "unknown_configuration"
    assert server.requests == 0


def test_what_each_account_has_is_no_finding_about_the_configuration(
    operator: Operator, server: Server
) -> None:
    document = DOCUMENT.format(url=server.url, mode="required")
    findings = operator.enter(document, "apply", "-")["findings"]
    fields = {finding["field"] for finding in findings}
    assert fields == {"header:X-App-Key", "limits.requests_per_minute"} & fields
    assert "header:X-App-Key" in fields
    operator.enter("app-key", "secret", "set", "books", "header:X-App-Key")
    findings = operator.enter(document, "apply", "-")["findings"]
    assert not [each for each in findings if each["level"] == "error"]


def test_the_configuration_shows_its_mode(books: Operator) -> None:
    shown = books.json("show", "books")
    assert (shown["connections"], shown["owner"]) == ("required", "")
    (row,) = books.json("list")
    assert row["owner"] == ""
    assert "connections" not in row


# ── --connection ────────────────────────────────────────────────────────────────────

# Commands with a configuration that may name one of its connections.
USES = {
    "request": ("request", "books", "/basic"),
    "preview": ("preview", "books"),
    "token status": ("token", "status", "books"),
    "token renew": ("token", "renew", "books"),
    "token revoke": ("token", "revoke", "books"),
    "token forget": ("token", "forget", "books"),
    "token authorize": ("token", "authorize", "books"),
    "script run": ("script", "run", "books"),
}


@pytest.mark.parametrize("use", USES)
def test_a_command_needs_a_connection_that_exists(
    books: Operator, server: Server, use: str
) -> None:
    assert books.code_of(*USES[use]) == "connection_missing"
    code = books.code_of(*USES[use], "--connection", "nobody")
    assert code == "unknown_connection"
    assert books.code_of(*USES[use], "--connection", "no id") == "configuration"
    assert server.requests == 0


def test_a_test_has_the_missing_connection_as_its_cause(
    books: Operator, server: Server
) -> None:
    for options, cause in {
        (): "connection_missing",
        ("--connection", "nobody"): "unknown_connection",
    }.items():
        report = books.json("test", "books", *options, code=2)
        assert (report["ok"], report["cause"]) == (False, cause)
        assert report["remedy"]
        assert cause in books("test", "books", *options, code=2)
    assert server.requests == 0
    # It says nothing about the settings, which need no secret of their own either.
    assert books.json("list")[0]["status"] == "never_tested"


def test_each_command_uses_the_account_that_it_names(
    books: Operator, server: Server
) -> None:
    for connection, user in {"acme": "ann", "other": "bob"}.items():
        account = ("--connection", connection)
        assert books.json("request", "books", "/basic", *account)["status"] == 200
        assert books.json("preview", "books", *account)["url"].endswith("/basic")
        assert books.json("test", "books", *account)["ok"]
        assert set(server.accepted) == {user}
        shown = books.json("connection", "show", "books", connection)
        assert shown["last_used_at"] >= shown["connected_at"]
        server.accepted.clear()


def test_the_result_of_a_test_is_that_of_the_account(books: Operator) -> None:
    books.set_password("acme", "wrong")
    for _ in range(5):
        books("request", "books", "/basic", "--connection", "acme", code=1)
    shown = books.json("connection", "show", "books", "acme")
    assert (shown["state"], shown["paused_because"]) == ("paused", "refusals")
    code = books.code_of("request", "books", "/", "--connection", "acme", code=3)
    assert code == "paused"
    report = books.json("test", "books", "--connection", "acme", code=1)
    assert not report["ok"]
    assert books.state("acme") == "paused"
    text = books("test", "books", "--connection", "acme", code=1)
    assert "outkey connection resume books acme" in text
    assert "of-ann" not in text
    books.set_password("acme", "of-ann")
    assert books.ids("--state", "paused") == []
    assert books.json("test", "books", "--connection", "acme")["ok"]
    assert books.ids("--state", "working") == ["acme", "other"]


def test_a_good_test_ends_the_pause_of_the_account(
    books: Operator, server: Server
) -> None:
    server.passwords["ann"] = "changed"
    for _ in range(5):
        books("request", "books", "/basic", "--connection", "acme", code=1)
    assert books.state("acme") == "paused"
    server.passwords["ann"] = "of-ann"
    assert books.json("test", "books", "--connection", "acme")["ok"]
    assert books.state("acme") == "working"


def test_a_secret_of_an_account_may_be_a_reference(
    books: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKS_PASSWORD", "of-bob")
    books("connection", "create", "books", "new", "--username", "bob")
    done = books.json(
        *("secret", "set", "books", "password", "--connection", "new"),
        *("--from", "env:BOOKS_PASSWORD"),
    )
    assert (done["done"], done["configuration"]) == ("set", "books")
    assert done["connection"] == "new"
    shown = books.json("connection", "show", "books", "new")
    assert shown["secrets"]["password"]["reference"] == "env:BOOKS_PASSWORD"
    assert shown["connected_at"] == shown["created_at"]
    assert books.json("test", "books", "--connection", "new")["ok"]
    for connection, code in {
        "nobody": "unknown_connection",
        "no id": "configuration",
    }.items():
        account = ("--connection", connection, "--from", "env:BOOKS_PASSWORD")
        refused = books.code_of("secret", "set", "books", "password", *account)
        assert refused == code
    shared = ("secret", "set", "books", "header:X-App-Key", "--connection", "new")
    assert books.enter("x", *shared, code=2)["error"]["code"] == "configuration"


def test_what_is_missing_is_named_with_its_command(books: Operator) -> None:
    books("connection", "create", "books", "new")
    account = ("--connection", "new")
    report = books.json("test", "books", *account, code=2)
    assert report["cause"] == "secret_missing"
    assert "outkey secret set books password --connection new" in json.dumps(report)
    assert "outkey connection update books new --username" in json.dumps(report)


def test_a_fix_changes_what_belongs_to_the_account(
    books: Operator, server: Server
) -> None:
    books("connection", "create", "books", "new", "--username", " bob")
    books.set_password("new", "of-bob ")
    fix = ("test", "books", "--connection", "new", "--fix", "--yes")
    # One at a time: the secret, then the user name.
    assert not books.json(*fix, code=1)["ok"]
    assert books.json(*fix)["ok"]
    assert books.json("connection", "show", "books", "new")["username"] == "bob"
    assert books.json("show", "books")["username"] == "erp"
    assert server.accepted[-1] == "bob"


def test_the_audit_names_the_account_of_a_command(books: Operator) -> None:
    books.json("test", "books", "--connection", "acme")
    facts = books.json("audit", "list", "--limit", "50")
    named = {
        (fact["tag"], fact.get("configuration"), fact.get("connection"))
        for fact in facts
    }
    for tag in ("api:configuration:tested", "engine:send:ended"):
        assert (tag, "books", "acme") in named
    for connection in ("acme", "other"):
        assert ("api:secret:set", "books", connection) in named


# ── tokens and scripts ──────────────────────────────────────────────────────────────

CRM = """
[configuration.books]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
connections = "required"
limits = {{ retries = 0 }}
verification = {{ test_path = "/oauth/api" }}
[configuration.books.oauth2]
grant = "{grant}"
token_url = "{url}/oauth/token"
device_url = "{url}/oauth/device?interval=1"
revocation_url = "{url}/oauth/revoke"
client_id = "{client}"
scope = "orders:read"
"""
SCRIPT = """
[configuration.books]
base_url = "{url}"
network = "internal"
authentication_type = "basic"
connections = "required"
script_enabled = true
script = '''
def compute_auth_header(sync_line):
    return {{"X-User": sync_line.api_config_id.username}}
'''
"""


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def connect_crm(operator: Operator, spar: Spar, grant: str) -> None:
    """Apply a configuration with tokens, and create the accounts acme and other."""
    operator.apply(CRM.format(url=spar.url, grant=grant, client=CLIENT))
    operator.enter(CLIENT_SECRET, "secret", "set", "books", "client_secret")
    for connection in ("acme", "other"):
        operator("connection", "create", "books", connection)


def test_each_account_has_a_token_of_its_own(operator: Operator, spar: Spar) -> None:
    connect_crm(operator, spar, "client_credentials")

    def token(action: str, connection: str) -> str:
        status = operator.json("token", action, "books", "--connection", connection)
        state: str = status["state"]
        return state

    def live() -> int:
        return spar.authorization.counts().live_access_tokens

    assert token("status", "acme") == "none"
    assert token("renew", "acme") == "fresh"
    assert (token("status", "other"), live()) == ("none", 1)
    request = ("request", "books", "/oauth/api", "--connection", "other")
    assert operator.json(*request)["status"] == 200
    assert live() == 2
    shown = operator.json("connection", "show", "books", "acme")
    status = operator.json("token", "status", "books", "--connection", "acme")
    assert {**shown["token"], "expires_in": 0} == {**status, "expires_in": 0}
    assert token("revoke", "acme") == "none"
    assert (token("status", "other"), live()) == ("fresh", 1)
    assert token("forget", "other") == "none"
    text = operator("connection", "show", "books", "other")
    assert "token" in text
    assert CLIENT_SECRET not in text
    # Nothing of its own is needed: it was complete when it was created.
    assert shown["state"] == "working"
    assert shown["connected_at"] == shown["created_at"]


def test_a_user_authorizes_one_account_on_another_device(
    operator: Operator, spar: Spar, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect_crm(operator, spar, "device_code")
    assert operator.state("acme") == "new"
    hint = operator.json("token", "renew", "books", "--connection", "acme", code=2)
    assert "outkey token authorize books --connection acme" in hint["error"]["hint"]
    device_code = TokenActions.device_code

    def agree(actions: TokenActions) -> DeviceCode:
        device = device_code(actions)
        with urlopen(
            f"{spar.url}/oauth/device/approve?user_code={device.user_code}"
        ) as response:
            response.read()
        return device

    monkeypatch.setattr(TokenActions, "device_code", agree)
    done = operator.json("token", "authorize", "books", "--connection", "acme")
    assert done["state"] == "fresh"
    shown = operator.json("connection", "show", "books", "acme")
    assert (shown["state"], shown["token"]["state"]) == ("working", "fresh")
    assert shown["connected_at"] == done["last_renewed_at"]
    assert operator.state("other") == "new"
    request = ("request", "books", "/oauth/api", "--connection")
    assert operator.json(*request, "acme")["status"] == 200
    assert operator.code_of(*request, "other") == "reauthorization_needed"


def test_a_script_runs_for_an_account(operator: Operator, server: Server) -> None:
    operator.apply(SCRIPT.format(url=server.url))
    operator.connect("acme", "ann", "of-ann")
    trial = operator.json("script", "run", "books", "--connection", "acme")
    assert trial["headers"] == [{"name": "X-User", "length": len("ann")}]


def test_a_token_of_an_account_that_was_changed_outside_is_found_and_deleted(
    operator: Operator, spar: Spar
) -> None:
    connect_crm(operator, spar, "client_credentials")
    account = ("books", "--connection", "acme")
    operator.json("token", "renew", *account)
    rows = operator.application.vouched_rows
    assert rows.changed() == []
    database = SqliteDatabase(operator.home / "data" / "host.sqlite3")
    with database.transaction():
        database.write("UPDATE token SET facts = json_set(facts, '$.dead', 1)")
    (changed,) = rows.changed()
    assert changed.name.kind == "token"
    operator("request", "books", "/oauth/api", "--connection", "acme", code=5)
    rows.delete(changed)
    request = ("request", "books", "/oauth/api", "--connection", "acme")
    assert operator.json(*request)["status"] == 200
