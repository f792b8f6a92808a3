"""Counts for metrics: from the audit, each record once; from runs, when they end."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from outkey.administration.core.operating.reading_position import (
    MAX_GAPS,
    ReadingPosition,
)
from outkey.administration.core.operating.send_counts import BUCKETS, SendCounts
from outkey.administration.engine.operating import counting
from outkey.administration.engine.operating.counting import SendCounter
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.sending.core.audit.events import Tag
from outkey.sync.core.run.counts import MAX_CONTINUED, RunCounts
from outkey.sync.core.run.run import Counts, Run, RunState
from outkey.sync.engine.runs.counting import count_run, run_counts
from outkey.testing import FakeClock
from outkey.testing.fakes.basic import MemoryDatabase


class Table:
    """A table of audit records by id, of which some are committed late."""

    def __init__(self) -> None:
        self.records: dict[int, dict[str, object]] = {}

    def after(self, position: int, limit: int) -> Sequence[dict[str, object]]:
        ids = sorted(number for number in self.records if number > position)
        return [self.records[number] | {"id": number} for number in ids[:limit]]


class Setup:
    """A counter with its tables."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.table = Table()
        self.states = MemoryStateRows()
        self.database = MemoryDatabase(self.clock, self.states)

    def counter(self) -> SendCounter:
        """Return the counter of one more process."""
        return SendCounter(self.table, self.states, self.database)  # type: ignore[arg-type]

    def sends(self) -> dict[str, int]:
        """Return the sends of the configuration `shop`."""
        counts = self.counter().read().get("shop", SendCounts())
        return counts.sends


def sent(outcome: str = "ok", milliseconds: object = 80) -> dict[str, object]:
    return {
        "tag": Tag.SEND_OUTCOME,
        "configuration": "shop",
        "outcome": outcome,
        "duration_ms": milliseconds,
    }


def test_requests_renewals_and_refusals_are_counted_by_outcome() -> None:
    setup = Setup()
    setup.table.records = {
        1: {"tag": Tag.SEND_INTENT, "configuration": "shop"},
        2: sent(),
        3: sent("server_error"),
        4: {"tag": Tag.TOKEN_OUTCOME, "configuration": "shop", "outcome": "ok"},
        5: {"tag": Tag.SEND_REFUSED, "configuration": "shop", "code": "paused"},
        6: sent(),
    }

    assert setup.counter().catch_up()

    counts = setup.counter().read()["shop"]
    assert counts.sends == {"ok": 2, "server_error": 1}
    assert counts.renewals == {"ok": 1}
    assert counts.refusals == {"paused": 1}


def test_steps_of_rotations_are_counted_whoever_takes_them() -> None:
    setup = Setup()
    steps = (Tag.SECRET_STAGED, Tag.ROTATION_REFUSED, Tag.SECRET_STAGED)
    setup.table.records = {
        number: {"tag": tag, "configuration": "shop", "serial": 2}
        for number, tag in enumerate(steps, start=1)
    }
    setup.counter().catch_up()
    counts = setup.counter().read()["shop"]
    assert counts.rotation_steps == {"staged": 2, "refused": 1}


def test_a_record_about_something_else_is_not_counted() -> None:
    counts = SendCounts()
    counts.add({"tag": "user:configuration:saved", "outcome": "ok"})
    assert counts == SendCounts()


def test_what_was_counted_is_not_counted_again_by_another_process() -> None:
    setup = Setup()
    setup.table.records = {1: sent()}
    setup.counter().catch_up()
    setup.table.records[2] = sent()

    setup.counter().catch_up()
    setup.counter().catch_up()

    assert setup.sends() == {"ok": 2}


def test_counts_stay_when_the_records_are_pruned() -> None:
    setup = Setup()
    setup.table.records = {1: sent()}
    setup.counter().catch_up()
    setup.table.records.clear()

    setup.counter().catch_up()

    assert setup.sends() == {"ok": 1}


def test_a_record_that_is_committed_late_is_counted_once() -> None:
    setup = Setup()
    setup.table.records = {1: sent(), 3: sent()}
    setup.counter().catch_up()
    setup.table.records[2] = sent("late")

    setup.counter().catch_up()
    setup.counter().catch_up()

    assert setup.sends() == {"ok": 2, "late": 1}


def test_an_id_that_nobody_uses_is_looked_for_during_a_minute() -> None:
    setup = Setup()
    setup.table.records = {1: sent(), 3: sent()}
    setup.counter().catch_up()
    setup.clock.sleep(61)
    setup.counter().catch_up()
    setup.table.records[2] = sent("too late")

    setup.counter().catch_up()

    assert setup.sends() == {"ok": 2}


