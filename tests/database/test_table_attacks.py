"""Tables with names that mean something to SQL, and tables that others have changed."""

import pytest

from database.table_places import Place, place, shape  # noqa: F401 - a fixture
from database.test_tables import CREATED, UNCHANGED, UPDATED, stored, write
from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import FieldKind, Unseen

NUMBER = FieldKind.NUMBER
TEXT = FieldKind.TEXT
# Names that the statements themselves have, and words of every dialect.
NAMES = (
    *("record", "wanted", "line", "run", "id_", "rowid", "oid", "_rowid_"),
    *("new_table", "excluded", "inserted", "values", "table", "index", "key"),
    *("user", "group", "order", "limit", "offset", "null", "true", "param_1"),
    *("outkey_line_1", "archived_at_1", "wanted_1", "count", "self", "update"),
)


def test_no_name_of_a_column_means_anything_else(place: Place) -> None:
    store = place.store()
    target = place.target("record")
    store.prepare(target, shape(("id", NUMBER), *((name, TEXT) for name in NAMES)))
    rows = [
        {"id": number, **{name: f"{name} {number}" for name in NAMES}}
        for number in range(3)
    ]
    run = place.begin_run()
    assert store.upsert(target, ["id"], rows, run) == [CREATED] * 3
    changed = [
        {"id": row["id"], **{name: f"{row[name]}!" for name in NAMES}} for row in rows
    ]
    assert store.upsert(target, ["id"], changed, run) == [UPDATED] * 3
    assert [dict(row.values) for row in store.read(target, "", 9)] == changed
    # A number that is the id of another row.
    store.prepare(target, shape(("id", NUMBER), ("record", TEXT)))
    assert store.upsert(target, ["id"], [{"id": 0, "record": "3"}], run) == [UPDATED]
    found = [row.values["record"] for row in store.read(target, "", 9)]
    assert found == ["3", "record 1!", "record 2!"]
    for name in NAMES:
        assert len(store.find(target, name, [f"{name} 1!"])) == 1
        assert len(store.rows(target, "", 9, {name: f"{name.upper()} 1!"})) == 1


def test_a_key_may_have_any_name(place: Place) -> None:
    store = place.store()
    run = place.begin_run()
    for number, name in enumerate((*NAMES, "select", "x" * 63)):
        target = place.target(f"t{number}")
        store.prepare(target, shape((name, NUMBER), ("v", TEXT), keys=(name,)))
        rows = [{name: value, "v": "a"} for value in range(3)]
        assert store.upsert(target, [name], rows, run) == [CREATED] * 3
        rows[1]["v"] = "b"
        expected = [UNCHANGED, UPDATED, UNCHANGED]
        assert store.upsert(target, [name], rows, run) == expected
        assert [dict(row.values) for row in store.read(target, "", 9)] == rows


ODD_NAMES = (
    "a b",
    'a"b',
    "a`b",
    "100%",
    "%s",
    "%(x)s",
    ":x",
    "é",
    "=1+1",
    "<b>",
    "a.b",
)


