"""Rotations in any order, with kills, on SQLite in this process."""

from pathlib import Path

import pytest

from rotation_machine import Host, run_machine
from third_host.database import SqliteDatabase
from third_host.host import sqlite_tables


@pytest.fixture
def host(tmp_path: Path) -> Host:
    database = SqliteDatabase(tmp_path / "data" / "host.sqlite3")
    database.connection.execute("PRAGMA synchronous = OFF")  # no power fails here
    return Host(lambda build: build(sqlite_tables(database), tmp_path))


def test_rotations_in_any_order_survive_kills_at_any_write(host: Host) -> None:
    run_machine(host, examples=2, steps=25)


@pytest.mark.full
@pytest.mark.untraced
def test_many_rotations_survive_kills_at_any_write(host: Host) -> None:
    run_machine(host, examples=120, steps=35)
