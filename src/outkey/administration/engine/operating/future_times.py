"""Finds stored times that lie in the future: a clock was ahead, or this one is behind.

Nothing waits for them, but an operator should know: records of that time are wrong, and
clocks that differ have other consequences.
"""

from collections.abc import Iterator, Mapping

from outkey.administration.engine.application import Application
from outkey.administration.engine.operating.workers import time_in
from outkey.administration.engine.watching.background import HOUR, LEASE_SECONDS
from outkey.administration.engine.watching.doctor import first_names
from outkey.foundation.core.errors import TimeInFuture
from outkey.foundation.core.fields.choices import LONGEST_TIMEOUT
from outkey.foundation.core.moments import DAY_SECONDS
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.stored_times import LONGEST_WAIT, SKEW_SECONDS, is_possible
from outkey.foundation.core.text import Text
from outkey.foundation.engine.duties import PRUNING, ROTATING
from outkey.sending.core.request.rate_limit import LONGEST_SLOTS, MAX_HOLD
from outkey.sync.core.run.run import OPEN_STATES
from outkey.sync.core.run.states import is_from_future
from outkey.webhooks.ports.webhooks import DeliveryQuery

LOOK_SECONDS = 60.0
MOST_RUNS = 1000
# The times in each kind of state, and how far ahead they are stored at most.
LONGEST: Mapping[StateKind, Mapping[str, float]] = {
    StateKind.RATE_LIMIT: {
        "at": 0.0,
        "drained_at": LONGEST_TIMEOUT + LONGEST_SLOTS,
        "quiet_until": MAX_HOLD,
    },
    StateKind.RUN_PAUSE: {"at": 0.0, "until": LONGEST_WAIT},
    StateKind.LEASE: {"until": LEASE_SECONDS},
    StateKind.MARK: {"at": 0.0},
    StateKind.PROCESS: {"seen_at": 0.0},
    StateKind.WORKER: {"at": 0.0},
}
LABELS = {
    StateKind.RATE_LIMIT: Text("rate limits of configurations"),
    StateKind.RUN_PAUSE: Text("pauses of configurations"),
    StateKind.LEASE: Text("leases of background work"),
    StateKind.MARK: Text("marks of background work"),
    StateKind.PROCESS: Text("heartbeats of processes"),
    StateKind.WORKER: Text("heartbeats of workers"),
}
LONGEST_LEASES = {PRUNING: float(DAY_SECONDS), ROTATING: HOUR}


def future_times(application: Application) -> Iterator[Text]:
    """Yield a text for each kind of row with a time that lies in the future."""
    now = application.database.now()
    for kind, longest in LONGEST.items():
        states = application.states.read(kind)
        names = [
            name
            for name, state in states.items()
            if _has_future_time(state.value, _longest_of(kind, name, longest), now)
        ]
        if names:
            yield Text("{what}: {names}", what=LABELS[kind], names=first_names(names))
    runs = [
        run
        for state in OPEN_STATES
        for run in application.runs.newest(MOST_RUNS, state=state)
        if is_from_future(run, now)
    ]
    if runs:
        lines = list(dict.fromkeys(run.line for run in runs))
        yield Text("runs of sync lines: {names}", names=first_names(lines))
    if application.hook_ports is not None:
        query = DeliveryQuery(received_from=now + SKEW_SECONDS + 1, limit=1)
        if application.webhooks.ports().deliveries.find(query):
            yield Text("deliveries of webhooks")


def _longest_of(
    kind: StateKind, name: str, longest: Mapping[str, float]
) -> Mapping[str, float]:
    """Return how far ahead the times of a state are stored at most."""
    if kind is StateKind.LEASE and name in LONGEST_LEASES:
        return {"until": LONGEST_LEASES[name]}
    return longest


def _has_future_time(value: object, longest: Mapping[str, float], now: float) -> bool:
    """Whether one of the times in a state lies too far ahead."""
    return any(
        not is_possible(time_in(value, field), now, seconds)
        for field, seconds in longest.items()
    )


class FutureTimesCheck:
    """Raises TimeInFuture while there is such a time; it looks once a minute.

    Reading all times may take long, and anyone can request `/readyz`.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._looked_at: float | None = None
        self._has_any = False

    def __call__(self) -> None:
        """Look again if it is time, and raise for what was found."""
        now = self._application.clock.monotonic()
        if self._looked_at is None or now - self._looked_at >= LOOK_SECONDS:
            self._has_any = any(future_times(self._application))
            self._looked_at = now
        if self._has_any:
            raise TimeInFuture
