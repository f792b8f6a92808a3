"""Fixed SQL for what every send asks of the database, past the layers that cost more than it does.

Django's cursor does three times the work of the statement itself. What is kept of it: the
connection, which is Django's own, and its translation of errors.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, wraps
from inspect import isfunction, isgeneratorfunction
from typing import Any, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections

from outkey.core.errors import StorageUnavailable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Kind = TypeVar("Kind")
_abandoned: list[object] = []


def _abandon_connection() -> None:
    """Let a forked child make a connection of its own.

    Two processes on one connection lose each other's writes; and closing it here would end the
    parent's, so it is kept and not used.
    """
    for ours in connections.all(initialized_only=True):
        if ours.alias == DEFAULT_DB_ALIAS and ours.connection is not None:
            _abandoned.append(ours.connection)
            ours.connection = None


os.register_at_fork(after_in_child=_abandon_connection)


def execute(statement: str, values: Sequence[object]) -> Any:  # noqa: ANN401 - the driver's own cursor
    """Run a statement with `%s` for its values, and return the driver's cursor."""
    ours = connections[DEFAULT_DB_ALIAS]  # once: each look through the proxy costs 2 µs
    if ours.connection is None:
        ours.ensure_connection()
    if ours.vendor == "sqlite":
        statement = _with_question_marks(statement)
    with ours.wrap_database_errors:
        return ours.connection.execute(statement, values)


@lru_cache(maxsize=64)
def _with_question_marks(statement: str) -> str:
    return statement.replace("%s", "?")


def translated(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Turn what the database raises into our own error, without its text and its parameters."""

    @wraps(function)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except DatabaseError:
            pass  # raised below, so that the database's own error is not its context
        recover()
        raise StorageUnavailable

    return guarded


def translated_rows(
    function: Callable[Parameters, Iterator[Result]],
) -> Callable[Parameters, Iterator[Result]]:
    """Do the same for a function that yields what it reads."""

    @wraps(function)
    def guarded(
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

    return guarded


def all_translated(kind: type[Kind]) -> type[Kind]:
    """Do it for all public methods of a class; a context manager sees to its own errors."""
    for name, method in list(vars(kind).items()):
        if (
            isfunction(method)
            and not name.startswith("_")
            and not hasattr(method, "__wrapped__")
        ):
            guard = translated_rows if isgeneratorfunction(method) else translated
            setattr(kind, name, guard(method))
    return kind


def recover() -> None:
    """After an error, let go of a connection that is dead, so that the next use makes another."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
