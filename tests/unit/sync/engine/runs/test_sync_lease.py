"""The lease of a run while one page takes long: nobody else takes the run over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.errors import LineBusy, RunStopped
from outkey.sync.core.line.line import Incremental
from outkey.sync.core.paging.response import Record
from outkey.sync.core.run.run import RunState
from outkey.sync.engine.pull.records_to_rows import SCRIPT_BATCH
from outkey.sync.engine.runs.run_in_progress import RENEWAL_SECONDS
from outkey.sync.engine.runs.runner import SyncRunner
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    Api,
    FakeSync,
    answer,
    fake_sync,
    people,
)

WHOLE = replace(PULL, pagination=replace(PULL.pagination, size=500))
LEASE = 120.0  # a minute and the total timeout of the fakes


@dataclass
class SlowFinder:
    """Finds values, and takes some seconds for each while another worker looks on."""

    made: FakeSync
    seconds: float
    slow: str  # the expression
    attempts: int = 0

    def compile(self, expression: str, *, field: str) -> Callable[[object], object]:
        find = JmespathCompiler().compile(expression, field=field)
        return self.take_long(find) if expression == self.slow else find

    def is_path_of_names(self, expression: str) -> bool:
        return expression != self.slow and JmespathCompiler().is_path_of_names(
            expression
        )

    def take_long(self, find: Callable[[object], object]) -> Callable[[object], object]:
        def found(value: object) -> object:
            self.made.world.clock.advance(self.seconds)
            self.look_on()
            return find(value)

        return found

    def look_on(self) -> None:
        self.attempts += 1
        with pytest.raises(LineBusy):
            self.made.runs.begin("contacts", "another worker", dry_run=False)


def slow_sync(slow: str, seconds: float = 14.0, **changes: object) -> SlowFinder:
    pages = [answer(people(*range(50), changed=1)), answer([])]
    made = fake_sync(replace(WHOLE, **changes), lambda _request: pages.pop(0))  # type: ignore[arg-type]
    finder = SlowFinder(made, seconds, slow)
    made.runner = SyncRunner(replace(made.ports, finder=finder))
    return finder


@pytest.mark.parametrize(
    ("slow", "changes"),
    [
        ("name", {}),
        ("changed", {"incremental": Incremental("since", "changed")}),
    ],
)
def test_a_page_whose_records_take_long_renews_the_lease(
    slow: str, changes: dict[str, object]
) -> None:
    finder = slow_sync(slow, **changes)
    run = finder.made.run()
    assert (run.state, run.counts.created) == (RunState.DONE, 50)
    assert finder.attempts == 50
    assert 50 * finder.seconds > 5 * LEASE


def test_a_page_that_is_quick_writes_no_more_than_its_checkpoint() -> None:
    quick = slow_sync("name", seconds=RENEWAL_SECONDS / 100).made.run()
    assert quick.generation == 1 + 2 + 1  # it begins, saves two pages and ends


def test_a_slow_script_renews_the_lease() -> None:
    pages = [answer(people(*range(10 * SCRIPT_BATCH - 1))), answer([])]
    made = fake_sync(
        replace(WHOLE, script="def transform(record): return record"),
        lambda _request: pages.pop(0),
    )
    looking = SlowFinder(made, 0, "")
    batches = []

    def transform(_line: str, _source: str, records: Sequence[Record]) -> object:
        batches.append(len(records))
        made.world.clock.advance(0.25 * len(records))
        looking.look_on()
        return records

    made.world.scripts.transform = transform  # type: ignore[method-assign,assignment]
    assert made.run().state is RunState.DONE
    assert batches == [SCRIPT_BATCH] * 9 + [SCRIPT_BATCH - 1]
    assert looking.attempts == 10


def test_a_preview_has_no_lease_to_renew() -> None:
    finder = slow_sync("name", seconds=0)
    finder.look_on = lambda: None  # type: ignore[method-assign]
    finder.seconds = 0.4
    assert len(finder.made.runner.preview("contacts", 20)) == 20
    assert finder.made.memory.rows.runs == {}


def test_a_run_that_was_cancelled_stops_in_the_middle_of_a_slow_page() -> None:
    finder = slow_sync("name")

    def cancel() -> None:
        finder.attempts += 1
        finder.made.runs.cancel("1")

    finder.look_on = cancel  # type: ignore[method-assign]
    with pytest.raises(RunStopped):
        finder.made.run()
    assert finder.attempts < 5
    assert finder.made.numbers() == []


def test_a_run_that_another_process_has_writes_nothing() -> None:
    made = fake_sync(responses=Api(people(1, 2)))
    steps = made.runner.run("contacts", "ada")
    next(steps)
    made.kill()
    taken = made.runs.begin("contacts", "bob", dry_run=False)
    with pytest.raises(RunStopped):
        list(steps)
    assert (made.numbers(), made.runs.get(taken.id)) == ([], taken)
    with pytest.raises(RunStopped):
        made.runs.hold(replace(taken, id="99"))  # it was deleted


@pytest.mark.parametrize("pages", [0, 1])
def test_a_process_that_wakes_after_its_lease_writes_nothing_more(pages: int) -> None:
    """Nobody has taken the run over yet, as if the whole machine had been suspended."""
    made = fake_sync(responses=Api(people(1, 2, 3, 4, 5)))
    steps = made.runner.run("contacts", "ada")
    for _ in range(1 + pages):
        next(steps)
    written = made.numbers()
    made.world.clock.advance(LEASE + 1)
    with pytest.raises(RunStopped, match="suspended"):
        list(steps)
    assert made.numbers() == written
    (stopped,) = made.runs.newest(9)
    assert stopped.state is RunState.RUNNING  # which counts as killed
    assert made.run().counts.created == 5
    assert made.numbers() == ["1", "2", "3", "4", "5"]


def test_a_process_that_wakes_after_its_lease_in_the_middle_of_a_page() -> None:
    finder = slow_sync("name", seconds=0)

    def suspend() -> None:
        finder.attempts += 1
        if finder.attempts == 10:
            finder.made.world.clock.advance(LEASE + 1)

    finder.look_on = suspend  # type: ignore[method-assign]
    with pytest.raises(RunStopped, match="suspended"):
        finder.made.run()
    assert finder.made.numbers() == []


def test_a_page_that_is_being_written_may_take_longer_than_the_lease() -> None:
    """Its transaction keeps other processes away."""
    made = fake_sync(responses=Api(people(1, 2)))
    upsert = made.records.upsert

    def take_long(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        made.world.clock.advance(3 * LEASE)
        return upsert(*arguments, **options)

    made.records.upsert = take_long  # type: ignore[method-assign]
    run = made.run()
    assert (run.state, run.counts.created) == (RunState.DONE, 2)
