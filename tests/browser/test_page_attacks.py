"""Attacks on the pages that are programs of their own, each with a home of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


def run_program(name: str, folder: Path, **variables: str) -> str:
    """Run a program, which sets up Django, and return what it logged.

    It ends with 0 if everything holds.
    """
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(folder / "home")}
    environment |= variables
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / f"{name}.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


@pytest.mark.parametrize("program", ["save_race", "hashed_sessions"])
def test_the_pages_hold(program: str, tmp_path: Path) -> None:
    assert run_program(program, tmp_path) == ""
