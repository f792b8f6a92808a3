"""How commands end: what a process leaves."""

import os
import subprocess
import sys
from pathlib import Path

from cli.conftest import Terminal


def test_the_end_of_a_command_closes_the_database(ready: Terminal) -> None:
    assert run_outkey(ready, b"list").returncode == 0
    files = [file.name for file in (ready.home / "data").iterdir()]
    assert "outkey.sqlite3" in files
    assert "outkey.sqlite3-wal" not in files


def run_outkey(
    terminal: Terminal, *arguments: bytes
) -> subprocess.CompletedProcess[bytes]:
    """Run the installed command, as a process that ends as Python does."""
    program = Path(sys.executable).with_name("outkey")
    return subprocess.run(
        [os.fsencode(program), *arguments],
        env=terminal.environment,
        capture_output=True,
        check=False,
    )
