"""The host's database: one connection for each thread, transactions, and a clock."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from outkey.foundation.core.errors import StorageUnavailable

SCHEMA = Path(__file__).with_name("schema.sql").read_text("utf-8")
PATIENCE = 30.0  # seconds that a write waits for the writes of other processes
Columns = Mapping[str, object]  # the values of a row by column


class ThreadConnection(sqlite3.Connection):
    """A connection that is closed when its thread has ended."""

    def __del__(self) -> None:
        self.close()


class SqliteDatabase:
    """One SQLite file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._local = threading.local()
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.touch(mode=0o600)  # SQLite creates its other files with this mode
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT")
        except (OSError, sqlite3.Error):
            raise StorageUnavailable from None

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of the current thread; commits unless a transaction began."""
        connection: sqlite3.Connection | None
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self._file,
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,  # any thread may collect it as garbage
                factory=ThreadConnection,
            )
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            self._local.connection = connection
        return connection

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Write all of what is written inside, or nothing.

        No other process writes from its beginning on: rows need no locks of their own.
        """
        is_nested = self.connection.in_transaction
        self.execute("SAVEPOINT nested" if is_nested else "BEGIN IMMEDIATE", {})
        waiting = self._after_commit()
        count = len(waiting)
        try:
            yield
            self.execute("RELEASE nested" if is_nested else "COMMIT", {})
        except BaseException:
            del waiting[count:]
            if self.connection.in_transaction:  # some errors have ended it already
                self.execute("ROLLBACK TO nested" if is_nested else "ROLLBACK", {})
            raise
        while waiting and not is_nested:
            waiting.pop(0)()

    def after_commit(self, work: Callable[[], None]) -> None:
        """Do some work when the transaction around is committed, or now."""
        if self.connection.in_transaction:
            self._after_commit().append(work)
        else:
            work()

    def _after_commit(self) -> list[Callable[[], None]]:
        waiting: list[Callable[[], None]]
        waiting = vars(self._local).setdefault("waiting", [])
        return waiting

    def now(self) -> float:
        """Return the time of this machine: no other one shares the file."""
        return time.time()

    def execute(self, statement: str, values: Columns) -> list[sqlite3.Row]:
        """Run a statement, `:name` for each value, and return its rows.

        Raises sqlite3.IntegrityError where a constraint refuses it: that statement is
        undone, and its transaction goes on.
        """
        try:
            cursor = self.connection.execute(
                statement, {name: as_stored(value) for name, value in values.items()}
            )
            return cursor.fetchall()
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error:
            raise StorageUnavailable from None

    def rows(self, query: str, **values: object) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        return self.execute(query, values)

    def write(self, statement: str, **values: object) -> int:
        """Return how many rows a statement changes."""
        return len(self.execute(f"{statement} RETURNING 1", values))

    def swap(self, table: str, before: Columns | None, after: Columns | None) -> bool:
        """Write columns in the place of the one row that has those of `before`.

        Returns whether it was there and no constraint refuses the new row. Without
        `before` a row is inserted, without `after` deleted.
        """
        values = {f"old_{name}": value for name, value in (before or {}).items()}
        where = " AND ".join(f"{name} IS :old_{name}" for name in before or {})
        assignments = ", ".join(f"{name} = :{name}" for name in after or {})
        try:
            if before is None:
                return after is not None and self.insert(table, after)
            if after is None:
                return bool(self.write(f"DELETE FROM {table} WHERE {where}", **values))
            statement = f"UPDATE {table} SET {assignments} WHERE {where}"
            return bool(self.write(statement, **values, **after))
        except sqlite3.IntegrityError:
            return False

    def insert(self, table: str, columns: Columns) -> bool:
        """Insert a row."""
        names = ", ".join(columns)
        values = ", ".join(f":{name}" for name in columns)
        statement = f"INSERT INTO {table} ({names}) VALUES ({values})"
        return bool(self.write(statement, **columns))


class Table:
    """What all tables have."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database


def as_stored(value: object) -> object:
    """Return a value as a column has it: mappings and lists are JSON."""
    if isinstance(value, Mapping):
        return json.dumps(dict(value), default=str)
    if isinstance(value, Collection) and not isinstance(value, str | bytes):
        return json.dumps(list(value))
    return value
