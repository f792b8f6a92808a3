"""When a failed run is retried, and which runs must wait for each other."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from outkey.core.errors import Cause, OutkeyError

# Seconds bridge a restart, an hour an outage; after that a user has to look at it.
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

    The lines of a configuration share as many locks as it may have runs at once, in
    turns: so no more run at the same time, on any machine, and nothing has to count.
    """
    counter = Counter[str]()
    locks = {}
    for line in sorted(timetable):
        owner = line.configuration
        if owner in at_once:
            locks[line.name] = f"{owner}/{counter[owner] % at_once[owner]}"
            counter[owner] += 1
    return locks
