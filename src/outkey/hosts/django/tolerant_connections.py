"""Connections that read what a database holds, also where it cannot be represented."""

from datetime import date
from typing import Any

from outkey.core.stored_values import FIRST_DAY, OddText


def tolerate_odd_columns(connection: Any, **_: object) -> None:  # noqa: ANN401 - of Django
    """Let a new connection return odd texts and dates instead of an error.

    The error would end the query for all of its rows.
    """
    if connection.vendor == "sqlite":
        connection.connection.text_factory = decode_text
    elif connection.vendor == "postgresql":
        register_date_loader(connection.connection)


def decode_text(stored: bytes) -> str:
    """Return a text of SQLite, which may have bytes that are not UTF-8."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return OddText(stored.decode(errors="replace"))


def register_date_loader(connection: Any) -> None:  # noqa: ANN401 - of psycopg
    """Read dates that Python has none for, such as infinity and years before Christ."""
    from psycopg import DataError
    from psycopg.types.datetime import DateLoader

    class TolerantDateLoader(DateLoader):
        """Returns a day that is marked as odd."""

        def load(self, data: Any) -> date:  # noqa: ANN401 - of psycopg
            """Return the date of a column."""
            try:
                return super().load(data)
            except DataError:
                return FIRST_DAY

    connection.adapters.register_loader("date", TolerantDateLoader)
