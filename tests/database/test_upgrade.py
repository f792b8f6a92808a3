"""Upgrades: a database that version 0.1.0 wrote, with its keys, serves this version.

Each folder of `version_0_1_0` is a home as that version left it: configurations of
every authentication type, two keys, tokens, lines, runs, users and the audit.
"""

import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import forks
from cli.conftest import Terminal
from database.conftest import Cluster
from database.old_api import OldApi
from outkey.testing.canary import Canaries
from programs import assert_program_passes, program_command

VERSION_0_1_0 = Path(__file__).with_name("version_0_1_0")
# The names of files that would look like real keys.
CONFIG_FILES = {
    "test-key": "key",
    "test-signing-key": "signing-key",
    "audit-checkpoints": "audit-checkpoints",
}
# What version 0.1.0 sent, by configuration. The signature is an HMAC by the script.
CREDENTIALS = {
    "open": {},
    "basic": {"authorization": "Basic aW52ZW50ZWQtdXNlcjppbnZlbnRlZC1wYXNzd29yZA=="},
    "bearer": {
        "authorization": "Bearer invented-token",
        "x-api-key": "invented-api-key",
        "x-tenant": "7",
    },
    "header keys": {
        "x-api-key": "invented-first-key",
        "x-second-key": "invented-second-key",
    },
    "script": {
        "x-signature": (
            "0ae09b692ae937eb42fddae1bf01576adf07906ecd25639e7453e64ae0ee712e"
        )
    },
    "oauth2 client": {"authorization": "Bearer access-token-by-client_credentials"},
    "oauth2 refresh": {"authorization": "Bearer access-token-by-refresh_token"},
    "reference": {"authorization": "Bearer invented-referenced-token"},
}
SENT = ("authorization", "x-api-key", "x-second-key", "x-signature", "x-tenant")
AUDIT_RECORDS = 68
SIGNED_IN = 302
EVERY_STATEMENT = 200  # more than the migrations have


def old_home(place: Path, kind: str, canary: Canaries, url: str = "") -> Terminal:
    """Return a home as version 0.1.0 left it."""
    source = VERSION_0_1_0 / kind
    (place / "data").mkdir(parents=True, mode=0o700)
    (place / "config").mkdir(mode=0o700)
    place.chmod(0o700)
    for name, target in CONFIG_FILES.items():
        shutil.copyfile(source / name, place / "config" / target)
        (place / "config" / target).chmod(0o600)
    statements = (source / "database.sql").read_text("utf-8")
    settings = {"OLD_TOKEN": "invented-referenced-token"}
    if kind == "postgresql":
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statements.encode())
        return Terminal(place, canary, settings | {"OUTKEY_DATABASE_URL": url})
    file = place / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(statements)
    file.chmod(0o600)
    return Terminal(place, canary, settings)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.full)])
def old(request: pytest.FixtureRequest, tmp_path: Path, canary: Canaries) -> Terminal:
    """A home of version 0.1.0 that no later version has opened."""
    if request.param == "sqlite":
        return old_home(tmp_path / "home", "sqlite", canary)
    cluster: Cluster = request.getfixturevalue("postgresql")
    url = cluster.create("upgraded")
    return old_home(tmp_path / "home", "postgresql", canary, url)


@pytest.fixture
def api() -> Iterator[OldApi]:
    with OldApi() as server:
        yield server


def test_a_database_of_version_0_1_0_is_upgraded_with_all_that_it_has(
    old: Terminal, api: OldApi, tmp_path: Path
) -> None:
    names = [row["name"] for row in old("list", "--json").json]
    assert names == sorted([*CREDENTIALS, "failing", "switched_off"])
    verdict = old("audit", "verify", "--json")
    assert (verdict.code, verdict.json["rows"]) == (0, AUDIT_RECORDS)
    for name, expected in CREDENTIALS.items():
        api.received.clear()
        assert old("request", name, "/echo").code == 0
        # No token is fetched: the stored one is valid.
        (request,) = api.received
        headers = request.headers
        assert {key: headers[key] for key in SENT if key in headers} == expected, name
    (notice,) = old("notices", "--json").json
    assert notice["id"] == "S-failing"
    assert_lines_and_runs_are_there(old, api)
    assert_users_sign_in(old)
    doctor = old("doctor", "--json")
    assert (doctor.code, doctor.json["ok"]) == (0, True)
    assert old("backup", str(tmp_path / "backup")).code == 0
    assert old("audit", "verify").code == 0


def assert_lines_and_runs_are_there(old: Terminal, api: OldApi) -> None:
    """Check lines and runs of version 0.1.0, and that a run finds its records."""
    assert [line["name"] for line in old("line", "list", "--json").json] == [
        "contacts",
        "contacts out",
    ]
    runs = old("run", "list", "--json").json
    assert [
        (run["run"], run["line"], run["state"], run["created"]) for run in runs
    ] == [
        ("3", "contacts out", "done", 2),
        ("2", "contacts", "done", 0),
        ("1", "contacts", "done", 2),
    ]
    rejected = old("run", "show", "1", "--json").json
    assert "c-3" in str(rejected)
    # The demo's models were a part of every home of that version.
    old.settings["OUTKEY_DEMO"] = "1"
    again = old("line", "run", "contacts", "--json").json
    assert (again["created"], again["unchanged"], again["failed"]) == (0, 2, 1)
    api.received.clear()
    # A line without a field for changes sends all records in each run.
    pushed = old("line", "run", "contacts out", "--json").json
    assert (pushed["created"], pushed["unchanged"]) == (2, 0)
    assert [request.path for request in api.received] == ["/contacts"] * 2
    del old.settings["OUTKEY_DEMO"]


def assert_users_sign_in(old: Terminal) -> None:
    """Check that users have their roles, and sign in with their passwords."""
    users = old("user", "list", "--json").json
    assert [(user["name"], user["superuser"], user["groups"]) for user in users] == [
        ("admin", True, ["Administrator"]),
        ("auditor", False, ["Auditor"]),
        ("operator", False, ["Operator"]),
    ]
    for name in ("admin", "auditor", "operator"):
        done = assert_program_passes(
            "cli/try_sign_in",
            old.home,
            name,
            settings=old.settings,
            stdin=f"invented password of {name}",
        )
        assert int(done.stdout) == SIGNED_IN


@pytest.mark.parametrize(
    "statements",
    [
        30,
        *(
            pytest.param(number, marks=pytest.mark.full)
            for number in (0, 5, 10, 15, 20, 25, 35)
        ),
    ],
)
def test_an_upgrade_that_is_killed_is_continued_by_the_next_command(
    old: Terminal, api: OldApi, statements: int
) -> None:
    upgrade = program_command("database/killed_upgrade", str(statements))
    killed = forks.run(upgrade, old.environment)
    assert killed.returncode == -signal.SIGKILL
    assert old("request", "bearer", "/echo").code == 0
    assert api.received[0].headers["authorization"] == "Bearer invented-token"
    assert old("audit", "verify").code == 0
    assert len(old("user", "list", "--json").json) == 3
    upgraded = assert_program_passes(
        "database/killed_upgrade", old.home, str(EVERY_STATEMENT), settings=old.settings
    )
    assert int(upgraded.stdout) == EVERY_STATEMENT  # nothing is left to do
