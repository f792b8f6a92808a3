"""Columns of values in the text that PostgreSQL reads.

psycopg writes each value by itself, which takes longer than PostgreSQL needs to store
them.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from types import NoneType
from typing import Any, NamedTuple

# By type: the text that PostgreSQL reads as the same value.
_WRITERS: Mapping[type, Callable[[Any], str]] = {
    str: str,
    int: str,
    bool: str,
    float: repr,
    Decimal: str,
    date: date.isoformat,
    datetime: datetime.isoformat,
}
# Of the text format of COPY: the separators of values and rows, and the escape sign.
_COPY_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_COPY_TABLE = str.maketrans(_COPY_ESCAPES)
_COPY_NULL = "\\N"


class ColumnTexts(NamedTuple):
    """The values of a column as texts; None for NULL."""

    texts: list[Any]  # str or None
    has_null: bool

    def contains_any(self, characters: str) -> bool:
        """Whether one of these characters is in one of the texts."""
        together = "".join(filter(None, self.texts) if self.has_null else self.texts)
        return any(character in together for character in characters)


def column_texts(values: Sequence[object]) -> ColumnTexts | None:
    """Return values as texts; None if they are of other types, or of several."""
    types = set(map(type, values))
    has_null = NoneType in types
    types.discard(NoneType)
    write = _WRITERS.get(next(iter(types), str))
    if len(types) > 1 or write is None:
        return None
    texts = (
        [None if value is None else write(value) for value in values]
        if has_null
        else list(map(write, values))
    )
    return ColumnTexts(texts, has_null=has_null)


def array_literal(values: Sequence[object]) -> object:
    """Return an array as one parameter.

    Of values that have no text here it is the list itself, for psycopg to write.
    """
    column = column_texts(values)
    if column is None:
        return list(values)
    if column.has_null or column.contains_any('"\\'):
        return f"{{{','.join(map(_array_element, column.texts))}}}"
    return '{"' + '","'.join(column.texts) + '"}' if values else "{}"


def _array_element(text: str | None) -> str:
    """Return an element of an array: in quotes, or NULL."""
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def copy_text(columns: Sequence[Sequence[object]]) -> str | None:
    """Return rows in the text format of COPY, given their columns.

    None if a column has values that have no text here.
    """
    parts = []
    for values in columns:
        column = column_texts(values)
        if column is None:
            return None
        parts.append(_copy_column(column))
    rows = list(map("\t".join, zip(*parts, strict=True)))
    return "\n".join([*rows, ""])


def _copy_column(column: ColumnTexts) -> list[str]:
    if not column.has_null and not column.contains_any("".join(_COPY_ESCAPES)):
        return column.texts
    return [
        _COPY_NULL if text is None else text.translate(_COPY_TABLE)
        for text in column.texts
    ]
