"""Tables when something goes wrong: databases that go away, and several processes."""

import logging
import threading
import traceback
from pathlib import Path

import pytest

from database.conftest import Cluster
from database.mariadb import MariaDb
from database.table_places import OTHER, Place, place, shape  # noqa: F401 - a fixture
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import ConfigError, OutkeyError, StorageUnavailable
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sync.adapters.tables.databases import NamedDatabases
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.mapping.records import FieldKind, WriteOutcome

WANTED = shape(("id", FieldKind.NUMBER), ("v", FieldKind.TEXT))
TARGET = f"table:{OTHER}.t"
ROWS = [{"id": number, "v": "x"} for number in range(10)]


def store_at(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> TableStore:
    monkeypatch.setenv("WAREHOUSE_URL", url)
    settings = {OTHER: OtherDatabase(OTHER, "env:WAREHOUSE_URL")}
    files = SqliteFiles([folder.parent], [folder])
    named = NamedDatabases(lambda: settings, ReferencedSecrets().open_reference, files)
    return TableStore(MemoryStateRows(), None, named, lambda _run: "orders")


def history(error: BaseException) -> str:
    """Return all that a traceback shows, and all that hangs on the error."""
    texts = ["".join(traceback.format_exception(error)), repr(error)]
    inner = error.__context__ or error.__cause__
    return "\n".join([*texts, history(inner)] if inner else texts)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "mariadb", "postgres"])
