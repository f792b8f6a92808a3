"""What a user sees in a terminal: the brake, notices, and tables that are too wide."""

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress

import forks
from cli.conftest import Done, Terminal
from outkey.spar import Spar
from ports import free_port


def shrunk(done: Done) -> str:
    """Return a table with three blanks between its columns."""
    return re.sub(r" {3,}", "   ", done.out)


def on_terminal(ready: Terminal, *arguments: str, columns: int = 80) -> list[str]:
    """Run a command on a terminal of that width, and return the lines it shows."""
    ours, theirs = pty.openpty()
    process = forks.Popen(
        [*forks.OUTKEY, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=ready.environment | {"COLUMNS": str(columns), "TERM": "dumb"},
    )
    os.close(theirs)
    shown = b""
    # Linux says that nobody writes any more by an error.
    with suppress(OSError), os.fdopen(ours, "rb", buffering=0) as terminal:
        while part := terminal.read(4096):
            shown += part
    process.wait(30)
    return [line.rstrip() for line in shown.decode().splitlines()]


def pause(ready: Terminal) -> None:
    """Let acme be as it is after five refusals."""
    with (
        closing(sqlite3.connect(ready.home / "data" / "outkey.sqlite3")) as database,
        database,
    ):
        database.execute(
            "UPDATE outkey_configuration SET refused = 5, paused_at = 1 WHERE name ="
            " 'acme'"
        )


def test_what_is_paused_sends_nothing_until_it_is_resumed(ready: Terminal) -> None:
    pause(ready)
    stopped = ready("request", "acme", "/bearer", "--json")
    assert stopped.code == 3
    assert stopped.json["error"]["code"] == "paused"
    assert "outkey resume" in stopped.json["error"]["hint"]
    (row,) = [row for row in ready("list", "--json").json if row["name"] == "acme"]
    assert row["status"] == "paused"
    assert stopped.json["error"]["hint"].count("outkey resume acme ") == 1
    assert "paused   since 1970-01-01 00:00:01 UTC, after 5 refusals" in shrunk(
        ready("show", "acme")
    )
    assert ready("resume", "acme").out == "resumed: acme\n"
    assert "paused" not in ready("show", "acme").out
    assert ready("resume", "acme").out == "unchanged: acme is not paused\n"
    unchanged = {"done": "unchanged", "configuration": "acme"}
    assert ready("resume", "acme", "--json").json == unchanged
    assert ready("request", "acme", "/bearer").code == 0
    assert ready("resume", "nobody").code == 2
    records = ready("audit", "list", "--json").json
    assert [record.get("fields") for record in records].count(["paused_at"]) == 1


def test_the_refusal_that_pauses_says_so(ready: Terminal) -> None:
    ready("secret", "set", "acme", "token", stdin="wrong")
    told = [ready("request", "acme", "/bearer").err for _ in range(5)]
    assert ["paused" in text for text in told] == [False] * 4 + [True]
    assert "outkey resume acme" in told[-1]


def monitored_until(ready: Terminal) -> list[float]:
    with closing(sqlite3.connect(ready.home / "data" / "outkey.sqlite3")) as database:
        leases = database.execute(
            "SELECT value FROM outkey_sharedstate WHERE kind = 'lease' AND key ="
            " 'monitoring'"
        )
        return [json.loads(value)["until"] for (value,) in leases]


def notices_after_serving(ready: Terminal) -> None:
    """Serve until the background has gone round once, and end the server."""
    process = forks.Popen(
        [*forks.OUTKEY, "serve", "--port", str(free_port())],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ready.environment,
    )
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not monitored_until(ready):
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def test_the_background_of_the_server_tells_and_leaves_with_it(ready: Terminal) -> None:
    assert "has not run yet" in ready("notices").out
    assert ready("notices", "--json").json == []
    pause(ready)
    notices_after_serving(ready)
    (notice,) = ready("notices", "--json").json
    assert (notice["id"], notice["configuration"]) == ("S-paused", "acme")
    title, row = ready(
        "notices", COLUMNS="40"
    ).out.splitlines()  # piped: as wide as it is
    assert "S-paused" in row
    assert title.index("What to do") == row.index("Enter the right credentials")
    narrow = on_terminal(ready, "notices")
    assert max(map(len, narrow)) <= 80
    assert re.match(
        r"[-0-9]{10} [:0-9]{8} UTC  error  S-paused  acme  sending is paused", narrow[0]
    )
    hint = "Enter the right credentials, or test the configuration."
    assert narrow[-1] == f"  {hint} See: outkey test acme"
    assert monitored_until(ready) == [0]
    ready("resume", "acme")
    with (
        closing(sqlite3.connect(ready.home / "data" / "outkey.sqlite3")) as database,
        database,
    ):
        database.execute("DELETE FROM outkey_sharedstate WHERE kind = 'notice'")
    assert ready("notices").out.startswith("There are no open notices")


def test_a_narrow_terminal_parts_words_and_never_addresses_or_times(
    ready: Terminal,
) -> None:
    ready("request", "acme", "/a/path/that/is/rather/long/for/one/line/of/a/terminal")
    listed = on_terminal(ready, "list")
    assert "https://api.shop.example" in [line.split()[-1] for line in listed]
    recorded = on_terminal(ready, "audit", "list")
    assert any(
        line.endswith("/a/path/that/is/rather/long/for/one/line/of/a/terminal")
        for line in recorded
    )
    assert any(
        re.match(r"[-0-9]{10} [:0-9]{8} UTC  send ended  acme  404 not_found", line)
        for line in recorded
    )
    assert max(map(len, [*listed, *recorded])) <= 80
    shown = on_terminal(ready, "list", columns=120)
    assert shown[0].split() == [
        "Name",
        "Status",
        "Type",
        "Environment",
        "Network",
        "Base",
        "URL",
    ]
    assert len(shown) == 3


def test_an_answer_without_a_line_break_keeps_off_the_error(
    ready: Terminal, spar: Spar
) -> None:
    ready("secret", "set", "acme", "token", stdin="wrong")
    exact = ready("request", "acme", "/bearer").out
    assert not exact.endswith("\n")
    seen = on_terminal(ready, "request", "acme", "/bearer")
    error = "error[invalid_credentials]: the API returned 401"
    body = seen[: seen.index(error)]
    assert len(body) > 1  # formatted
    assert json.loads("".join(body)) == json.loads(exact)
    both = subprocess.run(
        [sys.executable, "-m", "outkey.hosts.cli.main", "request", "acme", "/bearer"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=ready.environment,
    )
    assert both.stdout.splitlines()[:2] == [exact, error]


def test_commands_that_change_something_say_so_to_programs(ready: Terminal) -> None:
    done = ready("secret", "set", "acme", "token", "--json", stdin="another").json
    assert (done["done"], done["configuration"], done["field"]) == (
        "set",
        "acme",
        "token",
    )
    (old,) = ready("keys", "status", "--json").json["keys"]
    added = ready("keys", "add", "--json").json
    key = added["key"]
    assert added == {"done": "added", "key": key}
    assert ready("keys", "promote", key, "--json").json == {
        "done": "promoted",
        "key": key,
    }
    assert ready("keys", "rewrap", "--json").json == {"done": "rewrapped", "count": 3}
    retired = ready("keys", "retire", old["id"], "--json").json
    assert retired == {"done": "retired", "key": old["id"]}
    pruned = ready("audit", "prune", "--days", "0", "--yes", "--json").json
    assert (pruned["done"], pruned["count"] > 0) == ("removed", True)
    assert ready("people", "prune", "--json").json == {"done": "removed", "count": 0}
    deleted = ready("delete", "shop", "--yes", "--json").json
    assert deleted == {"done": "deleted", "configuration": "shop"}


def test_settings_that_are_wrong_keep_the_server_from_starting(ready: Terminal) -> None:
    done = ready("serve", "--port", str(free_port()), OUTKEY_VERIFY_HOURS="often")
    assert done.code == 2
    assert "OUTKEY_VERIFY_HOURS" in done.err
