"""kill -9 at random points: database and audit chain are intact, no secret is lost."""

import json
import os
import random
import subprocess
import time

import pytest

import forks
from cli.conftest import Terminal, document_for
from outkey.spar import Spar

QUICK, FULL = 12, 120


def killed(terminal: Terminal, arguments: list[str], stdin: str, after: float) -> None:
    """Start a command and kill it after a moment, if it still runs then."""
    process = forks.Popen(
        [*forks.OUTKEY, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"PATH": os.environ["PATH"], "OUTKEY_HOME": str(terminal.home)},
    )
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    time.sleep(after)
    process.kill()
    process.wait()


def test_kills_at_random_points_lose_nothing(
    ready: Terminal, spar: Spar, pytestconfig: pytest.Config
) -> None:
    chance = random.Random(20261115)
    values = ["spar-token"]
    spar.clear()
    for number in range(FULL if pytestconfig.getoption("--full") else QUICK):
        kind = chance.choice(["apply", "secret", "request", "rewrap"])
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
