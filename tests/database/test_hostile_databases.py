"""Databases of others that are hostile, and rows that outkey did not write."""

import socketserver
import threading
import time
from pathlib import Path

import pymysql
import pytest

from database.conftest import Cluster
from database.hostile_servers import (
    DRIP_SECONDS,
    DRIPS,
    DrippingMysqlGreeting,
    DrippingMysqlResponse,
    DrippingMysqlRounds,
    DrippingMysqlSelect,
    DrippingMysqlTls,
    DrippingPostgresqlLogin,
    DrippingPostgresqlResponse,
    DrippingPostgresqlTls,
    FileThief,
    HungMysqlClient,
    MysqlClient,
    PasswordClient,
    PostgresqlClient,
    SilentClient,
    message,
    served,
)
from database.mariadb import MariaDb
from database.table_places import OTHER, shape
from database.test_table_faults import history
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    SecretMissing,
    StorageUnavailable,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sync.adapters.tables import engines
from outkey.sync.adapters.tables.databases import NamedDatabases
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.mapping.records import FieldKind

WANTED = shape(("id", FieldKind.NUMBER), ("v", FieldKind.TEXT))
TARGET = f"table:{OTHER}.t"


def databases_of(url: str, own: Path) -> NamedDatabases:
    """Return a database with a URL that a reference leads to."""
    settings = {OTHER: OtherDatabase(OTHER, "env:WAREHOUSE_URL")}
    files = SqliteFiles([own.parent], [own])
    return NamedDatabases(lambda: settings, lambda *_: Secret(url), files)


def store_of(url: str, own: Path) -> TableStore:
    """Return tables in the database of a URL, as a row of any origin may have it."""
    settings = {OTHER: OtherDatabase(OTHER, url)}
    files = SqliteFiles([own.parent], [own])
    named = NamedDatabases(lambda: settings, ReferencedSecrets().open_reference, files)
    return TableStore(MemoryStateRows(), None, named, lambda _run: "orders")


