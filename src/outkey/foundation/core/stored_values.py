"""Values as a database returns them: each of its type, or an odd one in its place.

SQLite stores any type in any column; every database stores JSON of any shape, and times
that no calendar has. A reader gets a harmless value of the expected type, which is
marked as odd, so that a row which was changed by hand stops only itself.
"""

import json
from collections.abc import Iterable
from datetime import date
from math import isinf
from typing import NamedTuple

from outkey.foundation.core.limited_json import check_nesting, refuse_constant
from outkey.foundation.core.moments import LAST_MOMENT

MAX_COUNT = 2**63
MAX_BRACKETS = 100  # below it, JSON cannot be nested too deeply


class Odd:
    """Marks a value that stands for one that its column should not have."""

    __slots__ = ()


class OddText(Odd, str):
    """Stands for what is not a text."""

    __slots__ = ()


class OddCount(Odd, int):
    """Stands for what is neither a count nor a flag."""


class OddTime(Odd, float):
    """Stands for what is not a time."""

    __slots__ = ()


class OddBytes(Odd, bytes):
    """Stands for what is not bytes."""


class OddDay(Odd, date):
    """Stands for what is not a day."""

    __slots__ = ()


class OddTable(Odd, dict[str, object]):
    """Stands for what is not a table of JSON."""

    __slots__ = ()


class OddRow(NamedTuple):
    """A row that cannot be read as outkey writes it: what it is, and its name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


FIRST_DAY = OddDay(1970, 1, 1)


def is_odd(*values: object) -> bool:
    """Whether one of these values stands for an odd one."""
    return any(isinstance(value, Odd) for value in values)


def read_text(stored: object) -> str:
    """Return a text; of other types their characters, as far as they have some."""
    if isinstance(stored, str):
        return stored
    if isinstance(stored, bytes | memoryview):
        return OddText(bytes(stored).decode(errors="replace"))
    return OddText(stored)


def read_count(stored: object, below: int = MAX_COUNT) -> int:
    """Return a whole number that is not negative, and below a limit."""
    if isinstance(stored, bool) or not isinstance(stored, int):
        return OddCount()
    return stored if 0 <= stored < below else OddCount()


def read_flag(stored: object) -> bool | OddCount:
    """Return a flag; an odd one is not set."""
    return stored if isinstance(stored, bool) else OddCount()


def read_time(stored: object) -> float:
    """Return a Unix time; NaN and years that no calendar has are odd."""
    if isinstance(stored, bool) or not isinstance(stored, int | float):
        return OddTime()
    return stored if 0 <= stored < LAST_MOMENT else OddTime()


def read_bytes(stored: object) -> bytes:
    """Return bytes."""
    if isinstance(stored, bytes):
        return stored
    return bytes(stored) if isinstance(stored, memoryview) else OddBytes()


def read_day(stored: object) -> date:
    """Return a day, also one that SQLite has as a text."""
    if isinstance(stored, date):
        return stored
    try:
        return date.fromisoformat(str(stored))
    except ValueError:
        return FIRST_DAY


def read_table(stored: object) -> dict[str, object]:
    """Return a table that is stored as JSON."""
    try:
        table = read_json(stored) if isinstance(stored, str) else stored
    except ValueError:
        return OddTable()
    return table if isinstance(table, dict) else OddTable()


def read_json(text: str) -> object:
    """Return the value of a stored JSON text, or raise ValueError.

    What outkey never writes is refused: NaN, infinity, and deep nesting.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        check_nesting(value)
    return value


def _finite_number(text: str) -> float:
    """Return a number; ValueError for one that a float cannot hold."""
    number = float(text)
    if isinf(number):
        raise ValueError("a number is too large")
    return number


# Made once: making it takes longer than reading a small text.
_DECODER = json.JSONDecoder(parse_constant=refuse_constant, parse_float=_finite_number)


def odd_names(values: Iterable[tuple[str, object]]) -> tuple[str, ...]:
    """Return the names of those values that are odd."""
    return tuple(name for name, value in values if isinstance(value, Odd))
