"""What a run counts and notes besides how its records ended."""

from dataclasses import asdict, replace

import pytest

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.text import Text
from outkey.sync.core.run.run import (
    MAX_CHANGED_FIELDS,
    MAX_NOTES,
    ChildCounts,
    Counts,
    ParentCounts,
    RunState,
    sum_of_fields,
)
from outkey.sync.engine.pull.pull import pull_from_api
from outkey.sync.engine.runs.run_in_progress import RunInProgress
from unit.sync.engine.pull.test_sync_run import PULL, Api, fake_sync, people


def test_a_run_counts_how_many_updates_changed_each_field() -> None:
    api = Api(people(1, 2, 3))
    made = fake_sync(responses=api)
    assert made.run().counts.changed_fields == {}
    api.records = [
        *people(1),
        {"id": 2, "name": "Another"},
        {"id": 3, "name": "Third"},
    ]
    for dry_run in (True, False):
        run = made.run(dry_run=dry_run)
        assert run.counts == Counts(updated=2, unchanged=1)
        assert run.counts.changed_fields == {"name": 2}
    assert made.run().counts.changed_fields == {}


def test_changed_fields_of_pages_are_added_and_bounded() -> None:
    total = Counts(changed_fields={"a": 1, "b": 2}) + Counts(changed_fields={"b": 3})
    assert total.changed_fields == {"a": 1, "b": 5}
    assert total.fields_by_frequency() == [("b", 5), ("a", 1)]
    many = {f"field{number}": 1 for number in range(MAX_CHANGED_FIELDS)}
    bounded = sum_of_fields(many, {"often": 7})
    assert (len(bounded), bounded["often"]) == (MAX_CHANGED_FIELDS, 7)


@pytest.mark.parametrize("stored", [None, [], {"a": "1", "b": -1}])
def test_stored_changed_fields_that_are_no_counts_are_ignored(stored: object) -> None:
    assert Counts.from_facts({"changed_fields": stored}).changed_fields == {}
    facts = {"created": 1, "changed_fields": {"name": 2}}
    assert Counts.from_facts(facts).changed_fields == {"name": 2}


def test_all_counts_are_stored_and_read_again() -> None:
    counts = Counts(
        created=3,
        children=ChildCounts(without_list=2),
        parents=ParentCounts(done=1),
        changed_fields={"name": 2},
    )
    assert counts.facts() == asdict(counts)
    assert Counts.from_facts(counts.facts()) == counts


def test_the_notes_of_a_run_are_stored_once_and_told_each_time() -> None:
    made = fake_sync(replace(PULL), Api(people(1)))
    told: list[str] = []
    steps = made.runner.run("contacts", "ada", note_change=told.append)
    next(steps)
    steps.close()
    progress = RunInProgress(made.ports, made.runner._plan("contacts"))
    progress.on_note = told.append
    pull = pull_from_api(progress)
    made.kill()
    progress.adopt(made.runs.begin("contacts", "ada", dry_run=False), began_at=0.0)
    for number in range(MAX_NOTES + 5):
        progress.note_change(Text("note {number}", number=number // 2))
    for _run in pull.steps():
        pass
    done = pull.complete()
    assert done.notes == tuple(f"note {number}" for number in range(13))
    assert len(told) == MAX_NOTES + 5
    assert made.runs.get(done.id).notes == done.notes


def test_no_run_stores_more_notes_than_a_user_reads() -> None:
    made = fake_sync(responses=Api(people(1)))
    progress = RunInProgress(made.ports, made.runner._plan("contacts"))
    pull = pull_from_api(progress)
    progress.adopt(made.runs.begin("contacts", "ada", dry_run=False), began_at=0.0)
    for number in range(MAX_NOTES + 5):
        progress.note_change(Text("note {number}", number=number))
    for _run in pull.steps():
        pass
    assert len(pull.complete().notes) == MAX_NOTES


def test_the_numbers_of_a_failure_are_a_note_of_its_run() -> None:
    made = fake_sync(replace(PULL, max_records=2), Api(people(1, 2, 3, 4)))
    with pytest.raises(SyncFailed):
        made.run()
    (failed,) = made.runs.newest(1)
    assert failed.state is RunState.FAILED
    assert failed.notes == ("the run reached its limit of 2 records",)


def test_a_failure_without_numbers_needs_no_note() -> None:
    api = Api()
    api.odd = {1: SyncFailed()}
    made = fake_sync(responses=api)
    with pytest.raises(SyncFailed):
        made.run()
    (failed,) = made.runs.newest(1)
    assert failed.notes == ()
