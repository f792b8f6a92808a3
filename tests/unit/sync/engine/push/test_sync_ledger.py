"""A push that sends what changed: created, updated, deleted, and nothing twice."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from outkey.foundation.core.errors import (
    BadResponse,
    ConfigError,
    ConnectionFailed,
    StorageUnavailable,
    SyncFailed,
)
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    PushedRecords,
    PushRequest,
    RecordSearch,
    Sync,
)
from outkey.sync.core.mapping.records import HostRecord, WriteOutcome
from outkey.sync.core.push.ledger import UNSURE, LedgerEntry, creation_key
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import Counts, RunState
from outkey.sync.engine.push.outgoing import OutgoingRecords
from unit.fake_orders_api import OrdersApi, reply
from unit.sync.engine.pull.test_sync_run import (
    FakeSync,
    Killed,
    fake_sync,
    faulty,
    stored,
)

ONE = "/orders/{remote_id}"
PUSH = Sync(
    direction=Direction.PUSH,
    target="contact",
    mappings=(FieldMapping("number", "number"), FieldMapping("name", "name")),
    create=PushRequest("POST", "/orders"),
    update=PushRequest("PATCH", ONE),
    delete=PushRequest("DELETE", ONE),
    remote_id="data.id",
    guard_percent=100,
)
FIND = RecordSearch("/orders?number={number}", "items[].id")
BATCH = replace(
    PUSH,
    create=PushRequest("POST", "/batch"),
    update=PushRequest("PATCH", "/batch"),
    delete=PushRequest("DELETE", "/batch"),
    body='{"id": "{remote_id}", "number": "{number}", "name": "{name}"}',
    batch=3,
    records_at="data.items",
    results_at="results",
)


def shop(
    sync: Sync = PUSH,
    count: int = 3,
    values: dict[str, object] | None = None,
    **api: Any,  # noqa: ANN401
) -> tuple[FakeSync, OrdersApi]:
    made_api = OrdersApi(**api)
    made = fake_sync(sync, made_api, method="POST", path="/", **(values or {}))
    stored(made, *({"number": f"n{n}", "name": f"Name {n}"} for n in range(count)))
    return made, made_api


def rename(made: FakeSync, record: str, name: str) -> None:
    made.records.table("contact")[record]["name"] = name


def archive(made: FakeSync, record: str, *, archived: bool = True) -> None:
    made.records.table("contact")[record]["_archived"] = archived


def entries(made: FakeSync) -> dict[str, LedgerEntry]:
    return {
        entry.record: entry for entry in made.memory.ledger.after("contacts", "", 99)
    }


def rejections(made: FakeSync) -> list[tuple[str, str, str]]:
    run = made.runs.newest(1)[0]
    return [(q.key, q.field, q.reason) for q in made.runs.rejected(run.id, 99)]


def is_equal(made: FakeSync, api: OrdersApi) -> bool:
    """Whether the API has what the host has, each once."""
    ours = sorted((r["number"], r["name"]) for r in made.records.rows("contact"))
    theirs = sorted((o["number"], o["name"]) for o in api.orders.values())
    return ours == theirs


# ── created, updated, deleted ─────────────────────────────────────────────────────────


def test_records_are_created_once_and_then_only_what_changed_is_sent() -> None:
    made, api = shop()
    assert made.run().counts == Counts(created=3)
    assert api.calls() == ["POST /orders"] * 3
    assert made.run().counts == Counts(unchanged=3)
    assert api.calls() == []
    rename(made, "2", "Other")
    assert made.run().counts == Counts(updated=1, unchanged=2)
    assert api.calls() == ["PATCH /orders/r2"]
    assert is_equal(made, api)


def test_a_large_value_does_not_fill_a_body_again_and_again() -> None:
    body = json.dumps({"number": "{number}", "name": "{name}", "x": ["{name}"] * 100})
    made, api = shop(replace(PUSH, body=body))
    rename(made, "2", "x" * 100_000)
    assert made.run().counts == Counts(created=2, failed=1)
    assert rejections(made) == [("2", "", "too_long")]
    assert api.calls() == ["POST /orders"] * 2
    outgoing = OutgoingRecords(made.ports, made.runner._plan("contacts"))
    (record,) = made.records.by_id("contact", ["2"]).values()
    assert outgoing.digest_now(record) == UNSURE


def test_a_record_that_is_deleted_or_archived_in_the_host_is_deleted_at_the_api() -> (
    None
):
    made, api = shop()
    made.run()
    api.calls()
    del made.records.table("contact")["1"]
    archive(made, "3")
    run = made.run()
    assert run.counts == Counts(unchanged=1, deleted=2)
    assert api.calls() == ["DELETE /orders/r1", "DELETE /orders/r3"]
    assert is_equal(made, api)
    assert made.run().counts == Counts(unchanged=1)
    assert api.calls() == []


def test_a_record_that_comes_back_after_its_deletion_has_another_key() -> None:
    made, api = shop(count=1)
    made.run()
    archive(made, "1")
    made.run()
    archive(made, "1", archived=False)
    assert made.run().counts == Counts(created=1)
    assert len(set(api.keys())) == 2
    assert is_equal(made, api)


def test_a_record_that_comes_back_before_it_was_deleted_is_updated() -> None:
    made, api = shop(replace(PUSH, delete=PushRequest()), count=1)
    made.run()
    row = made.records.table("contact").pop("1")
    made.run()
    made.records.table("contact")["1"] = row | {"name": "Back"}
    api.calls()
    assert made.run().counts == Counts(updated=1)
    assert api.calls() == ["PATCH /orders/r1"]


def test_without_delete_an_archived_record_is_sent_as_any_other() -> None:
    made, api = shop(replace(PUSH, delete=PushRequest()))
    archive(made, "1")
    assert made.run().counts == Counts(created=3)
    assert len(api.calls()) == 3


def test_with_delete_an_archived_record_is_not_created() -> None:
    made, api = shop()
    archive(made, "1")
    assert made.run().counts == Counts(created=2)
    assert len(api.calls()) == 2


def test_a_deletion_of_what_the_api_has_no_more_is_done() -> None:
    made, api = shop()
    made.run()
    archive(made, "1")
    api.orders.pop("r1")
    assert made.run().counts == Counts(unchanged=2, deleted=1)
    assert entries(made)["1"] == LedgerEntry("1", is_deleted=True, creations=1)


def test_a_deletion_that_the_api_refuses_is_tried_again() -> None:
    made, api = shop()
    made.run()
    archive(made, "1")
    api.odd[len(api.asked) + 1] = reply(409)
    assert made.run().counts == Counts(unchanged=2, failed=1)
    assert rejections(made) == [("1", "", "status_409")]
    assert made.run().counts == Counts(unchanged=2, deleted=1)


def test_a_changed_record_without_update_is_skipped() -> None:
    made, api = shop(replace(PUSH, update=PushRequest()))
    made.run()
    api.calls()
    rename(made, "1", "Other")
    assert made.run().counts == Counts(unchanged=3)
    assert api.calls() == []


def test_a_new_record_without_create_is_skipped_unless_the_path_has_its_key() -> None:
    made, api = shop(replace(PUSH, create=PushRequest()))
    assert made.run().counts == Counts(unchanged=3)
    assert api.calls() == []
    keyed = replace(
        PUSH, create=PushRequest(), update=PushRequest("PUT", "/x/{number}")
    )
    made, api = shop(keyed, orders={f"/x/n{n}": {} for n in range(3)})
    assert made.run().counts == Counts(updated=3)
    assert made.run().counts == Counts(unchanged=3)


def test_all_records_are_sent_if_the_line_says_so() -> None:
    made, api = shop(replace(PUSH, changes=PushedRecords.ALL))
    made.run()
    assert made.run().counts == Counts(updated=3)
    assert api.calls()[3:] == [f"PATCH /orders/r{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("method", "first", "second"),
    [
        ("POST", Counts(created=3), Counts(created=1, unchanged=2)),
        ("PUT", Counts(updated=3), Counts(updated=1, unchanged=2)),
    ],
)
def test_a_line_with_one_request_can_send_what_changed(
    method: str, first: Counts, second: Counts
) -> None:
    sync = Sync(
        direction=Direction.PUSH,
        target="contact",
        mappings=PUSH.mappings,
        changes=PushedRecords.CHANGED,
    )
    asked: list[Request] = []

    def accept(request: Request) -> Response:
        asked.append(request)
        return reply(200)

    made = fake_sync(sync, accept, method=method, path="/x/{number}")
    stored(made, *({"number": f"n{n}", "name": f"Name {n}"} for n in range(3)))
    assert made.run().counts == first
    rename(made, "2", "Other")
    assert made.run().counts == second
    assert [request.target for request in asked[3:]] == ["/x/n1"]


def test_the_path_counts_as_sent() -> None:
    keyed = replace(PUSH, mappings=PUSH.mappings[1:])
    keyed = replace(keyed, update=PushRequest("PUT", "/orders/{remote_id}?n={number}"))
    made, api = shop(keyed, count=1)
    api.perform = lambda request: reply(200, {"data": {"id": "r1"}})  # type: ignore[method-assign]
    made.run()
    made.records.table("contact")["1"]["number"] = "n9"
    assert made.run().counts == Counts(updated=1)
    assert api.calls()[-1] == "PUT /orders/r1?n=n9"


def test_remote_ids_may_have_slashes_and_any_letters() -> None:
    ids = ["a/b", "x../y", "ä ö/?#%", "日本", "7"]
    made, api = shop(count=5, name_id=lambda number: ids[number - 1])
    made.run()
    for number in range(1, 6):
        rename(made, str(number), "Other")
    api.calls()
    assert made.run().counts == Counts(updated=5)
    assert api.calls()[:3] == [
        "PATCH /orders/a%2Fb",
        "PATCH /orders/x..%2Fy",
        "PATCH /orders/%C3%A4%20%C3%B6%2F%3F%23%25",
    ]
    assert is_equal(made, api)


@pytest.mark.parametrize(
    ("document", "stored_id"),
    [
        ({"data": {"id": 7}}, "7"),
        ({"data": {"id": "7"}}, "7"),
        ({"data": {"id": ["7"]}}, "7"),
        ({"data": {"id": None}}, ""),
        ({"data": {"id": True}}, ""),
        ({"data": {"id": ""}}, ""),
        ({"data": {"id": {}}}, ""),
        ({"data": {"id": "a\x00"}}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_id_of_a_new_record_is_text_or_a_number(
    document: object, stored_id: str
) -> None:
    made, api = shop(count=1)
    api.odd[1] = reply(201, document)
    if stored_id:
        made.run()
    else:
        with pytest.raises(SyncFailed, match="remote_id"):
            made.run()
    assert entries(made)["1"].remote_id == stored_id
    if not stored_id:
        made.run()
        assert len(set(api.keys())) == 1, "the same creation is repeated"
        assert entries(made)["1"].remote_id == "r1"


@pytest.mark.parametrize("remote_id", ["x" * 1001, "€" * 700, ["x" * 1001]])
def test_an_id_that_is_too_long_for_an_index_is_rejected(remote_id: object) -> None:
    made, api = shop(count=1)
    api.odd[1] = reply(201, {"data": {"id": remote_id}})
    made.run()
    assert entries(made)["1"].remote_id == ""
    assert rejections(made) == [("1", "remote_id", "long_remote_id")]


def test_after_a_create_without_an_id_no_more_are_sent() -> None:
    made, api = shop(replace(PUSH, remote_id="data.number"), honours_keys=False)
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "no_remote_id"
    assert "remote_id" in str(caught.value.hint)
    assert api.calls() == ["POST /orders"]
    assert made.runs.newest(1)[0].cause == "no_remote_id"


def test_the_rest_of_a_batch_is_stored_if_one_result_has_no_id() -> None:
    made, api = shop(BATCH)
    results = [{"data": {"id": "r1"}}, {}, {"data": {"id": "r3"}}]
    api.odd[1] = reply(207, {"results": results})
    with pytest.raises(SyncFailed, match="record 2 has no ID"):
        made.run()
    assert [entry.remote_id for entry in entries(made).values()] == ["r1", "", "r3"]


def test_an_id_that_repeats_a_secret_is_not_stored() -> None:
    made, api = shop(count=1)
    made.world.secrets.values["token"] = "a-secret-of-some-length"
    api.odd[1] = reply(201, {"data": {"id": "a-secret-of-some-length"}})
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert "a-secret" not in repr(entries(made))
    assert "a-secret" not in str(caught.value)


def test_an_expression_that_does_not_fit_the_response_finds_no_id() -> None:
    made, _ = shop(replace(PUSH, remote_id="max(data)"), count=1)
    with pytest.raises(SyncFailed, match="no ID where remote_id"):
        made.run()


@pytest.mark.parametrize(
    "document",
    [
        {"error": "denied"},
        {"errors": [{"code": 1}]},
        {"success": False},
        {"ok": False, "data": {"id": 1}},
    ],
)
def test_a_success_with_an_error_in_its_body_is_a_rejection(document: object) -> None:
    made, api = shop(count=2)
    api.odd[1] = reply(200, document)
    assert made.run().counts == Counts(created=1, failed=1)
    assert rejections(made) == [("1", "", "error_in_response")]
    assert made.run().counts == Counts(created=1, unchanged=1)
    rename(made, "1", "Other")
    api.odd[len(api.asked) + 1] = reply(200, document)
    assert made.run().counts == Counts(unchanged=1, failed=1)
    assert made.run().counts == Counts(updated=1, unchanged=1)


@pytest.mark.parametrize(
    "document", [{"error": None, "errors": [], "ok": True}, ["error"], "error", None]
)
def test_an_update_needs_no_body_and_no_error_is_none(document: object) -> None:
    made, api = shop(count=1)
    made.run()
    rename(made, "1", "Other")
    api.odd[len(api.asked) + 1] = reply(200, document)
    assert made.run().counts == Counts(updated=1)


def test_a_record_that_cannot_be_mapped_or_addressed_is_rejected() -> None:
    sync = replace(PUSH, create=PushRequest("POST", "/orders/of/{name}"))
    sync = replace(sync, mappings=(FieldMapping("number", "number", required=True),))
    made, _ = shop(sync)
    made.records.table("contact")["1"]["name"] = None
    made.records.table("contact")["2"]["number"] = None
    assert made.run(dry_run=True).counts == Counts(created=1, failed=2)
    assert made.run().counts == Counts(created=1, failed=2)
    assert rejections(made) == [
        ("1", "name", "not_for_a_path"),
        ("2", "number", "missing"),
    ]


def test_two_records_with_the_same_remote_id_are_not_deleted_before_both_are_gone() -> (
    None
):
    made, api = shop(name_id=lambda _: "same")
    made.run()
    api.calls()
    archive(made, "1")
    assert made.run().counts == Counts(unchanged=3)
    assert api.calls() == []
    archive(made, "2")
    archive(made, "3")
    assert made.run().counts == Counts(deleted=2)
    assert api.calls() == ["DELETE /orders/same"] * 2
    assert api.orders == {}


def test_a_dry_run_changes_no_entry_of_a_remote_id_that_two_records_have() -> None:
    made, _ = shop(name_id=lambda _: "same")
    made.run()
    before = entries(made)
    archive(made, "1")
    made.run(dry_run=True)
    assert entries(made) == before


def test_a_record_that_is_edited_while_the_push_runs_is_sent_by_the_next_one() -> None:
    made, api = shop()
    api.odd[2] = lambda: (rename(made, "3", "Edited"), api.answer(api.asked[-1]))[1]
    made.run()
    assert made.run().counts == Counts(updated=1, unchanged=2)
    assert is_equal(made, api)


def test_a_record_that_is_deleted_while_the_push_runs_is_deleted_at_its_end() -> None:
    made, api = shop()
    api.odd[2] = lambda: (archive(made, "1"), api.answer(api.asked[-1]))[1]
    assert made.run().counts == Counts(created=3, deleted=1)
    assert is_equal(made, api)


# ── found, and created again ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [400, 409, 422])
def test_a_record_that_the_api_has_already_is_found_adopted_and_updated(
    status: int,
) -> None:
    made, api = shop(replace(PUSH, find=FIND))
    api.orders["old"] = {"number": "n1", "name": "Theirs"}
    api.odd[2] = reply(status)
    assert made.run().counts == Counts(created=2, updated=1)
    assert api.calls() == [
        "POST /orders",
        "POST /orders",
        "GET /orders?number=n1",
        "PATCH /orders/old",
        "POST /orders",
    ]
    assert entries(made)["2"].remote_id == "old"
    assert is_equal(made, api)
    assert made.run().counts == Counts(unchanged=3)


@pytest.mark.parametrize("status", [400, 409, 422])
@pytest.mark.parametrize("known", [[], ["a", "b"]])
def test_none_or_several_found_records_are_not_adopted(
    known: list[str], status: int
) -> None:
    made, api = shop(replace(PUSH, find=FIND), count=1)
    api.orders |= {name: {"number": "n0", "name": ""} for name in known}
    api.odd[1] = reply(status)
    made.run()
    assert rejections(made) == [("1", "", f"status_{status}")]
    assert entries(made)["1"].remote_id == ""


def test_a_search_that_the_api_refuses_adopts_nothing() -> None:
    made, api = shop(replace(PUSH, find=FIND), count=1)
    api.odd |= {1: reply(409), 2: reply(404)}
    made.run()
    assert rejections(made) == [("1", "", "status_409")]


def test_without_find_a_conflict_is_a_rejection_and_the_next_try_has_another_key() -> (
    None
):
    made, api = shop(count=1)
    api.odd[1] = reply(409)
    made.run()
    assert rejections(made) == [("1", "", "status_409")]
    made.run()
    assert len(set(api.keys())) == 2
    assert is_equal(made, api)


def test_an_adopted_record_whose_update_is_refused_is_updated_by_the_next_run() -> None:
    made, api = shop(replace(PUSH, find=FIND), count=1)
    api.orders["old"] = {"number": "n0", "name": "Theirs"}
    api.odd |= {1: reply(409), 3: reply(422)}
    assert made.run().counts == Counts(failed=1)
    assert entries(made)["1"] == LedgerEntry("1", UNSURE, "old", creations=1)
    assert made.run().counts == Counts(updated=1)
    assert is_equal(made, api)


def test_an_adopted_record_is_not_updated_without_update() -> None:
    made, api = shop(replace(PUSH, find=FIND, update=PushRequest()), count=1)
    api.orders["old"] = {"number": "n0", "name": "Theirs"}
    api.odd[1] = reply(409)
    assert made.run().counts == Counts(unchanged=1)
    assert made.run().counts == Counts(unchanged=1)
    assert entries(made)["1"].remote_id == "old"


@pytest.mark.parametrize("status", [404, 410])
def test_a_record_that_the_api_has_no_more_is_created_again_if_the_line_says_so(
    status: int,
) -> None:
    made, api = shop(replace(PUSH, recreate=True), count=1)
    made.run()
    api.orders.clear()
    rename(made, "1", "Other")
    api.odd[2] = reply(status)
    assert made.run().counts == Counts(created=1)
    assert len(set(api.keys())) == 2
    assert is_equal(made, api)
    assert entries(made)["1"].creations == 2


def test_a_record_that_cannot_be_created_again_is_rejected() -> None:
    create = PushRequest("POST", "/orders/{name}")
    made, api = shop(replace(PUSH, create=create, recreate=True), count=1)
    api.odd[1] = reply(201, {"data": {"id": "r1"}})
    assert made.run().counts == Counts(created=1)
    rename(made, "1", "")
    api.odd[2] = reply(404)
    assert made.run().counts == Counts(failed=1)
    assert rejections(made) == [("1", "name", "not_for_a_path")]


def test_a_record_that_the_api_has_no_more_is_rejected_otherwise() -> None:
    made, api = shop(count=1)
    made.run()
    api.orders.clear()
    rename(made, "1", "Other")
    assert made.run().counts == Counts(failed=1)
    assert rejections(made) == [("1", "", "status_404")]


def test_finding_and_creating_again_do_not_follow_each_other_for_ever() -> None:
    made, api = shop(replace(PUSH, find=FIND, recreate=True), count=1)
    api.perform = lambda request: {  # type: ignore[method-assign]
        "POST": reply(409),
        "GET": reply(200, {"items": [{"id": "ghost"}]}),
        "PATCH": reply(404),
    }[request.method]
    made.run()
    assert rejections(made) == [("1", "", "status_404")]
    assert len(api.asked) == 3
    made.run()
    assert [asked.method for asked in api.asked[3:]] == [
        "PATCH",
        "POST",
        "GET",
        "PATCH",
    ]


# ── keys ──────────────────────────────────────────────────────────────────────────────


def test_a_key_is_that_of_the_line_the_record_and_the_creation() -> None:
    entry = LedgerEntry("1")
    key = creation_key("configuration", "line", entry)
    assert key == creation_key("configuration", "line", entry.announce("k", "d"))
    others = {
        creation_key("other", "line", entry),
        creation_key("configuration", "other", entry),
        creation_key("configuration", "line", LedgerEntry("2")),
        creation_key("configuration", "line", replace(entry, creations=1)),
    }
    assert len(others | {key}) == 5


@pytest.mark.parametrize("odd", [ConnectionFailed(), reply(503)])
def test_a_create_without_a_response_is_repeated_with_its_key_by_any_later_run(
    odd: Response | ConnectionFailed,
) -> None:
    made, api = shop()

    def lose() -> Response | ConnectionFailed:
        api.answer(api.asked[-1])
        return odd

    api.odd[2] = lose
    with pytest.raises((BadResponse, ConnectionFailed)):
        made.run()
    made.change(replace(PUSH, query=(("a", "b"),)), "POST")  # it begins anew
    assert made.run().counts == Counts(created=2, unchanged=1)
    first, second, again, third = api.keys()
    assert (second, len({first, second, third})) == (again, 3)
    assert is_equal(made, api)


def test_the_key_of_a_create_under_way_stays_when_its_line_is_renamed() -> None:
    made, api = shop(count=1)
    api.odd[1] = lambda: (api.answer(api.asked[-1]), ConnectionFailed())[1]
    with pytest.raises(ConnectionFailed):
        made.run()
    line = made.world.ports.configurations.line("contacts")
    made.world.ports.configurations.put_line(replace(line, name="people"))  # type: ignore[attr-defined]
    ledger = made.memory.ledger
    ledger.put("people", ledger.after("contacts", "", 9))
    list(made.runner.run("people", "ada"))
    assert len(set(api.keys())) == 1
    assert is_equal(made, api)


def test_after_an_edit_a_replayed_create_is_followed_by_an_update() -> None:
    made, api = shop(count=1, replays_other_bodies=True)
    api.odd[1] = lambda: (api.answer(api.asked[-1]), ConnectionFailed())[1]
    with pytest.raises(ConnectionFailed):
        made.run()
    rename(made, "1", "Edited")
    assert made.run().counts == Counts(created=1)
    assert api.calls()[1:] == ["POST /orders", "PATCH /orders/r1"]
    assert is_equal(made, api)
    assert made.run().counts == Counts(unchanged=1)


def test_after_an_edit_a_key_that_is_refused_stays_and_find_adopts_the_record() -> None:
    made, api = shop(count=1)
    api.odd[1] = lambda: (api.answer(api.asked[-1]), ConnectionFailed())[1]
    with pytest.raises(ConnectionFailed):
        made.run()
    rename(made, "1", "Edited")
    made.run()
    assert rejections(made) == [("1", "", "status_422")]
    made.run()
    assert len(set(api.keys())) == 1
    made.change(replace(PUSH, find=FIND), "POST")
    assert made.run().counts == Counts(updated=1)
    assert is_equal(made, api)


def test_after_an_edit_without_update_the_record_stays_unsure() -> None:
    sync = replace(PUSH, update=PushRequest())
    made, api = shop(sync, count=1, replays_other_bodies=True)
    api.odd[1] = lambda: (api.answer(api.asked[-1]), ConnectionFailed())[1]
    with pytest.raises(ConnectionFailed):
        made.run()
    rename(made, "1", "Edited")
    assert made.run().counts == Counts(created=1)
    assert entries(made)["1"].digest == UNSURE
    assert made.run().counts == Counts(unchanged=1)


# ── batches ───────────────────────────────────────────────────────────────────────────


def sent_bodies(api: OrdersApi) -> list[Any]:
    return [json.loads(bytes(asked.body)) for asked in api.asked]  # type: ignore[arg-type]


def test_a_batch_has_a_list_in_the_request_and_results_in_the_response() -> None:
    made, api = shop(BATCH, count=5)
    assert made.run().counts == Counts(created=5)
    bodies = [body["data"]["items"] for body in sent_bodies(api)]
    assert [[item["number"] for item in body] for body in bodies] == [
        ["n0", "n1", "n2"],
        ["n3", "n4"],
    ]
    assert bodies[0][0]["id"] is None
    assert is_equal(made, api)
    api.asked.clear()
    for record in "124":
        rename(made, record, "Other")
    archive(made, "5")
    stored_rows = made.records.table("contact")
    stored_rows["6"] = stored_rows["1"] | {"number": "n5"}
    assert made.run().counts == Counts(created=1, updated=3, unchanged=1, deleted=1)
    assert [asked.method for asked in api.asked] == ["PATCH", "POST", "DELETE"]
    updated, _, deleted = (body["data"]["items"] for body in sent_bodies(api))
    assert [item["id"] for item in updated] == ["r1", "r2", "r4"]
    assert deleted == ["r5"]
    assert is_equal(made, api)


def test_a_batch_with_mixed_results_rejects_those_with_an_error() -> None:
    made, api = shop(BATCH, count=4)
    rename(made, "2", "bad")
    assert made.run().counts == Counts(created=3, failed=1)
    assert rejections(made) == [("2", "", "status_422")]
    assert made.run().counts == Counts(unchanged=3, failed=1)
    rename(made, "2", "good")
    assert made.run().counts == Counts(created=1, unchanged=3)
    assert is_equal(made, api)


def test_a_status_of_a_batch_may_be_a_text() -> None:
    made, api = shop(BATCH, count=2)
    results = [{"data": {"id": "r1"}, "status": "201"}, {"status": "422"}]
    api.odd[1] = reply(207, {"results": results})
    assert made.run().counts == Counts(created=1, failed=1)
    assert rejections(made) == [("2", "", "status_422")]


def test_a_batch_that_is_refused_as_a_whole_is_sent_record_by_record_once() -> None:
    made, api = shop(BATCH, count=4)
    api.odd |= {1: reply(413), 3: reply(422)}
    assert made.run().counts == Counts(created=3, failed=1)
    sizes = [len(body["data"]["items"]) for body in sent_bodies(api)]
    assert sizes == [3, 1, 1, 1, 1]
    assert rejections(made) == [("2", "", "status_422")]
    assert len(set(api.keys())) == 5


@pytest.mark.parametrize("status", [401, 429, 503])
def test_an_error_ends_the_sending_of_single_records_at_once(status: int) -> None:
    made, api = shop(BATCH, count=3)
    api.odd |= {1: reply(422), 3: reply(status)}
    with pytest.raises(BadResponse):
        made.run()
    assert len(api.asked) == 3
    run = made.run()
    assert run.counts == Counts(created=3)
    assert is_equal(made, api)


@pytest.mark.parametrize(
    "document",
    [{"results": [{}, {}]}, {"results": {}}, {"error": "denied"}, None],
)
def test_a_batch_with_another_number_of_results_ends_the_run_and_assumes_nothing(
    document: object,
) -> None:
    made, api = shop(BATCH, count=3)
    api.odd[1] = lambda: (api.answer(api.asked[-1]), reply(200, document))[1]
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "bad_results"
    assert made.run().counts == Counts(created=3)
    assert len(set(api.keys())) == 1
    assert is_equal(made, api)


def test_without_results_a_batch_is_accepted_or_rejected_as_a_whole() -> None:
    sync = replace(BATCH, results_at="", remote_id="", body="")
    sync = replace(sync, update=PushRequest(), delete=PushRequest())
    made, api = shop(sync, count=3)
    api.odd[1] = reply(200, {"errors": ["denied"]})
    assert made.run().cause == "all_refused"
    assert {reason for _, _, reason in rejections(made)} == {"error_in_response"}
    assert made.run().counts == Counts(created=3)


def test_a_request_whose_path_names_a_record_is_not_a_batch() -> None:
    sync = replace(BATCH, delete=PushRequest("DELETE", ONE))
    made, api = shop(sync, count=3)
    made.run()
    api.asked.clear()
    archive(made, "1")
    archive(made, "2")
    made.run()
    assert api.calls() == ["DELETE /orders/r1", "DELETE /orders/r2"]


def test_a_batch_may_be_the_body_itself_and_needs_no_template() -> None:
    sync = replace(BATCH, body="", records_at="@", results_at="", remote_id="")
    sync = replace(sync, update=PushRequest(), delete=PushRequest())
    made, api = shop(sync, count=2)
    api.perform = lambda _: reply(200)  # type: ignore[method-assign]
    made.run()
    assert sent_bodies(api) == [
        [{"number": "n0", "name": "Name 0"}, {"number": "n1", "name": "Name 1"}]
    ]


def test_a_repeated_batch_has_the_same_records_and_key_though_more_have_come() -> None:
    made, api = shop(BATCH, count=2)
    api.odd[1] = lambda: (api.answer(api.asked[-1]), ConnectionFailed())[1]
    with pytest.raises(ConnectionFailed):
        made.run()
    rows = made.records.table("contact")
    rows["3"] = rows["1"] | {"number": "n2"}
    assert made.run().counts == Counts(created=3)
    first, again, other = api.keys()
    assert (first == again, first == other) == (True, False)
    assert is_equal(made, api)


def test_a_repeated_batch_without_one_of_its_records_is_another_request() -> None:
    made, api = shop(BATCH, count=3)
    api.odd[1] = ConnectionFailed()
    with pytest.raises(ConnectionFailed):
        made.run()
    del made.records.table("contact")["2"]
    assert made.run().counts == Counts(created=2)
    assert len(set(api.keys())) == 2
    assert is_equal(made, api)


def test_a_repeated_batch_whose_key_is_refused_after_an_edit_is_not_sent_singly() -> (
    None
):
    made, api = shop(BATCH, count=2)
    api.odd[1] = lambda: (api.answer(api.asked[-1]), ConnectionFailed())[1]
    with pytest.raises(ConnectionFailed):
        made.run()
    rename(made, "1", "Edited")
    made.run()
    assert [reason for _, _, reason in rejections(made)] == ["status_422"] * 2
    assert len(api.asked) == 2
    made.change(replace(BATCH, find=FIND), "POST")
    assert made.run().counts == Counts(updated=2)
    assert is_equal(made, api)


# ── guard ─────────────────────────────────────────────────────────────────────────────


def test_a_run_deletes_no_more_than_the_guard_allows() -> None:
    made, api = shop(replace(PUSH, guard_percent=20), count=10)
    made.run()
    for record in "123":
        archive(made, record)
    rename(made, "10", "Other")
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "guard"
    assert "3 of 10" in str(caught.value)
    assert len(api.orders) == 10
    rename(made, "9", "Other")
    with pytest.raises(SyncFailed):
        made.run()
    assert api.orders["r9"]["name"] == "Other", "what has changed does not wait"
    archive(made, "3", archived=False)
    assert made.run().counts == Counts(unchanged=8, deleted=2)
    assert is_equal(made, api)


def test_a_run_may_be_allowed_to_delete_more_once() -> None:
    made, api = shop(replace(PUSH, guard_percent=20), count=10)
    made.run()
    for record in "123":
        archive(made, record)
    *_, done = made.runner.run("contacts", "ada", allows_removal=True)
    assert done.counts == Counts(unchanged=7, deleted=3)
    assert is_equal(made, api)


# ── a target that was made again ──────────────────────────────────────────────────────

GUARDED = replace(PUSH, delete=PushRequest(), guard_percent=10)


def make_again(made: FakeSync, first: int = 1000) -> None:
    """Give all records other ids, as a table has that was dropped and filled again."""
    table = made.records.table("contact")
    rows = list(table.values())
    table.clear()
    table.update({str(first + number): row for number, row in enumerate(rows)})


@pytest.mark.parametrize(
    "sync",
    [
        GUARDED,
        replace(PUSH, guard_percent=10),
        replace(BATCH, guard_percent=10),
        replace(
            GUARDED,
            create=PushRequest(),
            update=PushRequest(),
            remote_id="",
            changes=PushedRecords.CHANGED,
        ),
    ],
    ids=["without-delete", "with-delete", "batch", "only-a-path"],
)
def test_records_that_have_other_ids_are_not_created_a_second_time(sync: Sync) -> None:
    made, api = shop(sync, count=10)
    made.run()
    before = entries(made)
    make_again(made)
    api.calls()
    for dry_run in (False, True, False):
        with pytest.raises(SyncFailed) as caught:
            made.run(dry_run=dry_run)
        assert caught.value.reason == "target_replaced"
        assert "10 of the 10 records that were sent are no longer in contact" in str(
            caught.value
        )
        assert "--allow-removal" in caught.value.hint
    assert api.calls() == []
    assert entries(made) == before
    run = made.runs.newest(1)[0]
    assert (run.state, run.cause) == (RunState.FAILED, "target_replaced")


def test_records_that_are_really_new_may_be_created_once_it_is_said() -> None:
    made, api = shop(GUARDED, count=10)
    made.run()
    make_again(made)
    assert made.run(allows_removal=True).counts == Counts(created=10)
    assert len(api.orders) == 20
    table = made.records.table("contact")
    table["2000"] = table["1000"] | {"number": "n99"}
    assert made.run().counts == Counts(created=1, unchanged=10), "no word is needed now"


def test_a_restored_target_is_pushed_as_before() -> None:
    made, api = shop(GUARDED, count=10)
    made.run()
    table = made.records.table("contact")
    before = dict(table)
    make_again(made)
    with pytest.raises(SyncFailed):
        made.run()
    table.clear()
    table.update(before)
    table["11"] = before["1"] | {"number": "n99"}
    assert made.run().counts == Counts(created=1, unchanged=10)
    assert is_equal(made, api)


def test_a_run_that_is_resumed_after_the_target_was_made_again_is_refused() -> None:
    made, api = shop(GUARDED, count=10)
    api.odd[6] = ConnectionFailed()
    with pytest.raises(ConnectionFailed):
        made.run()
    make_again(made)
    with pytest.raises(SyncFailed, match="5 of the 5 records"):
        made.run()
    assert len(api.orders) == 5


def test_whoever_resumes_a_run_that_was_allowed_says_so_again() -> None:
    made, api = shop(GUARDED, count=10)
    made.run()
    make_again(made)
    api.odd[14] = ConnectionFailed()
    with pytest.raises(ConnectionFailed):
        made.run(allows_removal=True)
    with pytest.raises(SyncFailed, match="10 of the 13 records"):
        made.run()
    assert len(api.orders) == 13
    made.run(allows_removal=True)
    assert len(api.orders) == 20


def test_records_that_were_deleted_and_archived_in_time_do_not_stop_a_push() -> None:
    made, api = shop(GUARDED, count=10)
    made.run()
    table = made.records.table("contact")
    for number in range(11, 200):
        del table[str(number - 10)]
        table[str(number)] = table[str(number - 1)] | {"number": f"n{number}"}
        assert made.run().counts == Counts(created=1, unchanged=9)
    for record in table:
        archive(made, record)
    table["200"] = table["199"] | {"number": "n200"}
    assert made.run().counts.created == 1
    assert len(api.orders) == 200


def test_many_new_records_beside_the_old_ones_are_created() -> None:
    made, _ = shop(GUARDED, count=5)
    made.run()
    table = made.records.table("contact")
    for number in range(6, 100):
        table[str(number)] = table["1"] | {"number": f"n{number}"}
    assert made.run().counts == Counts(created=94, unchanged=5)


def test_the_one_record_of_a_target_may_be_replaced() -> None:
    made, api = shop(GUARDED, count=1)
    made.run()
    make_again(made)
    assert made.run().counts == Counts(created=1)
    assert len(api.orders) == 2


def test_records_that_are_put_under_keys_of_their_own_may_have_other_ids() -> None:
    sync = replace(
        GUARDED, create=PushRequest("PUT", "/orders/{number}"), update=PushRequest()
    )
    made = fake_sync(sync, lambda _: reply(200, {"data": {"id": "r"}}))
    stored(made, *({"number": f"n{n}", "name": "Name"} for n in range(10)))
    made.run()
    make_again(made)
    assert made.run().counts == Counts(created=10)


def test_only_a_run_that_creates_something_compares_its_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("outkey.sync.engine.push.push.STEP", 10)
    made, _ = shop(GUARDED, count=15)
    made.run()
    compared: list[int] = []
    by_id = made.records.by_id

    def counted(target: str, ids: Sequence[str]) -> dict[str, HostRecord]:
        compared.append(len(ids))
        return by_id(target, ids)

    monkeypatch.setattr(made.records, "by_id", counted)
    rename(made, "7", "Other")
    assert made.run().counts == Counts(updated=1, unchanged=14)
    assert compared == []
    table = made.records.table("contact")
    for number in range(20, 40):
        table[str(number)] = table["1"] | {"number": f"n{number}"}
    assert made.run().counts == Counts(created=20, unchanged=15)
    assert compared == [10, 5], "once, though several steps create records"


# ── runs ──────────────────────────────────────────────────────────────────────────────


def test_a_dry_run_says_what_would_be_sent_and_sends_nothing() -> None:
    made, api = shop()
    made.run()
    rename(made, "1", "Other")
    archive(made, "2")
    rows = made.records.table("contact")
    rows["4"] = rows["1"] | {"number": "n9"}
    api.calls()
    effects: list[Effect] = []
    before = entries(made)
    run = made.run(dry_run=True, note=effects.append)
    assert run.counts == Counts(created=1, updated=1, unchanged=1, deleted=1)
    assert [(effect.key, effect.outcome) for effect in effects] == [
        ("1", WriteOutcome.UPDATED),
        ("3", WriteOutcome.UNCHANGED),
        ("4", WriteOutcome.CREATED),
        ("2", WriteOutcome.DELETED),
    ]
    sample = [(e.key, e.outcome) for e in made.runner.preview("contacts", 3)]
    assert sample == [("1", WriteOutcome.UPDATED), ("3", WriteOutcome.UNCHANGED)]
    assert (api.calls(), entries(made)) == ([], before)


def test_unchanged_records_cost_one_checkpoint_for_many() -> None:
    made, _ = shop(count=1)
    made.run()
    entry = entries(made)["1"]
    rows = made.records.table("contact")
    rows |= {str(n): rows["1"] for n in range(2, 2502)}
    copies = [replace(entry, record=str(n)) for n in range(2, 2502)]
    made.memory.ledger.put("contacts", copies)
    run = made.run()
    assert run.counts == Counts(unchanged=2501)
    assert (run.pages, run.generation) == (3, 1 + 3 + 1)


def test_announcing_a_create_extends_the_lease() -> None:
    made, api = shop(count=1)
    until: list[float] = []

    def take_a_look() -> Response:
        until.append(made.runs.newest(1)[0].until)
        return api.answer(api.asked[-1])

    api.odd[1] = take_a_look
    steps = made.runner.run("contacts", "ada")
    begun = next(steps)
    made.world.clock.advance(10)
    list(steps)
    assert until == [begun.until + 10]


def test_a_checkpoint_lists_what_was_sent_and_not_what_was_skipped() -> None:
    made, api = shop(replace(PUSH, parallel=3), count=7)
    for record in "67":
        archive(made, record)
    api.odd |= {3: reply(503)}
    with pytest.raises(BadResponse):
        made.run()
    position = made.runs.newest(1)[0].position
    assert position["at"] in {"1", "2", "3"}
    assert set(position["ahead"]) < set("234")  # type: ignore[call-overload]


def test_a_push_of_which_nothing_arrives_is_given_up() -> None:
    made, api = shop(count=250)
    api.perform = lambda _: reply(404)  # type: ignore[method-assign]
    run = made.run()
    assert (run.state, run.cause) == (RunState.FAILED, "all_refused")
    assert len(api.asked) == 100


def test_a_run_takes_no_more_records_than_its_limit() -> None:
    made, api = shop(replace(PUSH, max_records=2))
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "run_limit"
    assert len(api.orders) == 2
    made.change(replace(PUSH, max_records=3), "POST", "/")
    assert made.run().counts == Counts(created=3)


def test_deletions_count_for_the_limit_too() -> None:
    made, api = shop(replace(PUSH, max_records=5), count=5)
    made.run()
    for record in "1234":
        archive(made, record)
    made.change(replace(PUSH, max_records=3), "POST", "/")
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "run_limit"
    assert len(api.orders) == 3
    made.change(replace(PUSH, max_records=5), "POST", "/")
    made.run()
    assert is_equal(made, api)


def test_deletions_of_which_nothing_arrives_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("outkey.sync.engine.push.push.STEP", 120)
    made, api = shop(count=250)
    made.run()
    made.records.table("contact").clear()
    api.calls()
    api.perform = lambda _: reply(409)  # type: ignore[method-assign]
    run = made.run()
    assert (run.state, run.cause) == (RunState.FAILED, "all_refused")
    assert len(api.asked) == 100


def test_a_retry_sends_and_deletes_only_what_was_rejected() -> None:
    made, api = shop(count=4)
    made.run()
    rename(made, "1", "Other")
    archive(made, "2")
    api.calls()
    api.odd = {1: reply(422), 2: reply(409)}
    run = made.run()
    assert api.calls() == ["PATCH /orders/r1", "DELETE /orders/r2"]
    api.odd = {}
    rename(made, "3", "Another")
    archive(made, "4")
    *_, retry = made.runner.retry(run.id, "ada")
    assert api.calls() == ["PATCH /orders/r1", "DELETE /orders/r2"]
    assert retry.counts == Counts(updated=1, deleted=1)
    made.run()
    assert is_equal(made, api)


def test_deletions_in_many_steps_continue_where_they_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("outkey.sync.engine.push.push.STEP", 2)
    made, api = shop(count=9)
    made.run()
    for record in "2479":
        archive(made, record)
    api.odd[len(api.asked) + 3] = reply(503)
    with pytest.raises(BadResponse):
        made.run()
    assert made.runs.newest(1)[0].position["phase"] == "deletions"
    api.calls()
    assert made.run().counts == Counts(unchanged=5, deleted=4)
    assert api.calls() == ["DELETE /orders/r7", "DELETE /orders/r9"]
    assert is_equal(made, api)


def test_several_at_a_time_continue_behind_what_failed() -> None:
    made, api = shop(replace(PUSH, parallel=3), count=7)
    api.odd |= {3: reply(503), 4: reply(422)}
    with pytest.raises(BadResponse):
        made.run()
    sent = len(api.asked)
    run = made.run()
    assert run.counts.created + run.counts.failed == 7
    assert len(api.asked) - sent == 4
    assert not api.doubles()


def test_deletions_several_at_a_time_do_not_try_again_what_was_rejected() -> None:
    made, api = shop(replace(PUSH, parallel=3), count=5)
    made.run()
    for record in "1234":
        archive(made, record)
    first = len(api.asked)
    api.odd |= {first + 2: reply(503), first + 3: reply(422)}
    with pytest.raises(BadResponse):
        made.run()
    run = made.run()
    assert run.counts.deleted + run.counts.failed == 4
    assert len(api.asked) - first == 5


ACTIONS: dict[str, Callable[[FakeSync], None]] = {
    "create": lambda _: None,
    "update": lambda made: rename(made, "2", "Other"),
    "delete": lambda made: archive(made, "2"),
}


@pytest.mark.parametrize("sync", [PUSH, BATCH], ids=["single", "batch"])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("fault", [Killed, StorageUnavailable])
def test_whatever_ends_a_push_at_any_step_the_next_run_completes_it(
    sync: Sync, action: str, fault: type[BaseException], *, after: bool
) -> None:
    for turn in range(1, 60):
        made, api = shop(sync)
        if action != "create":
            made.run()
        ACTIONS[action](made)
        before = len(api.asked)
        ended = False
        with suppress(Killed, StorageUnavailable):
            list(faulty(made, turn, fault(), after=after).run("contacts", "ada"))
            ended = True
        if ended:
            assert turn > 3
            return
        made.kill()
        made.run()
        assert is_equal(made, api)
        needed = 3 if action == "create" and sync is PUSH else 1
        assert len(api.asked) - before <= needed + 1
    pytest.fail("the run never got through")


@pytest.mark.parametrize("field", ["remote_id", "results_at", "find.remote_id"])
def test_an_invalid_expression_is_found_before_anything_is_sent(field: str) -> None:
    wrong = {
        "remote_id": replace(BATCH, remote_id="]"),
        "results_at": replace(BATCH, results_at="]"),
        "find.remote_id": replace(BATCH, find=replace(FIND, remote_id="]")),
    }
    made, api = shop(wrong[field])
    with pytest.raises(ConfigError) as caught:
        made.run()
    assert (caught.value.field, api.asked) == (field, [])
