"""A power failure: what was not synced is lost, and `power` loses no intent.

strace records what a sending process writes to the files of its home, and when it syncs
them. The process is killed, and the disk after a power failure is made from a copy of
the home and that record: writes that no sync followed are dropped, all of them, which
is more than a real power failure loses.
"""

import json
import os
import re
import shutil
import subprocess
import time
from collections import defaultdict
from pathlib import Path

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar
from programs import program_command

ARRIVALS = 25
SECONDS = 60
CALLS = "write,pwrite64,ftruncate,fsync,fdatasync"
CALL = re.compile(
    r"(?P<at>[\d.]+) (?P<name>\w+)\(\d+<(?P<file>[^>]*)>"
    r"(?:, (?:\"(?P<data>[^\"]*)\"(?P<cut>\.*), )?(?P<numbers>[\d, ]+))?\)"
    r"\s+= \d"
)


def send_until_killed(terminal: Terminal, spar: Spar, record: Path) -> None:
    """Send under strace until some requests have arrived, then cut the power."""
    command = program_command("cli/send_for_seconds", str(SECONDS))
    strace = ["strace", "-ff", "-qq", "-xx", "-y", "-ttt", "-s", "1000000"]
    process = subprocess.Popen(
        [*strace, "-e", f"trace={CALLS}", "-o", record / "thread", *command],
        env=terminal.environment | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + SECONDS
    while len(spar.journal) < ARRIVALS and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, 9)
    process.wait()


def write_disk_after_failure(before: Path, home: Path, record: Path) -> None:
    """Apply to a copy of the home what was synced, and nothing else."""
    shutil.copytree(before, home)
    calls = [
        match
        for file in record.iterdir()
        for match in map(CALL.match, file.read_text().splitlines())
        if match
    ]
    unsynced = defaultdict(list)
    for call in sorted(calls, key=lambda call: float(call["at"])):
        file = decoded(call["file"]).decode()
        if call["name"] not in {"fsync", "fdatasync"}:
            unsynced[file].append(call)
            continue
        for write in unsynced.pop(file, ()):
            apply(write, home / Path(file).relative_to(before.parent / "home"))


def apply(call: re.Match[str], file: Path) -> None:
    """Do to a file what a call did."""
    assert not call["cut"], "strace has cut a write short"
    numbers = [int(number) for number in call["numbers"].split(",")]
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if call["name"] == "ftruncate":
            os.ftruncate(descriptor, numbers[0])
        elif call["name"] == "pwrite64":
            os.pwrite(descriptor, decoded(call["data"]), numbers[1])
        else:  # the checkpoints, which are only appended to
            os.pwrite(descriptor, decoded(call["data"]), os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def decoded(text: str) -> bytes:
    """Return the bytes of a text that strace wrote as `\\x61\\x62`."""
    if "\\x" not in text:
        return text.encode()
    return bytes.fromhex(text.replace("\\x", ""))


@pytest.mark.parametrize("level", ["process", "power"])
def test_a_power_failure_loses_no_intent_at_power_and_the_last_ones_at_process(
    ready: Terminal, spar: Spar, tmp_path: Path, level: str
) -> None:
    if shutil.which("strace") is None:
        pytest.fail("missing program: strace (Debian package strace)")
    policy = ready.home / "config" / "policy.toml"
    policy.write_text(f'[audit]\ndurability = "{level}"\n')
    assert ready("request", "acme", "/bearer").code == 0
    spar.clear()
    earlier = intents(ready)
    before = tmp_path / "before"
    shutil.copytree(ready.home, before)
    record = tmp_path / "record"
    record.mkdir()
    send_until_killed(ready, spar, record)
    arrivals = len(spar.journal)
    assert arrivals >= ARRIVALS
    after = Terminal(tmp_path / "after", ready.canary)
    write_disk_after_failure(before, after.home, record)
    verdict = after("audit", "verify", "--json")
    assert verdict.json["ok"], verdict.json
    recorded = intents(after) - earlier
    if level == "power":
        assert recorded >= arrivals
    else:
        assert recorded < arrivals, "nothing was lost, so this test shows nothing"


def intents(terminal: Terminal) -> int:
    """Return how many intents to send the audit has."""
    lines = terminal("audit", "export").out.splitlines()
    tags = [json.loads(line)["tag"] for line in lines]
    return tags.count("engine:send:intended")
