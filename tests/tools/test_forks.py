"""The forks that tests run commands as."""

import os
import sqlite3
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import forks


def test_the_tables_of_a_second_home_are_copied_from_those_of_the_first(
    tmp_path: Path,
) -> None:
    first = times_of_migrations(tmp_path / "first")
    second = times_of_migrations(tmp_path / "second")
    assert first
    assert second == first  # each migration would take its time


def test_another_suite_uses_what_has_loaded_already(tmp_path: Path) -> None:
    own = forks._forks()
    folder = own.folder if isinstance(own, forks.OwnForks) else os.environ[forks.FORKS]
    other = forks.Forks(folder)
    with (tmp_path / "out").open("w+b") as output:
        _, connection = other.start(
            ["", "--version"],
            {"PATH": os.environ["PATH"]},
            str(tmp_path),
            [output.fileno()] * 3,
        )
        with connection:
            assert connection.recv(16) == b"0"
    other.close()
    assert (tmp_path / "out").read_text() == f"{version('outkey')}\n"


def test_a_command_is_forked_where_the_apps_of_its_settings_are_loaded(
    tmp_path: Path,
) -> None:
    home = {"OUTKEY_HOME": str(tmp_path)}
    database = home | {"OUTKEY_DATABASE_URL": "postgresql://x@127.0.0.1:1/x"}
    assert forks.kind_of(["", "list"], home) == "commands"
    assert forks.kind_of(["", "serve"], home) == "pages"
    assert forks.kind_of(["", "list"], database) == "commands with a database"
    assert forks.kind_of(["", "serve", "--demo"], home) == "pages with the demo"
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "demo").touch()
    both = forks.kind_of(["", "list"], database)
    assert both == "commands with a database with the demo"
    assert both in forks.KINDS
    project = home | {"DJANGO_SETTINGS_MODULE": "shop.settings"}
    assert forks.kind_of(["", "list"], project) == forks.BARE


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
