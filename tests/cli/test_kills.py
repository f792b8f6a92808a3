"""kill -9 at random points: database and audit chain are intact, no secret is lost."""

import json
import os
import random
import signal
import subprocess
import time

import pytest

import forks
from cli.conftest import Terminal, document_for
from outkey.spar import Spar
from programs import program_command

QUICK, FULL = 12, 120
BURST = ("20", "10", "10000", "0")  # tasks, threads, requests of each, pace
PATIENCE = 30.0


def started(
    terminal: Terminal, command: list[str], stderr: int = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    return forks.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        text=True,
        env={"PATH": os.environ["PATH"], "OUTKEY_HOME": str(terminal.home)},
    )


def killed(terminal: Terminal, arguments: list[str], stdin: str, after: float) -> None:
    """Start a command and kill it after a moment, if it still runs then."""
    command = [*forks.OUTKEY, *arguments]
    process = started(terminal, command)
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    time.sleep(after)
    process.kill()
    process.wait()


def killed_while_sending(terminal: Terminal, spar: Spar, after: float) -> None:
    """Send from tasks and threads, and kill the process in the middle of that."""
    arrived = len(spar.journal)
    command = program_command("cli/tasks_and_threads", *BURST)
    process = started(terminal, command, subprocess.PIPE)
    deadline = time.monotonic() + PATIENCE
    while len(spar.journal) == arrived and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(after)
    process.kill()
    _, complaint = process.communicate()
    assert process.returncode == -signal.SIGKILL, complaint[-3000:]
    assert len(spar.journal) > arrived


def test_kills_at_random_points_lose_nothing(
    ready: Terminal, spar: Spar, pytestconfig: pytest.Config
) -> None:
    chance = random.Random(20261115)
    values = ["spar-token"]
    spar.clear()
    for number in range(FULL if pytestconfig.getoption("--full") else QUICK):
        kind = chance.choice(["apply", "secret", "request", "rewrap", "sending"])
        after = chance.uniform(0.02, 0.25)
        if kind == "apply":
            text = document_for(spar).replace(
                "limits =", f'notes = "{number}"\nlimits ='
            )
            killed(ready, ["apply", "-"], text, after)
        elif kind == "secret":
            values.append(f"value-{number}")
            killed(ready, ["secret", "set", "acme", "token"], values[-1], after)
        elif kind == "request":
            killed(ready, ["request", "acme", "/echo"], "", after)
        elif kind == "sending":
            killed_while_sending(ready, spar, after)
        else:
            new = ready("keys", "add").out.strip()
            ready("keys", "promote", new)
            killed(ready, ["keys", "rewrap"], "", after)
    verdict = ready("audit", "verify", "--json")
    assert verdict.json["ok"], verdict.json
    assert ready("request", "acme", "/echo").code == 0
    assert spar.journal[-1].values("Authorization")[0].removeprefix("Bearer ") in values
    assert spar.journal[-1].values("X-API-Key") == ["k"]
    records = [json.loads(line) for line in ready("audit", "export").out.splitlines()]
    intents = sum(record["tag"] == "engine:send:intended" for record in records)
    assert intents >= len(spar.journal)
    assert ready("keys", "rewrap").code == 0
    assert ready("list", "--json").code == 0
