"""Stored times, and which of them a clock that is right can have written.

A machine whose clock was ahead for a while, such as one that started before it had the
time from the network, leaves times in the database that lie in the future. Nothing may
wait for them, or what takes a minute would take as long as the clock was ahead.
"""

from outkey.foundation.core.moments import DAY_SECONDS

LONGEST_WAIT = float(DAY_SECONDS)  # of a run or a delivery, if an API asks for a pause
SKEW_SECONDS = 60.0  # how far the clocks of two machines may differ


def is_possible(stored: float, now: float, longest: float = 0.0) -> bool:
    """Whether a time can have been stored by now, at most `longest` seconds ahead."""
    return stored <= now + longest + SKEW_SECONDS


def is_recent(at: float, now: float, seconds: float) -> bool:
    """Whether something was less than so many seconds ago, and not in the future."""
    return now - seconds < at and is_possible(at, now)


def lies_ahead(until: float, now: float, longest: float) -> bool:
    """Whether a stored time is still to come, and not too far away to be believed."""
    return now < until and is_possible(until, now, longest)
