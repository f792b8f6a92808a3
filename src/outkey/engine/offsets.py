"""How far other people's clocks are from ours, learned from the Date header of their answers."""

from email.utils import parsedate_to_datetime

from outkey.core.message import Response
from outkey.core.origin import Origin
from outkey.ports import Clock

_LOOK_AGAIN = 60.0
_EXACT = 2.0  # seconds: Date has whole ones, and the answer was on its way
_MOST = 1024


class ClockOffsets:
    """What the origins of one process have shown, each looked at once a minute."""

    def __init__(self) -> None:
        self._known: dict[Origin, tuple[float, float]] = {}

    def note(self, origin: Origin, response: Response, clock: Clock) -> None:
        """Learn from an answer that has just come."""
        looked_at, _ = self._known.get(origin, (-_LOOK_AGAIN, 0.0))
        moment = clock.monotonic()
        if moment - looked_at < _LOOK_AGAIN:
            return
        theirs = moment_of(response)
        if theirs is None:
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        offset = theirs + 0.5 - clock.now()
        self._known[origin] = moment, offset if abs(offset) > _EXACT else 0.0

    def of(self, origin: Origin) -> int:
        """Return by how many seconds that clock is ahead of ours; 0 where nothing is known."""
        return round(self._known.get(origin, (0.0, 0.0))[1])


def moment_of(response: Response) -> float | None:
    """Return when an answer says that it was made; one from a cache says nothing of now."""
    if response.headers.get("Age", "0").strip() != "0":
        return None
    try:
        moment: float = parsedate_to_datetime(response.headers.get("Date")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return moment
