"""Field mappings: values of an API become values of the host, and back.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from urllib.parse import quote

from outkey.core.sync.line import FieldMapping, Transform
from outkey.core.sync.records import FieldKind, HostField
from outkey.core.sync.response import size_fault

Zones = Callable[[str], tzinfo]
Lookups = Mapping[str, Mapping[str, object]]  # by host field, then by the key's text

_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)
DECIMAL = re.compile(r"[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,2})?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})*(,\d+)?|[+-]?\d+(,\d+)?", re.ASCII)
# PostgreSQL stores no NUL, and UTF-8 has no surrogates.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}", re.ASCII)
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1", "y", "t"), True),
    **dict.fromkeys(("false", "no", "off", "0", "n", "f"), False),
}
_UNIX = {"unix": 1, "unix_ms": 1000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Of a Unix time: to read 1e999990 as a whole number takes most of a minute.
_MAX_DIGITS = 20
_MAX_NUMBER_LENGTH = 100  # characters of a number that is written as text
_MAX_TIME_LENGTH = 10_000  # characters of a date or time
_MAX_TEMPLATE_LENGTH = 1_000_000  # characters that a template may produce
_FIRST_FOUR_DIGIT_YEAR = 1000  # strftime writes earlier years without zeros
_EMPTY_IS_TEXT = frozenset({Transform.TEXT, Transform.AS_IS, Transform.TEMPLATE})
BY_KIND = {
    FieldKind.TEXT: Transform.TEXT,
    FieldKind.NUMBER: Transform.NUMBER,
    FieldKind.DECIMAL: Transform.DECIMAL,
    FieldKind.DATE: Transform.DATE,
    FieldKind.DATETIME: Transform.DATETIME,
    FieldKind.BOOLEAN: Transform.BOOLEAN,
    FieldKind.CHOICE: Transform.TEXT,
}


@dataclass(frozen=True, slots=True)
class Unmapped:
    """A record that could not be mapped: field, reason, and the values before it."""

    field: str
    reason: str
    row: Mapping[str, object] = dataclass_field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class MappingContext:
    """What some transforms need besides the value: time zones and looked-up ids."""

    zones: Zones
    lookups: Lookups = dataclass_field(default_factory=dict)


class RejectedValue(ValueError):
    """A value that the transform does not convert; its text is the reason."""


def resolve_transform(mapping: FieldMapping, host: HostField | None) -> FieldMapping:
    """Return a mapping with the transform of the host's field.

    A constant becomes the default of a value that is always missing.
    """
    if mapping.transform is Transform.CONSTANT:
        constant = mapping.options.get("value", "")
        mapping = replace(mapping, transform=Transform.AS_IS, default=constant)
    if mapping.transform is Transform.AS_IS and host is not None:
        mapping = replace(mapping, transform=BY_KIND.get(host.kind, Transform.AS_IS))
    return mapping


def map_incoming(
    mappings: Sequence[FieldMapping], values: Sequence[object], context: MappingContext
) -> dict[str, object] | Unmapped:
    """Return the host's values for values of a record, one for each mapping."""
    row: dict[str, object] = {}
    for mapping, value in zip(mappings, values, strict=True):
        try:
            row[mapping.host] = convert(mapping, value, context)
        except RejectedValue as rejected:
            return Unmapped(mapping.host, str(rejected), row)
    return row


def map_outgoing(
    mappings: Sequence[FieldMapping],
    values: Mapping[str, object],
    context: MappingContext,
) -> dict[str, object] | Unmapped:
    """Return a record's values as JSON has them, by the host's names."""
    row: dict[str, object] = {}
    for mapping in mappings:
        try:
            value = _value_to_send(mapping, values, context)
            row[mapping.host] = _json_value(mapping, value, context)
        except RejectedValue as rejected:
            return Unmapped(mapping.host, str(rejected))
    return row


def nest_values(
    mappings: Sequence[FieldMapping], row: Mapping[str, object]
) -> dict[str, object]:
    """Return the object for the API; dots in its names make nested objects."""
    document: dict[str, object] = {}
    for mapping in mappings:
        *outer, name = mapping.api.split(".")
        place = document
        for part in outer:
            # `line_checks` refuses a name that is both a value and an object.
            place = place.setdefault(part, {})  # type: ignore[assignment]
        place[name] = row[mapping.host]
    return document