def test_columns_that_others_added_may_have_odd_names(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    wanted = shape(("id", NUMBER), ("v", TEXT))
    store.prepare(target, wanted)
    write(place, store, {"id": 1, "v": "a"})
    names = [name for name in ODD_NAMES if name != "a`b" or place.vendor != "mysql"]
    for name in names:
        place.add_column("t", name)
    other = place.store()
    assert other.prepare(target, wanted).changes == ()
    rows: list[dict[str, object]] = [{"id": 1, "v": "b"}, {"id": 2, "v": "c"}]
    assert write(place, other, *rows) == [UPDATED, CREATED]
    expected = [{**row, **dict.fromkeys(names)} for row in rows]
    assert stored(place, other) == expected
    for name in names:
        assert other.rows(target, "", 9, {name: "x"}) == []
    for name in names:
        place.drop_column("t", name)
    # What others added and dropped is none of outkey's business.
    again = place.store()
    again.prepare(target, wanted)
    assert write(place, again, *rows) == [UNCHANGED, UNCHANGED]


def test_a_column_that_others_renamed_is_made_again(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    wanted = shape(("id", NUMBER), ("v", TEXT))
    store.prepare(target, wanted)
    row: dict[str, object] = {"id": 1, "v": "a"}
    write(place, store, row)
    place.sql(f"ALTER TABLE {place.table('t')} RENAME COLUMN v TO w")
    with pytest.raises(OutkeyError):
        write(place, store, row)
    assert place.sql(f"SELECT id, w FROM {place.table('t')}") == [(1, "a")]
    (change,) = store.prepare(target, wanted).changes
    assert "column added: v text" in change
    assert write(place, store, row) == [UPDATED]
    assert stored(place, store) == [{"id": 1, "v": "a", "w": "a"}]


def test_a_column_whose_name_others_wrote_in_another_case(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    wanted = shape(("id", NUMBER), ("v", TEXT))
    store.prepare(target, wanted)
    write(place, store, {"id": 1, "v": "a"})
    place.sql(f"ALTER TABLE {place.table('t')} RENAME COLUMN v TO {place.quote('V')}")
    if place.vendor == "postgresql":  # there these are two columns
        store.prepare(target, wanted)
        assert write(place, store, {"id": 1, "v": "a"}) == [UPDATED]
        return
    for of_line in (wanted, shape(("id", NUMBER), ("other", TEXT))):
        with pytest.raises(ConfigError, match="upper and lower case"):
            store.prepare(target, of_line)


def test_a_table_without_its_key_is_refused_until_somebody_repairs_it(
    place: Place,
) -> None:
    store = place.store()
    target = place.target("t")
    wanted = shape(("id", NUMBER), ("v", TEXT))
    store.prepare(target, wanted)
    write(place, store, {"id": 1, "v": "a"})
    place.drop_keys("t")
    place.drop_column("t", "id")
    for dry_run in (True, False):
        with pytest.raises(ConfigError, match="has lost its key id"):
            place.store().prepare(target, wanted, dry_run=dry_run)
    assert place.sql(f"SELECT v FROM {place.table('t')}") == [("a",)]
    place.sql(f"DROP TABLE {place.table('t')}")
    place.store().prepare(target, wanted)


@pytest.mark.parametrize("name", ["ctid", "xmin", "tableoid"])
def test_names_that_postgresql_reserves_are_refused_there(
    place: Place, name: str
) -> None:
    wanted = shape(("id", NUMBER), (name, TEXT))
    if place.vendor != "postgresql":
        place.store().prepare(place.target("t"), wanted)
        return
    for dry_run in (True, False):
        with pytest.raises(ConfigError) as refused:
            place.store().prepare(place.target("t"), wanted, dry_run=dry_run)
        assert refused.value.field == name
    assert place.store().targets() == []


def test_a_column_whose_type_others_changed(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    table = place.table("t")
    wanted = shape(("id", NUMBER), ("v", TEXT), ("n", NUMBER))
    store.prepare(target, wanted)
    write(place, store, {"id": 1, "v": "5", "n": 1})
    if place.vendor == "sqlite":
        for name, kind in (("v", "BIGINT"), ("n", "DATE_TEXT")):
            place.sql(f"ALTER TABLE {table} DROP COLUMN {name}")
            place.sql(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")
    elif place.vendor == "mysql":
        place.sql(f"ALTER TABLE {table} MODIFY v BIGINT, DROP n")
        place.sql(f"ALTER TABLE {table} ADD n DATE")
    else:
        place.sql(f"ALTER TABLE {table} ALTER v TYPE BIGINT USING v::BIGINT, DROP n")
        place.sql(f"ALTER TABLE {table} ADD n DATE")
    # In the middle of a run: nothing is written that is not what the API sent.
    try:
        results = write(place, store, {"id": 2, "v": "x", "n": 5})
    except OutkeyError:
        pass
    else:
        assert results != [CREATED] or place.vendor == "sqlite"
    # Before the next run: text is widened again, and a date is not made of a number.
    with pytest.raises(ConfigError, match="the column n of the table"):
        place.store().prepare(target, wanted)
    place.sql(f"ALTER TABLE {table} DROP COLUMN n")
    place.store().prepare(target, wanted)
    assert write(place, place.store(), {"id": 1, "v": "x", "n": 5}) == [UPDATED]


def test_a_table_that_others_dropped_in_the_middle_of_a_run(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    wanted = shape(("id", NUMBER), ("v", TEXT), archives=True)
    store.prepare(target, wanted)
    write(place, store, {"id": 1, "v": "a"})
    place.sql(f"DROP TABLE {place.table('t')}")
    for work in (
        lambda: write(place, store, {"id": 1, "v": "a"}),
        lambda: store.count(target),
        lambda: store.read(target, "", 9),
        lambda: store.retire(target, "orders", "9", Gone.ARCHIVE),
    ):
        with pytest.raises(OutkeyError) as failed:
            work()
        assert "cannot be reached" not in failed.value.message
    assert store.prepare(target, wanted).is_partial
    assert write(place, store, {"id": 1, "v": "a"}) == [CREATED]


def test_what_others_dropped_is_partial_until_a_run_has_read_everything(
    place: Place,
) -> None:
    store = place.store()
    target = place.target("t")
    table = place.table("t")
    wanted = shape(("id", NUMBER), ("v", TEXT))
    others = shape(("id", NUMBER), ("w", NUMBER))
    assert not store.prepare(target, wanted).is_partial
    assert not store.prepare(target, others).is_partial
    for statement in (f"ALTER TABLE {table} DROP COLUMN w", f"DROP TABLE {table}"):
        place.sql(statement)
        assert store.prepare(target, wanted).is_partial
        assert place.store().prepare(target, wanted).is_partial
        # The columns of other lines are there again, too.
        assert write(place, store, {"id": 1, "v": "a"}) in ([CREATED], [UNCHANGED])
        assert stored(place, store) == [{"id": 1, "v": "a", "w": None}]
        store.complete(target, "1")
        prepared = place.store().prepare(target, others)
        assert not prepared.is_partial_for("orders")
        assert prepared.is_partial_for("another line"), "which brings w"
        write(place, store, {"id": 1, "v": "a"})


def test_rows_that_others_inserted_and_deleted(place: Place) -> None:
    store = place.store()
    target = place.target("t")
    table = place.table("t")
    store.prepare(target, shape(("id", NUMBER), ("v", TEXT), archives=True))
    rows: list[dict[str, object]] = [{"id": number, "v": "a"} for number in range(5)]
    write(place, store, *rows)
    place.sql(f"DELETE FROM {table} WHERE id = 3")
    place.sql(f"INSERT INTO {table} (id, v) VALUES (100, 'by hand')")
    place.sql(f"INSERT INTO {table} (id, v) VALUES (5, 'by hand')")
    rows.append({"id": 5, "v": "of the API"})
    run = place.begin_run()
    results = store.upsert(target, ["id"], rows, run)
    assert results == [*[UNCHANGED] * 3, CREATED, UNCHANGED, UPDATED]
    # A row that no line brought is never archived or deleted.
    assert store.unseen(target, "orders", run) == Unseen(0, 6)
    for gone in (Gone.ARCHIVE, Gone.DELETE):
        assert store.retire(target, "orders", place.begin_run(), gone) == 6
        write(place, store, *rows)
    assert (100, "by hand") in place.sql(f"SELECT id, v FROM {table}")


def test_rows_that_break_the_keys_are_rejected_alone(place: Place) -> None:
    """In the middle of a run somebody removes the unique index and repeats a row."""
    store = place.store()
    target = place.target("t")
    table = place.table("t")
    store.prepare(target, shape(("id", NUMBER), ("v", TEXT)))
    rows: list[dict[str, object]] = [{"id": number, "v": "a"} for number in range(3)]
    write(place, store, *rows)
    place.drop_keys("t")
    place.sql(f"INSERT INTO {table} (id, v) VALUES (1, 'again')")
    results = write(place, store, *({**row, "v": "b"} for row in rows))
    assert [written.reason for written in results] == ["", "ambiguous", ""]
    assert sorted(place.sql(f"SELECT id, v FROM {table}"))[1:3] == [
        (1, "a"),
        (1, "again"),
    ]


def adopted(place: Place, statement: str) -> TableStore:
    place.sql(statement)
    place.adopt = ("t",)
    return place.store()


def test_a_table_of_others_may_require_more_than_a_line_brings(place: Place) -> None:
    if place.is_own:
        return  # nothing is adopted there
    store = adopted(
        place,
        "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, v VARCHAR(9),"
        " needed VARCHAR(9) NOT NULL)",
    )
    store.prepare(place.target("t"), shape(("id", NUMBER), ("v", TEXT)))
    place.sql("INSERT INTO t (id, v, needed) VALUES (1, 'a', 'kept')")
    results = write(place, store, {"id": 1, "v": "b"}, {"id": 2, "v": "b"})
    assert results[0] == UPDATED
    assert results[1].reason == "refused_by_database"
    assert place.sql("SELECT id, v, needed FROM t") == [(1, "b", "kept")]


def test_a_table_of_others_with_a_rowid_of_its_own(place: Place) -> None:
    if place.is_own or place.vendor != "sqlite":
        return  # only SQLite has one
    store = adopted(
        place, "CREATE TABLE t (id INTEGER NOT NULL, rowid INTEGER, v TEXT)"
    )
    place.sql("INSERT INTO t VALUES (1, 7, 'a'), (2, 7, 'a')")
    with pytest.raises(ConfigError, match="rowid"):
        store.prepare(place.target("t"), shape(("id", NUMBER), ("v", TEXT)))
    place.sql("DROP TABLE t")
    store = adopted(
        place, "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, v TEXT) WITHOUT ROWID"
    )
    with pytest.raises(ConfigError, match="rowid"):
        store.prepare(place.target("t"), shape(("id", NUMBER), ("v", TEXT)))


def test_a_view_in_the_place_of_a_table_is_refused(place: Place) -> None:
    table = place.table("t")
    place.sql(
        "CREATE TABLE secrets (id INTEGER, outkey_line INTEGER, outkey_run INTEGER)"
    )
    place.sql(f"CREATE VIEW {table} AS SELECT * FROM secrets")
    place.adopt = ("t",)
    with pytest.raises(
        ConfigError, match="is a view" if not place.is_own else "did not create"
    ):
        place.store().prepare(place.target("t"), shape(("id", NUMBER)))


def test_a_table_of_another_installation_is_refused(place: Place) -> None:
    wanted = shape(("id", NUMBER), ("v", TEXT), archives=True)
    store = place.store()
    store.prepare(place.target("t"), wanted)
    write(place, store, {"id": 1, "v": "a"})
    place.forget_tables()
    for dry_run in (True, False):
        with pytest.raises(ConfigError, match="did not create the table"):
            place.store().prepare(place.target("t"), wanted, dry_run=dry_run)
    assert place.sql(f"SELECT id, v FROM {place.table('t')}") == [(1, "a")]
