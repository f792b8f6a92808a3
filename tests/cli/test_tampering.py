"""Changes of the audit behind outkey's back are detected; pruning is accepted."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cli.conftest import Terminal
from outkey.testing.canary import Canaries

RECORDS = "outkey_auditrecord"
SWAPPED = (
    "UPDATE {records} SET number = 100 + number WHERE stream_id = {stream} AND number"
    " IN (4, 5);UPDATE {records} SET number = 109 - number WHERE stream_id = {stream}"
    " AND number > 100"
)
COLUMNS = "stream_id, number, at, configuration, outcome, body, mac"


def change(terminal: Terminal, *statements: str) -> None:
    with (
        closing(sqlite3.connect(terminal.home / "data" / "outkey.sqlite3")) as database,
        database,
    ):
        for statement in statements:
            database.executescript(statement)


@pytest.fixture(scope="session")
def busy_home(ready_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a home with several audit streams, one with ten rows; tests get copies."""
    home = tmp_path_factory.mktemp("busy") / "home"
    shutil.copytree(ready_home, home)
    run = Terminal(home, Canaries())
    for number in range(2):
        run("request", "acme", f"/status/{200 + number}")
    rest = 'base_url = "https://a.example"\nno_auth_reason = "public_api"'
    run(
        "apply",
        "-",
        stdin="\n".join(f"[configuration.c{n}]\n{rest}" for n in range(10)),
    )
    assert run("audit", "verify").code == 0
    return home


@pytest.fixture
def busy(busy_home: Path, outkey: Terminal) -> Terminal:
    shutil.copytree(busy_home, outkey.home)
    return outkey


def longest(terminal: Terminal) -> int:
    with closing(
        sqlite3.connect(terminal.home / "data" / "outkey.sqlite3")
    ) as database:
        query = f"SELECT stream_id FROM {RECORDS} GROUP BY 1 ORDER BY count(*) DESC"
        return int(database.execute(query).fetchone()[0])


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {records} WHERE stream_id = {stream} AND number = 5",
        (
            "UPDATE {records} SET body = replace(body, 'c3', 'c4') WHERE stream_id ="
            " {stream}"
        ),
        (
            "UPDATE {records} SET configuration = '' WHERE stream_id = {stream} AND"
            " number = 4"
        ),
        "UPDATE {records} SET at = at - 1 WHERE stream_id = {stream} AND number = 4",
        "UPDATE {records} SET outcome = 'ok' WHERE stream_id = {stream} AND number = 4",
        (
            "UPDATE {records} SET mac = zeroblob(32) WHERE stream_id = {stream} AND"
            " number = 4"
        ),
        (
            "INSERT INTO {records} ({columns}) {copied} WHERE stream_id = {stream} AND"
            " number = 4"
        ),
        SWAPPED,
        "DELETE FROM {records} WHERE stream_id = {stream} AND number > 7",
        "DELETE FROM {records} WHERE stream_id = {stream}",
        "DELETE FROM {records}",
        "UPDATE outkey_stream SET name = 'x.' || name WHERE id = {stream}",
        (
            "UPDATE {records} SET stream_id = 999 WHERE stream_id = {stream} AND number"
            " = 10"
        ),
        "UPDATE {records} SET number = 'x' WHERE stream_id = {stream} AND number = 4",
        (
            "UPDATE {records} SET body = 99999999999 WHERE stream_id = {stream} AND"
            " number = 4"
        ),
        "UPDATE {records} SET mac = 1.5 WHERE stream_id = {stream} AND number = 4",
    ],
    ids=[
        "deleted",
        "edited",
        "configuration",
        "time",
        "outcome",
        "code",
        "inserted",
        "reordered",
        "cut tail",
        "a whole stream",
        "everything",
        "renamed",
        "orphaned",
        "number as text",
        "body as number",
        "code as number",
    ],
)
def test_every_kind_of_tampering_is_found(busy: Terminal, statement: str) -> None:
    stream = longest(busy)
    copied = f"SELECT {COLUMNS.replace('number', '11')} FROM {RECORDS}"
    change(
        busy,
        statement.format(
            records=RECORDS, columns=COLUMNS, copied=copied, stream=stream
        ),
    )
    verdict = busy("audit", "verify", "--json")
    assert verdict.code == 1
    assert verdict.json["ok"] is False
    assert verdict.json["first_bad"]
    assert busy("audit", "list").code == 0


def test_a_restored_old_copy_is_found(busy: Terminal) -> None:
    data, kept = busy.home / "data", busy.home.parent / "kept"
    shutil.copytree(data, kept)
    busy("request", "acme", "/status/200")
    shutil.rmtree(data)
    shutil.copytree(kept, data)
    verdict = busy("audit", "verify")
    assert (verdict.code, "missing" in verdict.out) == (1, True)


def test_a_restored_backup_with_a_broken_audit_ends_as_verify_does(
    busy: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    change(busy, "UPDATE outkey_auditrecord SET body = '{}' WHERE number = 1")
    assert busy("backup", str(file)).code == 0
    restored = busy("restore", str(file), "--replace")
    assert "The audit is not intact" in restored.out
    assert restored.code == busy("audit", "verify").code == 1


def test_pruning_removes_under_a_tombstone_and_the_rest_verifies(
    busy: Terminal,
) -> None:
    refused = busy("audit", "prune", "--days", "0")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert busy("audit", "prune", "--yes").out == "removed: 0 records\n"
    before = busy("audit", "verify", "--json").json["rows"]
    assert (
        busy("audit", "prune", "--days", "0", "--yes").out
        == f"removed: {before} records\n"
    )
    verdict = busy("audit", "verify", "--json")
    assert (verdict.code, verdict.json["rows"]) == (0, 1)  # that it was pruned
    busy("request", "acme", "/status/200")
    assert busy("audit", "verify", "--json").json == {
        "ok": True,
        "rows": 3,
        "first_bad": None,
        "unprotected_tail": 0,
    }


@pytest.mark.parametrize(
    "forge",
    [
        lambda terminal: change(terminal, "UPDATE outkey_stream SET pruned_number = 0"),
        lambda terminal: change(
            terminal, "UPDATE outkey_stream SET pruned_signature = zeroblob(32)"
        ),
        lambda terminal: change(terminal, "DELETE FROM outkey_stream"),
    ],
    ids=["removed", "forged", "all gone"],
)
def test_a_tombstone_that_was_removed_or_forged_is_found(
    busy: Terminal, forge: Callable[[Terminal], None]
) -> None:
    busy("audit", "prune", "--days", "0", "--yes")
    forge(busy)
    assert busy("audit", "verify").code == 1
