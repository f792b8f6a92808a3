"""Contract suites of shared states and of the permits that use them.

They are used like those of `contracts`.
"""

import threading
from abc import ABC, abstractmethod

from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.database import StateRows
from outkey.sending.ports.sending import Permits


class StateRowsContract(ABC):
    """The promises of every table of shared states."""

    kind = StateKind.MARK

    @abstractmethod
    def make(self) -> StateRows:
        """Return an empty table."""

    def end_thread(self) -> None:
        """Do what a thread of the suite must do at its end."""
        return

    def test_an_empty_table_has_no_states(self) -> None:
        states = self.make()
        assert states.read(self.kind) == {}
        assert states.read(self.kind, ["a"]) == {}
        assert states.read(self.kind, []) == {}

    def test_a_value_comes_back_as_it_was(self) -> None:
        states = self.make()
        value = {"at": 1_800_000_000.123456, "names": ["ä", ""], "hours": [[1, 2]]}
        assert states.swap(self.kind, "a", 0, value)
        assert states.read(self.kind, ["a", "b"]) == {"a": SharedState(1, value)}
        assert states.read(self.kind) == {"a": SharedState(1, value)}

    def test_a_state_is_replaced_only_in_the_generation_that_was_read(self) -> None:
        states = self.make()
        assert not states.swap(self.kind, "a", 1, {"n": 0})
        assert states.swap(self.kind, "a", 0, {"n": 1})
        assert not states.swap(self.kind, "a", 0, {"n": 2})
        assert states.swap(self.kind, "a", 1, {"n": 3})
        assert not states.swap(self.kind, "a", 1, {"n": 4})
        assert states.read(self.kind, ["a"]) == {"a": SharedState(2, {"n": 3})}

    def test_kinds_and_keys_are_apart(self) -> None:
        states = self.make()
        assert states.swap(self.kind, "a", 0, {"n": 1})
        assert states.swap(StateKind.HOLD, "a", 0, {"n": 2})
        assert states.swap(self.kind, "b", 0, {"n": 3})
        assert states.read(StateKind.HOLD) == {"a": SharedState(1, {"n": 2})}
        assert states.read(self.kind, ["b"]) == {"b": SharedState(1, {"n": 3})}

    def test_many_values_are_stored_replaced_and_deleted_at_once(self) -> None:
        states = self.make()
        keys = [f"key{number}" for number in range(1000)]
        states.put(self.kind, {key: {"n": 1} for key in keys})
        states.put(self.kind, {"key0": {"n": 2}, "key1": None, "unknown": None})
        states.put(self.kind, {})
        assert states.read(self.kind, ["key0"]) == {"key0": SharedState(2, {"n": 2})}
        assert states.read(self.kind, keys).keys() == set(keys) - {"key1"}
        states.put(self.kind, dict.fromkeys(keys))
        assert states.read(self.kind) == {}

    def test_a_value_that_was_put_is_another_generation(self) -> None:
        states = self.make()
        states.swap(self.kind, "a", 0, {"n": 1})
        states.put(self.kind, {"a": {"n": 2}})
        assert not states.swap(self.kind, "a", 1, {"n": 3})
        assert states.swap(self.kind, "a", 2, {"n": 4})

    def test_of_many_who_swap_at_once_one_succeeds(self) -> None:
        states = self.make()
        winners: list[int] = []
        started = threading.Barrier(8)

        def swap(number: int) -> None:
            started.wait(10)
            if states.swap(self.kind, "a", 0, {"n": number}):
                winners.append(number)
            self.end_thread()

        threads = [threading.Thread(target=swap, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert [{"n": number} for number in winners] == [
            states.read(self.kind)["a"].value
        ]


class PermitsContract(ABC):
    """The promises of every issuer of permits."""

    @abstractmethod
    def make(self, clock: Clock) -> Permits:
        """Return an issuer with this clock; issuers of one test share their paces."""

    @abstractmethod
    def clock(self) -> Clock:
        """Return a clock for it."""

    def end_thread(self) -> None:
        """Do what a thread of the suite must do at its end."""
        return

    def test_without_a_limit_nobody_waits(self) -> None:
        permits = self.make(self.clock())
        assert {permits.reserve("a", None, 1.0) for _ in range(100)} == {0.0}

    def test_never_more_than_the_limit_in_any_minute(self) -> None:
        clock = self.clock()
        permits = self.make(clock)
        sent = []
        for _ in range(200):
            wait = permits.reserve("a", 60, 600.0)
            assert wait is not None
            sent.append(clock.monotonic() + wait)
        busiest = max(sum(start <= t < start + 60 for t in sent) for start in sent)
        assert busiest <= 60

    def test_a_wait_beyond_the_patience_takes_no_permit(self) -> None:
        permits = self.make(self.clock())
        assert permits.reserve("a", 1, 1.0) == 0.0
        assert permits.reserve("a", 1, 1.0) is None
        wait = permits.reserve("a", 1, 120.0)
        assert wait is not None
        assert 0 < wait <= 60

    def test_a_hold_stops_one_configuration_only(self) -> None:
        permits = self.make(self.clock())
        permits.hold("a", 10)
        assert permits.reserve("a", None, 1.0) is None
        assert permits.reserve("b", None, 1.0) == 0.0

    def test_two_issuers_share_one_limit_and_one_hold(self) -> None:
        clock = self.clock()
        one = self.make(clock)
        two = self.make(clock)
        sent = []
        for number in range(150):
            issuer = two if number % 3 else one
            wait = issuer.reserve("a", 60, 600.0)
            assert wait is not None
            sent.append(clock.monotonic() + wait)
        assert max(sum(start <= t < start + 60 for t in sent) for start in sent) <= 60
        one.hold("b", 10)
        assert two.reserve("b", 60, 5.0) is None
        wait = two.reserve("b", 60, 20.0)
        assert wait is not None
        assert 9 < wait <= 10

    def test_two_issuers_share_a_spent_budget(self) -> None:
        clock = self.clock()
        one = self.make(clock)
        two = self.make(clock)
        assert two.budget_wait("a") == 0.0
        one.note_spent_budget("a", 20)
        one.note_spent_budget("a", 5)
        assert 19 < two.budget_wait("a") <= 20
        assert two.budget_wait("b") == 0.0
        assert two.reserve("a", None, 1.0) == 0.0

    def test_concurrent_callers_share_one_limit(self) -> None:
        permits = self.make(self.clock())
        waits: list[float | None] = []

        def reserve() -> None:
            waits.append(permits.reserve("a", 20, 0.0))
            self.end_thread()

        threads = [threading.Thread(target=reserve) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert waits.count(0.0) == 1
