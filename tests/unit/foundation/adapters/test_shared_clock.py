"""Paces are measured by the clock of the database, not by that of a machine."""

from outkey.foundation.adapters.clock_shared import MEASURED_SECONDS, SharedClock
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import StorageUnavailable
from outkey.sending.adapters.permits_leased import LeasedPermits
from outkey.testing import FakeClock
from outkey.testing.fakes.basic import MemoryDatabase

NOW = 1_800_000_000.0
AHEAD = 7200.0


class CountedDatabase(MemoryDatabase):
    """Counts how often its clock is read, and can fail."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.reads = 0
        self.is_down = False

    def now(self) -> float:
        if self.is_down:
            raise StorageUnavailable
        self.reads += 1
        return super().now()


def pass_time(seconds: float, *clocks: FakeClock) -> None:
    for clock in clocks:
        clock.advance(seconds)


def test_the_clock_of_the_database_is_read_once_in_a_while() -> None:
    theirs, ours = FakeClock(NOW), FakeClock(NOW + AHEAD)
    database = CountedDatabase(theirs)
    clock = SharedClock(database, ours)
    for _ in range(int(3 * MEASURED_SECONDS)):
        assert clock.now() == theirs.now()
        pass_time(1.0, theirs, ours)
    assert database.reads == 3


def test_a_clock_of_the_database_that_is_corrected_is_followed() -> None:
    theirs, ours = FakeClock(NOW + AHEAD), FakeClock(NOW)
    clock = SharedClock(CountedDatabase(theirs), ours)
    assert clock.now() == NOW + AHEAD
    theirs.advance(-AHEAD)
    pass_time(MEASURED_SECONDS, theirs, ours)
    assert clock.now() == NOW + MEASURED_SECONDS


def test_without_the_database_time_goes_on_from_the_last_measurement() -> None:
    theirs, ours = FakeClock(NOW), FakeClock(NOW + AHEAD)
    database = CountedDatabase(theirs)
    database.is_down = True
    clock = SharedClock(database, ours)
    assert clock.now() == NOW + AHEAD  # nothing else is known
    database.is_down = False
    assert clock.now() == NOW
    database.is_down = True
    pass_time(60.0, theirs, ours)
    assert clock.now() == NOW + 60


def test_a_machine_whose_clock_is_ahead_keeps_the_pace_of_the_others() -> None:
    theirs = FakeClock(NOW)
    states = MemoryStateRows()
    machines = [FakeClock(NOW + ahead) for ahead in (AHEAD, 0.0, -AHEAD)]
    permits = [
        LeasedPermits(states, SharedClock(CountedDatabase(theirs), ours).now)
        for ours in machines
    ]
    waits = [each.reserve("a", 1, 300.0) for each in permits]
    assert waits == [0.0, 60.0, 120.0]
