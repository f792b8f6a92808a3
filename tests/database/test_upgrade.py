"""Upgrades: a database that an older version wrote, with its keys, serves this version.

Each folder of `version_0_1_0` is a home as that version left it: configurations of
every authentication type, two keys, tokens, lines, runs, users and the audit. Those of
`version_0_2_0` have what that version added: other databases, pairs, webhooks, tables
and API tokens.
"""

import hashlib
import hmac
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psycopg
import pytest

import forks
from cli.conftest import Terminal
from cli.served_operating import serving_operating
from database.conftest import Cluster
from database.old_api import OldApi
from outkey.testing.canary import Canaries
from programs import assert_program_passes, program_command

VERSION_0_1_0 = Path(__file__).with_name("version_0_1_0")
VERSION_0_2_0 = Path(__file__).with_name("version_0_2_0")
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


def old_home(source: Path, place: Path, canary: Canaries, url: str = "") -> Terminal:
    """Return a home as an older version left it."""
    (place / "data").mkdir(parents=True, mode=0o700)
    (place / "config").mkdir(mode=0o700)
    place.chmod(0o700)
    for name, target in CONFIG_FILES.items():
        if not (source / name).exists():
            continue  # of version 0.1.0 only
        shutil.copyfile(source / name, place / "config" / target)
        (place / "config" / target).chmod(0o600)
    statements = (source / "database.sql").read_text("utf-8")
    settings = {"OLD_TOKEN": "invented-referenced-token"}
    if source.name == "postgresql":
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
    return opened_home(request, VERSION_0_1_0, tmp_path, canary)


@pytest.fixture(params=["sqlite", "postgresql"])
def version_0_2(
    request: pytest.FixtureRequest, tmp_path: Path, canary: Canaries
) -> Terminal:
    """A home of version 0.2.0 that no later version has opened."""
    home = opened_home(request, VERSION_0_2_0, tmp_path, canary)
    home.settings["WAREHOUSE_URL"] = f"sqlite:///{tmp_path}/warehouse.db"
    home.settings["OUTKEY_SQLITE_FOLDERS"] = str(tmp_path)
    return home


def opened_home(
    request: pytest.FixtureRequest, version: Path, folder: Path, canary: Canaries
) -> Terminal:
    """Return the home of a version on the database that a fixture asks for."""
    source = version / request.param
    if request.param == "sqlite":
        return old_home(source, folder / "home", canary)
    cluster: Cluster = request.getfixturevalue("postgresql")
    url = cluster.create("upgraded")
    return old_home(source, folder / "home", canary, url)


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
    accepted = old("secret", "confirm", "--yes", "--json").json
    assert accepted["rows"] == ["line:contacts", "line:contacts out"]
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


# What version 0.2.0 has stored, and what this version does not use before it is
# confirmed. Requests with credentials are not among it, nor are tokens of OAuth 2.0.
UNCONFIRMED = [
    "api_token:ci",
    "api_token:old",
    "api_token_name:ci",
    "api_token_name:old",
    "database:warehouse",
    "hook_endpoint:ENDPOINT",
    "pair:contacts",
    "paused_line:paused",
    "table:contacts",
    "webhook:crm",
    "line:contacts",
    "line:paused",
    "line:send contacts",
    "line:warehouse",
]


def listed_rows(home: Terminal, endpoint: str) -> list[str]:
    """Return the rows that need a confirmation, without the random endpoint."""
    listed = home("secret", "confirm", "--dry-run", "--json").json
    facts = {fact for each in listed["configurations"] for fact in each["changed"]}
    assert facts in (set(), {"name", "script_enabled", "verification.test_method"})
    labels = [row["row"] for row in listed["rows"]]
    return sorted(label.replace(endpoint, "ENDPOINT") for label in labels)


def deliver(url: str, path: str) -> int:
    """Send a signed delivery, and return the status of the response."""
    body = b'{"id": "c-9"}'
    code = hmac.digest(b"invented-hook-secret", body, hashlib.sha256).hex()
    headers = {"Content-Type": "application/json", "X-Signature": code}
    return httpx.post(f"{url}{path}", content=body, headers=headers).status_code


def test_one_command_lists_and_accepts_what_version_0_2_0_has_stored(
    version_0_2: Terminal, api: OldApi, tmp_path: Path
) -> None:
    home = version_0_2
    kind = "postgresql" if "OUTKEY_DATABASE_URL" in home.settings else "sqlite"
    token = (VERSION_0_2_0 / kind / "test-api-token").read_text("ascii").strip()
    bearer = {"Authorization": f"Bearer {token}"}
    path = home("webhook", "show", "crm", "--json").json["endpoint"]
    endpoint = path.rpartition("/")[2]
    # Nothing is done by these rows before a user has confirmed them.
    assert listed_rows(home, endpoint) == sorted(UNCONFIRMED)
    for line in ("contacts", "send contacts", "warehouse", "paused"):
        assert home("line", "run", line).code == 5
    assert api.received == []
    assert not (tmp_path / "warehouse.db").exists()
    for name in ("crm", "sso"):
        assert home("request", name, "/echo").code == 0
    assert [request.path for request in api.received] == ["/echo", "/echo"]
    assert home("doctor").code == 2
    with serving_operating(home, tmp_path / "log") as served:
        sent = httpx.get(f"{served.url}/api/v1/send/crm/echo", headers=bearer)
        assert sent.status_code == 401
        assert deliver(served.url, path) == 503
    # One command lists them, and the same one accepts them.
    assert home("secret", "confirm").code == 2, "nobody can be asked"
    assert home("secret", "confirm", "--yes").code == 0
    assert listed_rows(home, endpoint) == []
    assert home("doctor", "--json").json["ok"]
    # Everything works afterwards.
    for line in ("contacts", "send contacts", "warehouse"):
        assert home("line", "run", line).code == 0
    paused = home("line", "run", "paused", "--json")
    assert paused.json["error"]["code"] == "line_paused"
    states = {
        each["name"]: each["state"] for each in home("api-token", "list", "--json").json
    }
    assert states == {"ci": "active", "old": "revoked"}
    assert home("pair", "run", "contacts").code == 0
    with serving_operating(home, tmp_path / "log") as served:
        sent = httpx.get(f"{served.url}/api/v1/send/crm/echo", headers=bearer)
        assert sent.status_code == 200
        assert deliver(served.url, path) == 200
    assert home("audit", "verify").code == 0
