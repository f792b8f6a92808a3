"""A consistent copy of a SQLite database, while others write to it, and back."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.foundation.core.text import Text
from outkey.hosts.django.rows.triggers import TRIGGERS
from outkey.hosts.server.backup.archive import not_a_backup
from outkey.hosts.server.backup.restored_states import (
    States,
    refused_write,
    write_states,
)

PRIMARY_CODE = 0xFF  # of an error; the other bits are details
LOG = ("-wal", "-shm")  # the files of the log, beside the database


def dump(database: Path, place: Path) -> None:
    """Copy the database as it is at one moment; others go on to write."""
    try:
        with closing(sqlite3.connect(database, timeout=60)) as connection:
            connection.execute("VACUUM INTO ?", (str(place),))
    except sqlite3.Error:
        raise StorageUnavailable from None


def check(copy: Path) -> None:
    """Raise ConfigError if a copy is not a whole database of outkey."""
    try:
        with closing(sqlite3.connect(copy)) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            connection.execute("SELECT 1 FROM outkey_configuration LIMIT 1")
    except sqlite3.Error:
        raise not_a_backup() from None
    if verdict != "ok":
        raise not_a_backup()


def put_states(copy: Path, states: States) -> None:
    """Put shared states into a copy, and write it onto the disk."""
    try:
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            with connection:
                write_states(connection.execute, states, database="sqlite")
    except sqlite3.Error:
        raise refused_write(_triggers_in(copy)) from None
    with copy.open("rb") as file:
        os.fsync(file.fileno())


def _triggers_in(copy: Path) -> list[tuple[str, str]]:
    """Return the triggers on outkey's tables; none of what is not a database."""
    try:
        with closing(sqlite3.connect(copy)) as connection:
            return connection.execute(TRIGGERS["sqlite"]).fetchall()
    except sqlite3.Error:
        return []


def load(copy: Path, database: Path, *, replace: bool) -> None:
    """Put a copy in the place of the database; an existing one only if `replace`.

    At every moment there is the old database or the new one: a killed process or a
    full disk loses neither.
    """
    if database.exists() and not replace:
        raise has_data()
    try:
        with locked(database):
            # The log of another database would be read as that of this one.
            for suffix in LOG:
                Path(f"{database}{suffix}").unlink(missing_ok=True)
            copy.replace(database)
    except OSError:
        raise StorageUnavailable(Text("the home folder cannot be written")) from None


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Write the log into the database, which is locked until the block ends."""
    if not database.exists():
        yield
        return
    with closing(
        sqlite3.connect(database, timeout=1, isolation_level=None)
    ) as connection:
        try:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            code = error.sqlite_errorcode & PRIMARY_CODE
            if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise in_use() from None
            # A damaged one may be replaced: it has nothing to lose.
            if code not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
                raise StorageUnavailable from None
        yield


def in_use() -> ConfigError:
    """Return the error for a database that another process works with."""
    return ConfigError(
        Text("another process uses the database of this home"),
        hint=Text("Stop it, and restore again."),
    )


def has_data() -> ConfigError:
    """Return the error for a home that a restore would replace."""
    return ConfigError(
        Text("the home already has a database"),
        hint=Text(
            "Restore to another OUTKEY_HOME, or replace all of it with --replace."
        ),
        field="--replace",
    )
