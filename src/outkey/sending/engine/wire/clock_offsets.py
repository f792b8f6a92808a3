"""How far remote clocks are from ours, learned from the Date header of responses."""

from outkey.foundation.core.moments import DAY_SECONDS
from outkey.foundation.core.origin import Origin
from outkey.foundation.ports.clock import Clock
from outkey.sending.core.request.message import Response, server_time

_LOOK_AGAIN = 60.0
_BELIEVED = 600.0  # seconds; an offset that is not confirmed by then is dropped
_MAX_OFFSET = DAY_SECONDS  # no clock that is worth following is a day off
_EXACT = 2.0  # seconds: Date has whole ones, and the response was on its way
_MOST = 1024


class ClockOffsets:
    """The offset of each configuration's origins, measured once a minute.

    Configurations that share an origin do not share offsets: a response to one of them
    must not change the timestamps of another.
    """

    def __init__(self) -> None:
        # By name and origin, as texts: unlike an Origin they are hashed once.
        self._measured: dict[tuple[str, str], tuple[float, float]] = {}

    def note(self, name: str, origin: Origin, response: Response, clock: Clock) -> None:
        """Measure the offset by a response that has just arrived."""
        key = name, origin.bound
        measured_at, _ = self._measured.get(key, (-_LOOK_AGAIN, 0.0))
        now = clock.monotonic()
        if now - measured_at < _LOOK_AGAIN:
            return
        their_time = server_time(response)
        if their_time is None:
            return
        offset = their_time + 0.5 - clock.now()
        if abs(offset) > _MAX_OFFSET:
            return
        if len(self._measured) >= _MOST:
            self._measured.clear()
        self._measured[key] = now, offset if abs(offset) > _EXACT else 0.0

    def of(self, name: str, origin: Origin, clock: Clock) -> int:
        """Return by how many seconds that clock is ahead of ours; 0 if unknown."""
        measured_at, offset = self._measured.get((name, origin.bound), (0.0, 0.0))
        return round(offset) if clock.monotonic() - measured_at < _BELIEVED else 0
