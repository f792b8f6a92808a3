"""A writer of the database without the key gains nothing on the command line."""

import json
import os
import pty
import select
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

import forks
from cli.conftest import Terminal
from outkey.spar import Spar


@pytest.fixture
def attacker() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def execute(terminal: Terminal, statement: str, *values: object) -> None:
    with (
        closing(sqlite3.connect(terminal.home / "data" / "outkey.sqlite3")) as database,
        database,
    ):
        database.execute(statement, values)
        database.execute("UPDATE outkey_configuration SET revision = revision + 1")


def change_settings(terminal: Terminal, name: str, **changes: object) -> None:
    with closing(
        sqlite3.connect(terminal.home / "data" / "outkey.sqlite3")
    ) as database:
        query = "SELECT settings FROM outkey_configuration WHERE name = ?"
        settings = json.loads(database.execute(query, [name]).fetchone()[0])
    written = json.dumps(
        settings | {path.replace("__", "."): v for path, v in changes.items()}
    )
    statement = "UPDATE outkey_configuration SET settings = ? WHERE name = ?"
    execute(terminal, statement, written, name)


@pytest.mark.parametrize(
    "reference", ["file:/proc/self/environ", "file:HOME/config/signing-key"]
)
def test_neither_the_environment_nor_a_key_is_posted_to_another_token_url(
    outkey: Terminal, spar: Spar, attacker: Spar, reference: str
) -> None:
    document = f"""
[configuration.oauth]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
oauth2.token_url = "{spar.url}/oauth/token"
oauth2.client_id = "spar-client"
oauth2.client_secret = "env:CLIENT_SECRET"
"""
    assert outkey("apply", "-", stdin=document).code == 0
    (outkey.home / "config" / "signing-key").write_text("precious", encoding="ascii")
    (outkey.home / "config" / "signing-key").chmod(0o600)
    change_settings(outkey, "oauth", oauth2__token_url=f"{attacker.url}/oauth/token")
    execute(
        outkey,
        "UPDATE outkey_secretvalue SET reference = ?, origin = ? WHERE field ="
        " 'client_secret'",
        reference.replace("HOME", str(outkey.home)),
        f"{attacker.url} {spar.url}",
    )
    done = outkey("request", "oauth", "/bearer", "--json", ANYTHING="precious")
    assert done.code != 0
    assert attacker.journal == []
    assert "precious" not in done.out + done.err


def test_a_replaced_secret_does_not_come_back(ready: Terminal, spar: Spar) -> None:
    ready("secret", "set", "acme", "token", stdin="another-token")
    assert ready("request", "acme", "/echo").code == 0
    spar.clear()
    label = (
        "UPDATE outkey_secretvalue SET label = ? WHERE label = ? AND field = 'token'"
    )
    execute(ready, label, "was", "current")
    execute(ready, label, "current", "previous")
    done = ready("request", "acme", "/echo", "--json")
    assert (done.code, done.json["error"]["code"]) == (5, "secret_unreadable")
    assert spar.journal == []


def test_what_was_changed_in_the_database_is_listed_and_can_be_confirmed(
    ready: Terminal, spar: Spar
) -> None:
    execute(ready, "DELETE FROM outkey_secretvalue WHERE field = 'voucher'")
    refused = ready("request", "acme", "/bearer")
    assert refused.code == 5
    assert "outkey secret confirm" in refused.err
    assert ready("secret", "confirm", "acme").code == 2, "nobody can be asked"
    confirmed = ready("secret", "confirm", "--yes")
    assert confirmed.code == 0
    for shown in (
        "token",
        "stored, version 1",
        "header:X-API-Key",
        spar.url,
        "authentication_type",
    ):
        assert shown in confirmed.out
    assert ready("request", "acme", "/bearer").code == 0
    assert ready("secret", "confirm", "--json").json == {
        "done": "confirmed",
        "configurations": [],
        "rows": [],
    }


@pytest.mark.parametrize("key", ["ca_file", "client_certificate"])
def test_a_certificate_file_that_never_ends_keeps_no_test_waiting(
    ready: Terminal, key: str
) -> None:
    document = f"""
[configuration.mutual]
base_url = "https://127.0.0.1:9"
network = "internal"
no_auth_reason = "internal"
tls.{key} = "/proc/kmsg"
"""
    assert ready("apply", "-", stdin=document).code == 0
    ready("secret", "set", "mutual", "client_key", stdin="p")
    started = time.monotonic()
    tested = ready("test", "mutual", "--json")
    assert time.monotonic() - started < 20
    assert tested.json["cause"] == "configuration"


def prompt(
    terminal: Terminal, *arguments: str
) -> tuple[subprocess.Popen[bytes], int, str]:
    """Start a command at a terminal of its own, and return what it asks."""
    ours, theirs = pty.openpty()
    process = forks.Popen(
        [*forks.OUTKEY, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=terminal.environment | {"COLUMNS": "200"},
    )
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 30
    while b": " not in shown and time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            shown += os.read(ours, 4096)
    return process, ours, shown.decode()


def test_the_prompt_for_a_secret_names_where_it_will_go(
    ready: Terminal, spar: Spar
) -> None:
    process, keyboard, question = prompt(ready, "secret", "set", "acme", "token")
    assert spar.url in question
    os.write(keyboard, b"typed-token\n")
    assert process.wait(30) == 0
    os.close(keyboard)
    answer = ready("secret", "set", "acme", "token", stdin="spar-token")
    assert spar.url in answer.out


def test_a_secret_is_refused_where_the_origin_changed_during_the_prompt(
    ready: Terminal, spar: Spar, attacker: Spar
) -> None:
    process, keyboard, _ = prompt(ready, "secret", "set", "acme", "token")
    moved = f'[configuration.acme]\nbase_url = "{attacker.url}"\n'
    assert ready("apply", "-", stdin=moved).code == 0
    os.write(keyboard, b"typed-token\n")
    assert process.wait(30) == 2
    os.close(keyboard)
    assert ready("request", "acme", "/bearer").code == 2
    assert attacker.journal == []
