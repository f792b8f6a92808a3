"""Versions of a record: which of two values of its version field is the newer one.

Numbers are compared as numbers and times by their zones, however they are written.
Values of different kinds, and texts that have no order, cannot be compared: neither of
them is older.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from outkey.foundation.core.moments import parse_iso
from outkey.sync.core.line.line import FieldMapping, Sync, Transform

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MAX_LENGTH = 1000  # of a version that is written as text
NUMBER = re.compile(r"[+-]?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?", re.ASCII)
MONTH = re.compile(r"\d{4}-\d\d", re.ASCII)
# As Ruby writes times, and GitLab with it: 2026-11-17 09:05:00 UTC.
SPACED_ZONE = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)"
    r" ?(UTC|GMT|[+-]\d\d:?\d\d)",
    re.ASCII,
)
# As mail and HTTP write times.
MAIL_DATE = re.compile(
    r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (GMT|UTC|[+-]\d{4})",
    re.ASCII,
)
# Ids that begin with their time, so that their letters have its order. Other texts
# have none: a hash or an ETag that sorts first is not older.
ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", re.ASCII)
UUID_7 = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII
)


# In the name of a field whose value is a time.
TIME_WORDS = frozenset(
    {"at", "changed", "created", "date", "modified", "time", "timestamp", "updated"}
)
# Transforms whose results have the order of the API's values.
ORDERED = frozenset(
    {
        Transform.AS_IS,
        Transform.TEXT,
        Transform.NUMBER,
        Transform.DECIMAL,
        Transform.DATE,
        Transform.DATETIME,
    }
)
NUMBERS = "number"
MOMENTS = "moment"
ULIDS = "ULID"
UUIDS = "UUID of version 7"


class VersionRank(NamedTuple):
    """The place of a version among those of the same kind."""

    kind: str
    order: Decimal
    letters: str = ""  # of an id


def version_mapping(sync: Sync) -> FieldMapping | None:
    """Return the mapping of a record's version; None if a line has none.

    It is that of the line's incremental field, if what is stored has the order of the
    API's values.
    """
    path = sync.incremental.field
    for mapping in sync.mappings:
        if path and mapping.api == path and mapping.transform in ORDERED:
            return mapping
    return None


def version_rank(value: object, zone: tzinfo = UTC) -> VersionRank | None:
    """Return the place of a version; None if it has none.

    A `datetime` without a zone, as some hosts have them, is in `zone`; a text without
    one is in UTC.
    """
    match value:
        case bool():
            return None
        case int() | float() | Decimal():
            number = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
            return VersionRank(NUMBERS, number) if number.is_finite() else None
        case datetime():
            return _moment_rank(value if value.tzinfo else value.replace(tzinfo=zone))
        case date():
            return _moment_rank(datetime.combine(value, time(), UTC))
        case str():
            return _text_rank(value.strip())
    return None


def _text_rank(text: str) -> VersionRank | None:
    """Return the place of a version that is written as text."""
    if len(text) > MAX_LENGTH:
        return None
    if NUMBER.fullmatch(text):
        return VersionRank(NUMBERS, Decimal(text))
    moment = read_moment(text)
    if moment is not None:
        return _moment_rank(moment)
    if ULID.fullmatch(text):
        return VersionRank(ULIDS, Decimal(0), text)
    if UUID_7.fullmatch(text):
        return VersionRank(UUIDS, Decimal(0), text)
    return None


def _moment_rank(moment: datetime) -> VersionRank:
    """Return the place of a moment that has a zone, to the microsecond."""
    return VersionRank(MOMENTS, Decimal((moment - EPOCH) // MICROSECOND))


def read_moment(text: str) -> datetime | None:
    """Return a moment as APIs write it, in UTC without a zone; None if invalid."""
    if MONTH.fullmatch(text):
        text = f"{text}-01"
    if spaced := SPACED_ZONE.fullmatch(text):
        zone = "+00:00" if spaced[2].isalpha() else spaced[2]
        text = f"{spaced[1]}{zone}"
    if MAIL_DATE.fullmatch(text):
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return parse_iso(text)


def is_less(first: VersionRank | None, second: VersionRank | None) -> bool:
    """Whether a place is before another; not if they cannot be compared."""
    if first is None or second is None:
        return False
    return first.kind == second.kind and first < second


def newer_rank(
    first: VersionRank | None, second: VersionRank | None
) -> VersionRank | None:
    """Return the later place; the first one if they cannot be compared."""
    return second if first is None or is_less(first, second) else first


def cursor_rank(text: str) -> tuple[int, Decimal, str]:
    """Return the place of a value of an incremental field among all others.

    Texts without another order are compared by their letters.
    """
    rank = version_rank(text)
    if rank is None or rank.letters:
        return 0, Decimal(0), text
    return (1 if rank.kind == NUMBERS else 2), rank.order, ""
