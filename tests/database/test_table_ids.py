"""The ID of a row is never used again: pushes and pairs remember records by it."""

import pytest

from database.table_places import Place, place, shape  # noqa: F401 - a fixture
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.shared_state import StateKind
from outkey.sync.adapters.tables.layouts.layout_records import LayoutRecords
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.mapping.records import FieldKind, WriteOutcome, Written

CREATED = Written(WriteOutcome.CREATED)
UPDATED = Written(WriteOutcome.UPDATED)
UNCHANGED = Written(WriteOutcome.UNCHANGED)
WANTED = shape(("code", FieldKind.TEXT), ("v", FieldKind.NUMBER), keys=("code",))


def write(place: Place, store: TableStore, *codes: str, v: int = 1) -> list[Written]:
    rows = [{"code": code, "v": v} for code in codes]
    return store.upsert(place.target("t"), ["code"], rows, place.begin_run())


def ids(place: Place, store: TableStore) -> dict[object, str]:
    rows = store.read(place.target("t"), "", 1000)
    return {row.values["code"]: row.id for row in rows}


def adopt(place: Place, columns: str = "") -> TableStore:
    text = "VARCHAR(20)"
    place.sql(f"CREATE TABLE t ({columns} code {text} NOT NULL, v INTEGER)")
    place.sql("INSERT INTO t (code, v) VALUES ('a', 1), ('b', 1)")
    place.adopt = ("t",)
    store = place.store()
    store.prepare(place.target("t"), WANTED)
    return store


# ── tables of others ─────────────────────────────────────────────────────────────────


def test_a_row_of_others_has_an_id_that_no_deleted_row_had(place: Place) -> None:
    if place.is_own:
        return  # nothing is adopted there
    store = adopt(place)
    before = ids(place, store)
    assert {*before} == {"a", "b"}
    last = max(before, key=lambda code: int(before[code]))
    place.sql(f"DELETE FROM t WHERE code = '{last}'")
    place.sql("INSERT INTO t (code, v) VALUES ('by hand', 1)")
    assert write(place, store, "c") == [CREATED]
    after = ids(place, place.store())
    assert len({*after.values()}) == 3
    assert not {after["by hand"], after["c"]} & {*before.values()}
    place.sql("DELETE FROM t")
    write(place, store, "d")
    assert ids(place, store)["d"] not in {*before.values(), *after.values()}


def test_a_table_of_others_can_be_pushed_from(place: Place) -> None:
    if place.is_own:
        return  # nothing is adopted there
    store = adopt(place)
    target = place.target("t")
    place.sql("INSERT INTO t (code, v) VALUES ('by hand', 5)")
    known = ids(place, place.store())
    assert store.present(target, [*known.values(), "99"]) == {*known.values()}
    assert store.find(target, "code", ["by hand"]) == {"by hand": int(known["by hand"])}
    (record,) = store.by_id(target, [known["by hand"]]).values()
    assert record.values["v"] == 5
    assigned = {known["by hand"]: {"code": "named"}}
    assert store.assign(target, assigned, place.begin_run()) == {*assigned}
    assert write(place, store, "named", "a", v=5) == [UNCHANGED, UPDATED]
    assert ids(place, store)["named"] == known["by hand"]
    first, *_ = sorted(map(int, known.values()))
    assert len(store.rows(target, str(first), 9)) == 2


def test_a_table_that_was_known_by_rowids_keeps_its_ids(place: Place) -> None:
    if place.is_own or place.vendor != "sqlite":
        return  # only SQLite has them
    place.sql("CREATE TABLE t (code TEXT NOT NULL, v INTEGER)")
    place.sql("INSERT INTO t VALUES ('a', 1), ('b', 1), ('c', 1)")
    place.sql("DELETE FROM t WHERE code = 'a'")
    for name in ("outkey_line", "outkey_run"):
        place.sql(f"ALTER TABLE t ADD COLUMN {name} TEXT")
    columns = {"code": {"kind": "text"}, "v": {"kind": "number"}}
    facts = {"columns": columns, "keys": ["code"], "archives": False, "has_id": False}
    place.states.swap(StateKind.TABLE, place.target("t"), 0, facts)
    place.adopt = ("t",)
    assert ids(place, place.store()) == {"b": "2", "c": "3"}
    place.store().prepare(place.target("t"), WANTED)
    assert ids(place, place.store()) == {"b": "2", "c": "3"}
    place.sql("DELETE FROM t WHERE code = 'c'")
    write(place, place.store(), "d")
    assert ids(place, place.store()) == {"b": "2", "d": "4"}


def test_a_table_of_others_that_numbers_its_rows_is_adopted(place: Place) -> None:
    if place.is_own:
        return  # nothing is adopted there
    numbered = {
        "sqlite": "id INTEGER PRIMARY KEY AUTOINCREMENT,",
        "postgresql": "id SERIAL PRIMARY KEY,",
        "mysql": "id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,",
    }[place.vendor]
    store = adopt(place, numbered)
    known = ids(place, store)
    assert write(place, store, "a", "b", "c", v=2) == [UPDATED, UPDATED, CREATED]
    assert write(place, store, "a", "b", "c", v=2) == [UNCHANGED] * 3
    after = ids(place, place.store())
    assert {code: after[code] for code in known} == known
    assert len({*after.values()}) == 3
    if place.vendor == "mysql":
        assert sorted(place.sql("SELECT id FROM t")) == [
            (int(number),) for number in sorted(after.values())
        ]


