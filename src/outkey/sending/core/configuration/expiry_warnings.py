"""The end of a token or a certificate: when users are warned, and of what."""

from datetime import date

from outkey.foundation.core.moments import day_of
from outkey.foundation.core.text import Text

WARN_DAYS = 30
WARNING_STAGES = (1, 7, WARN_DAYS)  # days before the end; each is reported once
ENDED = 0  # the stage after the end
NEW_TOKEN_HINT = Text(
    "Get a new one from the API's provider, and enter it with its expiry date."
)


def days_left(last_day: date, now: float) -> int:
    """Return the days until the last day; negative once it has passed."""
    return (last_day - day_of(now)).days


def warning_stage(last_day: date, now: float) -> int | None:
    """Return the stage that an end has reached; None while it is far away."""
    days = days_left(last_day, now)
    if days < 0:
        return ENDED
    return next((stage for stage in WARNING_STAGES if days <= stage), None)
