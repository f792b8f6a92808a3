"""Connections to other databases: their options and their deadlines.

A connection responds to its login and to the check before each use within
`CONNECT_SECONDS`, and to each statement within `STATEMENT_SECONDS`. The server gets the
same limits, and the client's timeout is a little longer, for a server that hangs.
"""

import logging
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, assert_never

from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, create_engine

from outkey.sync.adapters.tables.layouts.column_types import (
    MYSQL,
    POSTGRESQL,
    SQLITE,
    Vendor,
)

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 600  # a new type for the column of a large table takes minutes
LATER_SECONDS = 5
LOCK_SECONDS = 30
IDLE_SECONDS = 60  # of a transaction; its process may be suspended
NO_FILE = "/dev/null/none"  # which cannot exist
# A snapshot of MySQL ends when another process changes the table.
ENGINE_ARGUMENTS: Mapping[Vendor, Mapping[str, Any]] = {
    MYSQL: {"isolation_level": "READ COMMITTED"}
}
POOL = "outkey"
# The pool logs errors of drivers with their text; what matters is raised.
logging.getLogger(f"sqlalchemy.pool.impl.QueuePool.{POOL}").setLevel(logging.CRITICAL)
DriverConnection = Any  # of psycopg, pymysql or sqlite3


class LimitedEngine:
    """An engine whose connections have timeouts, and can be interrupted."""

    def __init__(self, url: URL) -> None:
        self._vendor = Vendor(url.get_backend_name())
        self.engine = create_engine(
            url,
            connect_args=_connect_arguments(url),
            pool_size=2,
            max_overflow=3,
            pool_timeout=CONNECT_SECONDS,
            pool_pre_ping=True,
            pool_recycle=1800,
            hide_parameters=True,
            pool_logging_name=POOL,
            **ENGINE_ARGUMENTS.get(self._vendor, {}),
        )
        self._in_use: dict[int, DriverConnection] = {}  # by the record of the pool
        if self._vendor == POSTGRESQL:
            event.listen(self.engine, "do_connect", _connect_to_postgresql)
        if self._vendor == MYSQL:
            event.listen(self.engine, "do_connect", connect_to_mysql)
        if self._vendor == SQLITE:
            event.listen(self.engine, "connect", _leave_transactions_alone)
            event.listen(self.engine, "begin", _begin_immediately)
        event.listen(self.engine, "checkout", self._begin_use)
        event.listen(self.engine, "checkin", self._end_use)

    def check_file(self, check: Callable[[str], None]) -> None:
        """Call a function with the path of SQLite before each connection."""

        def call(_dialect: object, _record: object, path: list[str], _: object) -> None:
            check(path[0])

        event.listen(self.engine, "do_connect", call)

    def interrupt(self) -> None:
        """End what the connections in use wait for; their statements fail."""
        for connection in tuple(self._in_use.values()):
            with suppress(Exception):  # it has just ended by itself
                interrupt(self._vendor, connection)

    def _begin_use(
        self, connection: DriverConnection, record: object, _proxy: object
    ) -> None:
        self._in_use[id(record)] = connection
        _set_patience(self._vendor, connection, STATEMENT_SECONDS + LATER_SECONDS)

    def _end_use(self, connection: DriverConnection | None, record: object) -> None:
        self._in_use.pop(id(record), None)
        if connection is not None:  # it was not closed
            _set_patience(self._vendor, connection, CONNECT_SECONDS)


def _connect_arguments(url: URL) -> dict[str, object]:
    """Return the arguments of a driver besides, or in the place of, a URL.

    What a URL lacks, a driver reads from files and environment variables of the
    process's user: a password from there would be sent to any server that the URL
    names.
    """
    match Vendor(url.get_backend_name()):
        case Vendor.POSTGRESQL:
            return _postgresql_arguments(url)
        case Vendor.MYSQL:
            return _mysql_arguments()
        case Vendor.SQLITE:
            return {"timeout": CONNECT_SECONDS, "uri": False}
        case other:
            assert_never(other)


def _postgresql_arguments(url: URL) -> dict[str, object]:
    """Return the arguments of psycopg."""
    from outkey.foundation.adapters.postgresql_deadlines import (  # noqa: PLC0415 - may be missing
        KEEPALIVES,
        server_limits,
    )

    limits = server_limits(statement=STATEMENT_SECONDS, lock=LOCK_SECONDS)
    arguments: dict[str, object] = {
        **KEEPALIVES,
        "connect_timeout": CONNECT_SECONDS,
        "options": f"-c timezone=UTC {limits}",
        "passfile": NO_FILE,
    }
    if not url.password:
        arguments["password"] = ""  # or else that of PGPASSWORD is sent
    if "sslcert" not in url.query:
        arguments["sslcert"] = NO_FILE  # or else that of the user is presented
    return arguments


def _mysql_arguments() -> dict[str, object]:
    """Return the arguments of PyMySQL."""
    return {
        "local_infile": False,  # the server could ask for any file of this machine
        "read_default_file": None,
        "read_default_group": None,
        "unix_socket": None,
        "connect_timeout": CONNECT_SECONDS,
        "charset": "utf8mb4",
        # Strict: a value that does not fit is refused, and not cut off. MySQL has no
        # limit for idle transactions, so it closes connections that are idle.
        "init_command": (
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
            " time_zone = '+00:00',"
            f" lock_wait_timeout = {LOCK_SECONDS},"
            f" innodb_lock_wait_timeout = {LOCK_SECONDS},"
            f" wait_timeout = {IDLE_SECONDS}"
        ),
    }


def _connect_to_postgresql(
    _dialect: object, _record: object, arguments: list[Any], options: dict[str, Any]
) -> DriverConnection:
    """Return a connection with timeouts, whose server has responded."""
    from outkey.foundation.adapters.postgresql_deadlines import DeadlineConnection  # noqa: PLC0415 - may be missing

    connection = DeadlineConnection.connect(*arguments, **options)
    connection.patience = CONNECT_SECONDS
    connection.require_response()
    return connection


def connect_to_mysql(
    _dialect: object, _record: object, arguments: list[Any], options: dict[str, Any]
) -> DriverConnection:
    """Return a connection with timeouts."""
    from outkey.sync.adapters.tables.mysql_deadlines import DeadlineConnection  # noqa: PLC0415 - may be missing

    return DeadlineConnection(*arguments, **options)


def _set_patience(vendor: Vendor, connection: DriverConnection, seconds: float) -> None:
    """Set the timeout of a connection for each response."""
    if vendor != SQLITE:
        connection.patience = seconds


def interrupt(vendor: Vendor, connection: DriverConnection) -> None:
    """End what another thread waits for on a connection."""
    match vendor:
        case Vendor.SQLITE:
            connection.interrupt()
            return
        case Vendor.POSTGRESQL:
            place = connection
        case Vendor.MYSQL:
            place = connection._sock  # noqa: SLF001
        case other:
            assert_never(other)
    with socket.socket(fileno=os.dup(place.fileno())) as shared:
        shared.shutdown(socket.SHUT_RDWR)


def _leave_transactions_alone(connection: DriverConnection, _record: object) -> None:
    """Let no statement of sqlite3 begin or commit a transaction by itself."""
    connection.isolation_level = None


def _begin_immediately(connection: Connection) -> None:
    """Wait for other writers now: a transaction that writes later would fail."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
