"""The heartbeats of the processes that do runs and process deliveries."""

from secrets import token_hex

from outkey.core.shared_state import StateKind
from outkey.ports.storage import Database, StateRows

BEAT_SECONDS = 10.0
ALIVE_SECONDS = 30.0


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
    """Whether a heartbeat is so old that its process must have ended."""
    at = heartbeat.get("at", 0.0) if isinstance(heartbeat, dict) else 0.0
    return bool(now - at > ALIVE_SECONDS)
