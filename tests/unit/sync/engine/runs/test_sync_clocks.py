"""All times of runs come from the clock of the database, however wrong ours is."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import BadResponse, OutkeyError
from outkey.foundation.core.moments import moment_text
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.engine.runs.runs import Runs
from outkey.testing import FakeClock
from outkey.testing.fakes.sync import MemorySync
from unit.sync.engine.pull.test_sync_retry_after import HOUR, Quota, refusal
from unit.sync.engine.pull.test_sync_run import (
    FIELDS,
    PULL,
    Api,
    FakeSync,
    fake_sync,
    people,
)
from unit.sync.engine.runs.test_sync_planner import HOURLY, FakePlanner, fake_planner

AHEAD = 1_000_000.0  # our clock is some days ahead of that of the database


def with_two_clocks(
    responses: Callable[[Request], Response | OutkeyError], schedule: str = ""
) -> FakeSync:
    made = fake_sync(replace(PULL, schedule=schedule), responses)
    theirs = FakeClock()
    made.world.clock.advance(AHEAD)
    made.memory = MemorySync(made.world.ports.configurations, FIELDS, theirs)
    made.ports = replace(made.ports, models=made.memory.records, runs=made.memory.runs)
    made.runner = SyncRunner(made.ports)
    return made


def times(run: Run) -> list[float]:
    return [at for at in (run.started_at, run.ended_at, run.until) if at is not None]


def test_a_run_begins_and_ends_by_the_clock_of_the_database() -> None:
    made = with_two_clocks(Api(people(1, 2, 3)))
    began = made.runs.now()
    assert made.world.clock.now() - began == AHEAD
    seen = list(made.runner.run("contacts", "ada"))
    assert seen[-1].state is RunState.DONE
    for run in seen:
        assert all(0 <= at - began <= run.lease for at in times(run))


def test_a_run_that_waits_is_due_by_the_clock_of_the_database() -> None:
    fake = fake_planner(with_two_clocks(Quota([refusal()])))
    fake.planner.request("contacts", "ada")
    (waiting,) = fake.work()
    assert waiting.until == fake.sync.runs.now() + HOUR
    assert all(at <= fake.sync.runs.now() + HOUR for at in times(waiting))


def test_the_next_run_of_a_schedule_is_after_the_time_of_the_database() -> None:
    fake: FakePlanner = fake_planner(with_two_clocks(Api(), HOURLY.schedule))
    (next_at,) = fake.planner.next_runs(["contacts"]).values()
    assert next_at is not None
    assert 0 < next_at - fake.sync.runs.now() <= HOUR


def test_a_user_reads_when_to_try_again_by_the_clock_of_the_database() -> None:
    made = with_two_clocks(Quota([refusal()]))
    runs: Runs = made.runs
    with pytest.raises(BadResponse) as refused:
        made.run()
    assert moment_text(runs.now() + HOUR) in refused.value.hint