def test_the_number_of_a_table_of_others_may_be_a_key(place: Place) -> None:
    if place.vendor != "mysql":
        return  # the others have an ID beside it
    place.sql(
        "CREATE TABLE t (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, v INTEGER)"
    )
    place.adopt = ("t",)
    store = place.store()
    target = place.target("t")
    store.prepare(target, shape(("id", FieldKind.NUMBER), ("v", FieldKind.NUMBER)))
    rows = [{"id": number, "v": 1} for number in (7, 8)]
    assert store.upsert(target, ["id"], rows, place.begin_run()) == [CREATED] * 2
    rows = [{"id": number, "v": 2} for number in (7, 8)]
    assert store.upsert(target, ["id"], rows, place.begin_run()) == [UPDATED] * 2
    found = [(row.id, row.values["v"]) for row in store.read(target, "", 9)]
    assert found == [("7", 2), ("8", 2)]


def test_the_number_of_a_table_of_others_may_be_written(place: Place) -> None:
    if place.vendor != "mysql":
        return  # the others have an ID beside it
    store = adopt(place, "id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,")
    target = place.target("t")
    store.prepare(
        target,
        shape(("code", FieldKind.TEXT), ("id", FieldKind.NUMBER), keys=("code",)),
    )
    rows = [{"code": "a", "id": 70}]
    assert store.upsert(target, ["code"], rows, place.begin_run()) == [UPDATED]
    assert ids(place, store) == {"a": "70", "b": "2"}


# ── tables that are made again ───────────────────────────────────────────────────────


def test_a_table_that_is_made_again_uses_no_id_again(place: Place) -> None:
    store = place.store()
    used: set[str] = set()
    for _ in range(3):
        store.prepare(place.target("t"), WANTED)
        write(place, store, "a", "b")
        now = {*ids(place, store).values()}
        assert not now & used
        used |= now
        # What was lost with its table is not deleted by a user, other rows may be.
        assert store.present(place.target("t"), sorted(used)) == used
        assert store.by_id(place.target("t"), sorted(used)).keys() == now
        place.sql(f"DELETE FROM {place.table('t')} WHERE code = 'a'")
        assert len(store.present(place.target("t"), sorted(used))) == len(used) - 1
        used -= now
        used |= {*ids(place, store).values()}
        place.sql(f"DROP TABLE {place.table('t')}")


def test_a_table_of_others_that_is_made_again_uses_no_id_again(place: Place) -> None:
    if place.is_own:
        return  # nothing is adopted there
    for numbered in ("", "id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,"):
        if numbered and place.vendor != "mysql":
            continue
        place.forget_tables()
        store = adopt(place, numbered)
        store.complete(place.target("t"), place.begin_run())
        known = {*ids(place, store).values()}
        place.sql("DROP TABLE t")
        store = adopt(place, numbered)
        write(place, store, "c")
        now = ids(place, store)
        assert now["c"] not in known
        if not numbered:
            assert not {*now.values()} & known
        assert store.prepare(place.target("t"), WANTED).is_partial_for("orders")
        place.sql("DROP TABLE t")


def test_a_table_that_was_truncated_uses_no_id_again(place: Place) -> None:
    if place.vendor == "sqlite":
        return  # it has no such statement
    store = place.store()
    target = place.target("t")
    store.prepare(target, WANTED)
    write(place, store, "a", "b")
    store.complete(target, place.begin_run())
    known = {*ids(place, store).values()}
    place.sql(f"TRUNCATE TABLE {place.table('t')}")
    prepared = place.store().prepare(target, WANTED)
    write(place, place.store(), "a")
    assert not {*ids(place, store).values()} & known
    assert prepared.is_partial_for("orders") or place.vendor != "mysql"
    assert not place.store().prepare(target, WANTED).changes


def test_a_lost_id_column_is_made_again_with_other_ids(place: Place) -> None:
    if place.vendor == "sqlite":
        return  # it cannot drop a primary key
    store = place.store()
    target = place.target("t")
    store.prepare(target, WANTED)
    write(place, store, "a", "b")
    known = {*ids(place, store).values()}
    place.drop_column("t", "outkey_id")
    place.store().prepare(target, WANTED)
    assert not {*ids(place, place.store()).values()} & known


@pytest.mark.parametrize("statement", ["DROP TABLE {}", "ALTER TABLE {} DROP COLUMN v"])
def test_each_line_that_fills_a_dropped_table_reads_everything_again(
    place: Place, statement: str
) -> None:
    store = place.store()
    target = place.target("t")
    store.prepare(target, WANTED)
    place.sql(statement.format(place.table("t")))
    assert store.prepare(target, WANTED).is_partial_for("first")
    store.complete(target, place.begin_run("first"))
    prepared = place.store().prepare(target, WANTED)
    assert not prepared.is_partial_for("first")
    assert prepared.is_partial_for("second")
    store.complete(target, place.begin_run("second"))
    prepared = place.store().prepare(target, WANTED)
    assert not prepared.is_partial_for("second")
    place.sql(statement.format(place.table("t")))
    assert store.prepare(target, WANTED).is_partial_for("first")


def test_a_process_that_dies_while_it_makes_a_table_again_leaves_word(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place.is_own:
        return  # both are in one transaction
    store = place.store()
    target = place.target("t")
    store.prepare(target, WANTED)
    place.sql("DROP TABLE t")

    def die(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(LayoutRecords, "store", die)
        with pytest.raises(KeyboardInterrupt):
            store.prepare(target, WANTED)
    assert place.store().prepare(target, WANTED).is_partial_for("orders")


def test_a_table_without_a_rowid_is_refused(place: Place) -> None:
    if place.is_own or place.vendor != "sqlite":
        return  # only SQLite has one
    place.sql(
        "CREATE TABLE t (code TEXT PRIMARY KEY, v INTEGER, outkey_id INTEGER)"
        " WITHOUT ROWID"
    )
    place.adopt = ("t",)
    with pytest.raises(ConfigError, match="rowid"):
        place.store().prepare(place.target("t"), WANTED)
