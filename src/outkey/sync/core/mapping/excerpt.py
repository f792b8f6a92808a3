"""Excerpts of values, for rejected records and for reasons: type and beginning."""

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from itertools import islice
from typing import Final

MAX_EXCERPT = 80
NO_VALUE: Final = object()  # where nothing was refused but the record as a whole
ENOUGH_ITEMS = MAX_EXCERPT + 1  # each takes at least one character
KINDS: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "true/false": (bool,),  # before the numbers, since Python has it among them
    "number": (int, float, Decimal),
    "text": (str, date),
    "object": (Mapping,),
    "list": (list, tuple),
}


def json_kind(value: object) -> str:
    """Return the type of a value in JSON; "" if it has none."""
    return next((kind for kind, types in KINDS.items() if isinstance(value, types)), "")


def excerpt_of(value: object) -> str:
    """Return the beginning of a value in one line, without control characters."""
    is_plain = isinstance(value, str | Decimal | date)
    text = str(value) if is_plain else json_text(value)
    if len(text) > MAX_EXCERPT:
        return printable(text[: MAX_EXCERPT - 1]) + "…"
    return printable(text)


def printable(text: str) -> str:
    """Return a text without characters that a terminal obeys or a database refuses."""
    return "".join(
        character if character.isprintable() else "\ufffd" for character in text
    )


def json_text(value: object) -> str:
    """Return a value as JSON, of a long list or object only the first parts."""
    return json.dumps(_first_parts(value), ensure_ascii=False, default=str)


def _first_parts(value: object) -> object:
    """Return a value without the parts that no excerpt has room for."""
    match value:
        case Mapping():
            return {
                str(name)[:ENOUGH_ITEMS]: _first_parts(part)
                for name, part in islice(value.items(), ENOUGH_ITEMS)
            }
        case list() | tuple():
            return [_first_parts(part) for part in value[:ENOUGH_ITEMS]]
        case str():
            return value[:ENOUGH_ITEMS]
    return value
