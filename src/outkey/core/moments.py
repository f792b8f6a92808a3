"""Moments as texts, for users and for programs; how they are read; clocks that differ.

A moment is a Unix time. Every format of a moment or a duration is here.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime

from outkey.core.text import Text

DAY_SECONDS = 86_400
LAST_MOMENT = 253_402_300_800  # the year 10 000, which Python cannot write as a date
# From here on a difference between two clocks is reported. Less is harmless: verifiers
# of signed tokens allow 60 s by default (Spring Security's JwtTimestampValidator), and
# the Date header of a slow response is itself some seconds old.
CLOCK_SKEW_SECONDS = 60


def moment_text(at: float) -> str:
    """Return a Unix time as users read it, in UTC and to the second."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def iso_moment(at: float) -> str:
    """Return a Unix time as programs read it: ISO 8601, in UTC and to the second."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


def hour_text(at: float) -> str:
    """Return the hour (UTC) of a Unix time, as the label of a chart."""
    return f"{datetime.fromtimestamp(at, UTC):%H}:00"


def duration_text(seconds: int) -> str:
    """Return a number of seconds as hours, minutes and seconds: 1:02:03."""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def record_moment(record: Mapping[str, object]) -> str:
    """Return when an audit record was written; a manipulated one may not say."""
    at = record.get("at")  # in milliseconds
    if not isinstance(at, int) or not 0 <= at < LAST_MOMENT * 1000:
        return Text("unknown")
    return moment_text(at / 1000)


def day_of(at: float) -> date:
    """Return the day (UTC) of a Unix time."""
    return datetime.fromtimestamp(at, UTC).date()


def parse_iso(text: str) -> datetime | None:
    """Return a moment in ISO 8601, in UTC if it names no zone; None if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
