"""Field mappings: how values of an API become those of the host, and back. Exact, or refused.

    as_is      what the host's field takes: its kind decides like one of the following
    text       text as it is; numbers as they are written; true and false
    number     whole numbers, also written as text or with a fraction of zero
    decimal    exact, never by way of a float; option `decimal_mark` "," reads 1.234,50
    date       ISO 8601; a moment is the day in option `zone`; option `format` as below
    datetime   ISO 8601, kept in UTC; without an offset it is in option `zone`, or UTC;
               option `format` is a pattern of strptime, `unix` or `unix_ms`
    boolean    true and false, 1 and 0, and the words yes, no, on, off, y, n, t, f
    choice     by the table of its options, from the API's value to the host's
    lookup     the record of option `target` that has the value in option `field`
    constant   option `value`, whatever the API says
    template   option `template`, with {name} or {name.name} of the record

A missing value (null, or an empty text where no text is wanted) is the default, or nothing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from urllib.parse import quote

from outkey.core.sync.line import FieldMapping, Transform
from outkey.core.sync.response import oversize
from outkey.core.sync.run import FieldKind, HostField

Zones = Callable[[str], tzinfo]
Lookups = Mapping[str, Mapping[str, object]]  # by host field, then by the key's text

_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,2})?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})*(,\d+)?|[+-]?\d+(,\d+)?", re.ASCII)
_UNSTORABLE = re.compile(
    "[\x00\ud800-\udfff]"
)  # PostgreSQL and UTF-8 do not take these
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}", re.ASCII)
_WORDS = {
    **dict.fromkeys(("true", "yes", "on", "1", "y", "t"), True),
    **dict.fromkeys(("false", "no", "off", "0", "n", "f"), False),
}
_UNIX = {"unix": 1, "unix_ms": 1000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_DIGITS = (
    20  # of a moment; to read 1e999990 as a whole number takes most of a minute
)
_LONGEST_NUMBER = 100  # characters of a number that is written as text
_LONGEST_MOMENT = 10_000
_LONGEST_TEXT = 1_000_000  # characters that a template may make of what it repeats
_FOUR_DIGITS = 1000  # the first year that %Y writes with as many
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
    """A record that could not be mapped: the field, a word of ours, and what went well before."""

    field: str
    reason: str
    row: Mapping[str, object] = dataclass_field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Means:
    """What some transforms need besides the value."""

    zones: Zones
    lookups: Lookups = dataclass_field(default_factory=dict)


class _Refused(ValueError):
    """A value that the transform does not take; the text is a word of ours."""


def settled(mapping: FieldMapping, host: HostField | None) -> FieldMapping:
    """Return a mapping whose transform is known: a constant is a default of nothing."""
    if mapping.transform is Transform.CONSTANT:
        constant = mapping.options.get("value", "")
        mapping = replace(mapping, transform=Transform.AS_IS, default=constant)
    if mapping.transform is Transform.AS_IS and host is not None:
        mapping = replace(mapping, transform=BY_KIND.get(host.kind, Transform.AS_IS))
    return mapping


def incoming(
    mappings: Sequence[FieldMapping], values: Sequence[object], means: Means
) -> dict[str, object] | Unmapped:
    """Return the host's values for what was found in a record, one value for each mapping."""
    row: dict[str, object] = {}
    for mapping, value in zip(mappings, values, strict=True):
        try:
            row[mapping.host] = converted(mapping, value, means)
        except _Refused as refused:
            return Unmapped(mapping.host, str(refused), row)
    return row


def outgoing(
    mappings: Sequence[FieldMapping], values: Mapping[str, object], means: Means
) -> dict[str, object] | Unmapped:
    """Return a record's values as JSON has them, by the host's names."""
    row: dict[str, object] = {}
    for mapping in mappings:
        try:
            row[mapping.host] = _sendable(
                mapping, _to_send(mapping, values, means), means
            )
        except _Refused as refused:
            return Unmapped(mapping.host, str(refused))
    return row


def nested(
    mappings: Sequence[FieldMapping], row: Mapping[str, object]
) -> dict[str, object]:
    """Return the object for the API; dots in its names make objects inside."""
    made: dict[str, object] = {}
    for mapping in mappings:
        *outer, name = mapping.api.split(".")
        place = made
        for part in outer:
            place = place.setdefault(part, {})  # type: ignore[assignment]  # `checks` refuses two in one place
        place[name] = row[mapping.host]
    return made


