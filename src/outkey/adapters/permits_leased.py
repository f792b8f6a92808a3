"""Permits from a shared pace, some at a time: one limit for all processes, few writes.

A process that sends once takes one permit. One that keeps sending takes twice as many each time,
up to a burst, so that a busy process asks once for many sends, and what a short one leaves unused
costs the others nothing.
"""

import contextlib
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from outkey.adapters.process_lock import ProcessLock
from outkey.core.errors import StorageUnavailable
from outkey.core.request.rate_limit import Pace, RateLimit
from outkey.ports.storage import RateLimitRows

MAX_HOLD = 300.0


@dataclass(slots=True)
class _Pool:
    """The slots that this process has taken for one configuration."""

    limit: RateLimit
    lock: ProcessLock = field(
        default_factory=ProcessLock
    )  # a slow lease stops nobody else
    slots: deque[float] = field(default_factory=deque)
    size: int = 1  # of the next lease


class LeasedPermits:
    """Hands out the permits of this process; `time` is the clock that the paces are kept in."""

    def __init__(self, paces: RateLimitRows, time: Callable[[], float]) -> None:
        self._paces, self._time = paces, time
        self._lock = ProcessLock()
        self._process = os.getpid()
        self._pools: dict[str, _Pool] = {}
        self._quiet: dict[str, float] = {}

    def reserve(
        self, configuration: str, per_minute: int | None, patience: float
    ) -> float | None:
        if per_minute is None and configuration not in self._quiet:
            return 0.0
        if per_minute is None:
            quiet = max(0.0, self._quiet[configuration] - self._time())
            return None if quiet > patience else quiet
        with self._lock:
            pool = self._pool(configuration, RateLimit(per_minute))
        with pool.lock:
            return self._wait(configuration, pool, self._time(), patience)

    def hold(self, configuration: str, seconds: float) -> None:
        """Let nobody send for this configuration for some time, five minutes at the most."""
        until = self._time() + min(seconds, MAX_HOLD)
        with self._lock:
            self._quiet[configuration] = max(until, self._quiet.get(configuration, 0.0))
        with contextlib.suppress(
            StorageUnavailable
        ):  # this process at least keeps quiet
            self._paces.advance(configuration, lambda pace: pace.quiet(until))

    def _pool(self, configuration: str, limit: RateLimit) -> _Pool:
        if self._process != os.getpid():
            # The slots of the parent are not the child's to use.
            self._process, self._pools = os.getpid(), {}
        pool = self._pools.get(configuration)
        if pool is None or pool.limit != limit:
            pool = self._pools[configuration] = _Pool(limit)
        return pool

    def _wait(
        self, configuration: str, pool: _Pool, now: float, patience: float
    ) -> float | None:
        earliest = max(now, self._quiet.get(configuration, 0.0))
        if pool.slots and pool.slots[-1] < earliest:
            pool.size = 1  # this process does not send as often as it did
        while pool.slots and pool.slots[0] < earliest:
            pool.slots.popleft()  # too late to be used
        if not pool.slots:
            self._lease(configuration, pool, now, patience)
            earliest = max(now, self._quiet.get(configuration, 0.0))
        if not pool.slots:
            return None
        wait = max(pool.limit.opens(pool.slots[0]), earliest) - now
        if wait > patience:
            return None
        pool.slots.popleft()
        return wait

    def _lease(
        self, configuration: str, pool: _Pool, now: float, patience: float
    ) -> None:
        limit, taken, quiet = pool.limit, list[float](), list[float]()

        def take(pace: Pace) -> Pace:
            quiet[:] = [pace.quiet_until]
            opens = max(limit.opens(limit.first_slot(pace, now)), pace.quiet_until)
            if opens - now > patience:
                return pace
            pace, taken[:] = limit.lease(pace, now, pool.size)
            return pace

        self._paces.advance(configuration, take)
        # Only now: what could not be kept for all is not ours to use.
        if quiet[0] > now:
            self._quiet[configuration] = quiet[0]
        if taken:
            pool.slots.extend(taken)
            pool.size = min(pool.size * 2, limit.burst)


class MemoryRateLimitRows:
    """The paces of one process."""

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._paces: dict[str, Pace] = {}

    def advance(self, configuration: str, step: Callable[[Pace], Pace]) -> None:
        with self._lock:
            self._paces[configuration] = step(self._paces.get(configuration, Pace()))
