"""The databases that tables are in: outkey's own, and those that the operator names.

No error and no log holds a URL, a password or a value.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import event, exc
from sqlalchemy.engine import URL, Connection, Engine, create_engine, make_url

from outkey.adapters.tables.borrowed import Borrow, borrowing_engine
from outkey.adapters.tables.column_types import MYSQL, POSTGRESQL, SQLITE
from outkey.adapters.tables.sqlite_files import SqliteFiles
from outkey.core.config.database_urls import refuse_parameters
from outkey.core.config.reference import Reference, is_reference, parse_reference
from outkey.core.config.sync_sections import OtherDatabase, refuse_unsafe_url
from outkey.core.errors import (
    ConfigError,
    OutkeyError,
    SecretMissing,
    StorageUnavailable,
)
from outkey.core.secret import Secret
from outkey.core.text import Text
from outkey.ports.storage import Database
from outkey.ports.sync import StorageBusy

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 600  # until a MySQL that does not respond is given up
DRIVERS = {POSTGRESQL: "psycopg", MYSQL: "pymysql", SQLITE: "pysqlite"}
NO_FILE = "/dev/null/none"  # which cannot exist
# They replace what a URL says. A driver that finds something missing in a URL looks in
# files and variables of the user whom the process runs as: a password that it finds
# there would be sent to whatever server the URL names.
CONNECT_ARGUMENTS: Mapping[str, Mapping[str, object]] = {
    POSTGRESQL: {
        "connect_timeout": CONNECT_SECONDS,
        "options": "-c timezone=UTC",
        "tcp_user_timeout": 60_000,
        "passfile": NO_FILE,
    },
    MYSQL: {
        "local_infile": False,  # the server could ask for any file of this machine
        "read_default_file": None,
        "read_default_group": None,
        "unix_socket": None,
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": STATEMENT_SECONDS,
        "write_timeout": STATEMENT_SECONDS,
        "charset": "utf8mb4",
        # Strict: a value that does not fit is refused, and not cut off.
        "init_command": (
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
            " time_zone = '+00:00'"
        ),
    },
    SQLITE: {"timeout": CONNECT_SECONDS, "uri": False},
}
# A snapshot of MySQL ends when another process changes the table.
ENGINE_ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    MYSQL: {"isolation_level": "READ COMMITTED"}
}
# Of MySQL: no server, a lost connection, an unknown user or database.
CONNECTION_CODES = frozenset(
    {"1040", "1044", "1045", "1049", "2002", "2003", "2006", "2013", "3D000"}
)
SQLITE_CONNECTION_CODES = ("SQLITE_CANTOPEN", "SQLITE_NOTADB", "SQLITE_PERM")
FULL_CODES = frozenset({"53100", "1021", "1114", "SQLITE_FULL"})
# A table, a column or a type is not as outkey has made it.
CHANGED_CODES = frozenset({"42P01", "42703", "42804", "1054", "1146"})
# SQLite has one code for these and all other faults of a statement.
SQLITE_CHANGED = ("no such table", "no such column")
# Deadlocks, and tables that another process has just changed. 1305: MySQL has rolled
# back the whole transaction because of one, so that its savepoint is gone.
TRANSIENT_CODES = frozenset({"1020", "1205", "1213", "1305", "1412", "40001", "40P01"})
FORBIDDEN_CODES = frozenset({"42501", "1142", "1143", "1227"})

TRIES = 3
Result = TypeVar("Result")
Settings = Callable[[], Mapping[str, OtherDatabase]]
OpenReference = Callable[[Reference, str], Secret]


class OwnDatabase:
    """outkey's own database, on the host's connection and in its transactions."""

    name = ""

    def __init__(self, borrow: Borrow, database: Database) -> None:
        self._borrow = borrow
        self._database = database
        self._engines: dict[str, Engine] = {}

    @property
    def vendor(self) -> str:
        """Which database it is."""
        return self._borrow().vendor

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Return a connection; what is written is committed with the host's rows."""
        vendor = self.vendor
        if vendor not in self._engines:
            self._engines[vendor] = borrowing_engine(vendor, self._borrow)
        with (
            self._database.transaction(),
            wrap_driver_errors(""),
            self._engines[vendor].connect() as connection,
        ):
            yield connection

    def repeat(self, work: Callable[[Connection], Result]) -> Result:
        """Do some work in the host's transaction, which is repeated as a whole."""
        with self.connect() as connection:
            return work(connection)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Leave it to the caller, whose transaction holds the runs."""
        yield


class NamedDatabase:
    """A database that the operator names."""

    def __init__(self, name: str, engine: Engine) -> None:
        self.name = name
        self._engine = engine
        self._local = threading.local()

    @property
    def vendor(self) -> str:
        """Which database it is."""
        return self._engine.dialect.name

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Return a connection; what is written is committed at the end."""
        opened: Connection | None = getattr(self._local, "connection", None)
        with wrap_driver_errors(self.name):
            if opened is not None:
                yield opened
                return
            with self._engine.begin() as connection:
                yield connection

    def repeat(self, work: Callable[[Connection], Result]) -> Result:
        """Do some work in a transaction, again if others were in its way."""
        is_alone = getattr(self._local, "connection", None) is None
        for _ in range(TRIES if is_alone else 0):
            with wrap_driver_errors(self.name):
                try:
                    with self._engine.begin() as connection:
                        return work(connection)
                except exc.DBAPIError as error:
                    if not is_transient(error):
                        raise
        with self.connect() as connection:
            return work(connection)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what `connect` writes inside, or nothing."""
        with self.connect() as connection:
            before = getattr(self._local, "connection", None)
            self._local.connection = connection
            try:
                yield
            finally:
                self._local.connection = before

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._engine.dispose()


TableDatabase = OwnDatabase | NamedDatabase


@dataclass(frozen=True, slots=True)
class OpenedDatabase:
    """A database and the URL that it was opened with."""

    url: Secret
    database: NamedDatabase


class NamedDatabases:
    """Opens the databases that the operator names, each once per process."""

    def __init__(
        self, settings: Settings, open_reference: OpenReference, files: SqliteFiles
    ) -> None:
        self._settings = settings
        self._open_reference = open_reference
        self._files = files
        self._opened: dict[str, OpenedDatabase] = {}
        self._lock = threading.Lock()
        # Two processes on one connection would read each other's responses.
        os.register_at_fork(after_in_child=self._drop_connections)

    def settings(self, name: str) -> OtherDatabase:
        """Return what the operator says about a database, or raise ConfigError."""
        databases = self._settings()
        if name not in databases:
            raise ConfigError(
                Text("there is no database {name}", name=name),
                hint=Text(
                    "Name it in a document: [database.{name}] with its url. Known:"
                    " {names}.",
                    name=name,
                    names=", ".join(databases) or "-",
                ),
                field="target",
            )
        return databases[name]

    def open(self, name: str) -> NamedDatabase:
        """Return a database; its URL is read each time, since it may change."""
        settings = self.settings(name)
        refuse_unsafe_url(settings)
        url = self._url(settings)
        with self._lock:
            opened = self._opened.get(settings.name)
            if opened is not None and opened.url == url:
                return opened.database
            if opened is not None:
                opened.database.close()
            engine = self._engine(settings.name, url)
            database = NamedDatabase(settings.name, engine)
            self._opened[settings.name] = OpenedDatabase(url, database)
            return database

    def refuse_unusable(self, database: OtherDatabase) -> None:
        """Raise ConfigError for a database that `open` would refuse.

        A reference may lead to nothing yet.
        """
        refuse_unsafe_url(database)
        with suppress(SecretMissing):
            self._parse(database.name, self._url(database))

    def _url(self, settings: OtherDatabase) -> Secret:
        field = f"database.{settings.name}.url"
        if not is_reference(settings.url):
            return Secret(settings.url)
        return self._open_reference(parse_reference(settings.url, field=field), field)

    def _parse(self, name: str, url: Secret) -> URL:
        parsed = parse_database_url(name, url)
        if parsed.get_backend_name() != SQLITE:
            return parsed
        file = self._files.resolve(parsed.database or "", field=f"database.{name}.url")
        return parsed.set(database=str(file))

    def _engine(self, name: str, url: Secret) -> Engine:
        parsed = self._parse(name, url)
        vendor = parsed.get_backend_name()
        failure: OutkeyError | None = None
        try:
            engine = create_engine(
                parsed,
                connect_args=connect_arguments(parsed),
                pool_size=2,
                max_overflow=3,
                pool_pre_ping=True,
                pool_recycle=1800,
                hide_parameters=True,
                **ENGINE_ARGUMENTS.get(vendor, {}),
            )
        except ImportError:
            failure = missing_driver(name)
        except exc.SQLAlchemyError:
            failure = wrong_url(name)
        if failure is not None:
            raise failure
        if vendor == SQLITE:
            event.listen(engine, "do_connect", partial(self._refuse_moved, name))
            event.listen(engine, "connect", leave_transactions_alone)
            event.listen(engine, "begin", begin_immediately)
        return engine

    def _refuse_moved(
        self,
        name: str,
        _dialect: object,
        _record: object,
        arguments: list[str],
        _: object,
    ) -> None:
        """Check a file again before it is opened: a link may be in its place by now."""
        self._files.refuse_moved(Path(arguments[0]), field=f"database.{name}.url")

    def _drop_connections(self) -> None:
        """Open connections of its own in a forked child; leave the parent's open."""
        self._lock = threading.Lock()
        for opened in self._opened.values():
            opened.database._engine.dispose(close=False)  # noqa: SLF001 - of this module
        self._opened = {}