def _to_send(
    mapping: FieldMapping, values: Mapping[str, object], means: Means
) -> object:
    match mapping.transform:
        case Transform.CONSTANT:
            return mapping.options.get("value", "")
        case Transform.TEMPLATE:
            return converted(mapping, values, means)
        case Transform.CHOICE:
            turned = {ours: theirs for theirs, ours in mapping.options.items()}
            mapping = replace(mapping, options=turned)
    return converted(mapping, values.get(mapping.host), means)


def converted(mapping: FieldMapping, value: object, means: Means) -> object:
    """Return one value as the host keeps it, or raise what `refusal` catches."""
    if value is None or value == "":
        value = _given(mapping, value)
        if value is None:
            value = _given(mapping, mapping.default)
        if value is None:
            if mapping.required:
                raise _Refused("missing")
            return None
    made = _TRANSFORMS[mapping.transform](mapping, value, means)
    if (
        isinstance(made, str) and made.isprintable()
    ):  # as most are, and quicker than to search
        return made
    if not _is_storable(made):
        raise _Refused("unstorable_character")
    return made


def exactly(transform: Transform, value: object) -> object:
    """Return a value as a transform without options reads it, or raise ValueError."""
    return _TRANSFORMS[transform](FieldMapping("", ""), value, Means(lambda _name: UTC))


def refusal(mapping: FieldMapping, value: object, means: Means) -> str:
    """Return why a value cannot be converted, or nothing."""
    try:
        converted(mapping, value, means)
    except _Refused as refused:
        return str(refused)
    return ""


def _given(mapping: FieldMapping, value: object) -> object:
    return None if value == "" and mapping.transform not in _EMPTY_IS_TEXT else value


def _is_storable(value: object) -> bool:
    match value:
        case str():
            return not _UNSTORABLE.search(value)
        case dict():
            return all(_is_storable(part) for pair in value.items() for part in pair)
        case list():
            return all(_is_storable(part) for part in value)
    return True


# ── the transforms ───────────────────────────────────────────────────────────────────────────


def _as_is(_mapping: FieldMapping, value: object, _means: Means) -> object:
    if isinstance(value, dict | list) and (reason := oversize({"": value})):
        raise _Refused(reason)  # an expression can make much out of little
    return value


def _text(_mapping: FieldMapping, value: object, _means: Means) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (
        isinstance(value, Decimal | float) and _is_finite(value)
    ):
        return str(value)
    raise _Refused("no_text")


def _is_finite(value: Decimal | float) -> bool:
    return Decimal(value).is_finite()


def _number(_mapping: FieldMapping, value: object, _means: Means) -> int:
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal | float):
        raise _Refused("no_whole_number")
    exact = Decimal(value)
    if (
        not exact.is_finite()
        or exact.adjusted() > 40
        or exact != exact.to_integral_value()
    ):
        raise _Refused("no_whole_number")
    return int(exact)


def _decimal(mapping: FieldMapping, value: object, _means: Means) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal | float):
        raise _Refused("no_number")
    text = str(value).strip()
    if len(text) > _LONGEST_NUMBER:
        raise _Refused("no_number")
    if isinstance(value, str) and mapping.options.get("decimal_mark") == ",":
        text = _with_point(text)
    if not _DECIMAL.fullmatch(text):
        raise _Refused("no_number")
    return Decimal(text)


def _with_point(text: str) -> str:
    # 1.23 is no amount where the comma is the mark; to read it as 123 would be a guess.
    if not _GROUPED.fullmatch(text):
        raise _Refused("no_number")
    return text.replace(".", "").replace(",", ".")


def _date(mapping: FieldMapping, value: object, means: Means) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and len(value) == 10 and "format" not in mapping.options:
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise _Refused("no_date") from None
    return _moment(mapping, value, means).date()


def _datetime(mapping: FieldMapping, value: object, means: Means) -> datetime:
    return _moment(mapping, value, means, UTC)