def test_a_database_that_cannot_be_reached_is_named_without_its_url(
    scheme: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    url = f"{scheme}://somebody:hunter2-secret@127.0.0.1:9/warehouse_name"
    store = store_at(url, tmp_path, monkeypatch)
    with pytest.raises(StorageUnavailable) as failed:
        store.prepare(TARGET, WANTED)
    assert f"the database {OTHER} cannot be reached" in failed.value.message
    for part in ("hunter2", "somebody", "127.0.0.1", "warehouse_name"):
        assert part not in history(failed.value)
        assert part not in caplog.text


def test_a_wrong_password_is_not_repeated(
    mariadb: MariaDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = mariadb.create("warehouse").replace("maria-p%40ss", "wrong-hunter2")
    with pytest.raises(StorageUnavailable) as failed:
        store_at(url, tmp_path, monkeypatch).prepare(TARGET, WANTED)
    assert "hunter2" not in history(failed.value)


def test_a_driver_that_is_not_installed_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pymysql", None)
    store = store_at("mysql://u:hunter2@127.0.0.1/n", tmp_path, monkeypatch)
    with pytest.raises(ConfigError) as failed:
        store.prepare(TARGET, WANTED)
    assert failed.value.hint == 'Run: pip install "outkey[databases]"'
    assert "hunter2" not in history(failed.value)


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_a_database_that_goes_away_and_comes_back(
    server: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running: Cluster | MariaDb = request.getfixturevalue(server)
    store = store_at(running.create("going"), tmp_path, monkeypatch)
    store.prepare(TARGET, WANTED)
    store.upsert(TARGET, ["id"], ROWS[:5], "1")
    running.stop()
    try:
        with pytest.raises(StorageUnavailable) as failed:
            store.upsert(TARGET, ["id"], ROWS, "1")
        assert f"the database {OTHER}" in failed.value.message
    finally:
        running.start()
    again = store.upsert(TARGET, ["id"], ROWS, "1")
    outcomes = [written.outcome for written in again]
    assert outcomes[:5] == [WriteOutcome.UNCHANGED] * 5 or "mariadb" in server
    assert store.count(TARGET) == 10


def test_a_transaction_writes_all_of_its_tables_or_none(place: Place) -> None:
    store = place.store()
    targets = [place.target("parents"), place.target("children")]
    for target in targets:
        store.prepare(target, WANTED)
    run = place.begin_run()

    def write_both() -> None:
        with store.transaction(targets):
            for target in targets:
                store.upsert(target, ["id"], ROWS, run)
            raise LookupError

    if place.is_own:  # the caller's transaction holds them
        from outkey.hosts.django.rows.database import DjangoDatabase

        with pytest.raises(LookupError), DjangoDatabase().transaction():
            write_both()
    else:
        with pytest.raises(LookupError):
            write_both()
    assert [store.count(target) for target in targets] == [0, 0]
    with store.transaction(targets):
        store.upsert(targets[0], ["id"], ROWS, run)
    assert store.count(targets[0]) == 10
    with store.transaction([]):
        pass


def test_tables_in_two_databases_have_no_transaction_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        name: OtherDatabase(name, f"sqlite:///{tmp_path / name}.db") for name in "ab"
    }
    files = SqliteFiles([tmp_path])
    named = NamedDatabases(lambda: settings, ReferencedSecrets().open_reference, files)
    store = TableStore(MemoryStateRows(), None, named, lambda _run: "orders")
    with pytest.raises(ConfigError, match="same place"):
        store.transaction(["table:a.t", "table:b.t"])
    with pytest.raises(ConfigError, match="no tables of its own"):
        store.transaction(["table:t"])
    with pytest.raises(ConfigError, match="there is no database c"):
        store.prepare("table:c.t", WANTED)
    with pytest.raises(ConfigError, match="not the name of a table"):
        store.count("shop.order")


def test_several_processes_that_make_the_same_table_do_not_fail(place: Place) -> None:
    from django.db import connections

    failures: list[BaseException] = []
    barrier = threading.Barrier(4)

    def prepare(number: int) -> None:
        try:
            store = place.store()
            barrier.wait()
            columns = [("id", FieldKind.NUMBER), (f"c{number}", FieldKind.TEXT)]
            store.prepare(place.target("t"), shape(*columns))
            row: dict[str, object] = {"id": number, f"c{number}": "x"}
            store.upsert(place.target("t"), ["id"], [row], run)
        except BaseException as error:  # noqa: BLE001 - shown below
            failures.append(error)
        finally:
            if place.is_own:
                connections.close_all()

    run = place.begin_run()
    threads = [threading.Thread(target=prepare, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    found = place.sql(f"SELECT c0, c1, c2, c3 FROM {place.table('t')}")
    assert sorted(row.count("x") for row in found) == [1, 1, 1, 1]


def test_two_names_that_differ_in_case_only_are_refused(place: Place) -> None:
    store = place.store()
    store.prepare(place.target("Orders"), WANTED)
    with pytest.raises(ConfigError, match="upper and lower case"):
        store.prepare(place.target("orders"), WANTED)


def test_a_table_of_outkey_itself_cannot_be_adopted(place: Place) -> None:
    if place.is_own:
        return  # only tables with the prefix of data are there
    place.sql("CREATE TABLE outkey_secretvalue (id INTEGER)")
    place.adopt = ("outkey_secretvalue",)
    with pytest.raises(ConfigError, match="needs this name"):
        place.store().prepare(place.target("outkey_secretvalue"), WANTED)


def test_a_user_who_may_not_make_tables_is_told_so(
    postgresql: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgresql.create("guarded")
    owner = store_at(url, tmp_path, monkeypatch)
    owner.prepare(TARGET, WANTED)
    place = Place("postgresql", url, False, tmp_path, MemoryStateRows())  # noqa: FBT003
    place.sql("DROP ROLE IF EXISTS reader")
    place.sql("CREATE ROLE reader LOGIN")
    reader = store_at(url.replace("//outkey@", "//reader@"), tmp_path, monkeypatch)
    with pytest.raises(OutkeyError, match="does not permit this"):
        reader.prepare(f"table:{OTHER}.other", WANTED)


def test_decimals_of_a_table_of_others_are_not_rounded(place: Place) -> None:
    if place.is_own or place.vendor == "sqlite":
        return  # only these have numbers with a fixed number of places
    from decimal import Decimal

    place.sql(
        "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, d NUMERIC(6, 2),"
        " f DOUBLE PRECISION, t VARCHAR(3))"
    )
    place.adopt = ("t",)
    store = place.store()
    columns = [("id", FieldKind.NUMBER), ("t", FieldKind.TEXT)]
    columns += [(name, FieldKind.DECIMAL) for name in "df"]
    store.prepare(place.target("t"), shape(*columns))
    rows: list[dict[str, object]] = [
        {"id": 1, "d": Decimal("1234.56"), "f": Decimal("0.1"), "t": "abc"},
        {"id": 2, "d": Decimal("1.234")},
        {"id": 3, "d": Decimal(12345)},
        {"id": 4, "f": Decimal("0.1234567890123456789")},
        {"id": 5, "t": "abcd"},
    ]
    results = store.upsert(place.target("t"), ["id"], rows, place.begin_run())
    assert [written.reason for written in results] == [
        "",
        "out_of_range",
        "out_of_range",
        "out_of_range",
        "too_long",
    ]
    (found,) = store.read(place.target("t"), "", 9)
    assert dict(found.values) == rows[0]


def test_a_table_in_a_schema(
    postgresql: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgresql.create("schemas")
    place = Place("postgresql", url, False, tmp_path, MemoryStateRows())  # noqa: FBT003
    place.sql('CREATE SCHEMA "Sales"')
    store = store_at(url, tmp_path, monkeypatch)
    target = f"table:{OTHER}.Sales.t"
    store.prepare(target, WANTED)
    store.upsert(target, ["id"], ROWS, "1")
    assert place.sql('SELECT count(*) FROM "Sales".t') == [(10,)]
    assert store.prepare(target, WANTED).changes == ()


def test_a_table_that_was_dropped_is_made_by_the_line_that_fills_it(
    place: Place,
) -> None:
    store = place.store()
    target = place.target("t")
    store.prepare(target, WANTED)
    place.sql(f"DROP TABLE {place.table('t')}")
    for read in (
        lambda: store.rows(target, "", 9),
        lambda: store.find(target, "v", ["x"]),
        lambda: store.upsert(target, ["id"], ROWS, place.begin_run()),
    ):
        with pytest.raises(StorageUnavailable, match="lacks a table") as failed:
            read()
        assert str(failed.value.hint).startswith("Run the line that fills the table")


def test_a_column_that_was_dropped_is_made_by_the_line_that_fills_it(
    place: Place,
) -> None:
    store = place.store()
    store.prepare(place.target("t"), WANTED)
    place.drop_column("t", "v")
    with pytest.raises(StorageUnavailable, match="lacks a table or a column"):
        store.rows(place.target("t"), "", 9)


def test_another_fault_of_a_statement_is_no_missing_table(place: Place) -> None:
    if place.is_own:
        return  # outkey reads and writes nothing else there
    statement = {
        "sqlite": "SELECT nothing(1)",
        "postgresql": "SELECT nothing(1)",
        "mysql": "SELECT FROM",
    }[place.vendor]
    database = place.store()._named.open(OTHER)
    with pytest.raises(StorageUnavailable) as failed, database.connect() as connection:
        connection.exec_driver_sql(statement)
    assert "lacks a table" not in failed.value.message


@pytest.mark.parametrize("after", ["x", "-1", "9" * 40])
def test_a_text_that_is_no_id_is_refused_with_what_to_use(
    place: Place, after: str
) -> None:
    store = place.store()
    store.prepare(place.target("t"), WANTED)
    with pytest.raises(ConfigError, match="not the ID of a record") as failed:
        store.rows(place.target("t"), after, 9)
    assert failed.value.field == "after"
    assert "outkey_id" in str(failed.value.hint)


def test_a_column_of_others_whose_type_no_value_fits_is_refused(place: Place) -> None:
    if place.is_own:
        return  # nothing is adopted there
    binary = "BYTEA" if place.vendor == "postgresql" else "BLOB"
    place.sql(f"CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, v {binary})")
    place.adopt = ("t",)
    store = place.store()
    wanted = shape(("id", FieldKind.NUMBER), ("v", FieldKind.TEXT))
    for dry_run in (True, False):
        with pytest.raises(ConfigError, match="a line cannot write") as caught:
            store.prepare(place.target("t"), wanted, dry_run=dry_run)
        assert caught.value.field == "v"
        assert caught.value.hint
