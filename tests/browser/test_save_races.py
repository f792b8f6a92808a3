"""Two users save one configuration at the same time, through the pages."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def test_an_editor_who_saves_in_between_gets_no_secret_of_an_administrator(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "save_race.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": os.environ["PATH"], "OUTKEY_HOME": str(tmp_path / "home")},
    )
    assert (done.returncode, done.stderr[-2000:]) == (0, "")
