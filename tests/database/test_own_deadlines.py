"""outkey's own PostgreSQL when it hangs: a process that waits gets an error in time."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import DatabaseError, connection, connections, transaction

from cli.conftest import Terminal
from database.conftest import Cluster, configure
from database.hostile_servers import PostgresqlClient, SilentClient, served
from outkey.foundation.adapters import postgresql_deadlines
from outkey.foundation.adapters.postgresql_deadlines import (
    AsyncDeadlineConnection,
    DeadlineConnection,
    NoResponse,
)
from outkey.foundation.core.errors import StorageUnavailable
from outkey.testing.canary import Canaries

SOON = 30  # seconds; a busy machine may need some


@pytest.fixture
def own(postgresql: Cluster, postgresql_tables: str, tmp_path: Path) -> Iterator[str]:
    """Let Django have a PostgreSQL with all tables; return its URL."""
    url = postgresql.create("deadlines", postgresql_tables)
    configure(url, tmp_path)
    yield url
    connections.close_all()


def shown(setting: str) -> str:
    """Return a setting of the session."""
    from outkey.hosts.django.rows.raw_sql import execute

    (value,) = execute(f"SHOW {setting}", ()).fetchone()
    return str(value)


@pytest.mark.usefixtures("own")
def test_the_server_gets_the_limits() -> None:
    assert shown("statement_timeout") == "1min"
    assert shown("lock_timeout") == "5s"
    assert shown("idle_in_transaction_session_timeout") == "1min"
    assert shown("synchronous_commit") == "on"


@pytest.mark.usefixtures("own")
def test_a_statement_without_a_response_is_an_error_and_the_next_one_works() -> None:
    from outkey.hosts.django.rows.database import DjangoDatabase
    from outkey.hosts.django.rows.raw_sql import execute, wrap_database_errors

    connection.ensure_connection()
    connection.connection.patience = 0.5
    began = time.monotonic()
    with pytest.raises(StorageUnavailable):
        wrap_database_errors(execute)("SELECT pg_sleep(60)", ())
    connection.ensure_connection()
    connection.connection.patience = 0.5
    with pytest.raises(StorageUnavailable), DjangoDatabase().transaction():
        execute("SELECT pg_sleep(60)", ())
    assert DjangoDatabase().now() > 0
    assert time.monotonic() - began < SOON


@pytest.mark.usefixtures("own")
def test_a_statement_about_many_rows_may_take_longer() -> None:
    from outkey.hosts.django.rows.raw_sql import allow_long_statements

    with transaction.atomic():
        allow_long_statements()
        allow_long_statements()
        assert shown("statement_timeout") == "10min"
        connection.connection.patience = 0.1
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(1)")
    assert shown("statement_timeout") == "1min"
    with pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(60)")


@pytest.mark.usefixtures("own")
def test_a_transaction_of_a_suspended_process_is_ended_by_the_server() -> None:
    """Or else it would hold its locks for as long as the process sleeps."""
    from outkey.hosts.django.rows.database import DjangoDatabase
    from outkey.hosts.django.rows.raw_sql import execute

    def suspend() -> None:
        with DjangoDatabase().transaction():
            execute("SET LOCAL idle_in_transaction_session_timeout = '300ms'", ())
            execute("SELECT * FROM outkey_run FOR UPDATE", ())
            time.sleep(1)
            execute("UPDATE outkey_run SET generation = 0", ())

    with pytest.raises(StorageUnavailable):
        suspend()
    assert DjangoDatabase().now() > 0


@pytest.mark.usefixtures("own")
def test_a_migration_may_take_longer(tmp_path: Path) -> None:
    from outkey.hosts.server.home import migration_lock

    (tmp_path / "data").mkdir()
    with migration_lock(tmp_path):
        assert shown("statement_timeout") == "1h"
        assert connection.connection.patience > 3600
    assert shown("statement_timeout") == "1min"
    assert shown("idle_in_transaction_session_timeout") == "1min"
    assert connection.connection.patience < 100


def test_a_connection_without_a_response_is_closed(own: str) -> None:
    with DeadlineConnection.connect(own) as ours:
        ours.patience = 0.5
        with pytest.raises(NoResponse):
            ours.execute("SELECT pg_sleep(60)")
        assert ours.closed


def test_the_queue_of_the_workers_gives_up_too(own: str) -> None:
    async def sleep() -> None:
        ours = await AsyncDeadlineConnection.connect(own)
        ours.patience = 0.5
        assert await (await ours.execute("SELECT 1")).fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError):
            await ours.execute("SELECT pg_sleep(60)")
        assert ours.closed

    asyncio.run(asyncio.wait_for(sleep(), SOON))


def test_a_connection_that_listens_lets_the_event_loop_rest(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def look() -> float:
        looks.append(time.monotonic())
        return looks[-1]

    async def listen() -> None:
        ours = await AsyncDeadlineConnection.connect(own, autocommit=True)
        await ours.execute("LISTEN outkey_test")
        monkeypatch.setattr(postgresql_deadlines, "monotonic", look)
        assert [note async for note in ours.notifies(timeout=1.5)] == []
        await ours.close()

    asyncio.run(asyncio.wait_for(listen(), SOON))
    assert 1 <= len(looks) < 6  # psycopg's own interval would make it 15


@pytest.mark.parametrize("handler", [SilentClient, PostgresqlClient])
def test_a_command_ends_although_the_database_hangs(
    handler: type[PostgresqlClient | SilentClient], tmp_path: Path
) -> None:
    with served(handler) as server:
        url = f"postgresql://u:hunter2@127.0.0.1:{server.port}/d"
        settings = {"OUTKEY_DATABASE_URL": url}
        began = time.monotonic()
        done = Terminal(tmp_path / "home", Canaries(), settings)("list")
        assert time.monotonic() - began < 2 * SOON
        assert len(server.clients) >= 1
    assert (done.code, "storage_unavailable" in done.err) == (5, True)
    assert "hunter2" not in done.err
