"""How often a configuration may send: permits in memory, and how long to wait before a retry."""

import threading
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from outkey.core.message import Response
from outkey.ports import Clock

MAX_HOLD = 300.0
_BACKOFF_FIRST = 0.25
_BACKOFF_MOST = 8.0


@dataclass(slots=True)
class _Pace:
    """When the bucket is empty again, and until when the server asked us to be quiet."""

    drained_at: float = 0.0
    quiet_until: float = 0.0


class LocalPermits:
    """Permits of one process: at most N in any minute, evenly spread after a short burst.

    The generic cell rate algorithm: a burst of b and then (N - b + 1) a minute never exceed N
    in any half-open minute, and one number per configuration is all it needs.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._paces: dict[str, _Pace] = {}

    def reserve(self, configuration: str, per_minute: int | None, patience: float) -> float | None:
        """Take a permit and return the seconds to wait for it; None if that is too long."""
        if per_minute is None and configuration not in self._paces:
            return 0.0
        with self._lock:
            pace = self._paces.setdefault(configuration, _Pace())
            now = self._clock.monotonic()
            wait = max(0.0, pace.quiet_until - now)
            if per_minute is not None:
                burst = max(1, per_minute // 60)
                interval = 60 / (per_minute - burst + 1)
                starts = max(pace.drained_at, now)
                wait = max(wait, starts - now - (burst - 1) * interval)
            if wait > patience:
                return None
            if per_minute is not None:
                pace.drained_at = max(starts, now + wait) + interval
            return wait

    def hold(self, configuration: str, seconds: float) -> None:
        """Let nobody send for this configuration for some time, five minutes at the most."""
        with self._lock:
            pace = self._paces.setdefault(configuration, _Pace())
            until = self._clock.monotonic() + min(seconds, MAX_HOLD)
            pace.quiet_until = max(pace.quiet_until, until)


def retry_after(response: Response, now: float) -> float | None:
    """Read Retry-After (RFC 9110 §10.2.3): seconds or a date; nonsense counts as absent."""
    text = response.headers.get("Retry-After").strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])  # ten digits are three centuries
    try:
        until: float = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return until - now if until > now else 0.0


def backoff(retry: int, jitter: float) -> float:
    """Return the seconds before retry number `retry`; jitter from 0 to 1 spreads the callers."""
    return min(_BACKOFF_MOST, _BACKOFF_FIRST * 2.0**retry) * (0.5 + jitter / 2)
