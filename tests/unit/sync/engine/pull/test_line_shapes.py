"""A pull records the shape of its records, and compares each page before writing it."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.foundation.core.errors import BadResponse, SyncFailed
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.drift.drift import (
    Drift,
    LineShape,
    NeededFields,
    PageStyle,
    changed_fields,
)
from outkey.sync.core.drift.shape import FieldShape
from outkey.sync.core.line.facts import run_facts, shape_facts
from outkey.sync.core.line.line import (
    DriftRule,
    FieldMapping,
    Incremental,
    Pagination,
    Paging,
    Sync,
    Transform,
)
from outkey.sync.core.run.run import RunState
from outkey.sync.engine.pull import shape_watch
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    SINCE,
    Api,
    FakeSync,
    answer,
    fake_sync,
    people,
)

STOP = replace(PULL, drift=DriftRule.STOP)
OFF = replace(PULL, drift=DriftRule.OFF)
CURSOR = replace(
    PULL,
    records="items",
    pagination=Pagination(Paging.CURSOR, 2, "", "after", cursor="next"),
)


def shape_of(made: FakeSync) -> LineShape:
    return made.runs.shapes.get("contacts")


def kinds_of(made: FakeSync) -> dict[str, str | None]:
    return {path: field.words for path, field in shape_of(made).fields.items()}


def drift_of(made: FakeSync) -> list[tuple[str, str, str | None, str | None]]:
    return [tuple(each) for each in shape_of(made).drift]


def accept(made: FakeSync) -> None:
    accepted = shape_of(made).accepted(made.world.clock.now())
    made.runs.shapes.put("contacts", accepted)


def test_a_complete_pull_records_names_and_kinds_and_no_value() -> None:
    api = Api(people(1, 2, address={"zip": "1010", "at": None}, tags=[], vip=True))
    made = fake_sync(responses=api)
    made.run()
    assert kinds_of(made) == {
        "id": "number",
        "name": "text",
        "address": "object",
        "address.zip": "text",
        "address.at": None,
        "tags": "list",
        "vip": "true/false",
    }
    stored = json.dumps(shape_of(made).facts())
    assert not any(value in stored for value in ("1010", "Name 1"))
    assert LineShape.from_facts(json.loads(stored)) == shape_of(made)
    facts = shape_facts("contacts", shape_of(made))
    assert facts["drift"] == []
    assert str(facts["recorded_at"]).endswith("Z")


def test_the_same_again_is_no_drift_and_keeps_the_moment() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    made.run()
    recorded = shape_of(made)
    made.world.clock.advance(60)
    assert made.run().drift == ()
    assert shape_of(made) == recorded


def test_a_mapped_field_that_is_missing_is_reported_until_it_is_accepted() -> None:
    api = Api(people(1, 2, 3))
    made = fake_sync(responses=api)
    made.run()
    api.records = [{"id": number, "title": "x"} for number in (1, 2, 3)]
    run = made.run()
    expected = [("L050", "name", "text", None), ("L052", "title", None, "text")]
    assert [tuple(each) for each in run.drift] == expected
    assert drift_of(made) == expected
    assert run_facts(run)["drift"] == [
        {"id": "L050", "field": "name", "was": "text", "now": None},
        {"id": "L052", "field": "title", "was": None, "now": "text"},
    ]
    assert made.runs.get(run.id).drift == run.drift
    made.run()
    assert drift_of(made) == expected, "once, however many runs see it"
    accept(made)
    assert kinds_of(made) == {"id": "number", "title": "text"}
    assert made.run().drift == ()
    assert drift_of(made) == []


@pytest.mark.parametrize("rows", [1, 2])
def test_another_kind_of_a_mapped_field_is_reported(rows: int) -> None:
    api = Api(people(1, 2, 3))
    made = fake_sync(responses=api)
    made.run()
    api.records = [*people(*range(10, 10 + rows)), {"id": 1, "name": 7}]
    assert made.run().drift == (Drift("L051", "name", "text", "number"),)
    accept(made)
    assert made.run().drift == ()


def test_null_is_no_other_kind_and_a_kind_of_an_unmapped_field_is_no_matter() -> None:
    api = Api(people(1, 2, 3, note="x"))
    made = fake_sync(responses=api)
    made.run()
    api.records = [{"id": 1, "name": None, "note": 7}, {"id": 2, "name": None}]
    assert made.run().drift == ()


def test_an_optional_field_is_missing_in_a_small_page_without_a_drift() -> None:
    api = Api([*people(1, 2), {"id": 3}])
    made = fake_sync(responses=api)
    made.run()
    api.records = [{"id": 4}]
    assert made.run().drift == ()
    api.records = people(5)
    assert made.run().drift == ()


def test_a_field_that_a_later_run_shows_to_be_optional_is_not_missed() -> None:
    api = Api(people(1, 2, 3, 4))
    made = fake_sync(responses=api)
    made.run()
    api.records = [*people(1), {"id": 2}, *people(3), {"id": 4}]
    assert made.run().drift == (), "each page has a record with it"
    api.records = [{"id": 5}]
    assert made.run().drift == ()


def test_with_stop_the_run_ends_before_the_changed_page_is_written() -> None:
    api = Api(people(1, 2))
    made = fake_sync(STOP, api)
    made.run()
    api.records = [*people(1, 2), {"id": 3}, {"id": 4}, *people(5)]
    for _ in range(2):
        with pytest.raises(SyncFailed, match="no longer sends name") as stopped:
            made.run()
        assert stopped.value.reason == "shape_changed"
        assert made.numbers() == ["1", "2"]
    (failed,) = made.runs.newest(1)
    assert (failed.state, failed.cause) == (RunState.FAILED, "shape_changed")
    assert failed.drift == (Drift("L050", "name", "text", None),)
    assert drift_of(made) == [("L050", "name", "text", None)]
    accept(made)
    assert [*kinds_of(made)] == ["id"]
    made.use(replace(STOP, mappings=STOP.mappings[:1]))
    assert made.run().state is RunState.DONE
    assert made.numbers() == ["1", "2", "3", "4", "5"]


def test_in_xml_a_kind_depends_on_how_many_elements_there_are() -> None:
    known = {"tag": FieldShape(("text",))}
    seen = {"tag": FieldShape(("list",)), "vip": FieldShape(("text",))}
    needed = NeededFields(Sync(mappings=(FieldMapping("tag", "name"),)))
    new = Drift("L052", "vip", None, "text")
    drift = [*changed_fields(known, seen, needed, has_kinds=False)]
    assert drift == [new]
    drift = [*changed_fields(known, seen, needed)]
    assert drift == [Drift("L051", "tag", "text", "list"), new]


def test_what_is_in_an_object_is_missing_with_it_but_not_where_it_is_null() -> None:
    rows = (*PULL.mappings, FieldMapping("address.zip", "price"))
    api = Api(people(1, 2, address={"zip": "1010"}))
    made = fake_sync(replace(PULL, mappings=rows), api)
    made.run()
    for address in (None, {"zip": None}):
        api.records = people(1, address=address)
        assert made.run(dry_run=True).drift == ()
    missing = Drift("L050", "address.zip", "text", None)
    for records in (people(1), people(1, address={})):
        api.records = records
        assert made.run(dry_run=True).drift == (missing,)
    api.records = people(1, address="1010 Vienna")
    other = Drift("L051", "address", "object", "text")
    assert made.run(dry_run=True).drift == (missing, other)


def test_what_is_in_a_new_object_is_not_reported_beside_it() -> None:
    api = Api(people(1, 2))
    made = fake_sync(responses=api)
    made.run()
    api.records = people(1, 2, address={"zip": "1010"})
    assert made.run().drift == (Drift("L052", "address", None, "object"),)


def test_a_new_field_does_not_stop_a_run() -> None:
    api = Api(people(1, 2))
    made = fake_sync(STOP, api)
    made.run()
    api.records = people(1, 2, vip=True)
    run = made.run()
    assert (run.state, run.drift) == (
        RunState.DONE,
        (Drift("L052", "vip", None, "true/false"),),
    )
    assert shape_of(made).drift[0].finding("all contacts").level == "notice"


def test_off_compares_and_records_nothing() -> None:
    made = fake_sync(OFF, Api(people(1, 2)))
    made.run()
    assert shape_of(made) == LineShape()


def test_a_dry_run_compares_and_records_nothing() -> None:
    api = Api(people(1, 2))
    made = fake_sync(responses=api)
    made.run(dry_run=True)
    assert shape_of(made) == LineShape()
    made.run()
    recorded = shape_of(made)
    api.records = [{"id": 1}]
    assert made.run(dry_run=True).drift == (Drift("L050", "name", "text", None),)
    assert shape_of(made) == recorded


def test_a_retry_is_not_compared() -> None:
    api = Api([{"id": 1, "name": "x" * 30}, *people(2)])
    made = fake_sync(responses=api)
    rejecting = made.run()
    recorded = shape_of(made)
    api.records = [{"id": 1}]
    *_, retry = made.runner.retry(rejecting.id, "ada")
    assert retry.drift == ()
    assert shape_of(made) == recorded


def test_the_shape_of_another_request_says_nothing() -> None:
    api = Api(people(1, 2))
    made = fake_sync(responses=api)
    made.run()
    made.change(PULL, path="/leads")
    api.records = [{"id": 1, "name": 7, "lead": True}]
    assert made.run().drift == ()
    assert kinds_of(made) == {"id": "number", "name": "number", "lead": "true/false"}
    api.records = [{"id": 1, "name": 8}]
    made.change(replace(PULL, mappings=PULL.mappings[:1]), path="/leads")
    assert made.run().drift == ()
    assert "lead" in kinds_of(made), "another mapping leaves the shape as it is"


def test_a_run_that_failed_records_nothing() -> None:
    api = Api(people(1, 2, 3), odd={2: Response(503)})
    made = fake_sync(responses=api)
    with pytest.raises(BadResponse):
        made.run()
    assert shape_of(made) == LineShape()
    made.run()
    assert not shape_of(made).is_settled, "it has seen only the rest"
    made.run()
    assert shape_of(made).is_settled


def test_few_records_of_an_incremental_run_are_not_enough_to_compare_with() -> None:
    api = Api(people(1, 2, at="2026-01-01"))
    made = fake_sync(replace(SINCE, drift=DriftRule.OFF), api)
    made.run()
    made.change(SINCE)
    api.records = [{"id": 3, "name": "c", "at": "2026-01-02", "fax": "1"}]
    assert not made.run().is_full
    assert not shape_of(made).is_settled
    api.records = [{"id": 4, "at": "2026-01-03", "vip": True}]
    assert made.run().drift == ()
    assert [*kinds_of(made)] == ["id", "name", "at", "fax", "vip"]
    assert not shape_of(made).fields["name"].always
    api.records = people(*range(10, 120), at="2026-01-04")
    made.run()
    assert shape_of(made).is_settled
    api.records = [{"id": 5, "name": "e"}]
    assert made.run().drift == (Drift("L050", "at", "text", None),)


def test_an_incremental_run_leaves_what_it_did_not_see() -> None:
    api = Api([*people(1, at="2026-01-01", fax="1"), *people(2, at="2026-01-01")])
    made = fake_sync(SINCE, api)
    made.run()
    api.records = [{"id": 3, "name": 3, "at": "2026-01-02"}]
    made.run()
    accept(made)
    assert kinds_of(made) == {
        "id": "number",
        "name": "number",
        "at": "text",
        "fax": "text",
    }


def pages_of(*pages: list[dict[str, Any]], total: int | None = None) -> Any:  # noqa: ANN401 - an API
    """Return an API of these pages by cursor, which are replaced with `pages`."""

    def respond(request: Request) -> Response:
        query = parse_qs(urlsplit(request.target).query)
        number = int(query.get("after", ["0"])[0])
        document: dict[str, Any] = {"items": respond.pages[number]}
        if respond.has_cursor and number + 1 < len(respond.pages):
            document["next"] = str(number + 1)
        if respond.total is not None:
            document["total"] = respond.total
        return answer(document if respond.has_list else {"data": document["items"]})

    respond.pages = list(pages)
    respond.total = total
    respond.has_cursor = respond.has_list = True
    return respond


def test_a_full_first_page_that_names_no_next_one_any_more_is_reported() -> None:
    api = pages_of(people(1, 2), people(3))
    made = fake_sync(CURSOR, api)
    made.run()
    api.has_cursor = False
    assert made.run().drift == (Drift("L053", "pagination", "next page", None),)
    api.pages = [people(1)]
    accept(made)
    assert made.run().drift == (), "so few records fit on one page"


def test_with_stop_the_only_page_of_many_is_not_written() -> None:
    api = pages_of(people(1, 2), people(3))
    made = fake_sync(replace(CURSOR, drift=DriftRule.STOP), api)
    made.run()
    api.has_cursor = False
    api.pages = [people(7, 8), people(9)]
    with pytest.raises(SyncFailed, match="names no next one"):
        made.run()
    assert made.numbers() == ["1", "2", "3"]


def test_the_pages_of_a_window_say_nothing_about_those_of_the_next() -> None:
    api = pages_of(people(1, 2), people(3), total=3)
    windows = Incremental("since", "", "-1d", "1d", end_parameter="until")
    made = fake_sync(replace(CURSOR, incremental=windows), api)
    made.run()
    assert shape_of(made).pages == PageStyle()
    api.has_cursor = False
    api.total = 30
    assert made.run().drift == ()


def test_far_fewer_records_than_the_api_states_are_reported() -> None:
    api = pages_of(people(1, 2), people(3), total=3)
    made = fake_sync(CURSOR, api)
    made.run()
    assert shape_of(made).pages.has_total
    api.total = 30
    assert made.run().drift == (Drift("L053", "pagination", "all", "3 of 30"),)
    (drift,) = shape_of(made).drift
    assert "3 of 30 records were read" in drift.message


def test_a_total_that_was_never_right_says_nothing() -> None:
    api = pages_of(people(1, 2), people(3), total=2)
    made = fake_sync(CURSOR, api)
    made.run()
    api.total = 30
    assert made.run().drift == ()


def test_a_list_of_records_that_is_elsewhere_is_reported() -> None:
    api = pages_of(people(1, 2))
    made = fake_sync(CURSOR, api)
    api.has_list = False
    with pytest.raises(SyncFailed):
        made.run()
    assert shape_of(made) == LineShape(), "nothing was recorded that it differs from"
    api.has_list = True
    made.run()
    api.has_list = False
    with pytest.raises(SyncFailed) as failed:
        made.run()
    assert failed.value.reason == "not_a_list"
    assert drift_of(made) == [("L053", "records", "list", None)]
    assert "no list of records" in shape_of(made).drift[0].message


def test_a_name_that_holds_a_secret_is_neither_stored_nor_reported() -> None:
    api = Api(people(1, 2))
    made = fake_sync(responses=api, token="s3cret-s3cret")
    made.run()
    api.records = [*people(1), people(2)[0] | {"s3cret-s3cret": 1}]
    assert made.run().drift == ()
    assert "s3cret" not in repr(shape_of(made))


def test_a_name_in_which_a_secret_is_suspected_is_not_stored_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        shape_watch, "reveals_secret", lambda _secrets, names: "vip" in str(names)
    )
    api = Api(people(1, 2))
    made = fake_sync(responses=api)
    made.run()
    api.records = people(1, 2, vip=True)
    assert made.run().drift == ()
    assert [*kinds_of(made)] == ["id", "name"]


def test_a_shape_that_was_accepted_during_a_run_is_not_overwritten() -> None:
    api = Api(people(1, 2, 3))
    made = fake_sync(responses=api)
    made.run()
    api.records = people(1, 2, 3, vip=True)
    steps = made.runner.run("contacts", "ada")
    next(steps)
    next(steps)
    accept(made)
    accepted = shape_of(made)
    list(steps)
    assert shape_of(made) == accepted


def test_a_shape_follows_its_line_to_a_new_name_and_may_be_unreadable() -> None:
    made = fake_sync(responses=Api(people(1, 2)))
    made.run()
    recorded = shape_of(made)
    made.runs.rename_line("contacts", "people")
    assert made.runs.shapes.get("people") == recorded
    assert shape_of(made) == LineShape()
    made.runs.rename_line("nothing", "something")
    assert LineShape.from_facts({"source": "x"}) == LineShape()


MAPPED = (
    FieldMapping("join(' ', [first, \"last name\"])", "name"),
    FieldMapping("address.zip || 'none'", "born"),
    FieldMapping("", "price", Transform.TEMPLATE, options={"template": "{a.b} {c}"}),
    FieldMapping("lines[].{sku: sku}", "owner"),
)


@pytest.mark.parametrize(
    ("field", "is_needed"),
    [
        ("first", True),
        ("last name", True),
        ("address.zip", True),
        ("a.b", True),
        ("c", True),
        ("lines", True),
        ("changed", True),
        ("none", False),
        ("join", False),
        ("b", False),
    ],
)
def test_a_field_is_needed_that_an_expression_of_the_line_names(
    field: str,
    is_needed: bool,  # noqa: FBT001 - parametrized
) -> None:
    needed = NeededFields(
        Sync(mappings=MAPPED, incremental=Incremental("since", "changed"))
    )
    assert (tuple(field.split(".")) in needed) is is_needed
    assert needed.touches(tuple(field.split("."))) is is_needed
    scripted = NeededFields(Sync(script="def transform(record): return record"))
    assert tuple(field.split(".")) in scripted
    assert scripted.touches(tuple(field.split(".")))
