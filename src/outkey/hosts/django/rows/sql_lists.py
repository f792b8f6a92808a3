"""A list of values as one parameter of a statement.

Drivers take longer for each parameter than databases for its value, and the text of the
statement does not depend on how many there are.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from types import NoneType
from typing import Any

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


def text_list(vendor: str, texts: Sequence[str]) -> object:
    """Return a list of texts as one parameter."""
    return json.dumps(texts) if vendor == "sqlite" else array_literal(texts)


def array_literal(values: Sequence[object]) -> object:
    """Return an array as PostgreSQL reads it.

    Of other values, or of more than one type, it is the list itself, for psycopg to
    write, which takes longer.
    """
    types = set(map(type, values)) - {NoneType}
    write = _WRITERS.get(next(iter(types), str))
    if len(types) > 1 or write is None:
        return list(values)
    if None in values:
        parts = [
            "NULL" if value is None else _array_element(write(value))
            for value in values
        ]
        return f"{{{','.join(parts)}}}"
    texts = list(map(write, values))
    together = "".join(texts)
    if '"' in together or "\\" in together:
        return f"{{{','.join(map(_array_element, texts))}}}"
    return '{"' + '","'.join(texts) + '"}' if texts else "{}"


def _array_element(text: str) -> str:
    """Return an element of an array in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
