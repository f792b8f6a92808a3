"""`outkey doctor --production`: the check list of a real home, line by line."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from cli.conftest import Terminal
from cli.test_doctor import Tags
from cli.test_line_commands import document
from outkey.administration.core.operating.checklist import CHECKLIST
from outkey.hosts.cli.printing import doctor_reports as reports
from outkey.sending.adapters.transport.listeners_file import ListenerFiles
from outkey.spar import Spar

PASSWORD = "correct horse battery"
SETTINGS = {
    "OUTKEY_PUBLIC_URL": "https://outkey.example",
    "OUTKEY_PROXIES": "127.0.0.1",
    "OUTKEY_NOTICE_EMAIL": "operators@outkey.example",
}
TO_CHECK_YOURSELF = {"server-address", "key-copy", "audit-checkpoints", "restore"}
# Where tests run as root, this line fails, and it is right.
AS_ROOT = {"user"} if os.geteuid() == 0 else set()


def codes(outkey: Terminal, *, passed: bool | None) -> set[str]:
    done = outkey("doctor", "--production", "--json")
    lines = done.json["checklist"]
    assert [line["code"] for line in lines] == [check.id for check in CHECKLIST]
    is_failed = any(line["passed"] is False for line in lines)
    assert (done.code, done.json["ok"]) == ((2, False) if is_failed else (0, True))
    assert all(bool(line["hint"]) is (line["passed"] is not True) for line in lines)
    return {line["code"] for line in lines if line["passed"] is passed}


def test_a_fresh_home_fails_until_it_is_set_up_for_production(
    outkey: Terminal, tmp_path: Path
) -> None:
    missing = {"public-url", "proxies", "notices", "backup", "administrator"}
    assert codes(outkey, passed=False) == missing | AS_ROOT
    outkey.settings |= SETTINGS
    assert outkey("user", "add", "boss", "--role", "Administrator").code == 0
    assert outkey("backup", str(tmp_path / "backup")).code == 0
    assert codes(outkey, passed=False) == AS_ROOT
    assert codes(outkey, passed=None) == TO_CHECK_YOURSELF


def test_what_is_wrong_with_a_home_fails_its_lines(ready: Terminal, spar: Spar) -> None:
    ready.settings |= SETTINGS | {"OUTKEY_DEMO": "1", "OUTKEY_LOG_LEVEL": "DEBUG"}
    assert ready("apply", "-", stdin=document(spar)).code == 0
    database = ready.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE outkey_auditrecord SET body = '{}' WHERE number = 1")
        connection.execute(
            "INSERT INTO outkey_sharedstate (kind, key, generation, value)"
            " VALUES ('mark', 'backup', 1, ?)",
            (f'{{"at": {time.time() - 3 * 86_400}}}',),
        )
        connection.commit()
    (ready.home / "data").chmod(0o755)
    assert codes(ready, passed=False) == AS_ROOT | {
        "administrator",
        "audit-chain",
        "backup",
        "debugging",
        "demo",
        "files",
        "findings",
        "workers",
    }


def test_without_its_key_a_home_fails_and_the_audit_is_not_verified(
    ready: Terminal,
) -> None:
    (ready.home / "config" / "key").unlink()
    assert {"key", "findings"} <= codes(ready, passed=False)
    assert "audit-chain" in codes(ready, passed=None)


def test_without_its_database_only_the_machine_is_seen(outkey: Terminal) -> None:
    outkey.settings |= SETTINGS | {
        "OUTKEY_DATABASE_URL": "postgresql://x@127.0.0.1:1/x"
    }
    outkey.home.mkdir()
    assert codes(outkey, passed=False) == {"database", "findings"} | AS_ROOT
    assert {"audit-chain", "key", "workers", "clock"} <= codes(outkey, passed=None)


def test_a_server_that_other_machines_reach_is_to_be_checked(outkey: Terminal) -> None:
    assert outkey("list").code == 0
    listeners = ListenerFiles(outkey.home / "data" / "listening")
    with listeners.hold("127.0.0.1", 9):
        assert "server-address" in codes(outkey, passed=True)
        with listeners.hold("0.0.0.0", 10):
            assert "server-address" in codes(outkey, passed=None)


def test_the_list_is_printed_line_by_line_with_what_to_do(outkey: Terminal) -> None:
    done = outkey("doctor", "--production", **SETTINGS)
    lines = done.out.splitlines()
    assert lines[0] == "Each line says what must be true in production:"
    assert lines[1].split() == ["passed", "public-url", *CHECKLIST[0].message.split()]
    (failed,) = [number for number, line in enumerate(lines) if " backup  " in line]
    assert lines[failed].startswith("failed  backup")
    assert lines[failed + 1].strip().startswith("Run outkey backup once a day.")
    assert lines[-1].endswith("4 cannot be seen from here: check these yourself")


def test_a_terminal_gets_colours_and_lines_that_fit(outkey: Terminal) -> None:
    from outkey.administration.core.operating.checklist import ProductionFacts, checked

    unseen = checked(ProductionFacts(now=0.0))
    text = reports.checklist_text(unseen, 80, colours=False)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "\x1b[33munseen" in reports.checklist_text(unseen, None, colours=True)


def test_the_page_has_the_list_and_sarif_is_refused(outkey: Terminal) -> None:
    page = outkey("doctor", "--production", "--format", "html")
    tags = Tags()
    tags.feed(page.out)
    assert "<h2>production check list</h2>" in page.out
    assert page.out.count("<tr>") == len(CHECKLIST)
    assert not tags.seen & {"script", "link", "img"}
    refused = outkey("doctor", "--production", "--format", "sarif")
    assert refused.code == 2
    assert "--format" in refused.err


def test_the_doctor_alone_has_no_list(outkey: Terminal) -> None:
    assert "checklist" not in outkey("doctor", "--json").json
