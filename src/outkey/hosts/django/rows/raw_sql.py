"""Fixed SQL for what every send needs of the database, and outkey's errors for it.

Django's cursor does three times the work of the statement itself. What is used of it:
the connection, which is Django's own, and its wrapping of the driver's errors.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, wraps
from inspect import isfunction, isgeneratorfunction
from typing import Any, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.models import AutoField, Model, QuerySet

from outkey.foundation.core.errors import StorageUnavailable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Class = TypeVar("Class")
Cursor = Any  # the driver's own, of sqlite3 or psycopg
abandoned_connections: list[object] = []


def _abandon_connection() -> None:
    """Give a forked child a connection of its own.

    Two processes on one connection lose each other's writes. Closing it here would end
    the parent's, so it is stored and not used.
    """
    for ours in connections.all(initialized_only=True):
        if ours.alias == DEFAULT_DB_ALIAS and ours.connection is not None:
            abandoned_connections.append(ours.connection)
            ours.connection = None


os.register_at_fork(after_in_child=_abandon_connection)


def execute(
    statement: str, values: Sequence[object], alias: str = DEFAULT_DB_ALIAS
) -> Cursor:
    """Run a statement with `%s` for its values, and return the driver's cursor."""
    ours = connections[alias]  # once: each look-up costs 2 µs
    if ours.connection is None:
        ours.ensure_connection()
    if ours.vendor == "sqlite":
        statement = with_question_marks(statement)
    with ours.wrap_database_errors:
        return ours.connection.execute(statement, values)


def require_written(cursor: Cursor, count: int) -> None:
    """Raise DatabaseError unless a statement has written this number of rows.

    A trigger can make a database ignore rows without an error.
    """
    if cursor.rowcount != count:
        raise DatabaseError("the database did not store all rows")


def insert_row(row: Model) -> None:
    """Insert a row, or raise DatabaseError if it is not stored after that."""
    try:
        row.save(force_insert=True)
    except TypeError:
        # Django expects a key and defaults; a row that a trigger ignores has none.
        if row.pk is not None and not row._meta.db_returning_fields:  # noqa: SLF001
            raise
    # Where it was written: a router may send reads to a copy that is a little late.
    alias = row._state.db  # noqa: SLF001 - Django's documented name
    if not QuerySet(type(row), using=alias).filter(pk=row.pk).exists():
        raise DatabaseError("the database did not store a row")


def insert_new(row: Model) -> bool:
    """Insert a row into the default database, unless its unique columns are taken.

    For tables of which an apply writes thousands of rows: Django takes three times as
    long to put a statement together, and needs a savepoint to learn of a conflict.
    """
    insert, exists, fields = _insert_statements(type(row))
    values = [
        field.get_db_prep_save(field.pre_save(row, add=True), connection)
        for field in fields
    ]
    stored = execute(insert, values).fetchone()
    if stored is None:
        return False
    if execute(exists, stored).fetchone() is None:
        raise DatabaseError("the database did not store a row")
    if row.pk is None:
        row.pk = stored[0]
    return True


@lru_cache(maxsize=16)
def _insert_statements(model: type[Model]) -> tuple[str, str, list[Any]]:
    """Return SQL that inserts a row, and that looks for it, and the fields of a row."""
    quote = connection.ops.quote_name
    meta = model._meta  # noqa: SLF001 - Django's documented name
    fields = [each for each in meta.concrete_fields if not isinstance(each, AutoField)]
    table = quote(meta.db_table)
    key = quote(str(meta.pk.column))
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    rows = f"{table} ({columns}) VALUES ({places})"
    insert = f"INSERT INTO {rows} ON CONFLICT DO NOTHING RETURNING {key}"
    exists = f"SELECT 1 FROM {table} WHERE {key} = %s"  # noqa: S608 - names of ours
    return insert, exists, fields


@lru_cache(maxsize=64)
def with_question_marks(statement: str) -> str:
    """Return the statement with the placeholders of SQLite."""
    return statement.replace("%s", "?")


def allow_long_statements() -> None:
    """Let statements of this transaction take minutes, since they touch many rows."""
    allow = getattr(connection.connection, "allow_long_statements", None)
    if allow is not None:
        with connection.wrap_database_errors:
            allow()


def wrap_database_errors(
    function: Callable[Parameters, Result],
) -> Callable[Parameters, Result]:
    """Raise StorageUnavailable for database errors, without their text and values."""

    @wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except DatabaseError:
            pass  # raised below, so that the database's own error is not its context
        recover()
        raise StorageUnavailable

    return wrapper


def _wrap_iterator_errors(
    function: Callable[Parameters, Iterator[Result]],
) -> Callable[Parameters, Iterator[Result]]:
    """Do the same for a generator function."""

    @wraps(function)
    def wrapper(
        *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Iterator[Result]:
        try:
            yield from function(*args, **kwargs)
        except DatabaseError:
            pass
        else:
            return
        recover()
        raise StorageUnavailable

    return wrapper


def wrap_errors_of_methods(rows: type[Class]) -> type[Class]:
    """Do it for all public methods of a class, except its context managers."""
    for name, method in list(vars(rows).items()):
        if name.startswith("_") or not isfunction(method):
            continue
        # A context manager is a decorated function, and wraps its errors itself.
        if hasattr(method, "__wrapped__"):
            continue
        if isgeneratorfunction(method):
            setattr(rows, name, _wrap_iterator_errors(method))
        else:
            setattr(rows, name, wrap_database_errors(method))
    return rows


def recover() -> None:
    """Close a connection that an error has made unusable; the next use opens one."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
