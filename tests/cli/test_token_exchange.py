"""Token exchange against the sparring provider: users, failures, processes, kills."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cli.conftest import Terminal
from cli.served_interface import serving_interface
from cli.test_token_processes import RENEWAL, output_of, start
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from outkey.testing.canary import find

USERS = {"ALICE": "spar-user-alice", "BOB": "spar-user-bob"}

EVE = "spar-user-eve"


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def document(spar: Spar, query: str = "", **changed: str) -> str:
    oauth2 = {
        "grant": "token_exchange",
        "token_url": f"{spar.url}/oauth/token{query}",
        "client_id": CLIENT,
        "subject_token_from": "caller",
    }
    lines = [f'{key} = "{value}"' for key, value in (oauth2 | changed).items()]
    return "\n".join(
        [
            "[configuration.acme]",
            f'base_url = "{spar.url}"',
            'network = "internal"',
            'authentication_type = "bearer"',
            'token_source = "oauth2"',
            'verification = { test_path = "/oauth/api" }',
            "limits = { retries = 0 }",
            "[configuration.acme.oauth2]",
            *lines,
        ]
    )


def prepare(outkey: Terminal, spar: Spar, query: str = "", **changed: str) -> None:
    applied = outkey("apply", "-", stdin=document(spar, query, **changed))
    assert applied.code == 0, applied.err
    name = "client_secret"
    assert outkey("secret", "set", "acme", name, stdin=CLIENT_SECRET).code == 0


def exchanges(spar: Spar) -> int:
    return spar.authorization.counts().token_requests


def test_each_request_is_sent_for_its_user(outkey: Terminal, spar: Spar) -> None:
    prepare(outkey, spar)
    for name, user in {"ALICE": "alice", "BOB": "bob"}.items():
        for _ in range(2):
            sent = outkey(
                *("request", "acme", "/oauth/api", "--subject-token", f"env:{name}"),
                **USERS,
            )
            assert json.loads(sent.out)["subject"] == user
    assert exchanges(spar) == 2
    status = outkey("token", "status", "acme", "--json")
    assert status.json["subjects"] == 2
    one = outkey(
        "token", "status", "acme", "--subject-token", "env:BOB", "--json", **USERS
    )
    assert (one.json["state"], "subjects" in one.json) == ("fresh", False)
    assert outkey("token", "forget", "acme").code == 0
    assert outkey("token", "status", "acme", "--json").json["subjects"] == 0
    database = (outkey.home / "data" / "outkey.sqlite3").read_bytes()
    assert not any(find(database, token) for token in USERS.values())


def test_a_removed_configuration_leaves_no_token_of_a_user(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    sent = ("request", "acme", "/oauth/api", "--subject-token", "env:ALICE")
    assert outkey(*sent, **USERS).code == 0
    assert stored_users(outkey) == 1
    assert outkey("delete", "acme", "--yes").code == 0
    assert stored_users(outkey) == 0


def stored_users(outkey: Terminal) -> int:
    """Return how many tokens of users are in the database."""
    counting = "SELECT count(*) FROM outkey_sharedstate WHERE kind = 'token_beside'"
    path = outkey.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        [count] = database.execute(counting).fetchone()
    return int(count)


@pytest.mark.parametrize(
    "command", [("request", "acme", "/oauth/api"), ("token", "renew", "acme")]
)
def test_without_a_user_nothing_is_sent(
    outkey: Terminal, spar: Spar, command: tuple[str, ...]
) -> None:
    prepare(outkey, spar)
    refused = outkey(*command)
    assert refused.code == 2
    assert "secret_missing" in refused.err
    assert "--subject-token" in refused.err
    assert exchanges(spar) == 0


def test_a_user_is_refused_where_none_is_exchanged(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, grant="client_credentials", subject_token_from="reference")
    refused = outkey(
        "request", "acme", "/oauth/api", "--subject-token", "env:BOB", **USERS
    )
    assert refused.code == 2
    assert "oauth2.subject_token_from" in refused.err
    assert exchanges(spar) == 0


@pytest.mark.parametrize(
    ("query", "changed", "token", "reason"),
    [
        ("", {}, "spar-user-eve-expired", "subject-token-expired"),
        ("", {}, "some other token", "subject-token-refused"),
        (
            "",
            {"subject_token_type": "urn:x:saml2"},
            "spar-user-eve",
            "subject-token-refused",
        ),
        (
            "?audience=api",
            {"audience": "other"},
            "spar-user-eve",
            "exchange-target-refused",
        ),
        ("?actor=needed", {}, "spar-user-eve", "actor-token-needed"),
        ("", {"client_id": "nobody"}, "spar-user-eve", "client-secret-wrong"),
    ],
)
def test_each_refusal_has_its_reason_and_the_words_of_the_provider(
    outkey: Terminal,
    spar: Spar,
    query: str,
    changed: dict[str, str],
    token: str,
    reason: str,
) -> None:
    prepare(outkey, spar, query, **changed)
    given = ("--subject-token", "env:EVE")
    report = outkey("test", "acme", *given, "--json", EVE=token)
    assert report.code == 1
    assert report.json["findings"][0]["id"] == reason, report.json
    assert token not in report.out
    prepare(outkey, spar, query, **changed)
    sent = outkey("request", "acme", "/oauth/api", *given, EVE=token)
    assert "token_endpoint" in sent.err
    assert "(status 4" in sent.err


def test_an_entered_subject_is_read_from_its_file_each_time(
    outkey: Terminal, spar: Spar, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("spar-user-job-expired\n")
    changed = {
        "subject_token_from": "reference",
        "subject_token": f"file:{file}",
        "client_id": "",
    }
    text = document(spar, "?client=none", **changed)
    assert outkey("apply", "-", stdin=text).code == 0
    assert outkey("request", "acme", "/oauth/api").code == 1
    file.write_text("spar-user-job\n")
    assert outkey("token", "renew", "acme").code == 0
    sent = outkey("request", "acme", "/oauth/api")
    assert json.loads(sent.out)["subject"] == "job"
    preview = outkey("preview", "acme", "/oauth/api")
    assert "Bearer ***" in preview.out


def test_such_a_configuration_has_no_sync_lines(outkey: Terminal, spar: Spar) -> None:
    line = '[line.orders]\nconfiguration = "acme"\npath = "/orders"\n'
    refused = outkey("apply", "-", stdin=f"{document(spar)}\n{line}")
    assert refused.code == 2
    assert "line.orders.configuration" in refused.err
    plain = document(spar, grant="client_credentials", subject_token_from="reference")
    assert outkey("apply", "-", stdin=f"{plain}\n{line}").code == 0
    refused = outkey("apply", "-", "--dry-run", stdin=document(spar))
    assert refused.code == 2


def test_keys_of_another_grant_are_refused(outkey: Terminal, spar: Spar) -> None:
    for changed in (
        {"grant": "client_credentials"},
        {"pkce": "off"},
        {"pushed_authorization_url": f"{spar.url}/oauth/par"},
        {"subject_token": "env:ALICE"},  # beside users
    ):
        refused = outkey("apply", "-", stdin=document(spar, **changed))
        assert refused.code == 2, changed


@pytest.mark.parametrize("processes", [2, pytest.param(8, marks=pytest.mark.full)])
def test_twenty_users_of_many_processes_cause_twenty_exchanges(
    outkey: Terminal, spar: Spar, processes: int
) -> None:
    prepare(outkey, spar, "?before=0.3")
    begins = str(time.time() + 1)
    running = [
        start(outkey, "cli/send_for_users", begins, "25", "20")
        for _ in range(processes)
    ]
    ends: Counter[object] = Counter()
    for process in running:
        ends.update(json.loads(output_of(process, outkey.canary)))
    assert ends == {200: processes * 25}
    assert exchanges(spar) == 20


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("before claim", marks=pytest.mark.full),
        "after asking",
        pytest.param("before keep", marks=pytest.mark.full),
    ],
)
def test_a_kill_between_the_response_and_its_storing_is_recovered(
    point: str, outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    outkey.settings["SUBJECT_TOKEN"] = "spar-user-alice"
    killed = start(outkey, RENEWAL, point, "SIGKILL", "1")
    assert output_of(killed, outkey.canary) == ""
    again = start(outkey, RENEWAL, "", "SIGKILL", "1")
    assert output_of(again, outkey.canary) == "200"
    assert exchanges(spar) == 1 + (point != "before claim")
    assert outkey("audit", "verify").code == 0


def test_a_state_that_was_changed_in_the_database_is_exchanged_again(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    command = ("request", "acme", "/oauth/api", "--subject-token")
    assert outkey(*command, "env:ALICE", **USERS).code == 0
    assert outkey(*command, "env:BOB", **USERS).code == 0
    with closing(sqlite3.connect(outkey.home / "data" / "outkey.sqlite3")) as database:
        rows = database.execute(
            "SELECT key, value FROM outkey_sharedstate WHERE kind = 'token_beside'"
        ).fetchall()
        (first, value), (second, other) = rows
        for key, swapped in ((first, other), (second, value)):
            database.execute(
                "UPDATE outkey_sharedstate SET value = ? WHERE key = ?", (swapped, key)
            )
        database.commit()
    for name, user in {"ALICE": "alice", "BOB": "bob"}.items():
        sent = outkey(*command, f"env:{name}", **USERS)
        assert json.loads(sent.out)["subject"] == user
    assert exchanges(spar) == 4


def test_the_send_proxy_takes_the_user_and_does_not_pass_it_on(
    spar: Spar, tmp_path: Path
) -> None:
    with serving_interface(spar, tmp_path) as interface:
        outkey = interface.outkey
        text = document(spar).replace("configuration.acme", "configuration.crm")
        assert outkey("apply", "-", stdin=text).code == 0
        secret = ("secret", "set", "crm", "client_secret")
        assert outkey(*secret, stdin=CLIENT_SECRET).code == 0
        headers = {"X-Outkey-Subject-Token": USERS["ALICE"]}
        sent = interface.call("GET", "send/crm/oauth/api", headers=headers)
        assert (sent.status_code, sent.json()["subject"]) == (200, "alice")
        refused = interface.call("GET", "send/crm/oauth/api")
        assert refused.status_code == 409
        assert refused.json()["error"]["code"] == "secret_missing"
        other = interface.call("GET", "send/acme/echo", headers=headers)
        assert other.status_code == 409
        report = interface.call("POST", "configurations/crm/test", headers=headers)
        assert report.json()["ok"] is True
        arrived = [arrival for arrival in spar.journal if "/api" in arrival.path]
        assert arrived
        assert not any(arrival.values("X-Outkey-Subject-Token") for arrival in arrived)
        assert not find(interface.log.read_bytes(), USERS["ALICE"])
