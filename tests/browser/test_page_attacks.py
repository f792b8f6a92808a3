"""Attacks on the pages that are programs of their own, each with a home of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("program", ["save_race", "hashed_sessions"])
def test_the_pages_hold(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / f"{program}.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": os.environ["PATH"], "OUTKEY_HOME": str(tmp_path / "home")},
    )
    assert (done.returncode, done.stderr[-2000:]) == (0, "")
