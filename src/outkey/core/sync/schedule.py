"""When a failed run is retried, and which runs must wait for each other."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from outkey.core.errors import Cause, OutkeyError

# Seconds are enough for a restart, an hour for most outages; then a user must act.
DELAYS = (15.0, 60.0, 300.0, 900.0, 3600.0)
ATTEMPTS = len(DELAYS) + 1
TRANSIENT = frozenset(
    {Cause.CONNECTION, Cause.TIMEOUT, Cause.DNS, Cause.RATE_LIMITED, Cause.SERVER_ERROR}
)


def delay_before_retry(error: OutkeyError, attempt: int) -> float | None:
    """Return the seconds until a run is retried; None if that cannot help."""
    is_transient = error.cause in TRANSIENT or error.retryable
    return DELAYS[attempt - 1] if is_transient and attempt < ATTEMPTS else None


class TimedLine(NamedTuple):
    """The scheduling facts of a line: name, configuration, cron expression."""

    name: str
    configuration: str
    schedule: str


def locks_of(
    timetable: Iterable[TimedLine], at_once: Mapping[str, int]
) -> dict[str, str]:
    """Return the lock that the runs of each line of these configurations hold.

    A configuration has as many locks as it may have runs at once, and its lines get
    them round robin: so no more runs are active at a time, on all machines together,
    and nothing has to count them.
    """
    counter = Counter[str]()
    locks = {}
    for line in sorted(timetable):
        owner = line.configuration
        if owner in at_once:
            locks[line.name] = f"{owner}/{counter[owner] % at_once[owner]}"
            counter[owner] += 1
    return locks
