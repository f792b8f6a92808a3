"""Small pages of a quick API are written together, with the effects of single ones."""

import time
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from outkey.foundation.core.errors import ConnectionFailed, OutkeyError, SyncFailed
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import (
    Children,
    FieldMapping,
    Incremental,
    Sync,
    Transform,
    Writes,
)
from outkey.sync.core.paging.paging import Position
from outkey.sync.core.run.run import Counts, ParentCounts, RunState
from outkey.sync.engine.pull import page_groups
from outkey.sync.engine.pull.page_groups import PageGrouping, ReadPage, fits_groups
from outkey.sync.engine.pull.pages import PageRows, SourcePage
from outkey.sync.engine.runs.runner import SyncRunner
from unit.sync.engine.pull.test_sync_parents import CHANGED, ITEMS, Shop, items, shop
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    Api,
    FakeSync,
    Killed,
    fake_sync,
    people,
)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the next page however busy the machine is."""
    monkeypatch.setattr(page_groups, "READY_SECONDS", 5.0)


def together(made: FakeSync) -> FakeSync:
    made.runner = SyncRunner(
        replace(made.ports, reads_ahead=True, writes_together=True)
    )
    return made


def pulled_together(api: Api, **sync: Any) -> FakeSync:  # noqa: ANN401 - of the line
    return together(fake_sync(replace(PULL, **sync), api))


def shop_together(sync: Sync = ITEMS, **options: Any) -> Shop:  # noqa: ANN401 - its own
    made = shop(sync, **options)
    together(made.made)
    return made


def written(made: FakeSync) -> list[int]:
    """Return, from now on, how many rows each write has."""
    sizes: list[int] = []
    upsert = made.records.upsert

    def upsert_and_count(
        target: str,
        keys: Sequence[str],
        rows: Sequence[Any],
        run: str,
        **options: Any,  # noqa: ANN401 - of the method
    ) -> Any:  # noqa: ANN401 - of the method
        sizes.append(len(rows))
        return upsert(target, keys, rows, run, **options)

    made.records.upsert = upsert_and_count  # type: ignore[method-assign]
    return sizes


def test_pages_of_a_quick_api_are_written_together() -> None:
    made = pulled_together(Api(people(1, 2, 3, 4, 5)))
    sizes = written(made)
    run = made.run()
    assert (run.counts, run.pages) == (Counts(created=5), 4)
    assert sizes == [5]
    assert made.numbers() == ["1", "2", "3", "4", "5"]


def test_a_host_that_did_not_choose_it_writes_each_page() -> None:
    made = fake_sync(PULL, Api(people(1, 2, 3)))
    sizes = written(made)
    made.run()
    assert sizes == [2, 1]


def test_pages_are_written_before_they_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_groups, "MOST_PAGES", 2)
    made = pulled_together(Api(people(*range(1, 10))))
    sizes = written(made)
    made.run()
    assert sizes == [4, 4, 1]


def test_a_page_of_the_usual_size_is_written_before_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_groups, "USUAL_PAGE", 2)
    made = pulled_together(Api(people(*range(1, 6))))
    sizes = written(made)
    made.run()
    assert sizes == [2, 2, 1]


def test_a_page_is_written_if_the_next_one_is_not_there_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_groups, "READY_SECONDS", 0.001)
    api = Api(people(1, 2, 3, 4, 5))

    def slow(request: Request) -> Response | OutkeyError:
        time.sleep(0.05)
        return api(request)

    made = together(fake_sync(PULL, slow))
    sizes = written(made)
    made.run()
    assert sizes == [2, 2, 1]


def test_no_page_waits_longer_than_a_quarter_of_a_second() -> None:
    api = Api(people(*range(1, 25)))
    clocks: list[Any] = []

    def steady(request: Request) -> Response | OutkeyError:
        clocks[0].advance(0.1)
        return api(request)

    made = together(fake_sync(PULL, steady))
    clocks.append(made.world.clock)
    sizes = written(made)
    made.run()
    assert max(sizes) <= 8


def test_an_error_of_a_later_page_comes_after_the_earlier_ones_were_written() -> None:
    made = pulled_together(Api(people(1, 2, 3, 4, 5), odd={3: ConnectionFailed()}))
    with pytest.raises(ConnectionFailed):
        made.run()
    (run,) = made.runs.newest(9)
    assert (run.state, run.pages, run.counts) == (RunState.FAILED, 2, Counts(created=4))
    assert made.run().counts == Counts(created=5)


def test_a_kill_loses_no_page_and_writes_none_twice() -> None:
    api = Api(people(1, 2, 3, 4, 5))
    made = pulled_together(api)
    upsert = made.records.upsert

    def killed(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - of the method
        upsert(*arguments, **options)
        raise Killed

    made.records.upsert = killed  # type: ignore[method-assign]
    with pytest.raises(Killed):
        made.run()
    made.kill()
    made.records.upsert = upsert  # type: ignore[method-assign]
    assert made.run().counts == Counts(created=5)


def test_a_record_that_comes_again_on_a_later_page_is_updated() -> None:
    later = [{"id": 2, "name": "Other"}, {"id": 4, "name": "Name 4"}]
    made = pulled_together(Api(people(1, 2) + later))
    run = made.run()
    assert run.counts == Counts(created=3, updated=1, changed_fields={"name": 1})
    assert made.records.rows("contact")[1]["name"] == "Other"


def test_the_limit_of_records_is_noticed_after_the_pages_before_it() -> None:
    made = pulled_together(Api(people(*range(1, 9))), max_records=4)
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "run_limit"
    (run,) = made.runs.newest(9)
    assert run.counts == Counts(created=4)


def test_rejected_records_have_their_places_in_the_run() -> None:
    records = [*people(1, 2, 3), {"name": "no key"}, *people(5)]
    made = pulled_together(Api(records))
    run = made.run()
    assert run.counts == Counts(created=4, failed=1)
    assert [each.number for each in made.runs.rejected(run.id, 9)] == [4]


def test_the_lists_of_parents_are_written_together_each_with_its_state() -> None:
    orders = shop_together()
    sizes = written(orders.made)
    run = orders.run()
    assert run.counts == Counts(created=4, parents=ParentCounts(done=3))
    assert run.pages == 6
    assert sizes == [4]
    assert orders.rows() == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    states = orders.parents.states.values()
    assert len(states) == 3
    assert len({state.turn for state in states}) == 1
    assert not any(state.checkpoint for state in states)


def test_a_kill_loses_no_list_of_those_that_are_written_together() -> None:
    orders = shop_together(CHANGED)
    upsert = orders.made.records.upsert

    def killed(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - of the method
        upsert(*arguments, **options)
        raise Killed

    orders.made.records.upsert = killed  # type: ignore[method-assign]
    with pytest.raises(Killed):
        orders.run()
    assert not any(state.turn for state in orders.parents.states.values())
    orders.made.kill()
    orders.made.records.upsert = upsert  # type: ignore[method-assign]
    run = orders.run()
    assert run.counts == Counts(created=4, parents=ParentCounts(done=3))


def test_a_failure_in_a_list_comes_after_the_lists_before_it_were_written() -> None:
    orders = shop_together()
    orders.api.odd[3] = ConnectionFailed()
    with pytest.raises(ConnectionFailed):
        orders.run()
    assert orders.rows() == [("a", 1), ("a", 2), ("a", 3)]
    orders.api.odd.clear()
    orders.api.asked.clear()
    assert orders.run().counts.parents == ParentCounts(done=3)
    assert "a:1" not in orders.api.asked


def test_only_a_parent_with_a_rejected_record_is_requested_again() -> None:
    lists = {"a": items(2), "b": [{"sku": "no position"}], "c": items(1)}
    orders = shop_together(CHANGED, lists=lists)
    assert orders.run().counts.failed == 1
    lists["b"] = items(1)
    orders.api.asked.clear()
    assert orders.run().counts.parents == ParentCounts(done=1, skipped=2)
    assert {asked.split(":")[0] for asked in orders.api.asked} == {"b"}


def test_parents_without_a_list_are_noted_although_nothing_was_written_yet() -> None:
    orders = shop_together(lists={})
    run = orders.run()
    assert run.counts.parents == ParentCounts(missing=3)
    assert "check the path" in str(run.notes)


def test_a_window_is_stored_with_all_of_its_pages_and_nothing_after_it() -> None:
    windows = Incremental(
        "since", start="2026-01-01T00:00:00Z", window="300d", end_parameter="until"
    )
    made = pulled_together(Api(people(1, 2, 3)), incremental=windows)
    seen = [run.cursor for run in made.runner.run("contacts", "ada")]
    assert len(set(seen)) == len(seen) - 1  # the last one ends the run
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    ("sync", "fits"),
    [
        (PULL, True),
        (replace(PULL, writes=Writes.MODEL), False),
        (replace(PULL, children=(Children("lines", "line"),)), False),
        (
            replace(PULL, mappings=(FieldMapping("id", "number", Transform.LOOKUP),)),
            False,
        ),
    ],
)
def test_what_needs_the_page_before_is_written_page_by_page(
    sync: Sync, *, fits: bool
) -> None:
    assert fits_groups(sync) is fits


def test_a_page_that_waits_for_another_is_written_when_none_comes() -> None:
    made = together(fake_sync(PULL, Api(people(1))))
    progress: Any = SimpleNamespace(
        sync=PULL,
        ports=replace(made.ports, writes_together=True),
        has_windows=False,
    )
    page = SourcePage([], Position(), "", is_suspicious=False)
    read = ReadPage(page, PageRows([], []), 0)
    # As after the last parent, which the API does not have.
    groups = PageGrouping(progress, is_ready=lambda _seconds: True).groups(iter([read]))
    assert [group.members for group in groups] == [[read]]
