"""Field mappings of a whole page: the values of one field after another.

Most values of an API plainly fit: these are converted here, in a few steps for the
whole column. All others are left to `mapping.convert`, which decides alone what a value
becomes and why it is rejected. Both always have the same result.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from itertools import repeat
from operator import is_

from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.mapping.mapping import Unmapped, refused_value
from outkey.sync.core.mapping.transforms import (
    DECIMAL,
    MappingContext,
    RejectedValue,
    Zones,
    convert,
)

# In the place of a value that does not plainly fit.
UNDECIDED = object()
_LARGE = 10**18
_DIGITS = re.compile(r"\d{1,18}", re.ASCII)

Column = Sequence[object]
QuickTransform = Callable[[Column], Column]


class ColumnMapping:
    """One field of a line, compiled once for all pages of a run."""

    def __init__(self, mapping: FieldMapping, zones: Zones) -> None:
        self.host = mapping.host
        self.mapping = mapping
        self._quick = _quick_transform(mapping, zones)

    def convert(
        self, column: Column, context: MappingContext, rejected: dict[int, str]
    ) -> Column:
        """Return the values as the host stores them.

        Reasons go into `rejected`, by the number of the value in the column.
        """
        results = self._quick(column)
        if results is column or not any(map(is_, results, repeat(UNDECIDED))):
            return results
        decided = list(results)
        for number, value in enumerate(column):
            if decided[number] is UNDECIDED:
                try:
                    decided[number] = convert(self.mapping, value, context)
                except RejectedValue as error:
                    rejected[number] = str(error)
        return decided


def map_columns(
    mappings: Sequence[ColumnMapping],
    columns: Sequence[Column],
    context: MappingContext,
) -> list[dict[str, object] | Unmapped]:
    """Return the host's values for each record of a page, given a column a mapping."""
    names = [mapping.host for mapping in mappings]
    # By record: at which mapping it was rejected first, and why.
    faults: dict[int, tuple[int, str]] = {}
    converted = []
    for place, (mapping, column) in enumerate(zip(mappings, columns, strict=True)):
        rejected: dict[int, str] = {}
        converted.append(mapping.convert(column, context, rejected))
        for number, reason in rejected.items():
            faults.setdefault(number, (place, reason))
    rows: list[dict[str, object] | Unmapped] = [
        dict(zip(names, values, strict=True)) for values in zip(*converted, strict=True)
    ]
    for number, (place, reason) in faults.items():
        before = {name: converted[n][number] for n, name in enumerate(names[:place])}
        refused = refused_value(mappings[place].mapping, columns[place][number])
        rows[number] = Unmapped(names[place], reason, before, refused)
    return rows


# ── what plainly fits ────────────────────────────────────────────────────────────────


def _quick_transform(mapping: FieldMapping, zones: Zones) -> QuickTransform:
    """Return a function for the values that plainly fit a mapping."""
    options = mapping.options
    quick: QuickTransform = _undecided
    match mapping.transform:
        case Transform.TEXT:
            quick = texts
        case Transform.NUMBER:
            quick = numbers
        case Transform.DECIMAL if options.get("decimal_mark") != ",":
            quick = decimals
        case Transform.BOOLEAN:
            quick = booleans
        case Transform.CHOICE if all(map(str.isprintable, options.values())):
            quick = _choices_among(options)
        case Transform.DATE if "format" not in options:
            quick = _dates_in(zones(options.get("zone") or "UTC"))
        case Transform.DATETIME if "format" not in options:
            quick = moments
    return quick


def _undecided(column: Column) -> Column:
    """Decide about no value."""
    return [UNDECIDED] * len(column)


def texts(column: Column) -> Column:
    """Return texts that are printable, as most are."""
    try:
        if "".join(column).isprintable():  # type: ignore[arg-type]
            return column
    except TypeError:  # not all are texts
        pass
    return [
        value if isinstance(value, str) and value.isprintable() else UNDECIDED
        for value in column
    ]


def numbers(column: Column) -> Column:
    """Return whole numbers, also those that are written in plain digits, as in CSV."""
    is_plain = _DIGITS.fullmatch
    return [
        value
        if type(value) is int and -_LARGE < value < _LARGE
        else int(value)
        if type(value) is str and is_plain(value)
        else UNDECIDED
        for value in column
    ]


def decimals(column: Column) -> Column:
    """Return decimals that are written as texts or numbers."""
    is_decimal = DECIMAL.fullmatch
    return [
        Decimal(value)
        if type(value) is str and is_decimal(value)
        else value
        if type(value) is Decimal and is_decimal(str(value))
        else UNDECIDED
        for value in column
    ]


def booleans(column: Column) -> Column:
    """Return true and false."""
    return [value if type(value) is bool else UNDECIDED for value in column]


def _choices_among(options: Mapping[str, str]) -> QuickTransform:
    """Return a function for the values that a table has."""

    def choices(column: Column) -> Column:
        return [
            options[value]
            if type(value) is str and value and value in options
            else UNDECIDED
            for value in column
        ]

    return choices


def _dates_in(zone: tzinfo) -> QuickTransform:
    """Return a function for ISO dates, and for the day of ISO times with an offset."""
    is_utc = str(zone) == "UTC"

    def day(value: object) -> object:
        try:
            if len(value) == 10:  # type: ignore[arg-type]
                return date.fromisoformat(value)  # type: ignore[arg-type]
            moment = datetime.fromisoformat(value)  # type: ignore[arg-type]
            if is_utc and moment.tzinfo is UTC:
                return moment.date()
            if moment.tzinfo is not None:
                return moment.astimezone(zone).date()
        except (TypeError, ValueError, OverflowError):
            pass
        return UNDECIDED

    return lambda column: list(map(day, column))


def moments(column: Column) -> Column:
    """Return ISO times with an offset, in UTC."""
    return list(map(_moment, column))


def _moment(value: object) -> object:
    try:
        moment = datetime.fromisoformat(value)  # type: ignore[arg-type]
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    return UNDECIDED
