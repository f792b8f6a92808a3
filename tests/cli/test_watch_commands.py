"""What a person at a terminal sees of the brake and of notices, and how the background ends."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

from cli.conftest import Terminal
from database.conftest import free_port


def pause(ready: Terminal) -> None:
    """Let acme be as it is after five refusals."""
    with closing(sqlite3.connect(ready.home / "data" / "outkey.sqlite3")) as database, database:
        database.execute(
            "UPDATE outkey_configuration SET refused = 5, paused_at = 1 WHERE name = 'acme'"
        )


def test_what_is_paused_sends_nothing_until_it_is_resumed(ready: Terminal) -> None:
    pause(ready)
    stopped = ready("request", "acme", "/bearer", "--json")
    assert stopped.code == 3
    assert stopped.json["error"]["code"] == "paused"
    assert "outkey resume" in stopped.json["error"]["hint"]
    (row,) = [row for row in ready("list", "--json").json if row["name"] == "acme"]
    assert row["status"] == "paused"
    assert ready("resume", "acme").out == "resumed: acme\n"
    assert ready("request", "acme", "/bearer").code == 0
    assert ready("resume", "nobody").code == 2
    records = ready("audit", "list", "--json").json
    assert ["paused_at"] in [record.get("fields") for record in records]


def held_until(ready: Terminal) -> list[tuple[float]]:
    with closing(sqlite3.connect(ready.home / "data" / "outkey.sqlite3")) as database:
        return database.execute("SELECT until FROM outkey_duty WHERE name = 'watch'").fetchall()


def notices_after_serving(ready: Terminal) -> None:
    """Serve until the background has gone round once, and end the server."""
    process = subprocess.Popen(
        [sys.executable, "-m", "outkey.hosts.cli.main", "serve", "--port", str(free_port())],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ready.environment,
    )
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not held_until(ready):
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def test_the_background_of_the_server_tells_and_leaves_with_it(ready: Terminal) -> None:
    assert ready("notices").out == "nothing to tell\n"
    pause(ready)
    notices_after_serving(ready)
    (notice,) = ready("notices", "--json").json
    assert (notice["id"], notice["configuration"]) == ("S-paused", "acme")
    assert "S-paused" in ready("notices").out
    assert held_until(ready) == [(0,)]


def test_settings_that_are_wrong_keep_the_server_from_starting(ready: Terminal) -> None:
    done = ready("serve", "--port", str(free_port()), OUTKEY_VERIFY_HOURS="often")
    assert done.code == 2
    assert "OUTKEY_VERIFY_HOURS" in done.err