def test_an_id_that_was_missed_by_a_clock_ahead_is_not_looked_for_any_more() -> None:
    setup = Setup()
    setup.table.records = {1: sent(), 3: sent()}
    setup.counter().catch_up()
    setup.clock.advance(-7200)
    setup.counter().catch_up()
    setup.table.records[2] = sent("too late")
    setup.counter().catch_up()
    assert setup.sends() == {"ok": 2}


def test_the_gap_after_a_crash_is_bounded() -> None:
    position = ReadingPosition(last=10).after([1_000_000], now=5.0)
    assert position.last == 1_000_000
    assert len(position.gaps) == MAX_GAPS
    assert position.gaps[-1] == (999_999, 5.0)
    assert ReadingPosition.from_facts(position.facts()) == position


def test_a_long_audit_is_counted_in_several_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "READ_AT_ONCE", 2)
    monkeypatch.setattr(counting, "MAX_BATCHES", 2)
    setup = Setup()
    setup.table.records = {number: sent() for number in range(1, 8)}

    assert not setup.counter().catch_up()
    assert setup.sends() == {"ok": 4}
    assert setup.counter().catch_up()
    assert setup.sends() == {"ok": 7}


def test_of_two_processes_that_count_at_the_same_time_one_counts() -> None:
    setup = Setup()
    setup.table.records = {1: sent()}
    other = setup.counter()
    after = setup.table.after

    def read_beside_another(position: int, limit: int) -> Sequence[dict[str, object]]:
        found = after(position, limit)
        setup.table.after = after  # type: ignore[method-assign]
        other.catch_up()
        return found

    setup.table.after = read_beside_another  # type: ignore[method-assign]
    setup.counter().catch_up()

    assert setup.sends() == {"ok": 1}


def test_durations_are_counted_by_their_bounds() -> None:
    counts = SendCounts()
    for milliseconds in (25, 26, 61_000, "unknown"):
        counts.add(sent(milliseconds=milliseconds))

    assert counts.durations == [1, 1, *[0] * (len(BUCKETS) - 2), 1]
    assert counts.seconds == pytest.approx(61.051)
    assert counts.sends == {"ok": 4}
    assert SendCounts.from_facts(counts.facts()) == counts


def a_run(run_id: str, state: RunState, created: int, *, dry_run: bool = False) -> Run:
    return Run(
        id=run_id,
        line="orders",
        actor="test",
        started_at=10.0,
        state=state,
        dry_run=dry_run,
        counts=Counts(created=created),
        ended_at=20.0,
    )


def test_deliveries_and_retries_do_not_make_a_line_look_complete() -> None:
    states = MemoryStateRows()
    retry = replace(a_run("1", RunState.DONE, 5), retry_of="0")
    received = replace(a_run("2", RunState.DONE, 7), is_received=True)
    count_run(states, retry)
    count_run(states, received)

    counts = run_counts(states)["orders"]
    assert counts.runs == {"done": 1}
    assert counts.records == {"created": 12}
    assert counts.done_at == 0.0


def test_runs_and_their_records_are_counted_by_line() -> None:
    states = MemoryStateRows()
    count_run(states, a_run("1", RunState.DONE, 5))
    count_run(states, a_run("2", RunState.FAILED, 0))
    count_run(states, a_run("3", RunState.DONE, 7, dry_run=True))

    counts = run_counts(states)["orders"]
    assert counts.runs == {"done": 1, "failed": 1}
    assert counts.records == {"created": 5}
    assert counts.done_at == 20.0


def test_the_records_of_a_run_that_goes_on_are_counted_once() -> None:
    counts = RunCounts()
    counts.add(a_run("1", RunState.FAILED, 5))
    counts.add(a_run("1", RunState.DONE, 8))
    assert counts.records == {"created": 8}


def test_a_run_that_starts_over_is_counted_from_the_beginning() -> None:
    counts = RunCounts()
    counts.add(a_run("1", RunState.FAILED, 5))
    counts.add(a_run("1", RunState.DONE, 3))
    assert counts.records == {"created": 8}


def test_only_the_last_runs_of_a_line_are_remembered() -> None:
    counts = RunCounts()
    for number in range(MAX_CONTINUED + 5):
        counts.add(a_run(str(number), RunState.DONE, 1))
    assert len(counts.counted) == MAX_CONTINUED
    assert RunCounts.from_facts(counts.facts()) == counts
