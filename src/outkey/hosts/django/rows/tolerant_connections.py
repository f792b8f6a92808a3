"""Connections that read what a database holds, also where it cannot be represented."""

import sqlite3
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from django.utils.dateparse import parse_date, parse_datetime

from outkey.foundation.core.stored_values import OddText

Moment = TypeVar("Moment")


def tolerate_odd_columns(connection: Any, **_: object) -> None:  # noqa: ANN401 - of Django
    """Let a new connection to SQLite return odd texts instead of an error.

    The error would end the query for all of its rows.
    """
    if connection.vendor == "sqlite":
        connection.connection.text_factory = decode_text


def decode_text(stored: bytes) -> str:
    """Return a text of SQLite, which may have bytes that are not UTF-8."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return OddText(stored.decode(errors="replace"))


def tolerate_odd_times() -> None:
    """Read what is not a date or a time as null, in all SQLite tables of this process.

    Django's own tables have such columns, and its converters would end the query. Only
    for a process that is outkey's: they are the same for all connections.
    """
    import_module("django.db.backends.sqlite3.base")  # which sets its own converters
    for name, parse in (
        ("date", parse_date),
        ("datetime", parse_datetime),
        ("timestamp", parse_datetime),
    ):
        sqlite3.register_converter(name, partial(_parse_or_null, parse))


def _parse_or_null(
    parse: Callable[[str], Moment | None], stored: bytes
) -> Moment | None:
    """Return a date or time; None for what is not one."""
    try:
        return parse(stored.decode())
    except ValueError:  # also of other bytes than UTF-8
        return None
