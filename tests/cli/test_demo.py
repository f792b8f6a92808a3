"""The demo's models: there for whoever asks for them, and in no production database."""

import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from cli.conftest import Terminal
from cli.test_line_commands import document
from outkey.spar import Spar
from ports import free_port
from programs import assert_program_passes

ROOT = Path(__file__).parents[2]
VERSION_0_1 = Path(__file__).with_name("version_0_1.sql")
DEMO_TABLES = {"demo_contact", "demo_order"}
MAKE = shutil.which("make")
PATIENCE = 60.0


def tables(terminal: Terminal) -> set[str]:
    database = terminal.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(database)) as connection:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}


def contacts(terminal: Terminal) -> int:
    database = terminal.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(database)) as connection:
        return int(
            connection.execute("SELECT count(*) FROM demo_contact").fetchone()[0]
        )


def open_pages(terminal: Terminal, *arguments: str) -> list[str]:
    done = assert_program_passes(
        "cli/demo_pages", terminal.home, *arguments, settings=terminal.settings
    )
    return done.stdout.split()


def pull_contacts(terminal: Terminal, spar: Spar) -> dict[str, object]:
    terminal.settings["SHOP_TOKEN"] = "spar-token"
    assert terminal("apply", "-", stdin=document(spar, count=3)).code == 0
    facts: dict[str, object] = terminal("line", "run", "contacts", "--json").json
    return facts


def test_a_production_home_has_no_tables_of_the_demo(
    outkey: Terminal, spar: Spar
) -> None:
    assert outkey("list").code == 0
    assert open_pages(outkey) == ["200", "False", "404"]
    assert "outkey_configuration" in tables(outkey)
    assert not DEMO_TABLES & tables(outkey)
    error = pull_contacts(outkey, spar)["error"]
    assert isinstance(error, dict)
    assert "this model is not open" in str(error["message"])


def test_a_home_that_was_served_with_the_demo_keeps_its_models(
    outkey: Terminal, spar: Spar
) -> None:
    assert open_pages(outkey, "--demo") == ["200", "True", "200"]
    assert tables(outkey) >= DEMO_TABLES
    assert pull_contacts(outkey, spar)["created"] == 3


def test_the_environment_adds_the_models_for_one_process(
    outkey: Terminal, spar: Spar
) -> None:
    assert outkey("list").code == 0
    outkey.settings["OUTKEY_DEMO"] = "1"
    assert pull_contacts(outkey, spar)["created"] == 3
    del outkey.settings["OUTKEY_DEMO"]
    assert outkey("list").code == 0
    assert contacts(outkey) == 3


@pytest.fixture
def upgraded(outkey: Terminal) -> Terminal:
    """A home whose database was made by version 0.1, which had the demo everywhere."""
    data = outkey.home / "data"
    data.mkdir(parents=True)
    with closing(sqlite3.connect(data / "outkey.sqlite3")) as connection:
        connection.executescript(VERSION_0_1.read_text("utf-8"))
        connection.execute(
            "INSERT INTO demo_contact (external_id, name, email, kind, active,"
            " portal_password, changed_at)"
            " VALUES ('old', 'Ada', '', '', 1, '', '2026-01-01')"
        )
        connection.commit()
    return outkey


def test_a_database_of_version_0_1_goes_on_without_the_demo(upgraded: Terminal) -> None:
    text = '[configuration.acme]\nbase_url = "https://api.acme.example"\n'
    text += 'authentication_type = "bearer"\n'
    assert upgraded("apply", "-", stdin=text).code == 0
    assert open_pages(upgraded) == ["200", "False", "404"]
    assert contacts(upgraded) == 1


def test_a_database_of_version_0_1_goes_on_with_the_demo(
    upgraded: Terminal, spar: Spar
) -> None:
    upgraded.settings["OUTKEY_DEMO"] = "1"
    assert pull_contacts(upgraded, spar)["created"] == 3
    assert contacts(upgraded) == 4


def test_the_tables_of_version_0_1_can_be_dropped_and_made_again(
    upgraded: Terminal, spar: Spar
) -> None:
    assert upgraded("list").code == 0
    page = (ROOT / "docs" / "guide" / "pages.md").read_text("utf-8")
    (statements,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    database = upgraded.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(statements)
    assert upgraded("list").code == 0
    assert not DEMO_TABLES & tables(upgraded)
    upgraded.settings["OUTKEY_DEMO"] = "1"
    assert pull_contacts(upgraded, spar)["created"] == 3


def test_a_port_in_use_ends_the_server_before_a_password_is_made(
    outkey: Terminal,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = outkey("serve", "--port", str(taken.getsockname()[1]))
    assert (done.code, done.out) == (2, "")
    assert "the server cannot listen on 127.0.0.1" in done.err
    with closing(
        sqlite3.connect(outkey.home / "data" / "outkey.sqlite3")
    ) as connection:
        assert connection.execute("SELECT count(*) FROM auth_user").fetchone() == (0,)


def test_make_run_greets_and_ends_with_make(tmp_path: Path) -> None:
    if MAKE is None:
        reason = "missing program: make (Debian package make)"
        (pytest.fail if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING") else pytest.skip)(
            reason
        )
    port = free_port()
    folder = tmp_path / "temporary"
    folder.mkdir()
    programs = Path(sys.executable).parent
    with (tmp_path / "log").open("w+") as log:
        # `-o`: nothing is installed by a test.
        process = subprocess.Popen(
            [MAKE, "-o", ".venv/.server", "run", f"PORT={port}", f"BIN={programs}"],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(folder)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # so that no signal but the test's reaches it
        )
        # Where there is no greeting, the test ends all the same.
        deadline = threading.Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
        deadline.start()
        try:
            assert process.stdout is not None
            greeting = [process.stdout.readline().rstrip() for _ in range(9)]
            deadline.cancel()
            time.sleep(2)  # notices of samples that fail would be logged by now
            process.send_signal(signal.SIGTERM)
            rest = process.communicate(timeout=PATIENCE)[0]
        finally:
            deadline.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        log.seek(0)
        errors = log.read()
    password = greeting[5].split()[-1]
    assert greeting == [
        "",
        "outkey is running. Press Ctrl-C to stop it.",
        "",
        f"  URL       http://127.0.0.1:{port}",
        "  User      admin",
        f"  Password  {password}",
        "",
        "The password is shown only this once. Change it after you sign in.",
        "",
    ]
    assert len(password) == 16
    assert rest == ""
    assert [line for line in errors.splitlines() if not line.startswith("make")] == []
    assert list(folder.iterdir()) == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
