"""Requests per parent: a list for each record of another line, or for each value."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.subjects.lines import LineActions
from outkey.administration.engine.subjects.runs import Synchronization
from outkey.foundation.core.errors import (
    BadResponse,
    ConfigError,
    OutkeyError,
    RedirectBlocked,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import (
    FieldMapping,
    ForEach,
    Gone,
    Incremental,
    Pagination,
    Paging,
    ParentRecords,
    Sync,
    SyncLine,
)
from outkey.sync.core.run.parents import without_parent
from outkey.sync.core.run.run import Counts, ParentCounts, Run, RunState
from outkey.sync.engine.record_rights import RecordRights
from outkey.testing.fakes.sync import MemoryParentRows
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    FakeSync,
    Killed,
    answer,
    fake_sync,
    stored,
)

ITEMS = Sync(
    target="item",
    keys=("contact", "position"),
    mappings=(
        FieldMapping("$parent.number", "contact", required=True),
        FieldMapping("n", "position", required=True),
        FieldMapping("sku", "sku"),
    ),
    pagination=Pagination(Paging.PAGE, 2, "per_page", "page"),
    for_each=ForEach("contacts"),
)
CHANGED = replace(ITEMS, for_each=ForEach("contacts", ParentRecords.CHANGED))
SINCE = replace(ITEMS, incremental=Incremental("since", "t"))


@dataclass
class ListApi:
    """A list for each order, in pages by number."""

    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    odd: dict[int, Response | OutkeyError] = field(default_factory=dict)  # by request
    asked: list[str] = field(default_factory=list)
    since: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Response | OutkeyError:
        self.requests.append(request)
        url = urlsplit(request.target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        order = unquote(url.path.split("/")[2])
        page = int(query.get("page", 1))
        self.asked.append(f"{order}:{page}")
        self.since.append(query.get("since", ""))
        if len(self.asked) in self.odd:
            return self.odd[len(self.asked)]
        if order not in self.lists:
            return answer({}, status=404)
        records = self.lists[order]
        return answer(records[2 * page - 2 : 2 * page])


def items(count: int, **values: object) -> list[dict[str, Any]]:
    return [{"n": n, "sku": f"s{n}"} | values for n in range(1, count + 1)]


@dataclass
class Shop:
    """Orders in the host, and the line of their items."""

    made: FakeSync
    api: ListApi

    def run(self, **options: Any) -> Run:  # noqa: ANN401 - those of the runner
        *_, last = self.made.runner.run("items", "ada", **options)
        return last

    def kill_after(self, pages: int) -> None:
        """Run until some pages are stored, and let the process end there."""
        steps = self.made.runner.run("items", "ada")
        for _ in range(pages + 1):
            next(steps)
        steps.close()
        self.made.kill()

    @property
    def parents(self) -> MemoryParentRows:
        return self.made.memory.parents

    def rows(self) -> list[tuple[object, object]]:
        rows = self.made.records.table("item").values()
        return sorted(
            (row["contact"], row["position"]) for row in rows if not row["_archived"]
        )

    def change(self, sync: Sync) -> None:
        line = SyncLine("items", "acme", "GET", PATH, sync)
        self.made.world.ports.configurations.put_line(line)  # type: ignore[attr-defined]


PATH = "/orders/{parent.number}/items"


def shop(
    sync: Sync = ITEMS,
    lists: dict[str, list[dict[str, Any]]] | None = None,
    *,
    orders: tuple[object, ...] = ("a", "b", "c"),
    path: str = PATH,
    token: str = "t",
) -> Shop:
    api = ListApi({"a": items(3), "b": items(1), "c": []} if lists is None else lists)
    made = fake_sync(PULL, api, token=token)
    stored(made, *({"number": order, "name": "x"} for order in orders))
    line = SyncLine("items", "acme", "GET", path, sync)
    made.world.ports.configurations.put_line(line)  # type: ignore[attr-defined]
    return Shop(made, api)


# ── what is requested ────────────────────────────────────────────────────────────────


def test_a_list_is_requested_for_each_record_of_the_other_line() -> None:
    orders = shop()
    run = orders.run()
    assert run.state is RunState.DONE
    assert orders.api.asked == ["a:1", "a:2", "a:3", "b:1", "b:2", "c:1"]
    assert orders.rows() == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert run.counts == Counts(created=4, parents=ParentCounts(done=3))
    assert run.pages == 6
    assert orders.run().counts == Counts(unchanged=4, parents=ParentCounts(done=3))


def test_the_values_of_a_list_are_parents_too() -> None:
    sync = replace(
        ITEMS,
        for_each=ForEach(values=("a", "b")),
        mappings=(
            replace(ITEMS.mappings[0], api="$parent.value"),
            *ITEMS.mappings[1:],
        ),
        query=(("of", "x {parent.value}"), ("style", "{plain}")),
    )
    orders = shop(replace(sync, query=sync.query[:1]), path="/o/{parent.value}")
    run = orders.run()
    assert run.counts.parents == ParentCounts(done=2)
    assert orders.rows() == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    target = orders.api.requests[0].target
    assert target.startswith(("/o/a?of=x%20a&", "/o/a?of=x+a&"))


def test_a_value_in_a_path_stays_one_segment() -> None:
    orders = shop(lists={"a/b?c": items(1)}, orders=("a/b?c",))
    assert orders.run().counts.created == 1
    assert orders.api.requests[0].target.startswith("/orders/a%2Fb%3Fc/")


@pytest.mark.parametrize("value", ["", ".", "..", None])
def test_a_parent_whose_value_cannot_be_part_of_a_path_is_rejected(
    value: object,
) -> None:
    orders = shop(orders=(value, "b"))
    run = orders.run()
    assert run.counts.parents == ParentCounts(done=1, failed=1)
    assert (run.counts.created, run.counts.failed) == (1, 1)
    (rejected,) = orders.made.runs.rejected(run.id, 9)
    assert (rejected.reason, rejected.field) == ("bad_parent", "parent.number")
    assert orders.api.asked == ["b:1", "b:2"]


def test_a_body_names_the_parent() -> None:
    orders = shop(replace(ITEMS, body='{"order": "{parent.number}"}'), orders=("a",))
    orders.run()
    assert b'"a"' in (orders.api.requests[0].body or b"")


def test_a_list_that_the_api_does_not_have_has_no_records() -> None:
    orders = shop(lists={"b": items(1)})
    run = orders.run()
    assert run.state is RunState.DONE
    assert run.counts == Counts(created=1, parents=ParentCounts(done=1, missing=2))


@pytest.mark.parametrize("status", [404, 410])
def test_a_path_without_any_list_is_reported(status: int) -> None:
    orders = shop(lists={})
    orders.api.odd = {n: answer({}, status=status) for n in (1, 2, 3)}
    notes: list[Text] = []
    run = orders.run(note_change=notes.append)
    assert run.counts.parents == ParentCounts(missing=3)
    assert [str(note) for note in notes] == [
        "the API has no list for any parent (404): check the path"
    ]


@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_another_failure_ends_the_run(status: int) -> None:
    orders = shop()
    orders.api.odd = {4: answer({}, status=status)}
    with pytest.raises(BadResponse):
        orders.run()
    assert orders.rows() == [("a", 1), ("a", 2), ("a", 3)]


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize(
    ("odd", "failure"),
    [
        (answer({}, status=500), "the API responded with status 500 (server error)"),
        (answer("x"), "there is no list of records where the line expects it"),
        (RedirectBlocked, str(RedirectBlocked().message)),
    ],
)
def test_the_failure_of_a_list_names_its_parent(
    odd: Response | type[OutkeyError], failure: str, parallel: int
) -> None:
    orders = shop(replace(ITEMS, parallel=parallel))
    answer_to = orders.api
    transport = orders.made.world.transport

    def respond(request: Request) -> Response | OutkeyError:
        if "/orders/b/" not in request.target:
            return answer_to(request)
        return odd if isinstance(odd, Response) else odd()

    transport.responses = respond
    with pytest.raises(OutkeyError) as raised:
        orders.run()
    words = f"{failure}, in the list of the parent number = b"
    assert str(raised.value.message) == words
    (failed,) = orders.made.runs.newest(1, "items")
    assert [str(note) for note in failed.notes] == [words]
    assert [without_parent(note) for note in failed.notes] == [failure]


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_request_that_cannot_be_made_names_its_parent(parallel: int) -> None:
    incremental = Incremental("since", "t", lookback="1h")
    orders = shop(replace(ITEMS, incremental=incremental, parallel=parallel))
    orders.api.lists["b"] = items(1, t="soon")
    orders.run()
    with pytest.raises(OutkeyError) as raised:
        orders.run()
    assert raised.value.reason == "not_a_moment"
    assert raised.value.message.endswith("in the list of the parent number = b")


def test_a_parent_with_a_secret_in_its_key_is_not_named() -> None:
    token = "token-of-the-shop-0815"
    orders = shop(orders=(f"a{token}",), lists={}, token=token)
    orders.api.odd = {1: answer({}, status=500)}
    with pytest.raises(BadResponse) as raised:
        orders.run()
    assert raised.value.message.endswith("in the list of the parent number = ***")


def test_the_parent_among_values_is_named_by_its_value() -> None:
    orders = shop(
        replace(
            ITEMS,
            for_each=ForEach(values=("DE",)),
            mappings=(
                replace(ITEMS.mappings[0], api="$parent.value"),
                *ITEMS.mappings[1:],
            ),
        ),
        path="/orders/{parent.value}",
    )
    orders.api.odd = {1: answer({}, status=500)}
    with pytest.raises(BadResponse, match="in the list of the parent value = DE"):
        orders.run()


def test_without_parents_nothing_is_requested() -> None:
    orders = shop(orders=())
    assert orders.run().counts == Counts()
    assert orders.made.runner.preview("items") == []
    assert orders.api.asked == []


def test_a_preview_requests_one_page_of_the_first_parent() -> None:
    orders = shop()
    effects = orders.made.runner.preview("items")
    assert [effect.values["contact"] for effect in effects] == ["a", "a"]
    assert orders.api.asked == ["a:1"]
    rejected = shop(orders=("..",)).made.runner.preview("items")
    assert [effect.reason for effect in rejected] == ["bad_parent"]


def test_a_dry_run_stores_nothing() -> None:
    orders = shop()
    run = orders.run(dry_run=True)
    assert run.counts == Counts(created=4, parents=ParentCounts(done=3))
    assert orders.parents.states == {}
    assert orders.rows() == []


@pytest.mark.parametrize("only", ParentRecords)
def test_parents_may_have_parents_and_the_other_line_is_not_run(
    only: ParentRecords,
) -> None:
    orders = shop(replace(ITEMS, for_each=ForEach("contacts", only)))
    orders.run()
    assert not orders.made.runs.newest(9, "contacts")


# ── after a kill ─────────────────────────────────────────────────────────────────────

ALL_PAGES = ["a:1", "a:2", "a:3", "b:1", "b:2", "c:1"]


@pytest.mark.parametrize("sync", [ITEMS, SINCE, CHANGED])
@pytest.mark.parametrize("pages", range(8))
def test_a_killed_run_continues_at_its_parent_and_page(pages: int, sync: Sync) -> None:
    orders = shop(sync)
    orders.kill_after(pages)
    assert orders.api.asked == ALL_PAGES[:pages]
    run = orders.run()
    assert orders.api.asked == ALL_PAGES
    assert run.counts == Counts(created=4, parents=ParentCounts(done=3))
    assert (run.state, run.pages) == (RunState.DONE, 6)
    assert orders.rows() == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]


@pytest.mark.parametrize("pages", range(7))
def test_a_kill_inside_of_a_transaction_repeats_one_page(
    pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = shop()
    put, stored_pages = orders.parents.put, []

    def killed(*args: Any) -> None:  # noqa: ANN401 - of the method
        stored_pages.append(args)
        put(*args)
        if len(stored_pages) == pages + 1:
            raise Killed

    monkeypatch.setattr(orders.parents, "put", killed)
    if pages < 6:
        with pytest.raises(Killed):
            orders.run()
        orders.made.kill()
    run = orders.run()
    repeated = ALL_PAGES[: pages + 1] + ALL_PAGES[pages:] if pages < 6 else ALL_PAGES
    assert orders.api.asked == repeated
    assert run.counts == Counts(created=4, parents=ParentCounts(done=3))


def test_a_parent_that_is_deleted_in_the_middle_breaks_nothing() -> None:
    orders = shop()
    orders.kill_after(1)
    del orders.made.records.table("contact")["1"]
    run = orders.run()
    assert orders.api.asked == ["a:1", "b:1", "b:2", "c:1"]
    assert run.counts.parents == ParentCounts(done=2)


def test_a_list_that_vanishes_in_the_middle_removes_nothing() -> None:
    cursor = Pagination(Paging.LINK)
    orders = shop(replace(ITEMS, pagination=cursor, gone=Gone.ARCHIVE))
    orders.run()
    following = ("Link", '</orders/a/items?page=2>; rel="next"')
    orders.api.odd = {
        4: answer(items(1), following),
        5: answer({}, status=404),
    }
    run = orders.run(allows_removal=True)
    assert run.counts.parents == ParentCounts(done=2, missing=1)
    assert run.counts.archived == 0
    # At the first page it is certain.
    del orders.api.lists["a"]
    run = orders.run(allows_removal=True)
    assert run.counts.archived == 2


# ── only changed parents ─────────────────────────────────────────────────────────────


def test_only_new_and_changed_parents_are_requested() -> None:
    orders = shop(CHANGED)
    orders.run()
    orders.api.asked.clear()
    run = orders.run()
    assert run.counts == Counts(parents=ParentCounts(skipped=3))
    assert orders.api.asked == []
    table = orders.made.records.table("contact")
    table["2"]["name"] = "other"
    table["4"] = table["3"] | {"number": "d"}
    orders.api.lists["d"] = items(1)
    run = orders.run()
    assert orders.api.asked == ["b:1", "b:2", "d:1", "d:2"]
    assert run.counts.parents == ParentCounts(done=2, skipped=2)
    orders.change(replace(CHANGED, records="@ || `[]`"))
    assert orders.run().counts.parents == ParentCounts(done=4)


def test_a_parent_with_a_rejected_record_is_requested_again() -> None:
    orders = shop(CHANGED, {"a": [*items(2), {"sku": "x"}], "b": items(1), "c": []})
    assert orders.run().counts.failed == 1
    orders.api.asked.clear()
    orders.api.lists["a"] = items(3)
    run = orders.run()
    assert orders.api.asked == ["a:1", "a:2", "a:3"]
    assert run.counts == Counts(
        created=1, unchanged=2, parents=ParentCounts(done=1, skipped=2)
    )


def test_a_run_that_skips_parents_removes_nothing() -> None:
    orders = shop(replace(CHANGED, gone=Gone.ARCHIVE, guard_percent=100))
    orders.run()
    orders.api.lists["a"] = items(1)
    orders.made.records.table("contact")["1"]["name"] = "other"
    run = orders.run()
    assert run.counts == Counts(unchanged=1, parents=ParentCounts(done=1, skipped=2))
    for row in orders.made.records.table("contact").values():
        row["name"] = "changed"
    assert orders.run().counts.archived == 2


# ── what is missing upstream ─────────────────────────────────────────────────────────


def test_records_of_parents_that_vanished_are_removed_under_the_guard() -> None:
    orders = shop(replace(ITEMS, gone=Gone.ARCHIVE))
    orders.run()
    assert {key for _, key in orders.parents.states} == {"1", "2", "3"}
    orders.made.world.clock.advance(60)
    del orders.made.records.table("contact")["1"]
    with pytest.raises(OutkeyError) as caught:
        orders.run()
    assert caught.value.reason == "guard"
    run = orders.run(allows_removal=True)
    assert run.counts.archived == 3
    assert orders.rows() == [("b", 1)]
    assert {key for _, key in orders.parents.states} == {"2", "3"}


@pytest.mark.parametrize("pages", range(1, 7))
def test_a_run_that_was_killed_removes_what_both_parts_have_not_seen(
    pages: int,
) -> None:
    sync = replace(ITEMS, gone=Gone.ARCHIVE, guard_percent=100)
    orders = shop(sync, {"a": items(3), "b": items(3), "c": items(1)})
    orders.run()
    orders.api.lists = {"a": items(2), "b": items(1), "c": items(1)}
    orders.kill_after(pages)
    run = orders.run()
    assert run.counts.archived == 3
    assert orders.rows() == [("a", 1), ("a", 2), ("b", 1), ("c", 1)]


# ── the incremental value of each parent ─────────────────────────────────────────────


def test_each_parent_has_an_incremental_value_of_its_own() -> None:
    lists = {"a": items(1, t="5"), "b": items(1, t="3"), "c": []}
    orders = shop(SINCE, lists)
    orders.run()
    assert orders.api.since == [""] * 5
    orders.api.since.clear()
    table = orders.made.records.table("contact")
    table["4"] = table["3"] | {"number": "d"}
    lists["d"] = items(1, t="4")
    orders.run()
    assert orders.api.since == ["5", "5", "3", "3", "", "", ""]
    orders.api.since.clear()
    orders.run()
    assert orders.api.since == ["5", "5", "3", "3", "", "4", "4"]


def test_a_rejected_record_stops_the_value_of_its_parent_only() -> None:
    bad = [{"t": "9"}]
    orders = shop(SINCE, {"a": items(2, t="5") + bad, "b": items(1, t="3"), "c": []})
    run = orders.run()
    assert (run.state, run.counts.failed) == (RunState.DONE, 1)
    orders.api.since.clear()
    orders.run()
    assert orders.api.since == ["", "", "", "3", "3", ""]


def test_a_full_run_requests_everything_of_every_parent() -> None:
    orders = shop(
        replace(SINCE, full_every="7d"), {"a": items(1, t="5")}, orders=("a",)
    )
    orders.run()
    orders.run()
    orders.made.world.clock.advance(8 * 86400)
    orders.run()
    assert orders.api.since == ["", "", "5", "5", "", ""]


def test_a_parent_that_the_last_full_run_did_not_have_is_requested_as_a_new_one() -> (
    None
):
    orders = shop(
        replace(SINCE, full_every="7d"),
        {"a": items(1, t="5"), "b": items(1, t="3")},
        orders=("a", "b"),
    )
    orders.run()
    table = orders.made.records.table("contact")
    away = table.pop("1")
    orders.made.world.clock.advance(8 * 86400)
    orders.run()
    table["1"] = away
    orders.api.since.clear()
    orders.run()
    assert orders.api.since == ["", "", "3", "3"]


def test_windows_of_each_parent_continue_after_a_kill() -> None:
    sync = replace(
        ITEMS,
        incremental=Incremental("since", "", "-2d", "1d", end_parameter="until"),
    )
    orders = shop(sync, {"a": items(1), "b": items(1)}, orders=("a", "b"))
    orders.made.world.clock.advance(2 * 86400)
    orders.run()
    asked, since = list(orders.api.asked), list(orders.api.since)
    assert len({*since}) > 1
    again = shop(sync, {"a": items(1), "b": items(1)}, orders=("a", "b"))
    again.made.world.clock.advance(2 * 86400)
    again.kill_after(3)
    again.run()
    assert (len(again.api.asked), again.api.asked) == (len(asked), asked)
    assert again.api.since[: len(since)] == since


# ── several lists at the same time ───────────────────────────────────────────────────

MANY = {str(n): items(n % 4) for n in range(1, 10)}
EXPECTED = sorted(
    (order, n) for order, many in MANY.items() for n in range(1, len(many) + 1)
)


def many(sync: Sync = ITEMS, **changes: Any) -> Shop:  # noqa: ANN401 - of the line
    return shop(replace(sync, **changes), dict(MANY), orders=tuple(MANY))


@pytest.mark.parametrize("parallel", [2, 4, 50])
def test_lists_are_read_at_the_same_time_a_page_of_each_in_turn(parallel: int) -> None:
    one_by_one = many()
    one_by_one.run()
    together = many(parallel=parallel)
    run = together.run()
    assert together.rows() == EXPECTED
    assert sorted(together.api.asked) == sorted(one_by_one.api.asked)
    assert run.counts.parents == ParentCounts(done=9)
    # The first request is alone; then there are as many lists as it is allowed.
    assert together.api.asked[:4] == ["1:1", "1:2", "2:1", "2:2"] or parallel > 1
    firsts = [place for place in together.api.asked if place.endswith(":1")]
    assert firsts == [f"{n}:1" for n in range(1, 10)]
    if parallel == 50:
        assert together.api.asked[1:10] == ["1:2", *(f"{n}:1" for n in range(2, 10))]


@pytest.mark.parametrize("pages", range(1, 20, 2))
def test_lists_that_were_open_together_continue_after_a_kill(pages: int) -> None:
    orders = many(parallel=3, gone=Gone.ARCHIVE)
    orders.kill_after(pages)
    run = orders.run()
    assert run.counts == Counts(created=len(EXPECTED), parents=ParentCounts(done=9))
    assert orders.rows() == EXPECTED
    # Only what was requested and not written is requested again.
    assert len(orders.api.asked) - len({*orders.api.asked}) <= 3


def test_a_failure_among_several_stores_the_pages_before_it() -> None:
    orders = many(parallel=4)
    orders.api.odd = {4: answer({}, status=500)}
    with pytest.raises(BadResponse):
        orders.run()
    states = {key: state for (_, key), state in orders.parents.states.items()}
    assert len(states) >= 2
    assert orders.run().counts.created == len(EXPECTED)


def test_skipped_parents_are_counted_once_after_a_kill() -> None:
    sync = replace(CHANGED, parallel=3)
    orders = many(sync)
    orders.run()
    table = orders.made.records.table("contact")
    for number in ("2", "5", "9"):
        table[number]["name"] = "changed"
    orders.kill_after(2)
    run = orders.run()
    assert run.counts.parents == ParentCounts(done=3, skipped=6)


# ── the ends of a run ────────────────────────────────────────────────────────────────


def test_a_run_that_reached_its_limit_continues_at_its_parent() -> None:
    orders = many(max_records=4)
    runs = 0
    while True:
        runs += 1
        try:
            run = orders.run()
        except OutkeyError as error:
            assert error.reason == "run_limit"
            assert runs < 9
            continue
        break
    assert runs > 2
    assert orders.rows() == EXPECTED
    assert run.counts.parents == ParentCounts(done=9)


def test_a_page_that_is_refused_again_begins_its_list_again() -> None:
    orders = shop()
    orders.kill_after(1)
    orders.api.odd = {2: answer({}, status=400)}
    with pytest.raises(BadResponse):
        orders.run()
    run = orders.run()
    assert orders.api.asked == ["a:1", "a:2", *ALL_PAGES]
    assert run.state is RunState.DONE


def test_the_rejected_records_of_a_run_are_retried_and_nothing_else_changes() -> None:
    orders = shop(SINCE, {"a": [*items(1, t="5"), {"n": 2, "sku": "x" * 99}], "b": []})
    run = orders.run()
    states = dict(orders.parents.states)
    orders.api.lists["a"] = items(2, t="7")
    *_, retry = orders.made.runner.retry(run.id, "ada")
    assert (retry.state, retry.counts.created) == (RunState.DONE, 1)
    assert orders.parents.states == states
    assert orders.made.runs.rejected(run.id, 9) == []


def test_a_delivery_is_refused_by_a_line_with_parents() -> None:
    orders = shop()
    with pytest.raises(ConfigError, match="does not name the parent"):
        orders.made.runner.receive("items", "webhook", [])


def test_a_sample_and_a_suggestion_request_the_list_of_the_first_parent() -> None:
    orders = shop()
    assert [r["n"] for r in orders.made.runner.sample("items").records] == [1, 2]
    orders.made.runner.suggest("items")
    assert orders.api.asked == ["a:1", "a:1"]


@pytest.mark.parametrize("number", [(), ("..",)])
def test_a_sample_without_a_parent_names_what_to_do(number: tuple[str, ...]) -> None:
    orders = shop(orders=number)
    with pytest.raises(OutkeyError) as caught:
        orders.made.runner.sample("items")
    assert caught.value.hint
    assert orders.api.asked == []


# ── a reset ──────────────────────────────────────────────────────────────────────────


def reset(
    orders: Shop, since: str = "", parent: str = "", rights: object = None
) -> tuple[str, int]:
    """Reset the line as the command does."""
    made = orders.made
    actions = LineActions(
        made.world.ports.configurations,  # type: ignore[arg-type]
        made.runs,
        made.runs.settings,
        cast("Synchronization", SimpleNamespace(ports=lambda: made.ports)),
    )
    office = SimpleNamespace(note=lambda *_, **__: None)
    administration = cast("Administration", office)
    return actions.reset(
        administration, "items", since, parent, rights=cast("RecordRights", rights)
    )


def test_after_a_reset_every_list_is_requested_again() -> None:
    orders = shop(replace(SINCE, for_each=CHANGED.for_each), {"a": items(1, t="5")})
    orders.run()
    assert orders.run().counts.parents.skipped == 3
    assert reset(orders) == ("", 3)
    orders.api.since.clear()
    assert orders.run().counts.parents == ParentCounts(done=1, missing=2)
    assert orders.api.since == [""] * 4
    # A moment holds for all of them, also for those that nothing is known of.
    assert reset(orders, "4") == ("4", 3)
    orders.api.since.clear()
    orders.run()
    assert orders.api.since == ["4"] * 4


@pytest.mark.parametrize("parent", ["a", "1"])
def test_a_reset_of_one_parent_concerns_its_list_only(parent: str) -> None:
    orders = shop(SINCE, {"a": items(1, t="5"), "b": items(1, t="3"), "c": []})
    orders.run()
    for since in ("", "4"):
        assert reset(orders, since, parent) == (since, 1)
        orders.api.since.clear()
        orders.run()
        assert orders.api.since == [since, since, "3", "3", ""]


def test_a_reset_of_a_parent_that_is_not_there_is_refused() -> None:
    values = replace(ITEMS, for_each=ForEach(values=("DE",)))
    assert reset(shop(values), parent="DE") == ("", 1)
    for sync in (ITEMS, values, replace(ITEMS, for_each=ForEach())):
        with pytest.raises(ConfigError) as caught:
            reset(shop(sync), parent="unknown")
        assert caught.value.field == "parent"


def test_a_user_who_may_not_view_the_parents_cannot_ask_for_one() -> None:
    asked: list[tuple[str, ...]] = []

    def demand(*demanded: str) -> None:
        asked.append(demanded)
        if len(asked) > 1:
            raise ConfigError("a permission is missing", field="target")

    orders = shop()
    rights = SimpleNamespace(demand=demand)
    assert reset(orders, parent="a", rights=rights) == ("", 1)
    for parent in ("a", "unknown"):
        with pytest.raises(ConfigError, match="a permission is missing"):
            reset(orders, parent=parent, rights=rights)
    assert asked == [("contact", "view")] * 3
    assert reset(orders, rights=rights) == ("", 1)
