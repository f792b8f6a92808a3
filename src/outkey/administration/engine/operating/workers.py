"""The heartbeats of the processes that do runs and process deliveries."""

from collections.abc import Mapping
from secrets import token_hex

from outkey.administration.engine.watching.background import LEASE_SECONDS
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.stored_times import is_recent
from outkey.foundation.engine.duties import MONITORING
from outkey.foundation.ports.database import Database, StateRows

BEAT_SECONDS = 10.0
ALIVE_SECONDS = 30.0
SENDER_SECONDS = 150.0  # for what stores a heartbeat once a minute while it sends


class WorkerHeartbeat:
    """Lets other processes know that this one works."""

    def __init__(self, states: StateRows, database: Database) -> None:
        self._states = states
        self._database = database
        self._process = token_hex(8)

    def beat(self) -> None:
        """Store a heartbeat, and delete those of killed processes."""
        now = self._database.now()
        states = self._states.read(StateKind.WORKER)
        ended = [key for key, state in states.items() if is_over(state.value, now)]
        values: dict[str, dict[str, float] | None] = dict.fromkeys(ended)
        self._states.put(StateKind.WORKER, {**values, self._process: {"at": now}})

    def end(self) -> None:
        """Delete the heartbeat of this process."""
        self._states.put(StateKind.WORKER, {self._process: None})


def count_workers(states: StateRows, database: Database) -> int:
    """Return how many processes do runs now."""
    now = database.now()
    beats = states.read(StateKind.WORKER).values()
    return sum(not is_over(state.value, now) for state in beats)


def is_over(heartbeat: object, now: float) -> bool:
    """Whether a heartbeat is so old that its process must have ended.

    Or so far ahead that no process can have stored it.
    """
    return not is_recent(time_in(heartbeat, "at"), now, ALIVE_SECONDS)


def count_running(states: Mapping[StateKind, Mapping[str, object]], now: float) -> int:
    """Return how many processes work with a database, by the states that they store.

    These are workers, processes that send, and a server, which monitors. One that was
    killed counts until its state is too old.
    """
    moments = [
        (time_in(heartbeat, "at"), ALIVE_SECONDS)
        for heartbeat in states.get(StateKind.WORKER, {}).values()
    ]
    moments += [
        (time_in(heartbeat, "seen_at"), SENDER_SECONDS)
        for heartbeat in states.get(StateKind.PROCESS, {}).values()
    ]
    lease = states.get(StateKind.LEASE, {}).get(MONITORING)
    moments.append((time_in(lease, "until") - LEASE_SECONDS, LEASE_SECONDS))
    return sum(is_recent(at, now, seconds) for at, seconds in moments)


def time_in(state: object, name: str) -> float:
    """Return a time in a state; long ago if there is none."""
    at = state.get(name) if isinstance(state, dict) else None
    return float(at) if isinstance(at, int | float) else float("-inf")
