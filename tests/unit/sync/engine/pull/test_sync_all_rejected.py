"""A run that rejected every record has failed, and only a user can help."""

from dataclasses import replace

import pytest

from outkey.sync.core.line.line import Gone, Incremental, Sync
from outkey.sync.core.run.remedies import remedy_of, summary_of
from outkey.sync.core.run.run import Counts, Run, RunState
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    PUSH,
    Api,
    FakeSync,
    fake_sync,
    people,
    stored,
)
from unit.sync.engine.runs.test_sync_planner import fake_planner

INCREMENTAL = replace(PULL, incremental=Incremental("since", "changed"))
NAMELESS = [{"id": "", "changed": "2027-01-01"} for _ in range(3)]


def outcome(run: Run) -> tuple[RunState, str, Counts]:
    return run.state, run.cause, run.counts


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_pull_that_rejects_every_record_fails(*, dry_run: bool) -> None:
    made = fake_sync(responses=Api(list(NAMELESS)))
    run = made.run(dry_run=dry_run)
    assert outcome(run) == (RunState.FAILED, "all_refused", Counts(failed=3))
    assert made.runs.get(run.id) == run
    assert run.ended_at is not None


def test_a_pull_without_records_and_one_with_a_good_record_are_done() -> None:
    assert fake_sync(responses=Api()).run().state is RunState.DONE
    made = fake_sync(responses=Api([*NAMELESS, *people(1)]))
    assert outcome(made.run()) == (RunState.DONE, "", Counts(created=1, failed=3))


def test_the_next_pull_starts_over_and_from_the_last_good_cursor() -> None:
    api = Api(people(1, 2, changed="2026-12-01"))
    made = fake_sync(INCREMENTAL, api)
    made.run()
    api.records = list(NAMELESS)
    failed = made.run()
    assert (failed.state, failed.position) == (RunState.FAILED, {})
    api.records = people(3, changed="2027-01-01")
    again = made.run()
    assert (again.id != failed.id, again.since) == (True, "2026-12-01")
    assert again.counts == Counts(created=1)


def test_nothing_is_archived() -> None:
    api = Api(people(1, 2))
    made = fake_sync(replace(PULL, gone=Gone.ARCHIVE), api)
    made.run()
    api.records = list(NAMELESS)
    assert made.run().counts == Counts(failed=3)
    assert made.numbers() == ["1", "2"]


def refusing_push(sync: Sync = PUSH) -> tuple[FakeSync, Api]:
    api = Api()
    made = fake_sync(sync, api, method="PUT", path="/contacts/{number}")
    stored(made, *({"number": "", "name": f"Name {n}"} for n in range(3)))
    return made, api


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_push_of_which_no_record_can_be_sent_fails(*, dry_run: bool) -> None:
    made, api = refusing_push()
    run = made.run(dry_run=dry_run)
    assert outcome(run) == (RunState.FAILED, "all_refused", Counts(failed=3))
    assert api.asked == []
    for row in made.records.table("contact").values():
        row["number"] = "n"
    assert made.run().counts == Counts(updated=3)  # from the first record on


def test_a_worker_does_not_retry_it_and_a_schedule_still_runs_it() -> None:
    made = fake_sync(replace(PULL, schedule="0 * * * *"), Api(list(NAMELESS)))
    fake = fake_planner(made)
    fake.planner.plan("schedule")
    for _ in range(2):
        fake.wait(3600)
        fake.planner.plan("schedule")
        (run,) = fake.work()
        assert (run.state, run.cause, made.runs.due()) == (
            RunState.FAILED,
            "all_refused",
            [],
        )
    assert len(made.memory.rows.runs) == 2


def test_its_cause_and_its_remedy_are_for_both_directions() -> None:
    assert str(summary_of("all_refused")) == "every record was rejected"
    assert "rejected records" in str(remedy_of("all_refused"))
