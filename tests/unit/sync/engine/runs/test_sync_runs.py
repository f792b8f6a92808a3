"""Runs on rows in memory: what the contract suite does not try."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from outkey.foundation.core.errors import (
    ConfigError,
    LineBusy,
    RunStopped,
    StorageUnavailable,
    UnknownConfiguration,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sync.core.run.run import Counts, RejectedRecord, Run, RunState
from outkey.sync.core.run.states import STOPPING, is_due
from outkey.sync.engine.runs.runs import CANCEL_TRIES, PRUNE_BATCH
from unit.sync.engine.pull.test_sync_run import PULL, Api, FakeSync, fake_sync, people


def paged(made: FakeSync) -> Iterator[Run]:
    """Run the line up to its first page."""
    steps = made.runner.run("contacts", "ada")
    next(steps)
    next(steps)
    return steps


def test_a_line_that_was_changed_while_a_run_began_starts_at_the_first_page() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    paged(made)
    made.kill()
    begin = made.runs.begin

    def change_meanwhile(*names: str, **options: object) -> Run:
        made.change(replace(PULL, max_records=9, records="@ || `[]`"))
        return begin(*names, **options)  # type: ignore[arg-type]

    made.runs.begin = change_meanwhile  # type: ignore[method-assign]
    done = made.run()
    assert done.counts == Counts(created=1, unchanged=2)
    assert done.digest == made.runs.newest(9)[-1].digest, "of the line that was run"


def test_an_interrupt_at_any_moment_lets_the_next_run_continue_at_once() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    steps = paged(made)
    with pytest.raises(KeyboardInterrupt):
        steps.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    (stopped,) = made.runs.newest(9)
    assert (stopped.state, stopped.cause, stopped.pages) == (
        RunState.FAILED,
        STOPPING,
        1,
    )
    assert made.run().counts == Counts(created=3)


def test_an_interrupt_after_a_page_was_committed_counts_that_page() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    save = made.runs.save

    def interrupted(run: Run) -> Run:
        save(run)
        raise KeyboardInterrupt

    steps = paged(made)
    made.runs.save = interrupted  # type: ignore[method-assign]
    transaction = made.memory.database.transaction
    made.memory.database.transaction = Committed  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        next(steps)
    made.memory.database.transaction = transaction  # type: ignore[method-assign]
    (stopped,) = made.runs.newest(9)
    assert (stopped.cause, stopped.pages) == (STOPPING, 2)


class Committed:
    """A transaction that keeps what was written whatever happens."""

    def __init__(self, *, durable: bool = True) -> None:
        """Take what any transaction takes."""

    def __enter__(self) -> None:
        return

    def __exit__(self, *exc_info: object) -> None:
        return


def test_an_interrupt_while_storage_is_unavailable_is_still_an_interrupt() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    steps = paged(made)

    def unavailable(_run: Run) -> Run:
        raise StorageUnavailable

    made.runs.release = unavailable  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        steps.throw(KeyboardInterrupt)  # type: ignore[attr-defined]


def test_a_run_that_is_told_to_stop_after_it_was_cancelled_stays_cancelled() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    steps = made.runner.run("contacts", "ada", is_stopping=lambda: True)
    made.runs.cancel(next(steps).id)
    with pytest.raises(RunStopped) as caught:
        next(steps)
    assert caught.value.reason == "cancelled"


def test_a_run_whose_line_was_deleted_is_stopped() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    run = made.runs.begin("contacts", "ada", dry_run=False)
    made.memory.rows.runs.clear()
    with pytest.raises(RunStopped) as caught:
        made.runs.save(run)
    assert caught.value.reason == "taken_over"


def test_a_run_of_a_line_that_cannot_be_read_is_requested_and_reports_it() -> None:
    made = fake_sync()
    registry = made.world.ports.configurations
    get = registry.get

    def unreadable(_name: str) -> Configuration:
        raise ConfigError("unreadable")

    registry.get = unreadable  # type: ignore[method-assign]
    requested = made.runs.request("contacts", "schedule")
    assert (requested.state, requested.digest) == (RunState.WAITING, "")
    with pytest.raises(ConfigError, match="unreadable"):
        made.runs.begin("contacts", "worker", dry_run=False)
    registry.get = get  # type: ignore[method-assign]
    begun = made.runs.begin("contacts", "worker", dry_run=False, run_id=requested.id)
    assert begun.digest
    with pytest.raises(UnknownConfiguration):
        made.runs.request("unknown", "ada")


def test_a_run_that_saves_at_the_moment_it_is_cancelled_is_cancelled_then() -> None:
    made = fake_sync()
    run = made.runs.begin("contacts", "ada", dry_run=False)
    get = made.runs.get
    saves = [1]

    def get_and_save(run_id: str) -> Run:
        stored = get(run_id)
        if saves[0]:
            saves[0] -= 1
            made.runs.save(stored)
        return stored

    made.runs.get = get_and_save  # type: ignore[method-assign]
    assert made.runs.cancel(run.id).state is RunState.CANCELLED
    assert made.runs.cancel(run.id).state is RunState.CANCELLED
    other = made.runs.begin("contacts", "ada", dry_run=False)
    saves[0] = CANCEL_TRIES
    with pytest.raises(LineBusy):
        made.runs.cancel(other.id)


def test_who_writes_second_is_refused() -> None:
    made = fake_sync()
    requested = made.runs.request("contacts", "ada")
    rows = made.memory.rows
    rows.swap = lambda _before, _after: None  # type: ignore[method-assign]
    with pytest.raises(LineBusy):
        made.runs.begin("contacts", "ada", dry_run=False, run_id=requested.id)


def test_no_rejected_records_are_no_reason_to_write() -> None:
    made = fake_sync()
    run = made.runs.begin("contacts", "ada", dry_run=False)
    made.runs.add_rejected(run, [RejectedRecord(2, "a\x00\u202e" * 99, "", "missing")])
    made.runs.add_rejected(run, ())
    (record,) = made.runs.rejected(run.id, 9)
    assert len(record.key) == 200
    assert record.key.isprintable()


def test_many_old_runs_are_pruned_and_the_last_complete_one_stays() -> None:
    made = fake_sync()
    table = made.memory.rows.runs
    for number in range(1, 2 * PRUNE_BATCH):
        state = RunState.DONE if number == 7 else RunState.FAILED
        line = "contacts" if number % 2 else "others"
        table[str(number)] = Run(
            str(number), line, "ada", 1.0, state, ended_at=float(number)
        )
    made.runs.prune(2.0 * PRUNE_BATCH - 1)
    assert sorted(table, key=int) == ["7", str(2 * PRUNE_BATCH - 1)]


def test_the_runs_that_workers_are_given_are_those_that_are_due_by_the_rule() -> None:
    made = fake_sync()
    now = made.world.clock.now()
    table = made.memory.rows.runs
    for state, attempt, until in product(RunState, (0, 1), (now - 1, now, now + 1)):
        number = str(len(table) + 1)
        table[number] = Run(
            number, "contacts", "ada", 1.0, state, attempt=attempt, until=until
        )
    due = {run.id for run in table.values() if is_due(run, now)}
    assert {run.id for run in made.runs.due()} == due
    assert len(due) == 4
