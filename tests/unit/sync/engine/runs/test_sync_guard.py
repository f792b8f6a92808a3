"""The guard: a run does not archive or delete most of what a line brought."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import SyncFailed
from outkey.sync.core.line.line import Gone
from outkey.sync.core.run.guard import refuse_mass_removal
from outkey.sync.core.run.run import Counts, Run, RunState
from unit.sync.engine.pull.test_sync_run import PULL, Api, FakeSync, fake_sync, people
from unit.sync.engine.runs.test_sync_planner import fake_planner

ARCHIVE = replace(PULL, gone=Gone.ARCHIVE)
DELETE = replace(PULL, gone=Gone.DELETE)


def refused_run(made: FakeSync) -> Run:
    """Run a line that would remove too much, and return the run that was stored."""
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "guard"
    assert "--allow-removal" in caught.value.hint
    (stored,) = made.runs.newest(1)
    return stored


@pytest.mark.parametrize(
    ("missing", "total", "percent"),
    [
        (0, 0, 0),
        (0, 100, 0),
        (10, 100, 10),
        (1, 3, 10),  # one may always go
        (1, 1, 1),
        (5, 59, 10),
        (100, 100, 100),
    ],
)
def test_as_many_as_the_percentage_may_go_and_always_one(
    missing: int, total: int, percent: int
) -> None:
    assert not is_refused(missing, total, percent)


def is_refused(missing: int, total: int, percent: int) -> bool:
    try:
        refuse_mass_removal(missing, total, percent)
    except SyncFailed:
        return True
    return False


@pytest.mark.parametrize(
    ("missing", "total", "percent", "allowed"),
    [
        (1, 100, 0, 0),
        (11, 100, 10, 10),
        (2, 3, 10, 1),
        (6, 59, 10, 5),
        (100, 100, 99, 99),
    ],
)
def test_more_are_refused_with_the_numbers(
    missing: int, total: int, percent: int, allowed: int
) -> None:
    with pytest.raises(SyncFailed) as caught:
        refuse_mass_removal(missing, total, percent)
    assert f"{missing} of {total}" in caught.value.message
    assert f"at most {allowed} " in caught.value.message


@pytest.mark.parametrize("sync", [ARCHIVE, DELETE])
def test_a_run_that_would_remove_too_much_fails_and_keeps_what_it_wrote(
    sync: object,
) -> None:
    api = Api(people(1, 2, 3, 4))
    made = fake_sync(sync, api)  # type: ignore[arg-type]
    made.run()
    api.records = people(1, 5)
    stored = refused_run(made)
    assert (stored.state, stored.cause) == (RunState.FAILED, "guard")
    assert stored.counts == Counts(created=1, unchanged=1)
    (note,) = stored.notes
    assert note.startswith("3 of 5 records are missing")
    assert made.numbers() == ["1", "2", "3", "4", "5"]


def test_the_run_after_the_guard_requests_the_pages_again() -> None:
    api = Api(people(1, 2, 3, 4))
    made = fake_sync(ARCHIVE, api)
    made.run()
    api.records = people(1)
    refused_run(made)
    before = len(api.asked)
    refused_run(made)
    assert len(api.asked) > before
    api.records = people(1, 2, 3, 4)
    assert made.run().counts == Counts(unchanged=4)


def test_a_run_may_be_allowed_to_remove_once() -> None:
    api = Api(people(1, 2, 3, 4))
    made = fake_sync(ARCHIVE, api)
    made.run()
    api.records = people(1)
    refused_run(made)
    *_, done = made.runner.run("contacts", "ada", allows_removal=True)
    assert done.counts == Counts(unchanged=1, archived=3)
    api.records = people(2)
    assert made.run().counts == Counts(updated=1, archived=1)


def test_a_requested_run_may_be_allowed_to_remove_once() -> None:
    api = Api(people(1, 2, 3, 4))
    made = fake_sync(ARCHIVE, api)
    made.run()
    api.records = people(1)
    refused_run(made)
    fake = fake_planner(made)
    fake.planner.request("contacts", "ada", allows_removal=True)
    (done,) = fake.work()
    assert done.counts == Counts(unchanged=1, archived=3)
    api.records = people(2)
    assert not fake.planner.request("contacts", "ada").allows_removal


def test_a_run_that_waits_already_is_allowed_to_remove() -> None:
    api = Api(people(1, 2, 3, 4))
    made = fake_sync(ARCHIVE, api)
    made.run()
    api.records = people(1)
    fake = fake_planner(made)
    waiting = fake.planner.request("contacts", "schedule")
    for _ in range(2):
        allowed = fake.planner.request("contacts", "ada", allows_removal=True)
        assert (allowed.id, allowed.allows_removal) == (waiting.id, True)
    # A later request for the same run does not take that back.
    assert fake.planner.request("contacts", "schedule").allows_removal
    (done,) = fake.work()
    assert done.counts == Counts(unchanged=1, archived=3)


def test_a_failed_run_that_is_continued_by_hand_is_not_allowed_to_remove() -> None:
    api = Api(people(1, 2, 3, 4))
    made = fake_sync(ARCHIVE, api)
    made.run()
    api.records = people(1, 2)
    made.runs.request("contacts", "ada", allows_removal=True)
    begun = made.runs.begin("contacts", "ada", dry_run=False)
    assert begun.allows_removal
    made.kill()
    continued = made.runs.begin("contacts", "ada", dry_run=False)
    assert (continued.id, continued.allows_removal) == (begun.id, False)


def test_a_line_without_a_guard_removes_all_but_one() -> None:
    api = Api(people(1, 2, 3, 4))
    made = fake_sync(replace(DELETE, guard_percent=100), api)
    made.run()
    api.records = people(1)
    assert made.run().counts == Counts(unchanged=1, deleted=3)
    assert made.numbers() == ["1"]


def test_a_line_may_remove_nothing_at_all() -> None:
    api = Api(people(1, 2))
    made = fake_sync(replace(DELETE, guard_percent=0), api)
    made.run()
    api.records = people(1)
    refused_run(made)
    assert made.numbers() == ["1", "2"]


@pytest.mark.parametrize("sync", [ARCHIVE, DELETE])
def test_an_api_that_suddenly_returns_nothing_removes_nothing(sync: object) -> None:
    api = Api(people(1, 2))
    made = fake_sync(replace(sync, guard_percent=100), api)  # type: ignore[type-var]
    made.run()
    api.records = []
    notes: list[str] = []
    *_, done = made.runner.run(
        "contacts", "ada", note_change=lambda note: notes.append(str(note))
    )
    assert done.counts == Counts()
    assert made.numbers() == ["1", "2"]
    (note,) = notes
    assert note.startswith("the API returned no record, so nothing is removed here.")


def test_an_api_without_records_may_empty_a_target_if_the_user_says_so() -> None:
    api = Api(people(1, 2))
    made = fake_sync(DELETE, api)
    made.run()
    api.records = []
    *_, done = made.runner.run("contacts", "ada", allows_removal=True)
    assert done.counts == Counts(deleted=2)
    assert made.numbers() == []


def test_records_that_others_brought_or_users_made_do_not_count() -> None:
    api = Api(people(1, 2, 3))
    made = fake_sync(ARCHIVE, api)
    made.run()
    table = made.records.table("contact")
    for number in range(50, 150):
        table[str(number)] = {"number": "x", "_archived": False, "_line": ""}
    api.records = people(1)
    assert refused_run(made).cause == "guard"  # 2 of 3, not 2 of 103


def test_a_worker_does_not_retry_what_the_guard_refused() -> None:
    api = Api(people(1, 2, 3, 4))
    fake = fake_planner(fake_sync(ARCHIVE, api))
    fake.planner.request("contacts", "ada")
    fake.work()
    api.records = people(1)
    fake.planner.request("contacts", "ada")
    (failed,) = fake.work()
    assert (failed.state, failed.cause) == (RunState.FAILED, "guard")
    assert fake.sync.runs.due() == []
