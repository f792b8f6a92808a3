"""Runs the programs of the tests, which are files, in processes of their own.

The program `browser/save_race` is the file tests/browser/programs/save_race.py.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import forks

TESTS = Path(__file__).parent
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


def program_command(name: str, *arguments: str | Path) -> list[str]:
    """Return the command that runs a program."""
    folder, _, program = name.partition("/")
    file = TESTS / folder / "programs" / f"{program}.py"
    return [sys.executable, str(file), *map(str, arguments)]


def assert_program_passes(
    name: str,
    home: Path,
    *arguments: str | Path,
    settings: Mapping[str, str] = NO_SETTINGS,
    stdin: str = "",
    timeout: float = 600,
) -> subprocess.CompletedProcess[str]:
    """Run a program that opens a home, and return what it printed.

    `settings` are environment variables. A program that does not end with 0 fails the
    test.
    """
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(home)}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    environment.update(settings)
    done = forks.run(
        program_command(name, *arguments), environment, stdin=stdin, timeout=timeout
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done
