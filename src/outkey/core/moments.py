"""Moments as texts: one format for users, one for programs; and when clocks differ."""

from datetime import UTC, date, datetime

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


def day_of(at: float) -> date:
    """Return the day (UTC) of a Unix time."""
    return datetime.fromtimestamp(at, UTC).date()