@pytest.mark.parametrize(
    ("scheme", "parameters"),
    [
        ("mysql", "local_infile=1"),
        ("mysql", "read_default_file=/etc/hostname"),
        ("mysql", "init_command=SELECT+1"),
        ("mysql", "unix_socket=/run/mysqld.sock"),
        ("postgresql", "service=other"),
        ("postgresql", "passfile=/etc/hostname"),
        ("postgresql", "sslkey=/etc/hostname"),
        ("postgresql", "host=127.0.0.1"),
    ],
)
def test_a_stored_url_with_a_dangerous_parameter_is_never_used(
    scheme: str, parameters: str, tmp_path: Path
) -> None:
    with served(MysqlClient) as server:
        url = f"{scheme}://u@127.0.0.1:{server.port}/d?{parameters}"
        with pytest.raises(ConfigError) as refused:
            store_of(url, tmp_path).prepare(TARGET, WANTED)
        assert not server.clients
    assert refused.value.field == f"database.{OTHER}.url"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hunter2@h/d?local_infile=1",
        "postgresql://u:hunter2@h/d?hunter2=1",
        "postgresql://u:hunter2@h/d?sslmode=require&sslmode=disable",
        "oracle://u:hunter2@h/d",
        "hunter2",
    ],
)
def test_what_a_reference_leads_to_is_checked_before_it_is_saved_and_used(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", url)
    store = store_of("env:WAREHOUSE_URL", tmp_path)
    for attempt in (
        lambda: store.prepare(TARGET, WANTED),
        lambda: store.refuse_database(OtherDatabase(OTHER, "env:WAREHOUSE_URL")),
    ):
        with pytest.raises(ConfigError) as refused:
            attempt()
        assert refused.value.field == f"database.{OTHER}.url"
        assert "hunter2" not in history(refused.value) + refused.value.hint


def test_a_reference_that_leads_to_nothing_yet_can_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAREHOUSE_URL", raising=False)
    store = store_of("env:WAREHOUSE_URL", tmp_path)
    store.refuse_database(OtherDatabase(OTHER, "env:WAREHOUSE_URL"))
    with pytest.raises(SecretMissing, match="WAREHOUSE_URL"):
        store.prepare(TARGET, WANTED)
    monkeypatch.setenv("WAREHOUSE_URL", f"sqlite:///{tmp_path.parent / 'other.db'}")
    assert store.prepare(TARGET, WANTED).target.name == TARGET


def test_a_server_that_asks_for_a_file_gets_none(tmp_path: Path) -> None:
    with served(FileThief) as server:
        url = f"mysql://u@127.0.0.1:{server.port}/d"
        with pytest.raises(StorageUnavailable) as failed:
            store_of(url, tmp_path).prepare(TARGET, WANTED)
        assert "WARN" not in history(failed.value)  # of the driver
        assert any(command[:1] == b"\x03" for command in server.received)
        assert b"PATH=" not in b"".join(server.received)


@pytest.mark.parametrize("response", [b"", b"\0", b"\xff\x00", b"\xfb", b"\x07" * 9])
def test_a_server_that_responds_with_nonsense_is_an_error_of_that_database(
    response: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 1)

    class Nonsense(MysqlClient):
        def respond(self, _command: bytes) -> None:
            self.send(1, response)

    with served(Nonsense) as server:
        url = f"mysql://u@127.0.0.1:{server.port}/d"
        with pytest.raises(StorageUnavailable, match=f"the database {OTHER}") as failed:
            store_of(url, tmp_path).prepare(TARGET, WANTED)
    assert failed.value.__context__ is None
    assert "pymysql" not in history(failed.value)


def test_a_code_that_a_server_invents_is_not_repeated(tmp_path: Path) -> None:
    class Inventive(PostgresqlClient):
        def handle(self) -> None:
            self.read_startup()
            fields = b"SERROR\0Chunter2\0Mhunter2\0\0"
            self.request.sendall(message(b"E", fields))

    with served(Inventive) as server:
        url = f"postgresql://u@127.0.0.1:{server.port}/d"
        with pytest.raises(StorageUnavailable) as failed:
            store_of(url, tmp_path).prepare(TARGET, WANTED)
    assert "hunter2" not in history(failed.value)


def test_an_error_of_the_caller_ends_a_transaction_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    store = store_of(f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "own")
    store.prepare(TARGET, WANTED)

    def write(error: Exception) -> None:
        with store.transaction([TARGET]):
            store.upsert(TARGET, ["id"], [{"id": 1, "v": "x"}], "1")
            raise error

    for error in (LookupError(), ConfigError(), StorageUnavailable()):
        with pytest.raises(type(error)) as caught:
            write(error)
        assert caught.value is error
    assert store.count(TARGET) == 0


def test_a_server_gets_no_password_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libpq would send what PGPASSWORD or ~/.pgpass has to any server."""
    (tmp_path / ".pgpass").write_text("*:*:*:*:hunter2\n")
    (tmp_path / ".pgpass").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sent_password(PasswordClient, tmp_path) == b""
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / ".pgpass"))
    assert sent_password(PasswordClient, tmp_path) == b""
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    assert sent_password(PasswordClient, tmp_path) == b""


def sent_password(
    handler: type[socketserver.BaseRequestHandler], folder: Path
) -> bytes:
    """Return what a server gets that asks for the password of a URL without one."""
    with served(handler) as server:
        url = f"postgresql://u@127.0.0.1:{server.port}/d"
        with pytest.raises(OutkeyError):
            store_of(url, folder).prepare(TARGET, WANTED)
    return server.received[1]


@pytest.mark.parametrize(
    ("scheme", "handler"),
    [
        ("postgresql", SilentClient),
        ("postgresql", PostgresqlClient),
        ("mysql", SilentClient),
        ("mysql", HungMysqlClient),
    ],
)
def test_a_server_that_hangs_is_given_up(
    scheme: str,
    handler: type[socketserver.BaseRequestHandler],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether it says nothing at all, or accepts the login and then says nothing."""
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 2)  # libpq waits for 2 at least
    with served(handler) as server:
        url = f"{scheme}://u@127.0.0.1:{server.port}/d"
        began = time.monotonic()
        with pytest.raises(StorageUnavailable, match="cannot be reached"):
            store_of(url, tmp_path).prepare(TARGET, WANTED)
        assert 1 < time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("url", "handler"),
    [
        ("postgresql://u@127.0.0.1:{port}/d", DrippingPostgresqlLogin),
        ("postgresql://u@127.0.0.1:{port}/d", DrippingPostgresqlResponse),
        ("postgresql://u@127.0.0.1:{port}/d?sslmode=require", DrippingPostgresqlTls),
        ("mysql://u@127.0.0.1:{port}/d", DrippingMysqlGreeting),
        ("mysql://u:p@127.0.0.1:{port}/d", DrippingMysqlRounds),
        ("mysql://u@127.0.0.1:{port}/d", DrippingMysqlResponse),
        ("mysql://u@127.0.0.1:{port}/d?ssl_check_hostname=false", DrippingMysqlTls),
    ],
)
def test_a_login_that_goes_on_byte_by_byte_is_given_up(
    url: str,
    handler: type[socketserver.BaseRequestHandler],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each byte is in time, the whole is not."""
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 2)
    with served(handler) as server:
        database = databases_of(url.format(port=server.port), tmp_path).open(OTHER)
        began = time.monotonic()
        with (
            pytest.raises(StorageUnavailable, match="cannot be reached"),
            database.connect(),
        ):
            pass
        assert 1 < time.monotonic() - began < DRIPS * DRIP_SECONDS / 2


def test_a_response_that_goes_on_byte_by_byte_is_given_up() -> None:
    with served(DrippingMysqlSelect) as server:
        options = {"host": "127.0.0.1", "port": server.port, "user": "u"}
        connection = engines.connect_to_mysql(None, None, [], options)
        connection.patience = 2
        began = time.monotonic()
        with pytest.raises(pymysql.err.OperationalError, match="in time"):
            connection.query("SELECT 1")
        assert 1 < time.monotonic() - began < DRIPS * DRIP_SECONDS / 2
        assert not connection.open


@pytest.mark.parametrize("place", ["postgresql", "mariadb"])
def test_a_statement_that_the_server_does_not_end_is_given_up(
    place: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that hangs does not obey the limit that it was told."""
    monkeypatch.setattr(engines, "LATER_SECONDS", 1 - engines.STATEMENT_SECONDS)
    server: Cluster | MariaDb = request.getfixturevalue(place)
    database = databases_of(server.create("hung"), tmp_path).open(OTHER)
    sleep = "SELECT pg_sleep(60)" if place == "postgresql" else "SELECT SLEEP(60)"
    began = time.monotonic()
    with (
        pytest.raises(StorageUnavailable, match="cannot be reached"),
        database.connect() as connection,
    ):
        connection.exec_driver_sql(sleep)
    assert time.monotonic() - began < 30
    with database.connect() as connection:  # another one
        assert connection.exec_driver_sql("SELECT 2").scalar() == 2
    database.close()


@pytest.mark.parametrize("place", ["postgresql", "mariadb"])
def test_the_server_gets_the_limits(
    place: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Cluster | MariaDb = request.getfixturevalue(place)
    named = databases_of(server.create("limits"), tmp_path)
    limits = {
        "postgresql": {
            "statement_timeout": "10min",
            "lock_timeout": "30s",
            "idle_in_transaction_session_timeout": "1min",
        },
        "mariadb": {
            "lock_wait_timeout": 30,
            "innodb_lock_wait_timeout": 30,
            "wait_timeout": 60,
        },
    }[place]
    sign = "@@" if place == "mariadb" else ""
    with named.open(OTHER).connect() as connection:
        for name, value in limits.items():
            statement = f"SELECT {sign}{name}" if sign else f"SHOW {name}"
            assert connection.exec_driver_sql(statement).scalar() == value
    named.open(OTHER).close()


@pytest.mark.parametrize("place", ["postgresql", "mariadb", "sqlite"])
def test_what_waits_in_a_database_can_be_interrupted(
    place: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    (tmp_path / "own").mkdir()
    url = f"sqlite:///{tmp_path / 'a.db'}"
    statement = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n"
        " WHERE x < 1000000000) SELECT count(*) FROM n"
    )
    if place != "sqlite":
        server: Cluster | MariaDb = request.getfixturevalue(place)
        url = server.create("interrupt")
        statement = (
            "SELECT pg_sleep(60)" if place == "postgresql" else "SELECT SLEEP(60)"
        )
    named = databases_of(url, tmp_path / "own")
    database = named.open(OTHER)
    began = threading.Event()
    errors: list[Exception] = []

    def work() -> None:
        try:
            with database.connect() as connection:
                began.set()
                connection.exec_driver_sql(statement)
        except Exception as error:  # noqa: BLE001 - compared below
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert began.wait(30)
    while thread.is_alive():  # it may not have begun to wait
        database.interrupt()
        thread.join(0.2)
    assert [type(error) for error in errors] == [StorageUnavailable]
    database.close()


def test_a_server_that_has_just_not_responded_is_not_asked_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many lines or tables may be in it, and a command may look at all of them."""
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 2)
    with served(PostgresqlClient) as server:
        store = store_of(f"postgresql://u@127.0.0.1:{server.port}/d", tmp_path)
        with pytest.raises(StorageUnavailable, match="cannot be reached"):
            store.prepare(TARGET, WANTED)
        asked = len(server.clients)
        began = time.monotonic()
        for number in range(20):
            with pytest.raises(StorageUnavailable, match="did not respond in time"):
                store.prepare(f"{TARGET}{number}", WANTED)
        assert (len(server.clients), time.monotonic() - began < 2) == (asked, True)
        monkeypatch.setattr(time, "monotonic", lambda: began + 60)
        with pytest.raises(StorageUnavailable, match="cannot be reached"):
            store.prepare(TARGET, WANTED)