def parse_database_url(name: str, url: Secret) -> URL:
    """Return a URL with the driver that outkey uses; no error repeats any of it."""
    parsed: URL | None = None
    # Raised below: the text of the error may hold a password.
    with suppress(exc.SQLAlchemyError, ValueError):
        parsed = make_url(url.reveal())
    if parsed is None:
        raise wrong_url(name)
    dialect = refuse_parameters(
        parsed.drivername, parsed.query, field=f"database.{name}.url"
    )
    if not all(isinstance(value, str) for value in parsed.query.values()):
        raise wrong_url(name)  # a parameter that stands there twice
    return parsed.set(drivername=f"{dialect}+{DRIVERS[dialect]}")


def connect_arguments(url: URL) -> dict[str, object]:
    """Return what a driver connects with besides, or in the place of, a URL."""
    dialect = url.get_backend_name()
    arguments = dict(CONNECT_ARGUMENTS[dialect])
    if dialect == POSTGRESQL and not url.password:
        arguments["password"] = ""  # or else that of PGPASSWORD is sent
    if dialect == POSTGRESQL and "sslcert" not in url.query:
        arguments["sslcert"] = NO_FILE  # or else that of the user is presented
    return arguments


def wrong_url(name: str) -> ConfigError:
    """Return the error for a URL that names no database that tables can be in."""
    return ConfigError(
        Text("the URL of the database {name} cannot be used", name=name),
        hint=Text(
            "Write postgresql://user:password@host/name, mysql://user:password@host/"
            "name or sqlite:////folder/file.db; percent-encode special characters."
        ),
        field=f"database.{name}.url",
    )


