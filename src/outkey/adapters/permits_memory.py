"""Permits in memory: how often the configurations of one process may send."""

from dataclasses import dataclass

from outkey.adapters.process_lock import ProcessLock
from outkey.ports import Clock

MAX_HOLD = 300.0


@dataclass(slots=True)
class _Pace:
    """When the bucket is empty again, and until when the server asked us to be quiet."""

    drained_at: float = 0.0
    quiet_until: float = 0.0


class MemoryPermits:
    """At most N in any minute, evenly spread after a short burst.

    The generic cell rate algorithm: a burst of b and then (N - b + 1) a minute never exceed N
    in any half-open minute, and one number per configuration is all it needs.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = ProcessLock()
        self._paces: dict[str, _Pace] = {}

    def reserve(self, configuration: str, per_minute: int | None, patience: float) -> float | None:
        """Take a permit and return the seconds to wait for it; None if that is too long."""
        if per_minute is None and configuration not in self._paces:
            return 0.0
        with self._lock:
            pace = self._paces.setdefault(configuration, _Pace())
            now = self._clock.monotonic()
            wait = max(0.0, pace.quiet_until - now)
            if per_minute is None:
                return None if wait > patience else wait
            burst = max(1, per_minute // 60)
            interval = 60 / (per_minute - burst + 1)
            starts = max(pace.drained_at, now)
            wait = max(wait, starts - now - (burst - 1) * interval)
            if wait > patience:
                return None
            pace.drained_at = max(starts, now + wait) + interval
            return wait

    def hold(self, configuration: str, seconds: float) -> None:
        """Let nobody send for this configuration for some time, five minutes at the most."""
        with self._lock:
            pace = self._paces.setdefault(configuration, _Pace())
            until = self._clock.monotonic() + min(seconds, MAX_HOLD)
            pace.quiet_until = max(pace.quiet_until, until)
