"""The library where an event loop runs: every call works, and `asend` lets it go on."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar
from programs import assert_program_passes, program_command

TASKS, THREADS, REQUESTS = 200, 50, 3
AS_FAST_AS_POSSIBLE, PACED = "0", "2"
LAG_MS, TRIES = 20, 5


def records(terminal: Terminal) -> list[dict[str, object]]:
    assert terminal("audit", "verify", "--json").json["ok"]
    lines = terminal("audit", "export").out.splitlines()
    return [json.loads(line) for line in lines]


def test_every_call_works_where_an_event_loop_runs(ready: Terminal, spar: Spar) -> None:
    done = assert_program_passes("cli/on_event_loop", ready.home)
    results = json.loads(done.stdout)
    assert results == {
        "send": 200,
        "asend": 200,
        "preview": results["preview"],
        "test": True,
        "lend": ["X-API-Key", "X-Tenant", "Authorization"],
        "settle": False,
        "aopen": 200,
        "error": "unknown_configuration",
    }
    assert "Authorization" in results["preview"]
    assert len([r for r in spar.journal if r.values("X-API-Key") == ["k"]]) == 4


def test_a_stored_configuration_is_recorded_and_replayed(
    ready: Terminal, spar: Spar, tmp_path: Path
) -> None:
    file = tmp_path / "recording.json"
    done = assert_program_passes("cli/record_and_replay", ready.home, file)
    assert json.loads(done.stdout) == [200, 404, 200, 404, 200, 418]
    assert len(spar.journal) == 6  # the replay sends nothing
    text = file.read_text("utf-8")
    assert "spar-token" not in text
    assert len(json.loads(text)["exchanges"]) == 6


def test_a_web_application_opens_the_gateway_at_its_start_and_sends(
    ready: Terminal, spar: Spar
) -> None:
    process = subprocess.Popen(
        program_command("cli/web_application"),
        env=ready.environment | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        attempts = []
        for path in ("/orders", "/orders-by-send", "/orders"):
            with urlopen(url + path, timeout=30) as response:
                shown = json.load(response)
            assert shown["status"] == 200
            attempts.append(shown["attempt"])
    finally:
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert len(spar.journal) == 3
    ended = [r["attempt"] for r in records(ready) if r["tag"] == "engine:send:ended"]
    assert ended[-3:] == attempts


def test_tasks_and_threads_on_one_gateway_lose_no_record_and_keep_the_order(
    ready: Terminal, spar: Spar
) -> None:
    results = send_together(ready, REQUESTS, AS_FAST_AS_POSSIBLE)
    sent = 1 + REQUESTS * (TASKS + THREADS)
    assert results["statuses"] == {"200": sent}
    assert results["attempts"] == len(spar.journal) == sent
    state: dict[object, str] = {}
    for record in records(ready):
        attempt = record.get("attempt")
        if record["tag"] == "engine:send:intended":
            assert attempt not in state
            state[attempt] = "intended"
        elif record["tag"] == "engine:send:ended":
            assert state[attempt] == "intended"
            state[attempt] = "ended"
    assert list(state.values()) == ["ended"] * sent


@pytest.mark.alone
def test_tasks_and_threads_on_one_gateway_do_not_hold_up_the_event_loop(
    ready: Terminal, spar: Spar
) -> None:
    spar.clear()
    lags = []
    # Repeated, since a machine that is busy with other work is late by itself. What
    # blocks the event loop blocks it each time.
    while len(lags) < TRIES and min(lags, default=LAG_MS) >= LAG_MS:
        lags.append(send_together(ready, 1, PACED)["lag_ms"])
    assert min(lags) < LAG_MS, lags


def send_together(terminal: Terminal, requests: int, seconds: str) -> dict[str, Any]:
    """Send from all tasks and threads, and return what the program tells."""
    sizes = map(str, (TASKS, THREADS, requests))
    program = "cli/tasks_and_threads"
    done = assert_program_passes(program, terminal.home, *sizes, seconds)
    results: dict[str, Any] = json.loads(done.stdout)
    return results
