from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import StorageUnavailable
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.stored_times import LONGEST_WAIT, SKEW_SECONDS
from outkey.sending.adapters.permits_leased import MAX_HOLD, LeasedPermits
from outkey.sending.core.request.message import Response, ResponseHeaders, retry_after
from outkey.sending.engine.exchange.exchange import backoff
from outkey.testing import FakeClock

NOW = 1_800_000_000.0


def asked(value: str) -> float | None:
    return retry_after(
        Response(429, ResponseHeaders((("Retry-After", value),))), now=NOW
    )


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("2", 2),
        (" 7 ", 7),
        (formatdate(NOW + 30, usegmt=True), 30),
        (formatdate(NOW - 30, usegmt=True), 0),
        ("9" * 400, 9_999_999_999),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float) -> None:
    assert asked(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "-5",
        "1.5",
        "soon",
        "²",
        "Tue, 99 Foo 2026",
        "Mon, 01 Jan 99999 00:00:00 GMT",
    ],
)
def test_nonsense_in_retry_after_counts_as_absent(value: str) -> None:
    assert asked(value) is None


@given(retry=st.integers(0, 10), jitter=st.floats(0, 1))
def test_back_off_grows_and_stays_bounded(retry: int, jitter: float) -> None:
    assert 0.125 <= backoff(retry, jitter) <= 8
    assert backoff(retry, jitter) <= backoff(retry + 1, jitter)


@given(per_minute=st.integers(1, 5000), pauses=st.lists(st.floats(0, 30), max_size=60))
def test_no_minute_ever_sees_more_than_the_limit(
    per_minute: int, pauses: list[float]
) -> None:
    clock = FakeClock()
    permits = LeasedPermits(MemoryStateRows(), clock.monotonic)
    sent: list[float] = []
    for pause in [*pauses, *[0.0] * 100]:
        clock.advance(pause)
        wait = permits.reserve("a", per_minute, 1e9)
        assert wait is not None
        sent.append(clock.monotonic() + wait)
    for start in sent:
        # A hair is taken off the window: sums of intervals round either way.
        assert sum(start <= t < start + 60 - 1e-6 for t in sent) <= per_minute


def test_two_seconds_are_worth_a_burst_and_then_the_pace_is_even() -> None:
    permits = LeasedPermits(MemoryStateRows(), FakeClock().monotonic)
    waits = [permits.reserve("a", 600, 10.0) for _ in range(22)]
    assert waits[:20] == [0.0] * 20
    assert waits[20:] == pytest.approx([60 / 581, 120 / 581])


def test_a_hold_is_cut_and_never_shortened() -> None:
    clock = FakeClock()
    permits = LeasedPermits(MemoryStateRows(), clock.monotonic)
    permits.hold("a", 10**9)
    permits.hold("a", 1)
    assert permits.reserve("a", None, 1e9) == MAX_HOLD
    clock.advance(MAX_HOLD)
    assert permits.reserve("a", None, 0.0) == 0.0


