"""Rows that PostgreSQL compares itself: what it writes is what outkey would write."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from database.table_places import Place, place, shape  # noqa: F401 - a fixture
from outkey.sync.adapters.tables.rows import row_writer, staged_rows
from outkey.sync.adapters.tables.rows.checked_rows import CheckedRows
from outkey.sync.adapters.tables.rows.staged_rows import StagedRows
from outkey.sync.adapters.tables.rows.stored_rows import RunMark
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.mapping.records import FieldKind, WriteOutcome, Written

pytestmark = pytest.mark.parametrize(
    "place", ["own postgresql", "postgresql"], indirect=True
)
CREATED = Written(WriteOutcome.CREATED)
UPDATED = Written(WriteOutcome.UPDATED)
UNCHANGED = Written(WriteOutcome.UNCHANGED)
AMBIGUOUS = Written(WriteOutcome.REFUSED, "id", "ambiguous")
SECONDS = 20.0
EAST = timezone(timedelta(hours=2))
TEXT = FieldKind.TEXT
SHAPE = shape(("id", FieldKind.NUMBER), ("a", TEXT), ("b", TEXT), archives=True)


def prepared(place: Place) -> TableStore:
    store = place.store()
    store.prepare(place.target("t"), SHAPE)
    return store


def write(
    place: Place, store: TableStore, *rows: dict[str, object], line: str = "orders"
) -> list[Written]:
    return store.upsert(place.target("t"), ["id"], rows, place.begin_run(line))


def row(number: int, a: str | None = "a", b: str | None = "b") -> dict[str, object]:
    return {"id": number, "a": a, "b": b}


def columns(place: Place, *names: str) -> list[tuple[object, ...]]:
    return place.sql(f"SELECT {', '.join(names)} FROM {place.table('t')} ORDER BY id")


def test_an_update_names_the_columns_that_it_changes(place: Place) -> None:
    store = prepared(place)
    write(place, store, row(1), row(2), row(3), row(4))
    changed = (row(1, a="A"), row(2, b=None), row(3, "A", "B"), row(4), row(5))
    results = write(place, store, *changed)
    assert results == [UPDATED, UPDATED, UPDATED, UNCHANGED, CREATED]
    assert [one.changed for one in results] == [("a",), ("b",), ("a", "b"), (), ()]
    stored = [(r["id"], r["a"], r["b"]) for r in changed]
    assert columns(place, "id", "a", "b") == stored


def test_every_row_that_a_run_sees_has_its_mark(place: Place) -> None:
    store = prepared(place)
    write(place, store, row(1), row(2))
    write(place, store, row(1), row(2, a="A"), row(3))
    assert columns(place, "outkey_run") == [("2",), ("2",), ("2",)]
    write(place, store, row(1), line="others")
    lines = [("others",), ("orders",), ("orders",)]
    assert columns(place, "outkey_line") == lines


def test_keys_that_several_rows_have_are_rejected_and_none_is_written(
    place: Place,
) -> None:
    store = prepared(place)
    write(place, store, row(1), row(2))
    place.drop_keys("t")
    place.sql(f"INSERT INTO {place.table('t')} (id, a, b) VALUES (1, 'other', 'b')")
    results = write(place, store, row(1, a="A"), row(2, a="A"), row(3))
    assert results == [AMBIGUOUS, UPDATED, CREATED]
    assert [a for (a,) in columns(place, "a")][:2].count("A") == 0


def test_a_row_that_the_database_refuses_leaves_the_others_alone(place: Place) -> None:
    store = prepared(place)
    table = place.table("t")
    place.sql(f"ALTER TABLE {table} ADD CONSTRAINT c CHECK (a <> 'no')")
    results = write(place, store, row(1), row(2, a="no"), row(3))
    refused = Written(WriteOutcome.REFUSED, "", "refused_by_database")
    assert results == [CREATED, refused, CREATED]
    assert columns(place, "id") == [(1,), (3,)]


def test_rows_that_lack_a_column_leave_it_alone(place: Place) -> None:
    store = prepared(place)
    write(place, store, row(1), row(2))
    assert write(place, store, {"id": 1, "a": "A"}, row(2)) == [UPDATED, UNCHANGED]
    assert columns(place, "a", "b") == [("A", "b"), ("a", "b")]


def test_without_the_right_to_temporary_tables_rows_are_written_all_the_same(
    place: Place,
) -> None:
    store = prepared(place)
    attempts: list[str] = []
    stage_statements = staged_rows.MergeSql.stage_statements

    def as_role_without_rights(self: staged_rows.MergeSql) -> str:
        attempts.append("stage")
        return f"SET LOCAL ROLE nobody_special; {stage_statements(self)}"

    place.sql("DROP ROLE IF EXISTS nobody_special")
    place.sql("CREATE ROLE nobody_special")
    (name,) = place.sql("SELECT current_database()")[0]
    place.sql(f'REVOKE TEMPORARY ON DATABASE "{name}" FROM PUBLIC')
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                staged_rows.MergeSql, "stage_statements", as_role_without_rights
            )
            assert write(place, store, row(1), row(2)) == [CREATED, CREATED]
            assert write(place, store, row(1), row(2, a="A")) == [UNCHANGED, UPDATED]
    finally:
        place.sql(f'GRANT TEMPORARY ON DATABASE "{name}" TO PUBLIC')
        place.sql("DROP ROLE nobody_special")
    assert len(attempts) == 2


@pytest.mark.parametrize(
    "name", ["was_archived", "is_ambiguous", "alike", "differs_0", "number", "id2"]
)
def test_a_column_may_have_any_name(place: Place, name: str) -> None:
    store = place.store()
    store.prepare(
        place.target("t"), shape(("id", FieldKind.NUMBER), (name, TEXT), archives=True)
    )
    place.add_column("t", "lacks_mark")
    rows = [{"id": 1, name: "a"}, {"id": 2, name: "b"}]
    assert write(place, store, *rows) == [CREATED, CREATED]
    changed = [{"id": 1, name: "A"}, {"id": 2, name: "b"}]
    assert write(place, store, *changed) == [UPDATED, UNCHANGED]


def test_a_collation_of_others_hides_no_change_and_joins_no_keys(place: Place) -> None:
    store = place.store()
    store.prepare(place.target("t"), shape(("id", TEXT), ("a", TEXT)))
    write(place, store, {"id": "x", "a": "acme"})
    table = place.table("t")
    place.sql(
        "CREATE COLLATION anycase (provider = icu, locale = 'und-u-ks-level2',"
        " deterministic = false)"
    )
    for column in ("id", "a"):
        place.sql(f"ALTER TABLE {table} ALTER {column} TYPE text COLLATE anycase")
    results = write(place, store, {"id": "x", "a": "ACME"}, {"id": "X", "a": "b"})
    refused = Written(WriteOutcome.REFUSED, "", "refused_by_database")
    assert results == [UPDATED, refused]
    assert columns(place, "id", "a") == [("x", "ACME")]


def test_a_trigger_that_changes_other_rows_of_the_page_is_no_obstacle(
    place: Place,
) -> None:
    store = prepared(place)
    write(place, store, row(1), row(2))
    table = place.table("t")
    place.sql(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" UPDATE {table} SET b = 'older' WHERE id <> NEW.id AND b <> 'older';"
        " RETURN NEW; END $$"
    )
    place.sql(
        f"CREATE TRIGGER t BEFORE UPDATE OF a ON {table} FOR EACH ROW"
        " EXECUTE FUNCTION f()"
    )
    results = write(place, store, row(1, a="A"), row(2, a="A"), row(3))
    assert results == [UPDATED, UPDATED, CREATED]


def test_after_a_page_of_new_rows_the_next_is_only_compared_if_a_key_is_taken(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = prepared(place)
    compared = []
    merge = StagedRows.merge

    def counted(
        rows: StagedRows, page: CheckedRows, mark: RunMark, *, marks_all: bool
    ) -> list[Written]:
        compared.append(len(page.rows))
        return merge(rows, page, mark, marks_all=marks_all)

    monkeypatch.setattr(StagedRows, "merge", counted)
    run = place.begin_run("orders")
    pages = (
        [row(1), row(2)],  # compared
        [row(3), row(4)],
        [row(5), row(4, a="A")],  # 4 is taken: compared
        [row(6), row(7)],  # compared
        [row(8), {"id": "x", "a": "a", "b": "b"}],
    )
    results = [store.upsert(place.target("t"), ["id"], page, run) for page in pages]
    assert results[:4] == [[CREATED] * 2] * 2 + [[CREATED, UPDATED], [CREATED] * 2]
    assert [one.outcome for one in results[4]] == ["created", "refused"]
    assert compared == [2, 2, 2, 2]
    assert columns(place, "id", "a") == [
        (number, "A" if number == 4 else "a") for number in range(1, 9)
    ]
    assert {mark for (mark,) in columns(place, "outkey_run")} == {run}


@contextmanager
def written_as(role: str) -> Iterator[None]:
    """Let rows be written by a role without more rights than its own."""
    write_group = row_writer.RowWriter._upsert_group

    def write_as_role(writer: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
        connection = writer._table.connection
        with connection.begin_nested():
            connection.exec_driver_sql(f"SET LOCAL ROLE {role}")
            written = write_group(writer, *args, **options)
            connection.exec_driver_sql("RESET ROLE")
            return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_writer.RowWriter, "_upsert_group", write_as_role)
        yield


def test_row_level_security_is_no_obstacle_for_the_second_page(place: Place) -> None:
    store = prepared(place)
    table = place.table("t")
    place.sql("DROP ROLE IF EXISTS outkey_tester")
    for statement in (
        "CREATE ROLE outkey_tester",
        "GRANT ALL ON SCHEMA public TO outkey_tester",
        f"ALTER TABLE {table} OWNER TO outkey_tester",
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY all_rows ON {table} USING (true) WITH CHECK (true)",
    ):
        place.sql(statement)
    run = place.begin_run("orders")
    try:
        with written_as("outkey_tester"):
            for number in (1, 3, 5):
                page = [row(number), row(number + 1)]
                written = store.upsert(place.target("t"), ["id"], page, run)
                assert written == [CREATED] * 2
        assert columns(place, "id") == [(number,) for number in range(1, 7)]
    finally:
        place.sql(f"ALTER TABLE {table} OWNER TO CURRENT_USER")
        place.sql("DROP OWNED BY outkey_tester")
        place.sql("DROP ROLE outkey_tester")


def test_a_rule_of_others_is_no_obstacle(place: Place) -> None:
    store = prepared(place)
    write(place, store, row(1))
    place.sql(f"CREATE RULE r AS ON UPDATE TO {place.table('t')} DO ALSO SELECT 1")
    assert write(place, store, row(1), row(2)) == [UNCHANGED, CREATED]


def test_a_deadlock_is_repeated(place: Place) -> None:
    if place.is_own:
        pytest.skip("the transaction is the host's: there the pull repeats the page")
    store = prepared(place)
    write(place, store, row(1), row(2))
    table = place.table("t")
    first, second, done = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        engine = place.engine()
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL deadlock_timeout = '20s'"))
            connection.execute(text(f"UPDATE {table} SET b = 'x' WHERE id = 2"))
            first.set()
            assert second.wait(SECONDS)
            time.sleep(0.5)  # until the merge has locked row 1 and waits for row 2
            connection.execute(text(f"UPDATE {table} SET b = 'x' WHERE id = 1"))
        engine.dispose()
        done.set()

    thread = threading.Thread(target=hold)
    thread.start()
    assert first.wait(SECONDS)
    second.set()
    assert write(place, store, row(1, a="A"), row(2, a="A")) == [UPDATED, UPDATED]
    assert done.wait(SECONDS)
    thread.join(SECONDS)


@contextmanager
def locked(place: Place, statement: str) -> Iterator[threading.Event]:
    """Execute a statement, and commit it once the event is set."""
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        engine = place.engine()
        with engine.begin() as connection:
            connection.execute(text(statement))
            held.set()
            assert release.wait(SECONDS)
        engine.dispose()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(SECONDS)
    try:
        yield release
    finally:
        release.set()
        thread.join(SECONDS)


def test_what_another_program_has_just_written_into_another_column_stays(
    place: Place,
) -> None:
    store = prepared(place)
    write(place, store, row(1))
    statement = f"UPDATE {place.table('t')} SET b = 'theirs' WHERE id = 1"
    with locked(place, statement) as release:
        # It waits for the row that the other program has locked.
        threading.Timer(0.5, release.set).start()
        assert write(place, store, row(1, a="A")) == [UPDATED]
    assert columns(place, "a", "b") == [("A", "theirs")]


def test_a_row_that_another_program_has_just_inserted_is_updated(place: Place) -> None:
    store = prepared(place)
    statement = f"INSERT INTO {place.table('t')} (id, a, b) VALUES (1, 'theirs', 'b')"
    with locked(place, statement) as release:
        threading.Timer(0.5, release.set).start()
        assert write(place, store, row(1), row(2)) == [UPDATED, CREATED]
    assert columns(place, "a", "b") == [("a", "b"), ("a", "b")]


# Stored first, and then written over it.
PAIRS: dict[FieldKind, list[tuple[object, object]]] = {
    FieldKind.TEXT: [
        ("a", "a"),
        ("a", "A"),
        ("a", "a "),
        ("", None),
        ("tab\t", "tab\\t"),
        ("ß", "ss"),
        ("e\u0301", "\u00e9"),
        ("%s", "%%s"),
        ("\\N", None),
    ],
    FieldKind.NUMBER: [(1, 1), (0, None), (2**63 - 1, -(2**63))],
    FieldKind.DECIMAL: [
        (Decimal("1.5"), Decimal("1.50")),
        (Decimal("1E+2"), Decimal(100)),
        (Decimal("0.1"), Decimal("0.10000000000000001")),
        (Decimal(0), Decimal("-0")),
        (Decimal(0), None),
    ],
    FieldKind.DATE: [(date(2027, 1, 1), date(2027, 1, 1)), (date(1, 1, 1), None)],
    FieldKind.DATETIME: [
        (datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, 2, tzinfo=EAST)),
        (datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=EAST)),
        (datetime(2027, 1, 1, 0, 0, 0, 1, tzinfo=UTC), None),
    ],
    FieldKind.BOOLEAN: [(True, True), (True, False), (False, None)],
}


@pytest.mark.parametrize("kind", PAIRS)
def test_both_ways_of_comparing_have_the_same_results(
    place: Place, kind: FieldKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = place.store()
    found = []
    for name, is_staged in (("staged", True), ("compared", False)):
        target = place.target(name)
        store.prepare(target, shape(("id", FieldKind.NUMBER), ("v", kind)))
        if not is_staged:
            monkeypatch.setattr(row_writer, "can_be_staged", lambda *_: False)
        results = []
        for stored_value, value in [
            *PAIRS[kind],
            *(pair[::-1] for pair in PAIRS[kind]),
        ]:
            for number, written in ((1, stored_value), (1, value), (2, None)):
                rows = [{"id": number, "v": written}]
                results += store.upsert(target, ["id"], rows, place.begin_run())
        values = [dict(record.values) for record in store.read(target, "", 9)]
        found.append(([(one.outcome, one.changed) for one in results], values))
    assert found[0] == found[1]


def rows_read_in_scans(place: Place) -> int:
    """Return how many rows of the table were read without an index so far."""
    time.sleep(1.5)  # sessions report their counts once a second
    ((count,),) = place.sql(
        "SELECT seq_tup_read FROM pg_stat_user_tables"
        f" WHERE relname = '{place.table('t')}'"
    )
    assert isinstance(count, int)
    return count


def test_rows_are_found_by_the_index_of_their_keys(place: Place) -> None:
    store = prepared(place)
    place.sql(
        f"INSERT INTO {place.table('t')} (id, a, b)"
        " SELECT n, 'a', 'b' FROM generate_series(1, 60000) n"
    )
    place.sql(f"ANALYZE {place.table('t')}")
    before = rows_read_in_scans(place)
    write(place, store, *(row(n) for n in range(1, 1001)))
    write(place, store, *(row(n, a="A") for n in range(1, 1001)))
    assert rows_read_in_scans(place) - before < 60000
