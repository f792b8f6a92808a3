"""How audit rows are written: on SQLite through one connection for all threads.

Every other connection keeps `synchronous=FULL`, so that a power failure loses no saved
secret and no rotated token; this one has the durability that the operator chose. As it
alone writes rows, the pages that it has in memory stay valid from one send to the next.

Other databases write through the connection of the thread: durability is theirs.
"""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import Any
from weakref import WeakSet

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from outkey.foundation.core.groups import groups_of
from outkey.hosts.django.rows.columns import as_bytes
from outkey.hosts.django.rows.raw_sql import (
    abandoned_connections,
    execute,
    require_written,
    with_question_marks,
)
from outkey.sending.core.audit.chain import ChainRow, Label
from outkey.sending.core.audit.events import Durability

PER_STATEMENT = 500
COLUMNS = ("stream_id", "number", *Label._fields, "body", "mac")
SYNCHRONOUS = {Durability.PROCESS: "NORMAL", Durability.POWER: "FULL"}
Row = tuple[object, ...]  # the values of COLUMNS
# A row that is never committed: no stream has this key.
PROBE: Row = (0, 0, 0, "", "", None, "", b"", b"")
# So that no trigger waits for the commit, after which nothing is compared.
NOTHING_DEFERRED = "SET CONSTRAINTS ALL IMMEDIATE"
SELECT_ROW = (
    "SELECT body, mac FROM outkey_auditrecord WHERE stream_id = %s AND number = %s"
)
CONNECTIONS: "WeakSet[AuditConnection]" = WeakSet()  # of this process


class AuditConnection:
    """Inserts rows all or none; the level of durability is read when it connects."""

    def __init__(self, durability: Callable[[], Durability]) -> None:
        self._durability = durability
        self._lock = threading.Lock()
        self._own: BaseDatabaseWrapper | None = None
        self._file = ""
        self._file_id = (0, 0)
        CONNECTIONS.add(self)

    def insert(self, rows: Sequence[Row]) -> bool:
        """Insert and commit rows, or raise DatabaseError or OSError.

        Returns whether it is certain that no trigger has changed them.
        """
        if self._own is not None and file_id(self._file) != self._file_id:
            self.close()  # the file was replaced, as by a backup that was restored
        if self._own is None and not _is_sqlite_file(connections[DEFAULT_DB_ALIAS]):
            return _insert_by_thread(rows)
        with self._lock:
            own = self._own or self._connect()
            with own.wrap_database_errors:
                # Unlike the count of a statement, it counts what triggers do as well.
                changes = own.connection.total_changes
                insert_by(own.connection, rows)
                return bool(own.connection.total_changes - changes == len(rows))

    def holds(self, stream: int, row: ChainRow) -> bool:
        """Whether a row is stored as it was inserted."""
        own = self._own
        if own is None:
            stored = execute(SELECT_ROW, (stream, row.number)).fetchone()
        else:
            statement = with_question_marks(SELECT_ROW)
            with self._lock, own.wrap_database_errors:
                rows = own.connection.execute(statement, (stream, row.number))
                stored = rows.fetchone()
        return stored is not None and tuple(map(as_bytes, stored)) == (
            row.body,
            row.mac,
        )

    def probe(self) -> None:
        """Insert a row and take it back, or raise DatabaseError or OSError."""
        if not _is_sqlite_file(connections[DEFAULT_DB_ALIAS]):
            with transaction.atomic():
                require_written(execute(_insert_statement(1, "%s"), PROBE), 1)
                transaction.set_rollback(True)
            return
        with self._lock:
            own = self._own or self._connect()
            with own.wrap_database_errors:
                _probe_by(own.connection)

    def sync(self) -> None:
        """Write what was inserted, by any process, to the disk; or raise OSError.

        With `synchronous=NORMAL` a commit leaves that to the operating system: enough
        for a killed process, not for a power failure.
        """
        if not _is_sqlite_file(connections[DEFAULT_DB_ALIAS]):
            return
        with self._lock:
            if self._own is None:
                self._connect()
        _sync_file(f"{self._file}-wal")

    def close(self) -> None:
        """Close the connection; the next insert opens another."""
        with self._lock:
            own = self._own
            self._own = None
        if own is not None:
            with suppress(DatabaseError):
                own.close()

    def begin_in_child(self) -> None:
        """Leave the connection of the parent alone after a fork.

        Closing what a fork has copied would end the parent's connection.
        """
        abandoned_connections.append(self._own)
        self._lock = threading.Lock()
        self._own = None

    def _connect(self) -> BaseDatabaseWrapper:
        level = SYNCHRONOUS[self._durability()]
        own = connections[DEFAULT_DB_ALIAS].copy()
        own.inc_thread_sharing()
        own.ensure_connection()
        with own.wrap_database_errors:
            own.connection.execute(f"PRAGMA synchronous={level}")
            databases = own.connection.execute("PRAGMA database_list")
            _, _, self._file = databases.fetchone()
        self._file_id = file_id(self._file)
        self._own = own
        return own


