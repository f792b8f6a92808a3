"""Permits from a shared pace, some at a time: one limit for all processes, few writes.

A process that sends once takes one permit. One that goes on sending takes twice as many
each time, up to a burst: a busy process then writes once for many sends, and a process
that ends soon leaves few permits unused.
"""

import contextlib
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.errors import StorageUnavailable
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_times import (
    LONGEST_WAIT,
    is_possible,
    lies_ahead,
)
from outkey.foundation.core.text import Text
from outkey.foundation.ports.database import StateRows
from outkey.sending.core.request.rate_limit import MAX_HOLD, Pace, RateLimit

# Each failed swap means that another process got a lease meanwhile.
MAX_SWAPS = 200


@dataclass(slots=True)
class PermitPool:
    """The slots that this process has taken for one configuration."""

    limit: RateLimit
    # One for each configuration, so that a slow lease delays no other.
    lock: ProcessLock = field(default_factory=ProcessLock)
    slots: deque[float] = field(default_factory=deque)
    leased_at: float = 0.0
    size: int = 1  # of the next lease


class LeasedPermits:
    """Issues the permits of this process; `time` is the clock that the paces use."""

    def __init__(self, states: StateRows, time: Callable[[], float]) -> None:
        self._states = states
        self._time = time
        self._lock = ProcessLock()
        self._process = os.getpid()
        self._pools: dict[str, PermitPool] = {}
        self._quiet: dict[str, float] = {}
        self._spent: dict[str, float] = {}  # what could not be stored for all

    def reserve(
        self, configuration: str, per_minute: int | None, patience: float
    ) -> float | None:
        if per_minute is None and configuration not in self._quiet:
            return 0.0
        if per_minute is None:
            now = self._time()
            quiet = self._earliest(configuration, now) - now
            return None if quiet > patience else quiet
        with self._lock:
            pool = self._pool(configuration, RateLimit(per_minute))
        with pool.lock:
            return self._take_permit(configuration, pool, self._time(), patience)

    def hold(self, configuration: str, seconds: float) -> None:
        """Send nothing for this configuration for some time, five minutes at most."""
        now = self._time()
        until = now + min(seconds, MAX_HOLD)
        with self._lock:
            before = self._earliest(configuration, now)
            self._quiet[configuration] = max(until, before)
        # Without storage, at least this process sends nothing.
        with contextlib.suppress(StorageUnavailable):
            self._change_pace(
                configuration, lambda pace: pace.as_of(now).quiet(until, now)
            )

    def note_spent_budget(self, configuration: str, seconds: float) -> None:
        now = self._time()
        until = now + min(seconds, LONGEST_WAIT)
        try:
            self._change_pace(
                configuration, lambda pace: pace.as_of(now).spent(until, now)
            )
        except StorageUnavailable:
            self._spent[configuration] = until  # at least this process waits

    def budget_wait(self, configuration: str) -> float:
        now = self._time()
        state = self._states.read(StateKind.RATE_LIMIT, [configuration])
        facts = state.get(configuration, SharedState()).value
        stored = Pace.from_facts(facts).as_of(now).spent_until
        until = max(stored, self._spent.get(configuration, 0.0))
        return until - now if lies_ahead(until, now, LONGEST_WAIT) else 0.0

    def _earliest(self, configuration: str, now: float) -> float:
        """Return when something may be sent, as far as this process knows."""
        quiet_until = self._quiet.get(configuration, 0.0)
        return quiet_until if lies_ahead(quiet_until, now, MAX_HOLD) else now

    def _pool(self, configuration: str, limit: RateLimit) -> PermitPool:
        if self._process != os.getpid():
            # The slots of the parent are not the child's to use.
            self._process = os.getpid()
            self._pools = {}
        pool = self._pools.get(configuration)
        if pool is None or pool.limit != limit:
            pool = self._pools[configuration] = PermitPool(limit)
        return pool

    def _take_permit(
        self, configuration: str, pool: PermitPool, now: float, patience: float
    ) -> float | None:
        """Return the seconds until the next permit, or None if that is too long."""
        if not is_possible(pool.leased_at, now):
            pool.slots.clear()  # the clock was ahead, and waits for nothing now
        earliest = self._earliest(configuration, now)
        if pool.slots and pool.slots[-1] < earliest:
            pool.size = 1  # this process does not send as often as it did
        while pool.slots and pool.slots[0] < earliest:
            pool.slots.popleft()  # too late to be used
        if not pool.slots:
            self._lease_slots(configuration, pool, now, patience)
            earliest = self._earliest(configuration, now)
        if not pool.slots:
            return None
        wait = max(pool.limit.opens(pool.slots[0]), earliest) - now
        if wait > patience:
            return None
        pool.slots.popleft()
        return wait

    def _lease_slots(
        self, configuration: str, pool: PermitPool, now: float, patience: float
    ) -> None:
        limit = pool.limit
        slots: list[float] = []

        def take_slots(stored: Pace) -> Pace:
            slots.clear()
            pace = stored.as_of(now, patience)
            opens = max(limit.opens(limit.first_slot(pace, now)), pace.quiet_until)
            if opens - now > patience:
                return stored
            after, slots[:] = limit.lease(pace, now, pool.size)
            return after

        pace = self._change_pace(configuration, take_slots)
        # Only now: slots that could not be stored for all are not ours to use.
        if pace.quiet_until > now:
            self._quiet[configuration] = pace.quiet_until
        if slots:
            pool.slots.extend(slots)
            pool.leased_at = now
            pool.size = min(pool.size * 2, limit.burst)

    def _change_pace(self, configuration: str, change: Callable[[Pace], Pace]) -> Pace:
        """Store and return what `change` makes of the pace; it may be called again."""
        kind = StateKind.RATE_LIMIT
        for _ in range(MAX_SWAPS):
            states = self._states.read(kind, [configuration])
            state = states.get(configuration, SharedState())
            before = Pace.from_facts(state.value)
            after = change(before)
            if after == before or self._states.swap(
                kind, configuration, state.generation, after.facts()
            ):
                return after
        raise StorageUnavailable(
            Text("too many processes change the rate limit at the same time"),
            hint=Text("Send again in a moment."),
        )
