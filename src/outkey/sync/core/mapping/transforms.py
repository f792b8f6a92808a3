"""Transforms: a value of an API becomes a value of the host.

A value is converted exactly or rejected, never guessed.

    as_is      decided by the kind of the host's field, like one of the following
    text       text as it is; numbers as they are written; true and false
    number     whole numbers, also written as text or with a fraction of zero
    decimal    exact, never by way of a float; option `decimal_mark` "," reads 1.234,50
    date       ISO 8601; of a time, the day in option `zone`; option `format` as below
    datetime   ISO 8601, stored in UTC; without an offset in option `zone`, or UTC;
               option `format` is a pattern of strptime, `unix` or `unix_ms`
    boolean    true and false, 1 and 0, and the words yes, no, on, off, y, n, t, f
    choice     by the table of its options, from the API's value to the host's
    lookup     the record of option `target` that has the value in option `field`
    constant   option `value`, whatever the API returns
    template   option `template`, with {name} or {name.name} of the record

A missing value (null, or an empty text where the field is not text) is the default of
the mapping, or null.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal, InvalidOperation

from outkey.foundation.core.moments import iso_datetime
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.line.templates import PLACEHOLDER, value_at
from outkey.sync.core.mapping.storable import is_storable
from outkey.sync.core.paging.response import size_fault

Zones = Callable[[str], tzinfo]
Lookups = Mapping[str, Mapping[str, object]]  # by host field, then by the key's text

_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)
DECIMAL = re.compile(r"[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,2})?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})*(,\d+)?|[+-]?\d+(,\d+)?", re.ASCII)
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1", "y", "t"), True),
    **dict.fromkeys(("false", "no", "off", "0", "n", "f"), False),
}
UNIX_UNITS = {"unix": 1, "unix_ms": 1000}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Of a Unix time: to read 1e999990 as a whole number takes most of a minute.
_MAX_DIGITS = 20
_MAX_NUMBER_LENGTH = 100  # characters of a number that is written as text
_MAX_TIME_LENGTH = 10_000  # characters of a date or time
_MAX_TEMPLATE_LENGTH = 1_000_000  # characters that a template may produce
_EMPTY_IS_TEXT = frozenset({Transform.TEXT, Transform.AS_IS, Transform.TEMPLATE})


@dataclass(frozen=True, slots=True)
class MappingContext:
    """Values that some transforms need: time zones and looked-up ids."""

    zones: Zones
    lookups: Lookups = dataclass_field(default_factory=dict)


class RejectedValue(ValueError):
    """A value that the transform does not convert; its text is the reason."""


def convert(mapping: FieldMapping, value: object, context: MappingContext) -> object:
    """Return one value as the host stores it, or raise RejectedValue."""
    if value is None or value == "":
        value = _empty_as_missing(mapping, value)
        if value is None:
            value = _empty_as_missing(mapping, mapping.default)
        if value is None:
            if mapping.required:
                raise RejectedValue("missing")
            return None
    result = _TRANSFORMS[mapping.transform](mapping, value, context)
    if isinstance(result, str) and result.isprintable():
        return result  # most are, and this is quicker than a search
    if not is_storable(result):
        raise RejectedValue("unstorable_character")
    return result


def convert_exactly(transform: Transform, value: object) -> object:
    """Return a value as a transform without options reads it, or raise ValueError."""
    context = MappingContext(lambda _name: UTC)
    return _TRANSFORMS[transform](FieldMapping("", ""), value, context)


def refusal_reason(
    mapping: FieldMapping, value: object, context: MappingContext
) -> str:
    """Return why a value cannot be converted, or nothing."""
    try:
        convert(mapping, value, context)
    except RejectedValue as rejected:
        return str(rejected)
    return ""


def _empty_as_missing(mapping: FieldMapping, value: object) -> object:
    return None if value == "" and mapping.transform not in _EMPTY_IS_TEXT else value


# ── the transforms ───────────────────────────────────────────────────────────────────


def _as_is(_mapping: FieldMapping, value: object, _context: MappingContext) -> object:
    if isinstance(value, dict | list) and (reason := size_fault({"": value})):
        raise RejectedValue(reason)  # an expression can build much out of little
    return value


def _text(_mapping: FieldMapping, value: object, _context: MappingContext) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (
        isinstance(value, Decimal | float) and is_finite(value)
    ):
        return str(value)
    raise RejectedValue("no_text")


def is_finite(value: Decimal | float) -> bool:
    """Whether a number is neither infinite nor undefined."""
    return Decimal(value).is_finite()


def _number(_mapping: FieldMapping, value: object, _context: MappingContext) -> int:
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal | float):
        raise RejectedValue("no_whole_number")
    exact = Decimal(value)
    if (
        not exact.is_finite()
        or exact.adjusted() > 40
        or exact != exact.to_integral_value()
    ):
        raise RejectedValue("no_whole_number")
    return int(exact)


def _decimal(mapping: FieldMapping, value: object, _context: MappingContext) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal | float):
        raise RejectedValue("no_number")
    text = str(value).strip()
    if len(text) > _MAX_NUMBER_LENGTH:
        raise RejectedValue("no_number")
    if isinstance(value, str) and mapping.options.get("decimal_mark") == ",":
        text = _with_point(text)
    if not DECIMAL.fullmatch(text):
        raise RejectedValue("no_number")
    return Decimal(text)


def _with_point(text: str) -> str:
    # 1.23 is not an amount where the comma is the mark: to read 123 would be a guess.
    if not _GROUPED.fullmatch(text):
        raise RejectedValue("no_number")
    return text.replace(".", "").replace(",", ".")


def _date(mapping: FieldMapping, value: object, context: MappingContext) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and len(value) == 10 and "format" not in mapping.options:
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise RejectedValue("no_date") from None
    return moment_of(mapping, value, context).date()


def _datetime(
    mapping: FieldMapping, value: object, context: MappingContext
) -> datetime:
    return moment_of(mapping, value, context, UTC)


def moment_of(
    mapping: FieldMapping,
    value: object,
    context: MappingContext,
    shown_in: tzinfo | None = None,
) -> datetime:
    """Return a moment in the mapping's zone, or in another one."""
    if isinstance(value, str) and len(value) > _MAX_TIME_LENGTH:
        raise RejectedValue("no_date")
    zone = context.zones(mapping.options.get("zone") or "UTC")
    try:
        moment = read_moment_by(mapping.options.get("format", ""), value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        return aware.astimezone(shown_in or zone)
    except (ValueError, OverflowError):
        raise RejectedValue("no_date") from None


def read_moment_by(pattern: str, value: object) -> datetime:
    """Return a moment as a format has it, or raise ValueError or OverflowError.

    Without a zone if the value has none.
    """
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if pattern in UNIX_UNITS:
        return EPOCH + timedelta(milliseconds=_milliseconds(value, UNIX_UNITS[pattern]))
    text = value.strip() if isinstance(value, str) else ""
    return datetime.strptime(text, pattern) if pattern else datetime.fromisoformat(text)  # noqa: DTZ007 - the zone is given by the caller


def write_moment_by(pattern: str, moment: datetime) -> str:
    """Return a moment as a format writes it; by default in ISO 8601, to the second."""
    utc = moment.astimezone(UTC)
    if pattern in UNIX_UNITS:
        return str((utc - EPOCH) // (timedelta(seconds=1) / UNIX_UNITS[pattern]))
    return (
        utc.strftime(pattern) if pattern else iso_datetime(utc.replace(microsecond=0))
    )


def is_readable(pattern: str) -> bool:
    """Whether a pattern reads what it writes."""
    sample = datetime(2000, 12, 31, 23, 59, 58, tzinfo=UTC)
    try:
        datetime.strptime(sample.strftime(pattern), pattern)  # noqa: DTZ007 - not used
    except (ValueError, re.error):  # the latter where one part stands twice
        return False
    return True


def _milliseconds(value: object, per_second: int) -> int:
    try:
        exact = Decimal(str(value))  # fails for True or a list
    except InvalidOperation:
        raise ValueError from None
    if not exact.is_finite() or exact.adjusted() > _MAX_DIGITS:
        raise ValueError
    return int(exact * 1000 / per_second)


def _boolean(_mapping: FieldMapping, value: object, _context: MappingContext) -> bool:
    if not isinstance(value, str | int):
        raise RejectedValue("no_yes_or_no")
    boolean = _BOOLEANS.get(str(value).strip().lower())
    if boolean is None:
        raise RejectedValue("no_yes_or_no")
    return boolean


def _choice(mapping: FieldMapping, value: object, context: MappingContext) -> str:
    text = _text(mapping, value, context)
    if text not in mapping.options:
        raise RejectedValue("unknown_choice")
    return mapping.options[text]


def _lookup(mapping: FieldMapping, value: object, context: MappingContext) -> object:
    ids = context.lookups.get(mapping.host, {})
    record = ids.get(_text(mapping, value, context))
    if record is None:
        raise RejectedValue("not_found")
    return record


def _template(mapping: FieldMapping, value: object, context: MappingContext) -> str:
    length = 0

    def text_at(placeholder: re.Match[str]) -> str:
        nonlocal length
        inner = value_at(value, placeholder[1])
        text = "" if inner is None else _text(mapping, inner, context)
        length += len(text)
        if length > _MAX_TEMPLATE_LENGTH:
            raise RejectedValue("too_long")
        return text

    return PLACEHOLDER.sub(text_at, mapping.options.get("template", "")).strip()


_TRANSFORMS: Mapping[
    Transform, Callable[[FieldMapping, object, MappingContext], object]
] = {
    Transform.AS_IS: _as_is,
    Transform.TEXT: _text,
    Transform.NUMBER: _number,
    Transform.DECIMAL: _decimal,
    Transform.DATE: _date,
    Transform.DATETIME: _datetime,
    Transform.BOOLEAN: _boolean,
    Transform.CHOICE: _choice,
    Transform.LOOKUP: _lookup,
    Transform.TEMPLATE: _template,
}
