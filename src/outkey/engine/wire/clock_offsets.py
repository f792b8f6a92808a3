"""How far other people's clocks are from ours, learned from the Date header of their answers."""

from outkey.core.request.message import Response, http_date
from outkey.core.request.origin import Origin
from outkey.ports.sending import Clock

_LOOK_AGAIN = 60.0
_BELIEVED = 600.0  # seconds; what nobody confirms is forgotten
_MOST_OFFSET = 86_400.0  # no clock that is worth following is a day off
_EXACT = 2.0  # seconds: Date has whole ones, and the answer was on its way
_MOST = 1024


class ClockOffsets:
    """What each configuration's origins have shown, looked at once a minute.

    One configuration never believes what another one was told, although they share an origin.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, Origin], tuple[float, float]] = {}

    def note(self, name: str, origin: Origin, response: Response, clock: Clock) -> None:
        """Learn from an answer that has just come."""
        looked_at, _ = self._known.get((name, origin), (-_LOOK_AGAIN, 0.0))
        moment = clock.monotonic()
        if moment - looked_at < _LOOK_AGAIN:
            return
        theirs = moment_of(response)
        offset = 0.0 if theirs is None else theirs + 0.5 - clock.now()
        if theirs is None or abs(offset) > _MOST_OFFSET:
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[name, origin] = moment, offset if abs(offset) > _EXACT else 0.0

    def of(self, name: str, origin: Origin, clock: Clock) -> int:
        """Return by how many seconds that clock is ahead of ours; 0 where nothing is known."""
        looked_at, offset = self._known.get((name, origin), (0.0, 0.0))
        return round(offset) if clock.monotonic() - looked_at < _BELIEVED else 0


def moment_of(response: Response) -> float | None:
    """Return when an answer says that it was made; one from a cache says nothing of now."""
    if response.headers.get("Age", "0").strip() != "0":
        return None
    return http_date(response.headers.get("Date"))
