"""SQLAlchemy over a connection of the host, so that its transactions hold tables too.

SQLAlchemy opens, commits, rolls back and closes nothing here, and changes no setting
of the connection.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from sqlalchemy.pool import NullPool

from outkey.sync.adapters.tables.layouts.column_types import (
    POSTGRESQL,
    SQLITE,
    Vendor,
)


class HostConnection(NamedTuple):
    """The host's open connection of this thread: of sqlite3 or psycopg."""

    vendor: str  # "sqlite" or "postgresql"
    connection: Any


Borrow = Callable[[], HostConnection]


class BorrowedSqlite(SQLiteDialect_pysqlite):
    """SQLite, on a connection of the host."""

    supports_statement_cache = True

    def on_connect(self) -> None:  # type: ignore[override]
        """Define no functions of SQLAlchemy's on the connection."""

    def do_commit(self, dbapi_connection: object) -> None:
        """Leave it to the host."""

    def do_rollback(self, dbapi_connection: object) -> None:
        """Leave it to the host."""

    def do_close(self, dbapi_connection: object) -> None:
        """Leave it to the host."""

    def do_terminate(self, dbapi_connection: object) -> None:
        """Leave it to the host."""


class BorrowedPostgresql(PGDialect_psycopg):
    """PostgreSQL, on a connection of the host."""

    supports_statement_cache = True

    def on_connect(self) -> None:
        """Add no handler of SQLAlchemy's to the connection."""

    def do_commit(self, dbapi_connection: object) -> None:
        """Leave it to the host."""

    def do_rollback(self, dbapi_connection: object) -> None:
        """Leave it to the host."""

    def do_close(self, dbapi_connection: object) -> None:
        """Leave it to the host."""

    def do_terminate(self, dbapi_connection: object) -> None:
        """Leave it to the host."""


registry.register("outkey.sqlite", __name__, "BorrowedSqlite")
registry.register("outkey.postgresql", __name__, "BorrowedPostgresql")
_OPTIONS: dict[Vendor, dict[str, bool]] = {
    SQLITE: {},
    POSTGRESQL: {"use_native_hstore": False},  # it would change the connection
}


def borrowing_engine(vendor: Vendor, borrow: Borrow) -> Engine:
    """Return an engine that uses the host's connection of the thread that asks."""
    return create_engine(
        f"outkey+{vendor}://",
        creator=lambda: borrow().connection,
        poolclass=NullPool,
        hide_parameters=True,
        **_OPTIONS[vendor],
    )
