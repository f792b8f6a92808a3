"""When a failed run is retried, and which of the runs that wait is the next."""

from collections import Counter
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import NamedTuple

from outkey.foundation.core.errors import Cause, OutkeyError
from outkey.foundation.core.stored_times import is_recent
from outkey.sync.core.run.run import Run

# Seconds are enough for a restart, an hour for most outages; then a user must act.
DELAYS = (15.0, 60.0, 300.0, 900.0, 3600.0)
ATTEMPTS = len(DELAYS) + 1
# How long a run has its place before it makes way for one that waits: enough for most
# runs, so that only those of slow APIs and of many pages do.
SLICE_SECONDS = 300.0
# A run waits if it is due for so long: a free place is taken earlier.
WAITING_SECONDS = 15.0
TRANSIENT = frozenset(
    {Cause.CONNECTION, Cause.TIMEOUT, Cause.DNS, Cause.RATE_LIMITED, Cause.SERVER_ERROR}
)


def delay_before_retry(error: OutkeyError, attempt: int) -> float | None:
    """Return the seconds until a run is retried; None if that cannot help."""
    is_transient = error.cause in TRANSIENT or error.retryable
    return DELAYS[attempt - 1] if is_transient and attempt < ATTEMPTS else None


class Retry(NamedTuple):
    """When a run is tried again, in seconds from now, and as which attempt."""

    delay: float
    attempt: int


def next_retry(error: OutkeyError, attempt: int, *, was_in_vain: bool) -> Retry | None:
    """Return when a run is tried again, or None if that cannot help.

    If the API states a time, then. That is not counted as a failed attempt, unless it
    `was_in_vain`: requests were sent, and brought the run no further.
    """
    if error.pause and not was_in_vain:
        return Retry(error.pause, attempt)
    delay = delay_before_retry(error, attempt)
    return None if delay is None else Retry(max(delay, error.pause), attempt + 1)


class TimedLine(NamedTuple):
    """The scheduling facts of a line: name, configuration, cron expression."""

    name: str
    configuration: str
    schedule: str
    database: str = ""  # the other database that its target is in


class DueRun(NamedTuple):
    """A due run, and the places that the runs of its configuration share."""

    run: Run
    configuration: str
    places: int  # how many runs of the configuration may be active at a time
    database: str = ""  # the other database that it writes to or reads from


def places_of_database(places: int) -> int:
    """Return how many of a worker's places runs of one other database may have.

    Not all of them: a database that hangs must not stop runs of other ones.
    """
    return max(1, places // 2)


def is_place_wanted(
    configuration: str, due: Iterable[DueRun], active: Mapping[str, int], now: float
) -> bool:
    """Whether a run that waits could begin if one of this configuration made way.

    `active` are the runs under way by configuration. One that waits for another run of
    its own configuration does not need the place of another one.
    """
    return any(
        item.configuration == configuration
        or active.get(item.configuration, 0) < item.places
        for item in due
        if not is_recent(item.run.until, now, WAITING_SECONDS)
    )


def first_in_line(due: Iterable[DueRun]) -> list[tuple[Run, str]]:
    """Return the runs to notify workers of, each with a lock that it needs.

    A configuration has as many locks as places, and a run needs any one of them: so no
    more runs are active at a time, on all machines together, and nothing has to count
    them. A run is listed once for each lock, with the locks of the others last.

    Of a configuration there are no more runs than places, from `due` the ones that wait
    longest. Workers do what is listed first, and many lines of one configuration would
    delay all others.
    """
    ranks = Counter[str]()
    listed = []
    for run, configuration, places, _ in due:
        rank = ranks[configuration]
        ranks[configuration] += 1
        if rank < places:
            listed += [
                (turn, rank, run, f"{configuration}/{(rank + turn) % places}")
                for turn in range(places)
            ]
    listed.sort(key=itemgetter(0, 1))
    return [(run, lock) for _, _, run, lock in listed]


def next_in_line(
    due: Iterable[DueRun], active: Mapping[str, int], turns: Mapping[str, int]
) -> DueRun | None:
    """Return the run to start next, None if no configuration has a free place.

    It is that of the configuration whose last turn is longest ago, and of its runs the
    one that waits longest. `active` are its runs under way, `turns` numbers its turns.
    """
    longest: dict[str, DueRun] = {}
    for item in due:
        if active.get(item.configuration, 0) < item.places:
            longest.setdefault(item.configuration, item)
    return min(
        longest.values(),
        key=lambda item: turns.get(item.configuration, 0),
        default=None,
    )
