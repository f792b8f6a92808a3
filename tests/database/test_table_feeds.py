"""Changes of tables: recorded with their rows, in the order in which they commit."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from threading import Thread

import pytest

from database.table_places import Place, place, shape  # noqa: F401 - a fixture
from outkey.foundation.core.errors import CursorExpired, NoFeed
from outkey.sync.adapters.tables.feeds import feed_reader
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import FieldKind, Shape
from outkey.sync.core.mapping.row_changes import Cursor, row_json, row_of

ORDERS = shape(
    ("id", FieldKind.TEXT),
    ("total", FieldKind.DECIMAL),
    ("note", FieldKind.TEXT),
    archives=True,
)
Copy = dict[str, object]  # of a table: rows by key


@pytest.fixture
def store(place: Place) -> TableStore:
    return place.store()


def begin(
    store: TableStore,
    target: str,
    wanted: Shape = ORDERS,
    *,
    line: str = "orders",
    feed: bool = True,
) -> None:
    """Do what a run does before its first page."""
    store.prepare(target, wanted)
    store.set_feed(target, line, wants_feed=feed)


def row(number: str, total: str = "1", note: str | None = None) -> dict[str, object]:
    return {"id": number, "total": Decimal(total), "note": note}


def changes_after(
    store: TableStore, target: str, after: Cursor | None, limit: int = 3
) -> Iterator[dict[str, object]]:
    """Yield the changes after a cursor, read in small pages."""
    more = True
    while more:
        page = store.changes(target, after, limit)
        for change in page.changes:
            yield {
                "change": str(change.kind),
                "key": change.key,
                "row": change.row,
                "before": change.before,
            }
        after, more = page.next, page.more


def copied(store: TableStore, target: str) -> tuple[Copy, Cursor]:
    """Return a copy of a table, and the cursor at which it continues."""
    cursor = store.cursor(target)
    assert cursor is not None
    copy: Copy = {}
    after = ""
    while rows := store.rows(target, after, 2):
        for record in rows:
            copy[str(record.values["id"])] = json.loads(row_json(row_of(record)) or "")
        after = rows[-1].id
    return copy, cursor


def apply(copy: Copy, changes: Sequence[dict[str, object]]) -> Copy:
    """Apply changes to a copy, as the handbook says."""
    for change in changes:
        key = change["key"]["id"]  # type: ignore[index]
        if change["row"] is None:
            copy.pop(key, None)
        else:
            copy[key] = change["row"]
    return copy


def test_each_kind_of_change_is_recorded_with_its_row(
    place: Place, store: TableStore
) -> None:
    target = place.target("orders")
    begin(store, target)
    run = place.begin_run()
    store.upsert(target, ["id"], [row("a"), row("b", "2.50", "x")], run)
    store.upsert(target, ["id"], [row("a"), row("b", "3", "x"), row("c")], run)
    run = place.begin_run()
    store.upsert(target, ["id"], [row("a"), row("b", "3", "x")], run)
    assert store.retire(target, "orders", run, Gone.ARCHIVE) == 1
    store.upsert(target, ["id"], [row("c")], run)
    run = place.begin_run()
    store.upsert(target, ["id"], [row("b", "3", "x"), row("c")], run)
    assert store.retire(target, "orders", run, Gone.DELETE) == 1
    changes = list(changes_after(store, target, None))
    assert [(change["change"], change["key"]) for change in changes] == [
        ("added", {"id": "a"}),
        ("added", {"id": "b"}),
        ("changed", {"id": "b"}),
        ("added", {"id": "c"}),
        ("archived", {"id": "c"}),
        ("changed", {"id": "c"}),
        ("deleted", {"id": "a"}),
    ]
    _, second, third, _, archived, restored, deleted = changes
    assert second["before"] is None
    assert [*third["before"]] == ["total"]  # type: ignore[misc]
    assert Decimal(third["before"]["total"]) == Decimal("2.50")  # type: ignore[index]
    assert third["row"]["note"] == "x"  # type: ignore[index]
    assert archived["before"] == {"archived_at": None}
    moment = archived["row"]["archived_at"]  # type: ignore[index]
    assert datetime.fromisoformat(moment).tzinfo is not None
    assert restored["before"] == {"archived_at": moment}
    assert restored["row"]["archived_at"] is None  # type: ignore[index]
    assert deleted["row"] is None
    assert deleted["before"]["outkey_id"] == 1  # type: ignore[index]
    copy, _ = copied(store, target)
    assert apply({}, changes) == copy
    assert [*copy] == ["b", "c"]


def test_rows_that_stay_the_same_are_no_changes(
    place: Place, store: TableStore
) -> None:
    target = place.target("orders")
    begin(store, target)
    for _ in range(2):
        store.upsert(target, ["id"], [row("a", "1.5"), row("b")], place.begin_run())
    assert len(list(changes_after(store, target, None))) == 2


def test_a_row_that_a_page_has_twice_has_changed_once(
    place: Place, store: TableStore
) -> None:
    target = place.target("orders")
    begin(store, target)
    run = place.begin_run()
    store.upsert(target, ["id"], [row("a"), row("a", "2")], run)
    store.upsert(target, ["id"], [row("a", "3"), row("a", "4")], run)
    first, second = changes_after(store, target, None)
    assert (first["change"], second["change"]) == ("added", "changed")
    assert Decimal(second["row"]["total"]) == 4  # type: ignore[index]
    assert Decimal(second["before"]["total"]) == 2  # type: ignore[index]


def test_values_are_those_that_rows_have(place: Place, store: TableStore) -> None:
    target = place.target("orders")
    kinds = {
        "id": FieldKind.NUMBER,
        "text": FieldKind.TEXT,
        "amount": FieldKind.DECIMAL,
        "day": FieldKind.DATE,
        "at": FieldKind.DATETIME,
        "active": FieldKind.BOOLEAN,
        "tags": FieldKind.JSON,
    }
    begin(store, target, shape(*kinds.items()))
    values: dict[str, object] = {
        "id": 2**60,
        "text": 'tab\t"quote"\\ \n ä 🙂',
        "amount": Decimal("12345678.125"),
        "day": date(2026, 3, 1),
        "at": datetime(2026, 3, 1, 9, 30, 0, 250_000, UTC),
        "active": True,
        "tags": {"a": [1, None, "x"]},
    }
    empty = {"id": 1} | dict.fromkeys([*kinds][1:])
    run = place.begin_run()
    store.upsert(target, ["id"], [values, empty], run)
    store.upsert(target, ["id"], [values | {"tags": [2]}, empty | {"day": None}], run)
    *_, last = changes_after(store, target, None)
    assert last["before"] == {"tags": {"a": [1, None, "x"]}}
    assert last["row"]["at"] == "2026-03-01T09:30:00.250000Z"  # type: ignore[index]
    copy, _ = copied(store, target)
    changes = changes_after(store, target, None)
    assert {str(key): row for key, row in apply({}, list(changes)).items()} == copy


def test_children_and_records_with_another_key_are_changes(
    place: Place, store: TableStore
) -> None:
    target = place.target("lines")
    wanted = shape(
        ("order_id", FieldKind.TEXT),
        ("id", FieldKind.NUMBER),
        keys=("order_id", "id"),
    )
    begin(store, target, wanted)
    run = place.begin_run()
    rows = [{"order_id": "a", "id": number} for number in (1, 2, 3)]
    store.upsert(target, ["order_id", "id"], rows, run)
    kept = {("a",): {(2,)}}
    assert store.delete_children(target, ["order_id"], ["id"], kept) == 2
    (record,) = store.rows(target, "", 9)
    assert store.assign(target, {record.id: {"id": 7}}, run) == {record.id}
    assert store.assign(target, {record.id: {}}, run) == {record.id}
    changes = list(changes_after(store, target, None))[3:]
    assert [(change["change"], change["key"]["id"]) for change in changes] == [  # type: ignore[index]
        ("deleted", 1),
        ("deleted", 3),
        ("deleted", 2),
        ("added", 7),
    ]


def test_an_assigned_value_is_a_change(place: Place, store: TableStore) -> None:
    target = place.target("orders")
    begin(store, target)
    run = place.begin_run()
    store.upsert(target, ["id"], [row("a")], run)
    store.assign(target, {"1": {"note": "n"}, "x": {"note": "n"}}, run)
    *_, last = changes_after(store, target, None)
    assert (last["change"], last["before"]) == ("changed", {"note": None})


def test_rows_from_before_the_feed_are_in_rows(place: Place, store: TableStore) -> None:
    target = place.target("orders")
    begin(store, target, feed=False)
    run = place.begin_run()
    store.upsert(target, ["id"], [row("a")], run)
    assert store.cursor(target) is None
    with pytest.raises(NoFeed):
        store.changes(target, None, 3)
    begin(store, target)
    copy, cursor = copied(store, target)
    assert [*copy] == ["a"]
    store.upsert(target, ["id"], [row("b")], run)
    changes = list(changes_after(store, target, cursor))
    assert apply(copy, changes) == copied(store, target)[0]


def test_every_line_of_the_table_records_while_one_wants_a_feed(
    place: Place, store: TableStore
) -> None:
    target = place.target("orders")
    begin(store, target)
    begin(store, target, line="others", feed=False)
    store.upsert(target, ["id"], [row("a")], place.begin_run("others"))
    first = store.cursor(target)
    assert first is not None
    assert first.number == 1
    begin(store, target)  # the next run continues it
    assert store.cursor(target) == first
    begin(store, target, feed=False)
    with pytest.raises(NoFeed):
        store.changes(target, first, 3)
    begin(store, target)
    with pytest.raises(CursorExpired):
        store.changes(target, first, 3)


def test_a_renamed_line_keeps_its_feed(place: Place, store: TableStore) -> None:
    target = place.target("orders")
    begin(store, target)
    store.upsert(target, ["id"], [row("a")], place.begin_run())
    store.rename_line(target, "orders", "sales")
    begin(store, target, line="sales", feed=False)
    assert store.cursor(target) is None


@pytest.mark.parametrize("event", ["dropped", "column", "widened"])
def test_a_table_that_became_another_begins_a_new_feed(
    place: Place, store: TableStore, event: str
) -> None:
    target = place.target("orders")
    begin(store, target)
    store.upsert(target, ["id"], [row("a")], place.begin_run())
    cursor = store.cursor(target)
    wanted = ORDERS
    match event:
        case "dropped":
            place.sql(f"DROP TABLE {place.table('orders')}")
        case "column":
            place.drop_column("orders", "note")
        case _:
            fields = [
                replace(field, kind=FieldKind.TEXT) if field.name == "total" else field
                for field in ORDERS.fields
            ]
            wanted = replace(ORDERS, fields=tuple(fields))
    begin(store, target, wanted)
    with pytest.raises(CursorExpired):
        store.changes(target, cursor, 3)
    assert store.cursor(target) != cursor


def test_a_feed_whose_tables_were_dropped_begins_again(
    place: Place, store: TableStore
) -> None:
    target = place.target("orders")
    begin(store, target)
    cursor = store.cursor(target)
    for table in ("outkey_feed", "outkey_change"):
        place.sql(f"DROP TABLE {table}")
    assert store.cursor(target) is None
    begin(store, target)
    with pytest.raises(CursorExpired):
        store.changes(target, cursor, 3)


def test_a_new_column_continues_the_feed(place: Place, store: TableStore) -> None:
    target = place.target("orders")
    begin(store, target)
    run = place.begin_run()
    store.upsert(target, ["id"], [row("a"), row("b")], run)
    copy, cursor = copied(store, target)
    place.add_column("orders", "extra")
    wider = shape(("id", FieldKind.TEXT), ("color", FieldKind.TEXT), archives=True)
    begin(store, target, wider, line="others")
    store.upsert(target, ["id"], [{"id": "a", "color": "red"}], run)
    (change,) = changes_after(store, target, cursor)
    assert change["row"]["color"] == "red"  # type: ignore[index]
    assert change["before"] == {"color": None}
    assert apply(copy, [change])["a"] == copied(store, target)[0]["a"]


def test_an_unknown_cursor_is_expired(place: Place, store: TableStore) -> None:
    target = place.target("orders")
    begin(store, target)
    store.upsert(target, ["id"], [row("a")], place.begin_run())
    cursor = store.cursor(target)
    assert cursor is not None
    assert store.changes(target, cursor, 3).changes == []
    for wrong in (cursor._replace(number=2), cursor._replace(feed="f")):
        with pytest.raises(CursorExpired):
            store.changes(target, wrong, 3)


def test_changes_are_pruned_in_parts_and_their_cursors_expire(
    place: Place, store: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_reader, "PRUNE_BATCH", 2)
    target = place.target("orders")
    begin(store, target)
    run = place.begin_run()
    store.upsert(target, ["id"], [row(str(number)) for number in range(5)], run)
    cursor = store.cursor(target)
    assert cursor is not None
    place.sql("UPDATE outkey_change SET at = 50 WHERE number <= 3")
    store.prune_changes(100.0)
    assert place.sql("SELECT number FROM outkey_change ORDER BY number") == [(4,), (5,)]
    assert len(store.changes(target, cursor._replace(number=3), 9).changes) == 2
    assert len(store.changes(target, None, 9).changes) == 2
    with pytest.raises(CursorExpired):
        store.changes(target, cursor._replace(number=2), 9)
    begin(store, target, feed=False)
    store.prune_changes(100.0)
    assert place.sql("SELECT number FROM outkey_change") == []


def test_changes_that_somebody_deleted_are_not_skipped(
    place: Place, store: TableStore
) -> None:
    target = place.target("orders")
    begin(store, target)
    store.upsert(target, ["id"], [row("a"), row("b"), row("c")], place.begin_run())
    place.sql("DELETE FROM outkey_change WHERE number = 2")
    page = store.changes(target, None, 9)
    assert [change.key["id"] for change in page.changes] == ["a"]
    assert page.more
    with pytest.raises(CursorExpired):
        store.changes(target, page.next, 9)


def test_a_table_without_changes_has_nothing_to_prune(
    place: Place, store: TableStore
) -> None:
    target = place.target("orders")
    begin(store, target, feed=False)
    store.prune_changes(100.0)
    with pytest.raises(NoFeed):
        store.changes(target, None, 9)


def test_what_is_rolled_back_is_not_recorded(place: Place, store: TableStore) -> None:
    target = place.target("orders")
    begin(store, target)
    run = place.begin_run()
    if place.is_own:
        from django.db import transaction

        undone = transaction.atomic()
    else:
        undone = store.transaction([target])
    with suppress(ZeroDivisionError), undone:
        store.upsert(target, ["id"], [row("a")], run)
        raise ZeroDivisionError
    store.upsert(target, ["id"], [row("b")], run)
    (change,) = changes_after(store, target, None)
    assert change["key"] == {"id": "b"}


def test_a_writer_that_began_without_the_feed_ends_before_it_begins(
    place: Place, store: TableStore
) -> None:
    """A reader would miss its rows: they are in no change, and not in `rows` yet."""
    if place.is_own:
        pytest.skip("its transactions are Django's; the statements are the same")
    target = place.target("orders")
    begin(store, target, feed=False)
    run = place.begin_run("others")
    cursors: list[Cursor | None] = []

    def start() -> None:
        other = place.store()
        begin(other, target)
        cursors.append(other.cursor(target))

    starter = Thread(target=start)
    with store.transaction([target]):
        store.upsert(target, ["id"], [row("a")], run)
        starter.start()
        starter.join(0.3)
        assert cursors == []
        store.upsert(target, ["id"], [row("b")], run)
    starter.join(30)
    (cursor,) = cursors
    store.upsert(target, ["id"], [row("c")], run)
    (change,) = changes_after(store, target, cursor)
    assert change["key"] == {"id": "c"}
