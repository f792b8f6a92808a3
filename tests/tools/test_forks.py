"""The forks that tests run commands as."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import forks


def test_the_tables_of_a_second_home_are_copied_from_those_of_the_first(
    tmp_path: Path,
) -> None:
    first = times_of_migrations(tmp_path / "first")
    second = times_of_migrations(tmp_path / "second")
    assert first
    assert second == first  # each migration would take its time


def times_of_migrations(home: Path) -> dict[str, str]:
    """Return when each migration of outkey was applied in a new home."""
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(home)}
    done = forks.run([*forks.OUTKEY, "list"], environment)
    assert not done.returncode, done.stderr
    with closing(sqlite3.connect(home / "data" / "outkey.sqlite3")) as database:
        return dict(
            database.execute(
                "SELECT name, applied FROM django_migrations WHERE app = 'outkey'"
            )
        )
