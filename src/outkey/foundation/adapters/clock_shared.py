"""The clock of a database, which the machines that use it share.

It is read once in a while, and counted on in between: a request that needs the time
does not read the database for it.
"""

from typing import NamedTuple

from outkey.foundation.core.errors import StorageUnavailable
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.database import Database

MEASURED_SECONDS = 10.0


class Measurement(NamedTuple):
    """A moment by the clock of the database, and by the monotonic one of this process.

    The monotonic clock is not set back or forward as that of a machine is.
    """

    moment: float
    monotonic: float


class SharedClock:
    """Unix time by the clock of a database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._measured: Measurement | None = None

    def now(self) -> float:
        """Return Unix time by a clock that all processes share."""
        monotonic = self._clock.monotonic()
        measured = self._measured
        if measured is None or monotonic - measured.monotonic >= MEASURED_SECONDS:
            measured = self._measure(monotonic)
        return measured.moment + monotonic - measured.monotonic

    def _measure(self, monotonic: float) -> Measurement:
        try:
            measured = Measurement(self._database.now(), monotonic)
        except StorageUnavailable:
            # No pace can be shared now. What this process waits for itself, it waits
            # for by the last measurement or, without one, by its own clock.
            return self._measured or Measurement(self._clock.now(), monotonic)
        self._measured = measured
        return measured
