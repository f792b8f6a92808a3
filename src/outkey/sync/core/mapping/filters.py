"""Filters of a table's column, read by the kind of the column."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation

from outkey.sync.core.mapping.records import FieldKind

NUMBERS = frozenset({FieldKind.NUMBER, FieldKind.DECIMAL, FieldKind.LINK})
BOOLEANS = {"true": True, "false": False}
# How a moment is written as far as it goes, and how long what it names lasts.
MOMENTS = (
    ("%Y-%m-%d", timedelta(days=1)),
    ("%Y-%m-%d %H:%M", timedelta(minutes=1)),
    ("%Y-%m-%d %H:%M:%S", timedelta(seconds=1)),
)


@dataclass(frozen=True, slots=True)
class Equal:
    """A value that a column has, however it is written."""

    value: Decimal | bool


@dataclass(frozen=True, slots=True)
class Span:
    """A part of time in which the moments of a column are."""

    first: datetime
    end: datetime  # the first moment that is not in it


Wanted = str | Equal | Span  # a text is contained


def read_wanted(kind: FieldKind, text: str, zone: tzinfo) -> Wanted:
    """Return the filter that a text means in a column of this kind.

    Any other text than a number, moment or boolean is searched as it is.
    """
    plain = text.strip()
    if kind in NUMBERS:
        return read_number(plain) or text
    if kind is FieldKind.DATETIME:
        return _read_span(plain, zone) or text
    if kind is FieldKind.BOOLEAN and plain.lower() in BOOLEANS:
        return Equal(BOOLEANS[plain.lower()])
    return text


def read_number(text: str) -> Equal | None:
    """Return the number that a text is: 0.50 is 0.5."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return Equal(number) if number.is_finite() else None


def _read_span(text: str, zone: tzinfo) -> Span | None:
    """Return the day, minute or second that a text names in a time zone."""
    for form, length in MOMENTS:
        try:
            local = datetime.strptime(text.replace("T", " "), form)  # noqa: DTZ007 - below
            first = local.replace(tzinfo=zone)
            end = (local + length).replace(tzinfo=zone)
            return Span(first.astimezone(UTC), end.astimezone(UTC))
        except (ValueError, OverflowError):
            continue
    return None
