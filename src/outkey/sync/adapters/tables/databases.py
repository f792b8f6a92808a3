"""The databases that tables are in: outkey's own, and those that the operator names.

No error and no log holds a URL, a password or a value.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from sqlalchemy import exc
from sqlalchemy.engine import URL, Connection, Engine, make_url

from outkey.foundation.core.errors import (
    BackendUnavailable,
    ConfigError,
    OutkeyError,
    SecretMissing,
    StorageUnavailable,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.foundation.ports.database import Database
from outkey.sending.core.configuration.reference import (
    Reference,
    is_reference,
    parse_reference,
)
from outkey.sync.adapters.tables import engines
from outkey.sync.adapters.tables.borrowed import Borrow, borrowing_engine
from outkey.sync.adapters.tables.driver_errors import (
    driver_errors,
    is_transient,
    missing_driver,
    no_response,
    wrap_driver_errors,
    wrong_url,
)
from outkey.sync.adapters.tables.engines import LimitedEngine
from outkey.sync.adapters.tables.layouts.column_types import (
    MYSQL,
    POSTGRESQL,
    SQLITE,
    Vendor,
)
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.core.databases.section import OtherDatabase, refuse_unsafe_url
from outkey.sync.core.databases.urls import refuse_parameters

DRIVERS = {POSTGRESQL: "psycopg", MYSQL: "pymysql", SQLITE: "pysqlite"}
SILENT_SECONDS = 30
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
    def vendor(self) -> Vendor:
        """Which database it is."""
        return Vendor(self._borrow().vendor)

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
            if vendor == POSTGRESQL:
                allow_long_statements(self._borrow().connection)
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

    def __init__(self, name: str, limited: LimitedEngine) -> None:
        self.name = name
        self._limited = limited
        self._silent_until = 0.0  # by the monotonic clock
        self._engine = limited.engine
        self._local = threading.local()

    @property
    def vendor(self) -> Vendor:
        """Which database it is."""
        return Vendor(self._engine.dialect.name)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Return a connection; what is written is committed at the end."""
        opened: Connection | None = getattr(self._local, "connection", None)
        with wrap_driver_errors(self.name):
            if opened is not None:
                yield opened
                return
            with self._begin() as connection:
                yield connection

    def repeat(self, work: Callable[[Connection], Result]) -> Result:
        """Do some work in a transaction, again if others were in its way."""
        is_alone = getattr(self._local, "connection", None) is None
        errors: tuple[type[Exception], ...] = (exc.DBAPIError, *driver_errors())
        for _ in range(TRIES if is_alone else 0):
            with wrap_driver_errors(self.name):
                try:
                    with self._begin() as connection:
                        return work(connection)
                except errors as error:
                    if not is_transient(error):
                        raise
        with self.connect() as connection:
            return work(connection)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what `connect` writes inside, or nothing.

        An error of the caller is raised as it is.
        """
        before = getattr(self._local, "connection", None)
        failure: Exception | None = None
        try:
            with self.connect() as connection:
                self._local.connection = connection
                try:
                    yield
                except Exception as error:
                    failure = error
                    raise
                finally:
                    self._local.connection = before
        except StorageUnavailable:
            if failure is None:
                raise
        if failure is not None:
            raise failure

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        with ExitStack() as stack:
            connection = self._enter(stack)
            try:
                yield connection
            except (exc.SQLAlchemyError, OutkeyError):
                raise
            except Exception:
                # The driver may wait for a response that does not come.
                connection.invalidate()
                raise

    def _enter(self, stack: ExitStack) -> Connection:
        """Begin a transaction, unless the database has just not responded.

        Many lines, or tables of a list, may be in it, and would all wait.
        """
        began_at = time.monotonic()
        if began_at < self._silent_until:
            raise no_response(self.name)
        try:
            return stack.enter_context(self._engine.begin())
        except Exception:
            now = time.monotonic()
            if now - began_at >= engines.CONNECT_SECONDS:
                self._silent_until = now + SILENT_SECONDS
            raise

    def close(self) -> None:
        """Close the connections that are not in use."""
        with suppress(Exception):
            self._engine.dispose()

    def interrupt(self) -> None:
        """End what threads wait for in this database."""
        self._limited.interrupt()

    def abandon(self) -> None:
        """Leave the connections to the parent of this process, which was forked."""
        self._engine.dispose(close=False)


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
        """Return the settings of a database, or raise ConfigError.

        SecretUnreadable if another program has written it.
        """
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
        error = databases[name].error
        if error is not None:
            raise error
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

    def interrupt(self) -> None:
        """End what threads wait for in these databases."""
        for opened in tuple(self._opened.values()):
            opened.database.interrupt()

    def refuse_unusable(self, database: OtherDatabase) -> None:
        """Raise ConfigError for a database that `open` would refuse.

        A reference may lead to nothing yet, or into a store that does not respond.
        """
        refuse_unsafe_url(database)
        with suppress(SecretMissing, BackendUnavailable):
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

    def _engine(self, name: str, url: Secret) -> LimitedEngine:
        parsed = self._parse(name, url)
        failure: OutkeyError | None = None
        try:
            engine = LimitedEngine(parsed)
        except ImportError:
            failure = missing_driver(name)
        except Exception:  # noqa: BLE001 - its text may hold a part of the URL
            failure = wrong_url(name)
        if failure is not None:
            raise failure
        if parsed.get_backend_name() == SQLITE:
            engine.check_file(partial(self._refuse_moved, name))
        return engine

    def _refuse_moved(self, name: str, path: str) -> None:
        """Check a file again before it is opened: a link may be in its place by now."""
        self._files.refuse_moved(Path(path), field=f"database.{name}.url")

    def _drop_connections(self) -> None:
        """Open connections of its own in a forked child; leave the parent's open."""
        self._lock = threading.Lock()
        for opened in self._opened.values():
            opened.database.abandon()
        self._opened = {}


def allow_long_statements(connection: object) -> None:
    """Let statements of this transaction take minutes: a table may have any size."""
    allow = getattr(connection, "allow_long_statements", None)
    if allow is not None:  # it is one with deadlines of outkey's
        allow()


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
        raise wrong_url(name)  # a parameter that occurs twice
    return parsed.set(drivername=f"{dialect}+{DRIVERS[Vendor(dialect)]}")