class Contended(MemoryStateRows):
    """Another process takes a slot between our reading and our writing, some times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        if self.times > 0:
            self.times -= 1
            super().swap(kind, key, generation, {"drained_at": 60.0 * self.times})
            return False
        return super().swap(kind, key, generation, value)


def test_a_pace_that_another_process_changed_is_read_again() -> None:
    permits = LeasedPermits(Contended(2), lambda: 0.0)
    assert permits.reserve("a", 1, 120.0) == 0.0
    permits = LeasedPermits(Contended(2), lambda: 0.0)
    permits.hold("a", 10)
    assert permits.reserve("a", 1, 120.0) == 10.0


def test_a_pace_that_others_change_all_the_time_is_given_up() -> None:
    permits = LeasedPermits(Contended(10**6), lambda: 0.0)
    with pytest.raises(StorageUnavailable, match="too many processes"):
        permits.reserve("a", 1, 1e9)


AHEAD = 7200.0


def test_a_pace_that_a_clock_ahead_has_stored_does_not_count() -> None:
    clock = FakeClock(NOW)
    states = MemoryStateRows()
    before = LeasedPermits(states, clock.now)
    assert before.reserve("a", 1, 0.0) == 0.0
    before.hold("b", 300.0)
    before.hold("c", 300.0)
    clock.advance(-AHEAD)
    for permits in (before, LeasedPermits(states, clock.now)):  # one starts now
        assert permits.reserve("a", 1, 60.0) is not None
        assert permits.reserve("b", 600, 0.0) == 0.0
        assert permits.reserve("c", None, 0.0) == 0.0
    assert before.reserve("a", 1, 60.0) is None  # the limit holds by the right clock
    before.hold("b", 20.0)
    assert before.reserve("b", 600, 60.0) == 20.0
    assert LeasedPermits(states, clock.now).reserve("b", 600, 60.0) == 20.0


def test_permits_that_a_process_took_while_its_clock_was_ahead_are_not_used() -> None:
    clock = FakeClock(NOW)
    permits = LeasedPermits(MemoryStateRows(), clock.now)
    assert [permits.reserve("a", 600, 0.0) for _ in range(12)] == [0.0] * 12
    clock.advance(-AHEAD)
    assert [permits.reserve("a", 600, 0.0) for _ in range(3)] == [0.0] * 3


@pytest.mark.parametrize(
    "stored",
    [
        {"drained_at": NOW + 4000},  # longer than any request may wait
        {"quiet_until": NOW + 400},
        {"drained_at": NOW + 10, "at": NOW + SKEW_SECONDS + 1},
        {"drained_at": float("inf")},
    ],
)
def test_a_pace_lies_no_further_ahead_than_it_can_have_been_stored_for(
    stored: dict[str, float],
) -> None:
    states = MemoryStateRows()
    states.put(StateKind.RATE_LIMIT, {"a": stored})
    assert LeasedPermits(states, lambda: NOW).reserve("a", 1, 0.0) == 0.0


@pytest.mark.parametrize(
    "stored",
    [
        {"drained_at": NOW + 3600},  # as version 0.2 stored it
        {"drained_at": NOW + 10, "at": NOW + SKEW_SECONDS},
        {"quiet_until": NOW + 300, "at": NOW},
    ],
)
def test_a_pace_of_now_counts(stored: dict[str, float]) -> None:
    states = MemoryStateRows()
    states.put(StateKind.RATE_LIMIT, {"a": stored})
    assert LeasedPermits(states, lambda: NOW).reserve("a", 1, 5.0) is None


def test_a_spent_budget_is_cut_to_a_day_and_ends() -> None:
    clock = FakeClock(NOW)
    permits = LeasedPermits(MemoryStateRows(), clock.now)
    permits.note_spent_budget("a", 10**9)
    assert permits.budget_wait("a") == LONGEST_WAIT
    clock.advance(LONGEST_WAIT)
    assert permits.budget_wait("a") == 0.0


def test_without_storage_at_least_this_process_waits_for_the_budget() -> None:
    permits = LeasedPermits(Contended(10**6), lambda: NOW)
    permits.note_spent_budget("a", 20)
    assert permits.budget_wait("a") == 20


@pytest.mark.parametrize(
    ("stored", "wait"),
    [
        ({"spent_until": NOW + 30, "at": NOW}, 30),
        ({"spent_until": NOW + LONGEST_WAIT, "at": NOW}, LONGEST_WAIT),
        ({"spent_until": NOW + LONGEST_WAIT + 61, "at": NOW}, 0),
        ({"spent_until": NOW + 30, "at": NOW + SKEW_SECONDS + 1}, 0),
        ({"spent_until": NOW - 1}, 0),
        ({}, 0),
    ],
)
def test_a_stored_budget_counts_if_a_clock_that_is_right_can_have_stored_it(
    stored: dict[str, float], wait: float
) -> None:
    states = MemoryStateRows()
    states.put(StateKind.RATE_LIMIT, {"a": stored})
    assert LeasedPermits(states, lambda: NOW).budget_wait("a") == wait


def test_a_lease_of_permits_leaves_a_spent_budget_as_it_is() -> None:
    permits = LeasedPermits(MemoryStateRows(), lambda: NOW)
    permits.note_spent_budget("a", 20)
    assert permits.reserve("a", 60, 1.0) == 0.0
    permits.hold("a", 3)
    assert permits.budget_wait("a") == 20