def _moment(
    mapping: FieldMapping, value: object, means: Means, shown_in: tzinfo | None = None
) -> datetime:
    """Return a moment in the mapping's zone, or in another one."""
    if isinstance(value, str) and len(value) > _LONGEST_MOMENT:
        raise _Refused("no_date")
    zone = means.zones(mapping.options.get("zone") or "UTC")
    try:
        read = _read_moment(mapping.options.get("format", ""), value)
        aware = read if read.tzinfo else read.replace(tzinfo=zone)
        return aware.astimezone(shown_in or zone)
    except (ValueError, OverflowError):
        raise _Refused("no_date") from None


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
        exact = Decimal(str(value))  # of True or a list there is none
    except InvalidOperation:
        raise ValueError from None
    if not exact.is_finite() or exact.adjusted() > _MOST_DIGITS:
        raise ValueError
    return int(exact * 1000 / per_second)


def _boolean(_mapping: FieldMapping, value: object, _means: Means) -> bool:
    found = (
        _WORDS.get(str(value).strip().lower()) if isinstance(value, str | int) else None
    )
    if found is None:
        raise _Refused("no_yes_or_no")
    return found


def _choice(mapping: FieldMapping, value: object, means: Means) -> str:
    text = _text(mapping, value, means)
    if text not in mapping.options:
        raise _Refused("unknown_choice")
    return mapping.options[text]


def _lookup(mapping: FieldMapping, value: object, means: Means) -> object:
    found = means.lookups.get(mapping.host, {}).get(_text(mapping, value, means))
    if found is None:
        raise _Refused("not_found")
    return found


def _template(mapping: FieldMapping, value: object, means: Means) -> str:
    length = 0

    def text_at(found: re.Match[str]) -> str:
        nonlocal length
        inner = value_at(value, found[1])
        text = "" if inner is None else _text(mapping, inner, means)
        length += len(text)
        if length > _LONGEST_TEXT:
            raise _Refused("too_long")
        return text

    return _PLACEHOLDER.sub(text_at, mapping.options.get("template", "")).strip()


_TRANSFORMS: Mapping[Transform, Callable[[FieldMapping, object, Means], object]] = {
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


# ── to the API ───────────────────────────────────────────────────────────────────────────────


def _sendable(mapping: FieldMapping, value: object, means: Means) -> object:
    return (
        _written(mapping, value, means) if isinstance(value, date) else as_json(value)
    )


def as_json(value: object) -> object:
    """Return a value as JSON has it, or raise ValueError: infinity is none (RFC 8259 §6).

    A decimal that no JSON number holds exactly is text.
    """
    match value:
        case Decimal() | float() if not _is_finite(value):
            raise _Refused("no_number")
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


def _written(mapping: FieldMapping, value: date, means: Means) -> object:
    pattern = mapping.options.get("format", "")
    moment = _moment(mapping, value, means)
    if pattern in _UNIX:
        return (moment - _EPOCH) // timedelta(milliseconds=1000 // _UNIX[pattern])
    shown = moment if isinstance(value, datetime) else value
    if pattern and shown.year < _FOUR_DIGITS:
        raise _Refused("no_date")
    return shown.strftime(pattern) if pattern else shown.isoformat()


def value_at(record: object, path: str) -> object:
    """Return what stands at a dotted name, or None."""
    for name in path.split("."):
        if not isinstance(record, Mapping):
            return None
        record = record.get(name)
    return record


def placeholders(template: str) -> list[str]:
    """Return the names that a template asks for."""
    return _PLACEHOLDER.findall(template)


def filled_path(template: str, values: Mapping[str, object]) -> str | Unmapped:
    """Return a path with its {names}; each value is one segment and stays one."""
    for name in placeholders(template):
        value = value_at(values, name)
        if value is None or str(value) in {"", ".", ".."}:
            return Unmapped(name, "not_for_a_path")
    return _PLACEHOLDER.sub(
        lambda found: quote(str(value_at(values, found[1])), safe="", errors="replace"),
        template,
    )


def filled_body(template: object, values: Mapping[str, object]) -> object:
    """Return a JSON document with its {names} filled in.

    A text that is one name alone becomes the value; so no value can be more than a value.
    """
    match template:
        case str():
            alone = _PLACEHOLDER.fullmatch(template)
            if alone:
                return value_at(values, alone[1])
            return _PLACEHOLDER.sub(
                lambda found: _shown(value_at(values, found[1])), template
            )
        case dict():
            return {name: filled_body(part, values) for name, part in template.items()}
        case list():
            return [filled_body(part, values) for part in template]
    return template


def _shown(value: object) -> str:
    return "" if value is None else str(value)
