"""Values of the host become JSON values for an API."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal

from outkey.foundation.core.stored_values import is_odd
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.mapping.transforms import (
    EPOCH,
    UNIX_UNITS,
    MappingContext,
    RejectedValue,
    convert,
    is_finite,
    moment_of,
)

_FIRST_FOUR_DIGIT_YEAR = 1000  # strftime writes earlier years without zeros


def value_to_send(
    mapping: FieldMapping, values: Mapping[str, object], context: MappingContext
) -> object:
    """Return the value of a record that a mapping sends."""
    match mapping.transform:
        case Transform.CONSTANT:
            return mapping.options.get("value", "")
        case Transform.TEMPLATE:
            _refuse_odd(*values.values())
            return convert(mapping, values, context)
        case Transform.CHOICE:
            by_host = {host: api for api, host in mapping.options.items()}
            mapping = replace(mapping, options=by_host)
    value = values.get(mapping.host)
    _refuse_odd(value)
    return convert(mapping, value, context)


def _refuse_odd(*values: object) -> None:
    """Raise RejectedValue for what only stands for a value that cannot be read.

    An API would store it in the place of the right one.
    """
    if is_odd(*values):
        raise RejectedValue("unreadable")


def json_value(mapping: FieldMapping, value: object, context: MappingContext) -> object:
    """Return a converted value as JSON has it."""
    if isinstance(value, date):
        return _formatted_time(mapping, value, context)
    if isinstance(value, Decimal) and mapping.options.get("decimal_mark") == ",":
        return f"{value:f}".replace(".", ",")
    return as_json(value)


def as_json(value: object) -> object:
    """Return a value as JSON has it, or raise ValueError: not infinity (RFC 8259 §6).

    A decimal that a JSON number of a double does not hold exactly becomes text.
    """
    match value:
        case Decimal() | float() if not is_finite(value):
            raise RejectedValue("no_number")
        case Decimal():
            number = float(value)
            return number if Decimal(repr(number)) == value else str(value)
        case date():
            return value.isoformat()
        case dict():
            return {name: as_json(part) for name, part in value.items()}
        case list():
            return [as_json(part) for part in value]
    return value


def _formatted_time(
    mapping: FieldMapping, value: date, context: MappingContext
) -> object:
    pattern = mapping.options.get("format", "")
    moment = moment_of(mapping, value, context)
    if pattern in UNIX_UNITS:
        return (moment - EPOCH) // timedelta(milliseconds=1000 // UNIX_UNITS[pattern])
    local = moment if isinstance(value, datetime) else value
    if pattern and local.year < _FIRST_FOUR_DIGIT_YEAR:
        raise RejectedValue("no_date")
    return local.strftime(pattern) if pattern else local.isoformat()