def begin_in_child() -> None:
    """Let all connections of this process begin anew after a fork."""
    for connection in list(CONNECTIONS):
        connection.begin_in_child()


os.register_at_fork(after_in_child=begin_in_child)


def file_id(path: str) -> tuple[int, int]:
    """Return device and inode of a file."""
    status = os.stat(path)  # noqa: PTH116 - every send comes here
    return status.st_dev, status.st_ino


def _sync_file(path: str) -> None:
    """Write a file to the disk; without a write-ahead log a commit has done that."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_sqlite_file(connection: Any) -> bool:  # noqa: ANN401 - a backend's own class
    """Whether a second connection reaches the same SQLite database."""
    return connection.vendor == "sqlite" and not connection.is_in_memory_db()


def insert_by(connection: Any, rows: Sequence[Row]) -> None:  # noqa: ANN401 - sqlite3's
    """Insert rows by a connection of sqlite3 that commits each statement."""
    if len(rows) <= PER_STATEMENT:
        statement = _insert_statement(len(rows), "?")
        require_written(connection.execute(statement, flat_values(rows)), len(rows))
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        statement = _insert_statement(1, "?")
        require_written(connection.executemany(statement, rows), len(rows))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _probe_by(connection: Any) -> None:  # noqa: ANN401 - sqlite3's
    """Insert a row by a connection of sqlite3, and take it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        require_written(connection.execute(_insert_statement(1, "?"), PROBE), 1)
    finally:
        connection.execute("ROLLBACK")


def _insert_by_thread(rows: Sequence[Row]) -> bool:
    """Insert rows by Django's connection of this thread; return as `insert` does."""
    if len(rows) > PER_STATEMENT:
        with transaction.atomic():
            for batch in groups_of(rows, PER_STATEMENT):
                insert_batch(batch)
        return False
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        return _insert_and_compare(rows)
    insert_batch(rows)
    return False


def _insert_and_compare(rows: Sequence[Row]) -> bool:
    """Insert rows into PostgreSQL; return whether the last is stored as it was sent.

    All of this is one message, and so one transaction: a send waits for each response.
    """
    from psycopg import ClientCursor  # SQLite needs no driver

    ours = connections[DEFAULT_DB_ALIAS]
    ours.ensure_connection()
    statements = (NOTHING_DEFERRED, _insert_statement(len(rows), "%s"), SELECT_ROW)
    stream, number, *_, body, mac = rows[-1]
    values = (*flat_values(rows), stream, number)
    with ours.wrap_database_errors, ClientCursor(ours.connection) as cursor:
        cursor.execute("; ".join(statements), values)
        cursor.nextset()
        require_written(cursor, len(rows))
        cursor.nextset()
        stored = cursor.fetchone()
    return stored is not None and tuple(map(as_bytes, stored)) == (body, mac)


def insert_batch(rows: Sequence[Row]) -> None:
    """Insert rows by one statement."""
    statement = _insert_statement(len(rows), "%s")
    require_written(execute(statement, flat_values(rows)), len(rows))


def flat_values(rows: Sequence[Row]) -> tuple[object, ...]:
    """Return the values of all rows, one after the other."""
    return tuple(chain.from_iterable(rows))


@lru_cache(maxsize=PER_STATEMENT)
def _insert_statement(count: int, placeholder: str) -> str:
    """Return the statement that inserts this number of rows."""
    values = f"({', '.join([placeholder] * len(COLUMNS))})"
    columns = ", ".join(COLUMNS)
    return (
        f"INSERT INTO outkey_auditrecord ({columns})"  # noqa: S608 - constants only
        f" VALUES {', '.join([values] * count)}"
    )