def _value_to_send(
    mapping: FieldMapping, values: Mapping[str, object], context: MappingContext
) -> object:
    match mapping.transform:
        case Transform.CONSTANT:
            return mapping.options.get("value", "")
        case Transform.TEMPLATE:
            return convert(mapping, values, context)
        case Transform.CHOICE:
            by_host = {host: api for api, host in mapping.options.items()}
            mapping = replace(mapping, options=by_host)
    return convert(mapping, values.get(mapping.host), context)


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
    if not _is_storable(result):
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


def _is_storable(value: object) -> bool:
    match value:
        case str():
            return not UNSTORABLE.search(value)
        case dict():
            return all(_is_storable(part) for pair in value.items() for part in pair)
        case list():
            return all(_is_storable(part) for part in value)
    return True


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
        isinstance(value, Decimal | float) and _is_finite(value)
    ):
        return str(value)
    raise RejectedValue("no_text")


def _is_finite(value: Decimal | float) -> bool:
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
    return _moment(mapping, value, context).date()


def _datetime(
    mapping: FieldMapping, value: object, context: MappingContext
) -> datetime:
    return _moment(mapping, value, context, UTC)


def _moment(
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
        moment = _read_moment(mapping.options.get("format", ""), value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        return aware.astimezone(shown_in or zone)
    except (ValueError, OverflowError):
        raise RejectedValue("no_date") from None


def _read_moment(pattern: str, value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if pattern in _UNIX:
        return _EPOCH + timedelta(milliseconds=_milliseconds(value, _UNIX[pattern]))
    text = value.strip() if isinstance(value, str) else ""
    return datetime.strptime(text, pattern) if pattern else datetime.fromisoformat(text)  # noqa: DTZ007 - the zone is given by the caller


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

    return _PLACEHOLDER.sub(text_at, mapping.options.get("template", "")).strip()


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


# ── to the API ───────────────────────────────────────────────────────────────────────


def _json_value(
    mapping: FieldMapping, value: object, context: MappingContext
) -> object:
    return (
        _formatted_time(mapping, value, context)
        if isinstance(value, date)
        else as_json(value)
    )


def as_json(value: object) -> object:
    """Return a value as JSON has it, or raise ValueError: not infinity (RFC 8259 §6).

    A decimal that a JSON number of a double does not hold exactly becomes text.
    """
    match value:
        case Decimal() | float() if not _is_finite(value):
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
    moment = _moment(mapping, value, context)
    if pattern in _UNIX:
        return (moment - _EPOCH) // timedelta(milliseconds=1000 // _UNIX[pattern])
    local = moment if isinstance(value, datetime) else value
    if pattern and local.year < _FIRST_FOUR_DIGIT_YEAR:
        raise RejectedValue("no_date")
    return local.strftime(pattern) if pattern else local.isoformat()


def value_at(record: object, path: str) -> object:
    """Return the value at a dotted name, or None."""
    for name in path.split("."):
        if not isinstance(record, Mapping):
            return None
        record = record.get(name)
    return record


def placeholders(template: str) -> list[str]:
    """Return the names in the braces of a template."""
    return _PLACEHOLDER.findall(template)


def fill_path(template: str, values: Mapping[str, object]) -> str | Unmapped:
    """Return a path with its {names} filled in; each value stays one segment."""
    for name in placeholders(template):
        value = value_at(values, name)
        if value is None or str(value) in {"", ".", ".."}:
            return Unmapped(name, "not_for_a_path")
    return _PLACEHOLDER.sub(
        lambda name: quote(str(value_at(values, name[1])), safe="", errors="replace"),
        template,
    )


def fill_body(template: object, values: Mapping[str, object]) -> object:
    """Return a JSON document with its {names} filled in.

    A text that is one name alone becomes the value itself. Values are never parsed:
    none can add a key.
    """
    match template:
        case str():
            alone = _PLACEHOLDER.fullmatch(template)
            if alone:
                return value_at(values, alone[1])
            return _PLACEHOLDER.sub(
                lambda name: _plain_text(value_at(values, name[1])), template
            )
        case dict():
            return {name: fill_body(part, values) for name, part in template.items()}
        case list():
            return [fill_body(part, values) for part in template]
    return template


def _plain_text(value: object) -> str:
    return "" if value is None else str(value)
