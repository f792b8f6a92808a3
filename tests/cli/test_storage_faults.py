"""A full disk, a locked database: nothing is sent, and it recovers by itself."""

import json
import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

import forks
from cli.conftest import Terminal
from outkey.sending.core.request.rate_limit import RateLimit
from outkey.spar import Spar
from programs import program_command

FULL, QUICK = 10_000, 400


def test_a_full_disk_refuses_and_the_next_request_works(
    ready: Terminal, spar: Spar
) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "outkey.hosts.cli.main",
            "request",
            "acme",
            "/bearer",
            "--json",
        ],
        env={"PATH": os.environ["PATH"], "OUTKEY_HOME": str(ready.home)},
        capture_output=True,
        check=False,
        # No file may grow beyond this, which is what a full disk is to SQLite.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
    )
    assert done.returncode == 5
    assert json.loads(done.stdout)["error"]["code"] in {
        "audit_unavailable",
        "storage_unavailable",
    }
    assert spar.journal == []
    assert ready("request", "acme", "/bearer").code == 0
    assert ready("audit", "verify").code == 0


def test_a_locked_database_refuses_in_time_and_the_next_request_works(
    ready: Terminal, spar: Spar
) -> None:
    with closing(sqlite3.connect(ready.home / "data" / "outkey.sqlite3")) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        done = ready("request", "acme", "/bearer", "--json")
        assert time.monotonic() - started < 15
        other.rollback()
    assert (done.code, done.json["error"]["code"]) == (5, "audit_unavailable")
    assert spar.journal == []
    assert ready("request", "acme", "/bearer").code == 0


def test_a_lock_that_is_let_go_in_time_only_delays(ready: Terminal) -> None:
    other = sqlite3.connect(
        ready.home / "data" / "outkey.sqlite3",
        isolation_level=None,
        check_same_thread=False,
    )
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(2.0, other.rollback)
    release.start()
    assert ready("request", "acme", "/bearer").code == 0
    release.join()
    other.close()


@pytest.mark.parametrize(
    "command", [("apply", "-"), ("secret", "set", "acme", "token")]
)
def test_a_change_that_cannot_be_kept_changes_nothing(
    ready: Terminal, command: tuple[str, ...]
) -> None:
    before = ready("export").out
    with closing(sqlite3.connect(ready.home / "data" / "outkey.sqlite3")) as other:
        other.execute("BEGIN IMMEDIATE")
        text = '[configuration.acme]\nnotes = "new"'
        done = ready(*command, stdin=text if command[0] == "apply" else "another-token")
        other.rollback()
    assert done.code == 5
    assert ready("export").out == before
    assert ready("request", "acme", "/bearer").code == 0


def test_ciphertexts_that_were_swapped_do_not_open_and_nothing_is_sent(
    ready: Terminal, spar: Spar
) -> None:
    with (
        closing(sqlite3.connect(ready.home / "data" / "outkey.sqlite3")) as other,
        other,
    ):
        (one, first), (two, second) = other.execute(
            "SELECT id, sealed FROM outkey_secretvalue"
            " WHERE sealed IS NOT NULL AND field != 'voucher'"
        ).fetchall()
        other.execute(
            "UPDATE outkey_secretvalue SET sealed = ? WHERE id = ?", (second, one)
        )
        other.execute(
            "UPDATE outkey_secretvalue SET sealed = ? WHERE id = ?", (first, two)
        )
    done = ready("request", "acme", "/bearer", "--json")
    assert (done.code, done.json["error"]["code"]) == (5, "secret_unreadable")
    assert spar.journal == []


def test_a_base_url_changed_by_sql_makes_the_secret_unusable(
    ready: Terminal, spar: Spar
) -> None:
    with (
        closing(sqlite3.connect(ready.home / "data" / "outkey.sqlite3")) as other,
        other,
    ):
        other.execute("UPDATE outkey_configuration SET base_url = ?", (spar.elsewhere,))
    done = ready("request", "acme", "/bearer", "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "secret_rebind_required")
    assert spar.journal == []


def test_thousands_of_configurations_are_applied_and_listed_without_a_key(
    outkey: Terminal, pytestconfig: pytest.Config
) -> None:
    count = FULL if pytestconfig.getoption("--full") else QUICK
    text = "\n".join(
        f"[configuration.c{n}]\nbase_url = 'https://api.c{n}.example'\n"
        f"authentication_type = 'bearer'\ntoken = 'env:TOKEN_{n}'"
        for n in range(count)
    )
    outkey.timeout = 600.0
    assert len(outkey("apply", "-", "--json", stdin=text).json["created"]) == count
    outkey("secret", "set", "c0", "token", stdin="x")
    # Without the key nothing can be decrypted, so what works now decrypts nothing.
    (outkey.home / "config" / "key").unlink()
    listed = outkey("list", "--json")
    assert listed.code == 0
    assert len(listed.json) == count
    statuses = {row["name"]: row["status"] for row in listed.json}
    assert (statuses["c0"], statuses["c1"]) == ("sealed", "never_tested")


def test_a_rate_limit_holds_over_all_processes(
    ready: Terminal, spar: Spar, pytestconfig: pytest.Config
) -> None:
    seconds = "8" if pytestconfig.getoption("--full") else "4"
    text = (
        "[configuration.acme]\nlimits = { requests_per_minute = 120, total_timeout"
        " = 2 }"
    )
    assert ready("apply", "-", stdin=text).code == 0
    spar.clear()
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(ready.home)}
    started = time.monotonic()
    running = [
        forks.Popen(program_command("cli/send_for_seconds", seconds), env=environment)
        for _ in range(3)
    ]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    limit = RateLimit(120)
    allowed = limit.burst + (time.monotonic() - started) / limit.interval + 1
    assert 8 <= len(spar.journal) <= allowed
