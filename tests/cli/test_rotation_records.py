"""What the audit, exports, backups and keys have of a rotation, by the commands."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar
from outkey.testing.canary import Canaries

GOOD = "spar-token"
DOCUMENT = """
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
[configuration.acme.rotation]
share = 100
overlap_days = 3
[configuration.acme.verification]
test_path = "/records/contacts?count=1"
"""


@pytest.fixture
def acme(outkey: Terminal, session_spar: Spar) -> Terminal:
    document = DOCUMENT.format(url=session_spar.url)
    assert outkey("apply", "-", stdin=document).code == 0
    assert outkey("secret", "set", "acme", "token", stdin="old-token").code == 0
    return outkey


def stage(outkey: Terminal, value: str = GOOD) -> None:
    assert outkey("secret", "stage", "acme", "token", stdin=value).code == 0


def records(outkey: Terminal) -> Iterator[dict[str, object]]:
    for line in outkey("audit", "export").out.splitlines():
        yield json.loads(line)


def serials(outkey: Terminal) -> list[tuple[object, object]]:
    """Return the serials of the audit's records about a rotation, oldest first."""
    about = ("engine:send:intended", "api:secret:staged", "api:rotation:")
    return [
        (record["tag"], record.get("serial"))
        for record in records(outkey)
        if str(record["tag"]).startswith(about)
    ]


def row_count(outkey: Terminal, statement: str, *values: object) -> int:
    path = outkey.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        count: int = database.execute(statement, values).fetchone()[0]
        return count


@pytest.mark.full  # the unit tests of the steps have most of it
def test_the_audit_names_the_credentials_of_each_step_and_request(
    acme: Terminal,
) -> None:
    acme("request", "acme", "/bearer")
    assert serials(acme) == [("engine:send:intended", None)]
    stage(acme)
    acme("rotation", "test", "acme")
    acme("rotation", "start", "acme")
    acme("request", "acme", "/bearer")
    acme("rotation", "promote", "acme")
    acme("request", "acme", "/bearer")
    acme("rotation", "probe-old", "acme")
    acme("rotation", "back", "acme")
    acme("request", "acme", "/bearer")
    acme("rotation", "back", "acme")
    acme("request", "acme", "/bearer")
    acme("rotation", "retire", "acme", "--yes")
    stage(acme, "third-token")
    acme("rotation", "discard", "acme")
    assert serials(acme)[1:] == [
        ("api:secret:staged", 2),
        ("api:rotation:tested", 2),
        ("engine:send:intended", 2),
        ("engine:send:intended", 2),  # without credentials, for comparison
        ("api:rotation:started", 2),
        ("engine:send:intended", 2),
        ("api:rotation:promoted", 2),
        ("engine:send:intended", 2),
        ("api:rotation:probed", 1),
        ("engine:send:intended", 1),
        ("api:rotation:back", 1),
        ("engine:send:intended", 1),
        ("api:rotation:back", 2),
        ("engine:send:intended", 2),
        ("api:rotation:retired", 1),
        ("api:secret:staged", 3),
        ("api:rotation:discarded", 3),
    ]


@pytest.mark.full  # the trials of several processes have the record
def test_the_record_of_a_step_that_nobody_took_has_results_and_no_actor(
    acme: Terminal,
) -> None:
    stage(acme)
    acme("rotation", "test", "acme")
    acme("rotation", "start", "acme", "--after", "1")
    acme("request", "acme", "/bearer")
    (promoted,) = (
        record for record in records(acme) if record["tag"] == "api:rotation:promoted"
    )
    facts = ("actor", "serial", "good", "refused")
    assert [promoted[name] for name in facts] == ["", 2, 1, 0]


def test_an_export_has_the_section_and_only_what_is_in_use(acme: Terminal) -> None:
    acme("secret", "set", "acme", "token", "--from", "env:OLD_TOKEN")
    before = acme("export").out
    shown = acme("show", "acme", "--json").json
    assert "share = 100" in before
    acme("secret", "stage", "acme", "token", "--from", "env:NEW_TOKEN")
    assert acme("export").out == before
    assert acme("show", "acme", "--json").json == shown
    tokens = {"OLD_TOKEN": "old-token", "NEW_TOKEN": GOOD}
    assert acme("rotation", "test", "acme", **tokens).code == 0
    acme("rotation", "promote", "acme")
    assert acme("export").out == before.replace("OLD_TOKEN", "NEW_TOKEN")


def test_a_backup_has_both_sets_sealed(
    acme: Terminal, tmp_path: Path, canary: Canaries
) -> None:
    acme("secret", "set", "acme", "token", stdin=GOOD)
    secret = canary("next")
    stage(acme, secret)
    backup = tmp_path / "backup"
    assert acme("backup", str(backup)).code == 0
    assert secret.encode() not in backup.read_bytes()
    acme("rotation", "discard", "acme")
    assert acme("restore", str(backup), "--replace").code == 0
    acme("resume", "--all")
    assert acme("rotation", "status", "acme", "--json").json["state"] == "staged"
    tested = acme("rotation", "test", "acme", "--json").json
    assert tested["cause"] == "invalid_credentials", "the next token was opened"


def test_each_set_is_rewrapped_and_renamed_with_its_configuration(
    acme: Terminal,
) -> None:
    (old,) = acme("keys", "status", "--json").json["keys"]
    stage(acme)
    acme("rotation", "test", "acme")
    acme("rotation", "promote", "acme")
    acme("keys", "promote", acme("keys", "add").out.strip())
    assert acme("keys", "rewrap").out == "rewrapped: 2 secrets\n"
    assert acme("keys", "retire", old["id"]).code == 0
    assert acme("rename", "acme", "crm").code == 0
    assert acme("test", "crm").code == 0
    probed = acme("rotation", "probe-old", "crm", "--json").json
    assert (probed["serial"], probed["refused"]) == (1, True)
    assert acme("rotation", "back", "crm").code == 0
    assert acme("rotation", "back", "crm").code == 0
    assert acme("test", "crm").code == 0


def test_a_deleted_configuration_leaves_no_set_behind(acme: Terminal) -> None:
    stage(acme)
    assert row_count(acme, "SELECT count(*) FROM outkey_secretvalue") > 1
    assert acme("delete", "acme", "--yes").code == 0
    assert row_count(acme, "SELECT count(*) FROM outkey_secretvalue") == 0


@pytest.mark.full  # a deleted configuration stays; the unit tests have the versions
def test_what_was_discarded_or_retired_is_not_in_the_database(acme: Terminal) -> None:
    values = "SELECT count(*) FROM outkey_secretvalue WHERE field = 'token'"
    stage(acme)
    assert row_count(acme, values) == 2
    acme("rotation", "discard", "acme")
    assert row_count(acme, values) == 1
    stage(acme)
    acme("rotation", "test", "acme")
    acme("rotation", "promote", "acme")
    acme("test", "acme")
    assert row_count(acme, values) == 2
    assert acme("rotation", "retire", "acme", "--yes").code == 0
    assert row_count(acme, values) == 1
