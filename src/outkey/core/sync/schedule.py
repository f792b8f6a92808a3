"""When a run that failed is tried again, and which runs must wait for each other."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from outkey.core.errors import Cause, OutkeyError

# Seconds help against a restart, an hour against an outage; after that a person is needed.
DELAYS = (15.0, 60.0, 300.0, 900.0, 3600.0)
ATTEMPTS = len(DELAYS) + 1
_PASSING = frozenset(
    {Cause.CONNECTION, Cause.TIMEOUT, Cause.DNS, Cause.RATE_LIMITED, Cause.SERVER_ERROR}
)


def delay_before_retry(error: OutkeyError, attempt: int) -> float | None:
    """Return the seconds until a run may be tried again; None where only a person can help."""
    passing = error.cause in _PASSING or error.retryable
    return DELAYS[attempt - 1] if passing and attempt < ATTEMPTS else None


class TimedLine(NamedTuple):
    """What of a line says when it runs, and what else it waits for."""

    name: str
    configuration: str
    schedule: str


def locks_of(
    timetable: Iterable[TimedLine], at_once: Mapping[str, int]
) -> dict[str, str]:
    """Return the name of the lock that runs hold, for each line of these configurations.

    The lines of a configuration share as many locks as it may have runs at once, in turns: so many
    run at the same time and no more, whoever runs them, and without anybody who counts.
    """
    counted = Counter[str]()
    locks = {}
    for line in sorted(timetable):
        owner = line.configuration
        if owner in at_once:
            locks[line.name] = f"{owner}/{counted[owner] % at_once[owner]}"
            counted[owner] += 1
    return locks
