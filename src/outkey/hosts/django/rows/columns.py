"""Columns as the database returns them: of their type, or odd.

`foundation.core.stored_values` explains what is odd.
Models keep the fields of Django, and so do migrations: `tolerate_odd_values` changes
only what reading them returns.
"""

import datetime as dt
import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_OID, UUID, uuid5

from django.db.models import CharField, DateField, Field, Model, UUIDField
from django.db.models.fields.json import KeyTransform

from outkey.foundation.core.stored_values import (
    Odd,
    read_bytes,
    read_count,
    read_day,
    read_flag,
    read_table,
    read_text,
    read_time,
)

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

# A day less than Python has at each end: its limits are those of local times.
FIRST_TIME = "0001-01-02 00:00:00+00"
LAST_TIME = "9999-12-30 00:00:00+00"
Deconstructed = tuple[str, str, list[Any], dict[str, Any]]
READERS: dict[str, Callable[[object], object]] = {
    "BigAutoField": read_count,
    "BinaryField": read_bytes,
    "BooleanField": read_flag,
    "CharField": read_text,
    "FloatField": read_time,  # all of them are Unix times
    "JSONField": read_table,
    # The greatest number of a column could not be counted on from.
    "PositiveBigIntegerField": partial(read_count, below=2**63 - 1),
    "PositiveIntegerField": partial(read_count, below=2**31 - 1),
    "PositiveSmallIntegerField": partial(read_count, below=2**15 - 1),
    "TextField": read_text,
}


class OddRecord(Odd, UUID):
    """Stands for an id that is not a UUID."""

    __slots__ = ()


def tolerate_odd_values(*models: type[Model]) -> None:
    """Let the columns of these tables return a value of their type, whatever is there.

    One odd row would otherwise end every query that reads it with an error.
    """
    for model in models:
        for field in model._meta.concrete_fields:  # noqa: SLF001 - Django's documented name
            if field.get_internal_type() == "DateTimeField":
                field.select_format = _select_time  # type: ignore[method-assign]
            reader = READERS.get(field.get_internal_type())
            if reader is not None:
                read = partial(_read_column, field, reader)
                field.from_db_value = read  # type: ignore[attr-defined]


def _select_time(
    compiler: Any,  # noqa: ANN401 - of Django
    sql: str,
    params: Any,  # noqa: ANN401 - of Django
) -> tuple[str, Any]:
    """Read a time that Python does not have as null.

    The driver of PostgreSQL ends the query for infinity and for years of five digits.
    On SQLite the converters of the connection do this.
    """
    if compiler.connection.vendor != "postgresql":
        return sql, params
    return (
        f"CASE WHEN {sql} BETWEEN '{FIRST_TIME}' AND '{LAST_TIME}' THEN {sql} END",
        (*params, *params),
    )


def _read_column(
    field: "Field[Any, Any]",
    reader: Callable[[object], object],
    stored: object,
    expression: object,
    _connection: object,
) -> object:
    """Return the value of a column; null where that is allowed."""
    if stored is None and field.null:
        return None
    if isinstance(expression, KeyTransform):
        return read_part(stored)
    return reader(stored)


def read_part(stored: object) -> object:
    """Return a part of a JSON document; a text may come without its quotes."""
    if not isinstance(stored, str):
        return stored
    try:
        return json.loads(stored)
    except (ValueError, RecursionError):
        return stored


class RecordField(UUIDField):  # type: ignore[type-arg]
    """A UUID; SQLite may have another text there, which no query then finds."""

    def get_internal_type(self) -> str:
        """Return a name that Django converts nothing for."""
        return "RecordField"

    def db_type(self, connection: "BaseDatabaseWrapper") -> str:
        """Return the type of a UUID."""
        return str(connection.data_types["UUIDField"])

    def deconstruct(self) -> Deconstructed:
        """Be a UUID for migrations."""
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.UUIDField", arguments, options  # type: ignore[return-value]

    def from_db_value(
        self, stored: object, _expression: object, _connection: object
    ) -> UUID | None:
        """Return the UUID, or one that is made of the odd value."""
        return None if stored is None else _read_record(stored)


class DayField(DateField):  # type: ignore[type-arg]
    """A date; SQLite may have another text there."""

    def get_internal_type(self) -> str:
        """Return a name that Django converts nothing for."""
        return "DayField"

    def db_type(self, connection: "BaseDatabaseWrapper") -> str:
        """Return the type of a date."""
        return str(connection.data_types["DateField"])

    def select_format(
        self,
        compiler: Any,  # noqa: ANN401 - of Django
        sql: str,
        params: Any,  # noqa: ANN401 - of Django
    ) -> tuple[str, Any]:
        """Read it as a text: drivers end the query for a date that they cannot read."""
        if compiler.connection.vendor == "sqlite":
            return f"CAST({sql} AS TEXT)", params
        return f"to_char({sql}, 'YYYY-MM-DD')", params

    def deconstruct(self) -> Deconstructed:
        """Be a date for migrations."""
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.DateField", arguments, options  # type: ignore[return-value]

    def from_db_value(
        self, stored: object, _expression: object, _connection: object
    ) -> dt.date | None:
        """Return the day."""
        return None if stored is None else read_day(stored)


class CodePointField(CharField):  # type: ignore[type-arg]
    """A text that is ordered and compared by its code points in every database."""

    def db_parameters(self, connection: "BaseDatabaseWrapper") -> Any:  # noqa: ANN401 - of Django
        """Return the type of a text, in PostgreSQL with the collation C."""
        parameters = super().db_parameters(connection)
        if connection.vendor == "postgresql":
            parameters["collation"] = "C"
        return parameters


def _read_record(stored: object) -> UUID:
    """Return the id of a configuration."""
    if isinstance(stored, UUID):
        return stored
    try:
        return UUID(str(stored))
    except ValueError:
        return OddRecord(int=uuid5(NAMESPACE_OID, repr(stored)).int)


def optional_bytes(column: bytes | memoryview | None) -> bytes | None:
    """Return the bytes of a column that may be null; odd ones stay odd."""
    return column if column is None or isinstance(column, bytes) else bytes(column)


def as_bytes(column: object) -> bytes:
    """Return the bytes of a column; SQLite also returns a text that was put there."""
    if isinstance(column, bytes | memoryview):
        return bytes(column)
    return str(column).encode(errors="replace")


def as_number(column: object) -> int:
    """Return the number of a column; 0 for what a chain cannot hold."""
    if isinstance(column, int) and 0 <= column < 2**63:
        return column
    return 0
