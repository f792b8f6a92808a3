"""Errors of databases and their drivers as errors of outkey, without text and values.

The text of a driver may hold a URL, a value of a record, or a line of a file that it
was made to read. So a message has the name of the database, the type of the error and
a code; and no error has one of a driver as its context, which a traceback would print.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from outkey.foundation.core.errors import ConfigError, OutkeyError, StorageUnavailable
from outkey.foundation.core.text import Text
from outkey.sync.core.databases.urls import URL_HINT
from outkey.sync.ports.sync import StorageBusy

CODE = re.compile(r"[0-9A-Z]{5}|SQLITE_[A-Z_]{1,40}", re.ASCII)
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
# back the whole transaction because of one, so that its savepoint is missing.
TRANSIENT_CODES = frozenset({"1020", "1205", "1213", "1305", "1412", "40001", "40P01"})
# The server has ended a statement, a wait for a lock or an idle transaction. 1205 is
# retried, as a deadlock is.
TIMEOUT_CODES = frozenset({"57014", "55P03", "25P03", "3024", "1969"})
FORBIDDEN_CODES = frozenset({"42501", "1142", "1143", "1227"})


def wrong_url(name: str) -> ConfigError:
    """Return the error for a URL that names no database that tables can be in."""
    return ConfigError(
        Text("the URL of the database {name} cannot be used", name=name),
        hint=URL_HINT,
        field=f"database.{name}.url",
    )


def missing_driver(name: str) -> ConfigError:
    """Return the error for a database whose driver is not installed."""
    return ConfigError(
        Text("the driver of the database {name} is not installed", name=name),
        hint=Text('Run: pip install "outkey[databases]"'),
        field=f"database.{name}.url",
    )


@contextmanager
def wrap_driver_errors(name: str) -> Iterator[None]:
    """Raise outkey's errors for those of a database, without their text and values.

    With a name every error: a server that responds with nonsense lets its driver fail
    with anything. In the host's own database another error is a fault of outkey's.
    """
    failure: OutkeyError | None = None
    try:
        yield
    except OutkeyError:
        raise
    except ImportError:
        failure = missing_driver(name)
    except Exception as error:
        if not name and not isinstance(error, (exc.SQLAlchemyError, *driver_errors())):
            raise
        failure = failure_of(name, error)
    if failure is not None:  # here, so that the database's own error is not its context
        raise failure


def driver_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the drivers that are used without SQLAlchemy, for COPY.

    A driver that is not imported has raised none. To import it takes a tenth of a
    second, and another one may be in use.
    """
    psycopg = sys.modules.get("psycopg")
    return () if psycopg is None else (psycopg.Error,)


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
    if code in CHANGED_CODES or _is_changed_sqlite(error, code):
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
    return _failure_of_other(database, error, code)


def no_response(name: str) -> StorageUnavailable:
    """Return the error for a database that did not respond a moment ago."""
    return too_slow(Text("the database {name}", name=name))


def too_slow(database: Text) -> StorageUnavailable:
    """Return the error for a database that takes too long."""
    return StorageUnavailable(
        Text("{database} did not respond in time", database=database),
        hint=Text("Look for statements that wait or take long there."),
    )


def _failure_of_other(database: Text, error: Exception, code: str) -> OutkeyError:
    """Return the error for one of another database than outkey's own."""
    if code in TIMEOUT_CODES:
        return too_slow(database)
    if _is_connection_failure(error, code):
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


def _is_changed_sqlite(error: Exception, code: str) -> bool:
    """Whether SQLite misses a table or a column; only its text shows it."""
    text = str(getattr(error, "orig", None) or error)
    is_missing = text.startswith(SQLITE_CHANGED) or " has no column named " in text
    return code == "SQLITE_ERROR" and is_missing


def _is_connection_failure(error: Exception, code: str) -> bool:
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
    code = next((code for name in names if (code := getattr(original, name, ""))), "")
    # A server can send any text as its code.
    return code if CODE.fullmatch(str(code)) else ""