def missing_driver(name: str) -> ConfigError:
    """Return the error for a database whose driver is not installed."""
    return ConfigError(
        Text("the driver of the database {name} is not installed", name=name),
        hint=Text('Run: pip install "outkey[databases]"'),
        field=f"database.{name}.url",
    )


def leave_transactions_alone(connection: Any, _record: object) -> None:  # noqa: ANN401 - of sqlite3
    """Let no statement of sqlite3 begin or commit a transaction by itself."""
    connection.isolation_level = None


def begin_immediately(connection: Connection) -> None:
    """Wait for other writers now: a transaction that writes later would fail."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextmanager
def wrap_driver_errors(name: str) -> Iterator[None]:
    """Raise outkey's errors for those of a database, without their text and values."""
    failure: OutkeyError | None = None
    try:
        yield
    except exc.SQLAlchemyError as error:
        failure = failure_of(name, error)
    except driver_errors() as error:
        failure = failure_of(name, error)
    except ImportError:
        failure = missing_driver(name)
    if failure is not None:  # here, so that the database's own error is not its context
        raise failure


def driver_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the drivers that are used without SQLAlchemy, for COPY."""
    try:
        from psycopg import Error  # noqa: PLC0415 - another driver may be in use
    except ImportError:
        return ()
    return (Error,)


def failure_of(name: str, error: Exception) -> OutkeyError:
    """Return the error for one of a database: its name and a code, none of its text."""
    code = error_code(error)
    database = Text("the database {name}", name=name) if name else Text("the database")
    if code in FORBIDDEN_CODES:
        return ConfigError(
            Text("{database} does not permit this to its user", database=database),
            hint=Text("Grant the user the rights to create and write these tables."),
            field=f"database.{name}.url" if name else None,
        )
    if code in CHANGED_CODES or is_changed_sqlite(error, code):
        return StorageUnavailable(
            Text(
                "{database} lacks a table or a column that it had, or the type is"
                " another one",
                database=database,
            ),
            hint=Text("Run the line that fills the table: it makes what is missing."),
        )
    if code in FULL_CODES:
        return StorageUnavailable(
            Text("{database} has no space left", database=database),
            hint=Text("Free some space or raise its limit; then run it again."),
        )
    if not name:
        return StorageUnavailable()
    if is_connection_failure(error, code):
        return StorageUnavailable(
            Text(
                "{database} cannot be reached, or refuses the login", database=database
            ),
            hint=Text("Check that it runs, and its URL, user and password."),
        )
    failure = StorageBusy if code in TRANSIENT_CODES else StorageUnavailable
    return failure(
        Text(
            "{database} reported an error ({error})",
            database=database,
            error=" ".join(filter(None, (type(error).__name__, code))),
        ),
        hint=Text("Look at the log of the database."),
    )


def is_changed_sqlite(error: Exception, code: str) -> bool:
    """Whether SQLite misses a table or a column; only its text says so."""
    text = str(getattr(error, "orig", None) or error)
    is_missing = text.startswith(SQLITE_CHANGED) or " has no column named " in text
    return code == "SQLITE_ERROR" and is_missing


def is_connection_failure(error: Exception, code: str) -> bool:
    """Whether a database did not accept a connection, or has closed it."""
    if not code:
        return isinstance(error, exc.OperationalError | exc.InterfaceError)
    is_lost = code in CONNECTION_CODES or code[:2] in {"08", "28", "57"}
    return is_lost or code.startswith(SQLITE_CONNECTION_CODES)


def is_transient(error: Exception) -> bool:
    """Whether the same statements may succeed a moment later."""
    return error_code(error) in TRANSIENT_CODES


def error_code(error: BaseException) -> str:
    """Return the code of a database: MySQL's number, SQLSTATE, or SQLite's name."""
    original = getattr(error, "orig", None) or error
    number = original.args[0] if original.args else ""
    # First, since MySQL has one SQLSTATE for many errors.
    if isinstance(number, int):
        return str(number)
    names = ("sqlstate", "sqlite_errorname")
    return str(
        next((code for name in names if (code := getattr(original, name, ""))), "")
    )
