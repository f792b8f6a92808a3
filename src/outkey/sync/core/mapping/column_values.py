"""The limits of a column of a table or a file, and why it refuses a value."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from outkey.foundation.core.state_shapes import known_members
from outkey.sync.core.mapping.json_values import as_json
from outkey.sync.core.mapping.records import FieldKind
from outkey.sync.core.mapping.shape import LARGEST_NUMBER, SMALLEST_NUMBER
from outkey.sync.core.mapping.storable import UNSTORABLE, is_storable

# Of values that need no closer look, or only at their size.
PLAIN_TYPES: Mapping[FieldKind, type] = {
    FieldKind.TEXT: str,
    FieldKind.NUMBER: int,
    FieldKind.LINK: int,
    FieldKind.BOOLEAN: bool,
    FieldKind.DATE: date,
    FieldKind.DATETIME: datetime,
}

_DIGITS_OF_DOUBLE = 15


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The kind of a column, and the limits that its type has."""

    kind: FieldKind
    longest: int | None = None
    precision: int | None = None
    scale: int | None = None
    is_double: bool = False  # a decimal in a binary floating-point number

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "ColumnType":
        """Return the type that `facts` describes."""
        kind = FieldKind(facts["kind"])
        return cls(**{**known_members(cls, facts), "kind": kind})

    def facts(self) -> dict[str, object]:
        """Return the type as JSON can hold it, without what is as by default."""
        facts = {
            "longest": self.longest,
            "precision": self.precision,
            "scale": self.scale,
            "is_double": self.is_double,
        }
        return {"kind": str(self.kind)} | {
            name: value for name, value in facts.items() if value
        }


def column_faults(
    column: ColumnType, values: Sequence[object], *, is_key: bool
) -> dict[int, str]:
    """Return the reasons why a column refuses values, by their number.

    Most columns need one look at all of their values.
    """
    lacks_key = is_key and any(empty in values for empty in (None, ""))
    if not lacks_key and _are_plain(column, values):
        return {}
    return {
        number: reason
        for number, value in enumerate(values)
        if (reason := value_fault(column, value, is_key=is_key))
    }


def _are_plain(column: ColumnType, values: Sequence[object]) -> bool:
    """Whether all values of a column plainly fit; False where they might not."""
    present: Any = [value for value in values if value is not None]
    if not present:
        return True
    (kind, *others) = {*map(type, present)}
    if kind is Decimal and column.kind is FieldKind.DECIMAL and not others:
        is_exact = column.precision is None and all(map(Decimal.is_finite, present))
        return is_exact and (not column.is_double or _fit_double(present))
    if others or kind is not PLAIN_TYPES.get(column.kind):
        return False
    if kind is int:
        return bool(min(present) >= SMALLEST_NUMBER and max(present) <= LARGEST_NUMBER)
    if kind is not str:
        return True
    is_short = column.longest is None or max(map(len, present)) <= column.longest
    return is_short and not UNSTORABLE.search("".join(present))


def _fit_double(values: Sequence[Decimal]) -> bool:
    """Whether a double has all digits of these numbers: it has 15 of any."""
    texts = [*map(str, values)]
    return max(map(len, texts)) <= _DIGITS_OF_DOUBLE and "E" not in "".join(texts)


def value_fault(column: ColumnType, value: object, *, is_key: bool) -> str:
    """Return the reason why a column refuses a value, or "" if it does not."""
    if value is None or value == "":
        return "missing" if is_key else ""
    return FAULTS.get(column.kind, _json_fault)(column, value)


def _number_fault(_column: ColumnType, value: object) -> str:
    """Return the reason why a column of whole numbers refuses a value."""
    if type(value) is not int:
        return "wrong_type"
    return "" if SMALLEST_NUMBER <= value <= LARGEST_NUMBER else "out_of_range"


def _type_fault(column: ColumnType, value: object) -> str:
    """Return the reason why a column of dates, times or booleans refuses a value."""
    return "" if type(value) is PLAIN_TYPES[column.kind] else "wrong_type"


def _text_fault(column: ColumnType, value: object) -> str:
    """Return the reason why a column of texts refuses a value."""
    if not isinstance(value, str):
        return "wrong_type"
    if column.longest is not None and len(value) > column.longest:
        return "too_long"
    return "unstorable_character" if UNSTORABLE.search(value) else ""


def _decimal_fault(column: ColumnType, value: object) -> str:
    """Return the reason why a column would have to round a number."""
    if not isinstance(value, Decimal | int) or isinstance(value, bool):
        return "wrong_type"
    exact = Decimal(value)
    if not exact.is_finite():
        return "no_number"
    if column.is_double:
        is_number = exact == int_or_none(exact)
        fits = is_number or Decimal(repr(float(exact))) == exact
        return "" if fits else "out_of_range"
    if column.precision is None:
        return ""
    scale = column.scale or 0
    places = max(0, -_last_place(exact))
    digits = max(0, exact.adjusted() + 1) if exact else 0
    fits = places <= scale and digits <= column.precision - scale
    return "" if fits else "out_of_range"


def _last_place(value: Decimal) -> int:
    """Return the exponent of the last digit that is not zero."""
    _, digits, exponent = value.as_tuple()
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return int(exponent) + zeros if value else 0


def int_or_none(value: Decimal) -> int | None:
    """Return a decimal as a whole number of 64 bits, if it is one."""
    if value.adjusted() > 19 or value != value.to_integral_value():
        return None
    number = int(value)
    return number if SMALLEST_NUMBER <= number <= LARGEST_NUMBER else None


def _json_fault(_column: ColumnType, value: object) -> str:
    """Return the reason why a value cannot be stored as JSON."""
    try:
        json.dumps(as_json(value))
    except (TypeError, ValueError):
        return "wrong_type"
    return "" if is_storable(value) else "unstorable_character"


FAULTS: Mapping[FieldKind, Callable[[ColumnType, object], str]] = {
    FieldKind.TEXT: _text_fault,
    FieldKind.NUMBER: _number_fault,
    FieldKind.LINK: _number_fault,
    FieldKind.DECIMAL: _decimal_fault,
    FieldKind.BOOLEAN: _type_fault,
    FieldKind.DATE: _type_fault,
    FieldKind.DATETIME: _type_fault,
}
