"""Tables of sync lines, on every database that they can be in."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from database.table_places import Place, place, shape  # noqa: F401 - a fixture
from outkey.foundation.core.errors import ConfigError
from outkey.sync.adapters.tables.open_table import OpenTable
from outkey.sync.adapters.tables.rows import row_writer
from outkey.sync.adapters.tables.rows.stored_rows import find_stored
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.filters import read_wanted
from outkey.sync.core.mapping.records import FieldKind, HostField, WriteOutcome, Written
from outkey.sync.engine.pull.record_mapper import effect_of
from outkey.sync.ports.sync import Records
from outkey.testing.contracts_records import RecordsContract

CREATED = Written(WriteOutcome.CREATED)
UPDATED = Written(WriteOutcome.UPDATED)
UNCHANGED = Written(WriteOutcome.UNCHANGED)
VALUES: dict[FieldKind, list[object]] = {
    FieldKind.TEXT: ["", "a", "A", "a ", " ü€😀", "1", "it's; DROP TABLE x--", "%s{}"],
    FieldKind.NUMBER: [0, -1, 2**63 - 1, -(2**63)],
    FieldKind.DECIMAL: [
        Decimal(text)
        for text in ("0", "1.50", "-0.1", "0.30000000000000004", "1E+5", "123456789012")
    ],
    FieldKind.DATE: [date(1970, 1, 1), date(2027, 12, 31), date(1001, 2, 3)],
    FieldKind.DATETIME: [
        datetime(2027, 3, 4, 5, 6, 7, 123456, tzinfo=UTC),
        datetime(1999, 12, 31, tzinfo=UTC),
    ],
    FieldKind.BOOLEAN: [True, False],
    FieldKind.JSON: [{"a": [1, Decimal("2.5"), None, "x"]}, [], "text", 5, True, {}],
    FieldKind.LINK: [1, 2**40],
}


class TestTablesAsRecords(RecordsContract):
    """What models promise, tables promise too."""

    @pytest.fixture(autouse=True)
    def _at(self, place: Place) -> None:
        self.place = place
        type(self).target = place.target("contact")
        type(self).unknown = place.target("nobody")
        longest = 255 if place.vendor == "mysql" else None
        text = FieldKind.TEXT
        type(self).fields = (
            HostField(
                "external_id", "external_id", text, required=True, longest=longest
            ),
            HostField("name", "name", text),
            HostField("credit", "credit", FieldKind.DECIMAL),
        )

    def make(self) -> Records:
        store = self.place.store()
        wanted = [(field.name, field.kind) for field in self.fields]
        store.prepare(self.target, shape(*wanted, keys=("external_id",), archives=True))
        return store

    def begin_run(self, line: str) -> str:
        return self.place.begin_run(line)


def write(place: Place, store: TableStore, *rows: dict[str, object]) -> list[Written]:
    return store.upsert(place.target("t"), ["id"], rows, place.begin_run())


def stored(place: Place, store: TableStore) -> list[dict[str, object]]:
    return [dict(row.values) for row in store.read(place.target("t"), "", 1000)]


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_every_kind_come_back_as_they_were(
    place: Place,
    kind: FieldKind,
) -> None:
    store = place.store()
    store.prepare(place.target("t"), shape(("id", FieldKind.NUMBER), ("v", kind)))
    rows = [{"id": n, "v": value} for n, value in enumerate((*VALUES[kind], None), 1)]
    assert write(place, store, *rows) == [CREATED] * len(rows)
    found = [row["v"] for row in stored(place, store)]
    assert found == [row["v"] for row in rows]
    assert [*map(type, found)] == [type(row["v"]) for row in rows]
    assert write(place, store, *rows) == [UNCHANGED] * len(rows)
    cleared = [{"id": row["id"], "v": None} for row in rows]
    expected = [UPDATED if row["v"] is not None else UNCHANGED for row in rows]
    assert write(place, store, *cleared) == expected


@pytest.mark.parametrize(
    "kind", [kind for kind in VALUES if kind is not FieldKind.JSON]
)
def test_values_of_every_kind_identify_a_record(place: Place, kind: FieldKind) -> None:
    store = place.store()
    store.prepare(place.target("t"), shape(("id", kind), ("v", FieldKind.NUMBER)))
    values = [value for value in VALUES[kind] if value != ""]
    rows = [{"id": value, "v": number} for number, value in enumerate(values)]
    assert write(place, store, *rows) == [CREATED] * len(rows)
    assert write(place, store, *rows) == [UNCHANGED] * len(rows)
    changed = [{**row, "v": -1} for row in rows]
    assert write(place, store, *changed) == [UPDATED] * len(rows)
    ids = store.find(place.target("t"), "id", values)
    assert len({*ids.values()}) == len(values)


def test_what_does_not_fit_is_rejected_alone(place: Place) -> None:
    store = place.store()
    columns = [
        ("id", FieldKind.TEXT),
        ("n", FieldKind.NUMBER),
        ("d", FieldKind.DECIMAL),
        ("t", FieldKind.TEXT),
        ("j", FieldKind.JSON),
    ]
    store.prepare(place.target("t"), shape(*columns))
    unfit: list[tuple[str, object, str]] = [
        ("n", 2**63, "out_of_range"),
        ("n", True, "wrong_type"),
        ("n", "5", "wrong_type"),
        ("d", Decimal("NaN"), "no_number"),
        ("t", "nul\0", "unstorable_character"),
        ("t", "\ud800", "unstorable_character"),
        ("t", 5, "wrong_type"),
        ("j", {"a": "\0"}, "unstorable_character"),
        ("id", "nul\0", "unstorable_character"),
    ]
    if place.vendor != "postgresql":
        unfit.append(
            ("d", Decimal("0.1234567890123456789012345678901"), "out_of_range")
        )
        unfit.append(
            (
                "d",
                Decimal("12345678901234567890.123456789012345678901234567890123"),
                "out_of_range",
            )
        )
    if place.vendor == "mysql":
        unfit.append(("id", "x" * 256, "too_long"))
    rows: list[dict[str, object]] = []
    for number, (name, value, _) in enumerate(unfit):
        rows += [{"id": f"bad {number}", name: value}, {"id": f"good {number}"}]
    results = write(place, store, *rows)
    assert [(w.field, w.reason) for w in results[::2]] == [
        (name, reason) for name, _, reason in unfit
    ]
    assert results[1::2] == [CREATED] * len(unfit)
    assert len(stored(place, store)) == len(unfit)


def test_names_and_values_are_never_taken_for_sql(place: Place) -> None:
    names = ["select", "Order", "GROUP", "user", "rowid", "_", "x" * 63, "percent"]
    target = place.target("table")
    store = place.store()
    columns = [("id", FieldKind.TEXT), *((name, FieldKind.TEXT) for name in names)]
    store.prepare(target, shape(*columns))
    nasty = "'\"`;-- %s %(x)s :x ? {} \\ \n\r\t /* */"
    row: dict[str, object] = {"id": nasty, **dict.fromkeys(names, nasty)}
    run = place.begin_run("o'; DROP TABLE x; --")
    assert store.upsert(target, ["id"], [row], run) == [CREATED]
    assert store.upsert(target, ["id"], [row], run) == [UNCHANGED]
    assert [dict(found.values) for found in store.read(target, "", 10)] == [row]
    assert len(store.find(target, "select", [nasty, "x"])) == 1
    assert [f.id for f in store.rows(target, "", 9, {"GROUP": "%(x)s :X"})] == ["1"]
    assert store.rows(target, "", 9, {"GROUP": "_____________________________"}) == []
    for name in ('a"b', "a b", "a;b", "é", "1a", "", "outkey_id", "archived_at"):
        with pytest.raises(ConfigError):
            store.find(target, name, ["x"])


@pytest.mark.parametrize(
    ("name", "kind", "value", "wanted", "unwanted"),
    [
        ("d", FieldKind.DECIMAL, Decimal("10.5"), "10.50", "0.5"),
        ("d", FieldKind.DECIMAL, Decimal(7), "7.000", "7.0000000000000000000001"),
        ("n", FieldKind.NUMBER, 12, "12.0", "1"),
        ("n", FieldKind.NUMBER, 12, "12", "1E+99"),
        ("b", FieldKind.BOOLEAN, True, "TRUE", "false"),
        ("t", FieldKind.TEXT, "10.5", "0.5", "10.50"),
        (
            "at",
            FieldKind.DATETIME,
            datetime(2026, 2, 1, 23, 30, tzinfo=UTC),
            "2026-02-02 00:30",
            "2026-02-01",
        ),
    ],
)
def test_rows_are_found_by_what_a_value_is_not_by_how_it_is_written(
    place: Place,
    name: str,
    kind: FieldKind,
    value: object,
    wanted: str,
    unwanted: str,
) -> None:
    target = place.target("t")
    store = place.store()
    store.prepare(target, shape(("id", FieldKind.NUMBER), (name, kind)))
    write(place, store, {"id": 1}, {"id": 2, name: value}, {"id": 3, name: value})
    zone = ZoneInfo("Europe/Berlin")
    condition = {name: read_wanted(kind, wanted, zone)}
    found = store.rows(target, "", 9, condition)
    assert [row.values["id"] for row in found] == [2, 3]
    assert store.count(target, "", condition) == 2
    assert store.count(target, found[0].id, condition) == 1
    assert store.count(target, found[0].id) == 1
    assert store.rows(target, "", 9, {name: read_wanted(kind, unwanted, zone)}) == []


def test_a_table_may_have_two_hundred_columns(place: Place) -> None:
    columns = [("id", FieldKind.NUMBER)]
    columns += [(f"c{number}", FieldKind.TEXT) for number in range(200)]
    store = place.store()
    store.prepare(place.target("t"), shape(*columns))
    row: dict[str, object] = {"id": 1, **{f"c{n}": "x" * 500 for n in range(200)}}
    assert write(place, store, row) == [CREATED]
    assert write(place, store, {**row, "c7": "y"}) == [UPDATED]
    assert stored(place, store) == [{**row, "c7": "y"}]


def test_columns_are_added_and_widened_but_never_narrowed(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    label = target.partition(":")[2]
    first = store.prepare(
        target,
        shape(
            ("id", FieldKind.NUMBER), ("n", FieldKind.NUMBER), ("b", FieldKind.BOOLEAN)
        ),
    )
    assert first.changes == (f"table {label}: created: id number, n number, b boolean",)
    write(place, store, {"id": 1, "n": 7, "b": True}, {"id": 2, "n": None, "b": False})
    wider = shape(
        ("id", FieldKind.TEXT),
        ("n", FieldKind.DECIMAL),
        ("b", FieldKind.TEXT),
        ("new", FieldKind.DATE),
    )
    would = store.prepare(target, wider, dry_run=True)
    done = store.prepare(target, wider)
    assert len(would.changes) == len(done.changes) == 4
    assert all("would be" in change for change in would.changes)
    assert store.prepare(target, wider).changes == ()
    rows: list[dict[str, object]] = [
        {"id": "1", "n": Decimal(7), "b": "true", "new": None},
        {"id": "2", "n": None, "b": "false", "new": None},
    ]
    assert sorted(stored(place, store), key=lambda row: str(row["id"])) == rows
    assert write(place, store, *rows) == [UNCHANGED, UNCHANGED]
    assert write(place, store, {**rows[0], "n": Decimal("7.5")}) == [UPDATED]
    store.prepare(target, shape(("id", FieldKind.TEXT), ("n", FieldKind.TEXT)))
    assert stored(place, store)[0]["n"] in {"7.5", None}
    for kind in (FieldKind.NUMBER, FieldKind.DATE, FieldKind.BOOLEAN, FieldKind.JSON):
        with pytest.raises(ConfigError, match="the line brings"):
            store.prepare(target, shape(("id", FieldKind.TEXT), ("b", kind)))


def test_columns_that_others_dropped_are_made_again(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    wanted = shape(("id", FieldKind.NUMBER), ("n", FieldKind.NUMBER))
    store.prepare(target, wanted)
    write(place, store, {"id": 1, "n": 7})
    table = place.table("t")
    place.sql(f"ALTER TABLE {table} DROP COLUMN n")
    (change,) = place.store().prepare(target, wanted).changes
    assert "column added: n number" in change
    assert write(place, place.store(), {"id": 1, "n": 7}) == [UPDATED]
    place.sql(f"DROP TABLE {table}")
    (change,) = place.store().prepare(target, wanted).changes
    assert "created" in change
    assert write(place, place.store(), {"id": 1, "n": 7}) == [CREATED]


def test_keys_are_made_unique_again_unless_records_repeat_them(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    table = place.table("t")
    wanted = shape(("id", FieldKind.NUMBER), ("n", FieldKind.NUMBER))
    store.prepare(target, wanted)
    write(place, store, {"id": 1, "n": 7})
    index = "outkey_keys_" + store_index(table)
    on_table = f" ON {table}" if place.vendor == "mysql" else ""
    place.sql(f"DROP INDEX {index}{on_table}")
    (change,) = store.prepare(target, wanted).changes
    assert "keys made unique" in change
    place.sql(f"DROP INDEX {index}{on_table}")
    place.sql(f"INSERT INTO {table} (id, n) VALUES (1, 8)")
    with pytest.raises(ConfigError, match="have the same keys"):
        place.store().prepare(target, wanted)


def store_index(table: str) -> str:
    from hashlib import sha256

    return sha256(f".{table}".encode()).hexdigest()[:16]


def test_a_table_of_others_is_refused_unless_it_is_adopted(place: Place) -> None:
    table = place.table("t")
    place.sql(f"CREATE TABLE {table} (id INTEGER NOT NULL, n INTEGER)")
    place.sql(f"INSERT INTO {table} VALUES (1, 7)")
    wanted = shape(("id", FieldKind.NUMBER), ("n", FieldKind.NUMBER))
    for dry_run in (True, False):
        with pytest.raises(ConfigError, match="did not create the table"):
            place.store().prepare(place.target("t"), wanted, dry_run=dry_run)
    assert place.sql(f"SELECT * FROM {table}") == [(1, 7)]
    if place.is_own:
        return
    place.adopt = ("t",)
    store = place.store()
    store.prepare(place.target("t"), wanted)
    assert write(place, store, {"id": 1, "n": 8}, {"id": 2, "n": 9}) == [
        UPDATED,
        CREATED,
    ]
    assert place.sql(f"SELECT id, n FROM {table} ORDER BY id") == [(1, 8), (2, 9)]
    with pytest.raises(ConfigError):  # it is widened for nobody
        store.prepare(
            place.target("t"), shape(("id", FieldKind.NUMBER), ("n", FieldKind.TEXT))
        )


def test_a_line_with_other_keys_is_refused(place: Place) -> None:
    store = place.store()
    columns = ("id", FieldKind.NUMBER), ("n", FieldKind.NUMBER)
    store.prepare(place.target("t"), shape(*columns))
    with pytest.raises(ConfigError, match="the keys id"):
        store.prepare(place.target("t"), shape(*columns, keys=("id", "n")))


def test_several_keys_identify_a_record_together(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    keys = ("year", "code")
    store.prepare(
        target,
        shape(
            ("year", FieldKind.NUMBER),
            ("code", FieldKind.TEXT),
            ("v", FieldKind.TEXT),
            keys=keys,
        ),
    )
    rows = [
        {"year": year, "code": code, "v": ""}
        for year in (1, 2)
        for code in ("a", "A", "a ")
    ]
    run = place.begin_run()
    assert store.upsert(target, keys, rows, run) == [CREATED] * 6
    rows[3]["v"] = "x"
    again = store.upsert(target, keys, rows, run)
    assert again == [UNCHANGED] * 3 + [UPDATED] + [UNCHANGED] * 2
    kept = {(1,): [("a",)], (3,): []}
    assert store.delete_children(target, ["year"], ["code"], kept) == 2
    assert len(store.read(target, "", 10)) == 4


def test_a_record_that_comes_back_is_no_longer_archived(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    store.prepare(target, shape(("id", FieldKind.NUMBER), archives=True))
    rows = [{"id": number} for number in range(3)]
    store.upsert(target, ["id"], rows, place.begin_run())
    run = place.begin_run()
    store.upsert(target, ["id"], rows[:2], run)
    assert store.retire(target, "orders", run, Gone.ARCHIVE) == 1
    assert [row.values["id"] for row in store.read(target, "", 9)] == [0, 1]
    archived = [row.values["archived_at"] for row in store.rows(target, "", 9)]
    assert [at is None for at in archived] == [True, True, False]
    run = place.begin_run()
    assert store.upsert(target, ["id"], rows, run) == [UNCHANGED, UNCHANGED, UPDATED]
    assert store.count(target) == len(store.read(target, "", 9)) == 3


def test_the_last_line_that_brings_a_record_owns_it(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    store.prepare(target, shape(("id", FieldKind.NUMBER), archives=True))
    store.upsert(target, ["id"], [{"id": 1}], place.begin_run("first"))
    other = place.store()
    other.prepare(target, shape(("id", FieldKind.NUMBER)))  # it archives nothing
    second = place.begin_run("second")
    assert other.upsert(target, ["id"], [{"id": 1}], second) == [UNCHANGED]
    assert store.retire(target, "first", place.begin_run("first"), Gone.ARCHIVE) == 0


def test_many_rows_are_written_in_groups(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    store.prepare(target, shape(("id", FieldKind.NUMBER), ("t", FieldKind.TEXT)))
    rows: list[dict[str, object]] = [{"id": n, "t": f"text {n}"} for n in range(3500)]
    assert {*map(str, write(place, store, *rows))} == {str(CREATED)}
    for row in rows[::2]:
        row["t"] = "changed"
    outcomes = [written.outcome for written in write(place, store, *rows)]
    assert outcomes.count(WriteOutcome.UPDATED) == 1750
    assert outcomes.count(WriteOutcome.UNCHANGED) == 1750


@pytest.mark.parametrize("place", ["own sqlite", "sqlite", "mariadb"], indirect=True)
def test_after_a_page_of_new_rows_the_next_is_compared_only_if_a_key_is_taken(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def find(table: OpenTable, keys: Sequence[str], *rest: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
        compared.append(keys)
        return find_stored(table, keys, *rest, **options)

    monkeypatch.setattr(row_writer, "find_stored", find)
    store = place.store()
    target = place.target("t")
    store.prepare(target, shape(("id", FieldKind.NUMBER), ("t", FieldKind.TEXT)))
    run = place.begin_run()
    seen = []
    for numbers, text in (((1, 2), "a"), ((3, 4), "a"), ((4, 5), "b"), ((6, 7), "b")):
        rows = [{"id": number, "t": text} for number in numbers]
        seen.append((store.upsert(target, ["id"], rows, run), len(compared)))
    assert seen == [
        ([CREATED] * 2, 1),
        ([CREATED] * 2, 1),
        ([UPDATED, CREATED], 2),
        ([CREATED] * 2, 3),
    ]
    assert [row["t"] for row in stored(place, store)] == [*"aaabbbb"]


def test_values_are_written_into_rows_by_their_ids(place: Place) -> None:
    target = place.target("t")
    store = place.store()
    columns = ("id", FieldKind.NUMBER), ("v", FieldKind.TEXT)
    store.prepare(target, shape(*columns, archives=True))
    write(place, store, *({"id": n, "v": f"v{n}"} for n in (1, 2, 3, 4)))
    first, second, third, fourth = (row.id for row in store.read(target, "", 9))
    run = place.begin_run()
    values: dict[str, dict[str, object]] = {
        first: {"id": 10},
        second: {"id": 3},  # another row has it
        third: {"id": "x"},
        fourth: {},
        "999": {"id": 9},
        "no id": {},
    }
    assert store.assign(target, values, run) == {first, fourth}
    found = store.by_id(target, [first, second, third, "999", "no id"])
    assert {*found} == {first, second, third}
    assert dict(found[first].values) == {"id": 10, "v": "v1"}
    assert store.by_id(target, []) == {}
    missing = store.missing(target, "orders", run, "", 9)
    assert [row.id for row in missing] == [second, third], "what was assigned is seen"
    store.retire(target, "orders", run, Gone.ARCHIVE)
    assert {*store.by_id(target, [second])} == {second}, "archived rows are found"


def test_a_dry_run_tells_the_stored_values_of_the_mapped_columns(place: Place) -> None:
    store = place.store()
    columns = [("id", FieldKind.NUMBER), ("v", FieldKind.TEXT), ("d", FieldKind.DATE)]
    store.prepare(place.target("t"), shape(*columns))
    day = date(2026, 11, 17)
    write(place, store, {"id": 1, "v": "old", "d": day}, {"id": 2, "v": "b"})
    rows = [{"id": 1, "v": "new"}, {"id": 2, "v": "b"}, {"id": 3, "v": "c"}]
    written = store.upsert(place.target("t"), ["id"], rows, "", dry_run=True)
    effects = [
        effect_of(str(row["id"]), row, result)
        for row, result in zip(rows, written, strict=True)
    ]
    before = [effect.before for effect in effects]
    assert before == [{"id": 1, "v": "old"}, {"id": 2, "v": "b"}, {}]
