"""Duties: work that one process does for all processes that share a database."""

from outkey.foundation.core.shared_state import Lease, SharedState, StateKind
from outkey.foundation.core.stored_times import is_possible
from outkey.foundation.ports.database import Database, StateRows

BACKUP = "backup"
COUNTING = "counting"
MONITORING = "monitoring"
PRUNING = "pruning"
ROTATING = "rotating"
SCHEDULES = "schedules"


class Duties:
    """Leases on duties, by the clock of the database."""

    def __init__(self, states: StateRows, database: Database) -> None:
        self._states = states
        self._database = database

    def take(self, duty: str, holder: str, seconds: float) -> bool:
        """Take or keep a duty for some time; return whether no other process has it."""
        states = self._states.read(StateKind.LEASE, [duty])
        state = states.get(duty, SharedState())
        now = self._database.now()
        if not Lease.from_facts(state.value).is_free_for(holder, now, seconds):
            return False
        lease = Lease(holder, now + seconds)
        return self._states.swap(StateKind.LEASE, duty, state.generation, lease.facts())

    def claim_interval(self, duty: str) -> tuple[float, float]:
        """Claim the time since a duty was last done; return its begin and its end.

        No other process can claim it too, if the transaction around this call is
        committed. The first time, and while another process claims it, begin and end
        are the same.
        """
        now = self._database.now()
        state = self._states.read(StateKind.MARK, [duty]).get(duty, SharedState())
        since = state.value.get("at", now)
        if not is_possible(since, now):  # the clock was ahead: there is no such time
            since = now
        mark = {"at": max(since, now)}  # a clock may go back a little
        if not self._states.swap(StateKind.MARK, duty, state.generation, mark):
            return now, now
        return since, now

    def release(self, holder: str) -> None:
        """Release the duties of this process, so that others can take them."""
        for duty, state in self._states.read(StateKind.LEASE).items():
            lease = Lease.from_facts(state.value)
            if lease.holder == holder:
                facts = lease.released().facts()
                self._states.swap(StateKind.LEASE, duty, state.generation, facts)
