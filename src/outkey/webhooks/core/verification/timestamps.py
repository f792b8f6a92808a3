"""The time that a delivery was sent at: reading it, and comparing it with ours."""

import re
from datetime import UTC, datetime

from outkey.webhooks.core.inbox.delivery import NotVerified, RefusalReason
from outkey.webhooks.core.schemes.scheme import TimestampRule, TimeUnit

DIGITS = re.compile(r"[0-9]{1,15}")
# As Twitch writes it, with up to nine digits of a second.
ISO_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(Z|[+-]\d\d:\d\d)", re.ASCII
)
FIRST_MILLISECONDS = 100_000_000_000  # 1973; as seconds this is the year 5138
HOUR = 3600
NEAR_HOUR = 300  # seconds


def read_timestamp(text: str, unit: TimeUnit) -> float:
    """Return a moment as Unix time, or refuse the delivery."""
    if unit is TimeUnit.ISO:
        return read_iso(text)
    if not DIGITS.fullmatch(text):
        raise NotVerified(RefusalReason.TIMESTAMP_MALFORMED)
    number = int(text)
    is_milliseconds = unit is TimeUnit.MILLISECONDS or (
        unit is TimeUnit.EITHER and number >= FIRST_MILLISECONDS
    )
    return number / 1000 if is_milliseconds else float(number)


def read_iso(text: str) -> float:
    """Return a moment with a time zone as Unix time, or refuse the delivery."""
    found = ISO_MOMENT.fullmatch(text)
    if not found:
        raise NotVerified(RefusalReason.TIMESTAMP_MALFORMED)
    moment, fraction, zone = found.groups()
    try:
        return datetime.fromisoformat(
            f"{moment}.{(fraction or '').ljust(6, '0')}{zone}"
        ).timestamp()
    except ValueError:
        raise NotVerified(RefusalReason.TIMESTAMP_MALFORMED) from None


def write_timestamp(moment: float, unit: TimeUnit) -> str:
    """Return a moment as a sender writes it."""
    if unit is TimeUnit.ISO:
        return f"{datetime.fromtimestamp(int(moment), UTC):%Y-%m-%dT%H:%M:%S}Z"
    return str(int(moment * 1000 if unit is TimeUnit.MILLISECONDS else moment))


def check_age(rule: TimestampRule, moment: float, now: float) -> None:
    """Refuse a delivery that was sent too long ago, or that comes from the future."""
    age = now - moment
    if age > rule.tolerance:
        raise NotVerified(RefusalReason.TOO_OLD, seconds=age, limit=rule.tolerance)
    if -age > rule.tolerance:
        raise NotVerified(
            RefusalReason.TOO_FAR_AHEAD, seconds=-age, limit=rule.tolerance
        )


def whole_hours(seconds: float) -> int:
    """Return how many whole hours a difference is, as a wrong time zone makes it."""
    hours = round(seconds / HOUR)
    is_near = abs(seconds - hours * HOUR) <= NEAR_HOUR
    return hours if is_near and 1 <= hours <= 14 else 0
