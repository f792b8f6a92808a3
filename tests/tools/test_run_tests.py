"""The program that runs the checks and the suites."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

FOLDER = Path(__file__).parent


def wait_for(file: Path, run: subprocess.Popen[str]) -> None:
    while not file.exists():
        assert run.poll() is None, run.communicate()
        time.sleep(0.1)


def is_running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    "interruption",
    [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)],
)
def test_an_interrupted_run_leaves_no_process_no_server_and_no_file(
    interruption: signal.Signals, tmp_path: Path
) -> None:
    # PostgreSQL runs as another user, who may not look into `tmp_path`.
    with TemporaryDirectory(prefix="ok-") as temporary:
        Path(temporary).chmod(0o711)
        run = subprocess.Popen(
            [
                sys.executable,
                FOLDER / "interrupted_run.py",
                FOLDER / "part_with_servers.py",
                tmp_path,
            ],
            env=os.environ | {"TMPDIR": temporary},
            stdout=subprocess.PIPE,
            text=True,
        )
        wait_for(tmp_path / "pids", run)
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        assert all(map(is_running, pids))
        run.send_signal(interruption)
        printed, _ = run.communicate(timeout=60)
        assert run.returncode == 130
        assert printed == "stopped: ending what was started\n"
        assert [pid for pid in pids if is_running(pid)] == []
        assert list(Path(temporary).iterdir()) == []


def test_an_ended_set_up_ends_what_it_runs(tmp_path: Path) -> None:
    script = f"set -eu; . tools/interruptible.sh; run {tmp_path}/install"
    install = tmp_path / "install"
    install.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/pid.new\n"
        f"mv {tmp_path}/pid.new {tmp_path}/pid\nexec sleep 600\n"
    )
    install.chmod(0o755)
    run = subprocess.Popen(["sh", "-c", script], cwd=FOLDER.parents[1], text=True)
    wait_for(tmp_path / "pid", run)
    pid = int((tmp_path / "pid").read_text())
    assert is_running(pid)
    run.terminate()
    assert run.wait(10) == 143
    deadline = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(pid)
