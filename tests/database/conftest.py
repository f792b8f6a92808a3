"""Real databases for the Django host: SQLite in a file, and our own PostgreSQL."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import django
import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from psycopg.sql import SQL, Identifier

from database.mariadb import PROGRAM as MARIADB
from database.mariadb import MariaDb
from outkey.foundation.adapters.clock_system import SystemClock
from ports import free_port

if TYPE_CHECKING:
    from outkey.sync.engine.runs.runs import Runs

POSTGRESQL = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
# Those of the test before, which may hold locks.
OTHERS_ARE_ENDED = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
# Columns, what holds for them, and what is done by itself: tests change these too.
SHAPE = """
SELECT md5(concat(
    (SELECT string_agg(concat(attrelid, attname, atttypid, attnotnull, attisdropped),
        ',' ORDER BY attrelid, attnum)
     FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
     JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname !~ '^pg_(catalog|toast)' AND nspname <> 'information_schema'),
    (SELECT string_agg(concat(oid, tgenabled), ',' ORDER BY oid) FROM pg_trigger),
    (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_constraint),
    (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_proc WHERE oid > 16383),
    (SELECT string_agg(concat(oid, ev_enabled), ',' ORDER BY oid) FROM pg_rewrite
     WHERE oid > 16383),
    (SELECT string_agg(concat(oid, relacl::text), ',' ORDER BY oid) FROM pg_class
     WHERE oid > 16383 AND relacl IS NOT NULL),
    (SELECT setconfig::text FROM pg_db_role_setting JOIN pg_database
     ON setdatabase = pg_database.oid WHERE datname = current_database() LIMIT 1)
))
"""
EMPTY = """
DO $$
DECLARE
    name text;
    has_rows boolean;
    filled text[] := '{}';
BEGIN
    FOR name IN SELECT quote_ident(tablename) FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'django_migrations'
    LOOP
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO has_rows;
        IF has_rows THEN filled := filled || name; END IF;
    END LOOP;
    IF filled <> '{}' THEN
        EXECUTE 'TRUNCATE ' || array_to_string(filled, ',') || ' CASCADE';
    END IF;
    -- Also where a test has deleted its rows.
    PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value,
        false) FROM pg_sequences WHERE schemaname = 'public'
        AND sequencename <> 'django_migrations_id_seq' AND last_value IS NOT NULL;
END $$
"""


class Cluster:
    """A PostgreSQL of our own, in a temporary folder, run by a user who is not root."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self._user: dict[str, object] = {}
        self._shapes: dict[str, object] = {}  # of databases that tests use in turn
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
            self._user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        self._run("initdb", "-D", "data", "-U", "outkey", "--auth=trust", "--no-sync")
        self.start()
        place = ("-h", "127.0.0.1", "-p", str(self._port))
        self._run("createdb", *place, "-U", "outkey", "outkey")
        self.url = f"postgresql://outkey@127.0.0.1:{self._port}/outkey"

    def start(self) -> None:
        # No Unix socket: the path of a temporary folder may be too long for one.
        options = f"-p {self._port} -k '' -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run(
            "pg_ctl",
            "-D",
            "data",
            "-w",
            "-t",
            "30",
            "-o",
            options,
            "-l",
            "log",
            "start",
        )

    def stop(self) -> None:
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "stop")

    def create(self, name: str, template: str = "template1") -> str:
        """Create a database, instead of one that may be there; return its URL."""
        drop = "DROP DATABASE IF EXISTS {} WITH (FORCE)"
        create = "CREATE DATABASE {} TEMPLATE {}"
        names = Identifier(name), Identifier(template)
        place = self.url.rpartition("/")[0]
        with psycopg.connect(f"{place}/postgres", autocommit=True) as server:
            server.execute(SQL(drop).format(names[0]))
            server.execute(SQL(create).format(*names))
        return f"{place}/{name}"

    def empty_copy(self, name: str, template: str) -> str:
        """Return a copy of a database without rows, if possible one made before.

        To copy all tables anew for each test was half of what these tests cost.
        """
        url = f"{self.url.rpartition('/')[0]}/{name}"
        if name not in self._shapes or not self._empty(url, self._shapes[name]):
            self.create(name, template)
            with psycopg.connect(url) as database:
                self._shapes[name] = database.execute(SHAPE).fetchone()
        return url

    def _empty(self, url: str, shape: object) -> bool:
        """Delete all rows of a database if its tables are the same still."""
        try:
            database = psycopg.connect(url, autocommit=True)
        except psycopg.OperationalError:
            return False  # a test has removed it
        with closing(database):
            database.execute(OTHERS_ARE_ENDED)
            if database.execute(SHAPE).fetchone() != shape:
                return False
            database.execute(EMPTY)
        return True

    def _run(self, tool: str, *arguments: str) -> None:
        command = [POSTGRESQL[-1].parent / tool, *arguments]
        subprocess.run(
            command, check=True, capture_output=True, cwd=self._folder, **self._user
        )  # type: ignore[call-overload]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Cluster]:
    """Start a PostgreSQL for all tests."""
    if not POSTGRESQL:
        reason = "missing program: initdb (Debian package postgresql)"
        (pytest.fail if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING") else pytest.skip)(
            reason
        )
    folder = Path(tempfile.mkdtemp(prefix="outkey-postgresql-"))
    cluster = Cluster(folder)
    yield cluster
    cluster.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_warehouse(postgresql: Cluster) -> str:
    """Create a database for tables, once: that takes longer than most tests."""
    return postgresql.create("warehouse")


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """Start a MariaDB for all tests."""
    if not MARIADB:
        reason = "missing program: mariadbd (Debian package mariadb-server)"
        (pytest.fail if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING") else pytest.skip)(
            reason
        )
    folder = Path(tempfile.mkdtemp(prefix="outkey-mariadb-"))
    server = MariaDb(folder)
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


def configure(url: str | None, folder: Path) -> None:
    """Point Django at a database.

    Settings are read once per process, connections are not.
    """
    from outkey.hosts.server.settings import database

    chosen = database(url, folder)
    if not settings.configured:
        settings.configure(
            INSTALLED_APPS=["outkey.hosts.django", "outkey.hosts.demo_records"],
            USE_TZ=True,
            DATABASES={"default": chosen},
        )
        django.setup()
    for connection in connections.all(initialized_only=True):
        connection.close()
    if hasattr(connections._connections, "default"):  # type: ignore[attr-defined]
        delattr(connections._connections, "default")  # type: ignore[attr-defined]
    settings.DATABASES = {"default": chosen}
    connections.settings = connections.configure_settings({"default": chosen})


def make_tables(url: str | None, folder: Path) -> None:
    """Make all tables in a database, and leave them empty."""
    configure(url, folder)
    call_command("migrate", verbosity=0)
    call_command("flush", verbosity=0, interactive=False)
    connections.close_all()


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the tables in a file, once; tests get copies."""
    folder = tmp_path_factory.mktemp("tables")
    make_tables(None, folder)
    return folder / "outkey.sqlite3"


@pytest.fixture(scope="session")
def postgresql_tables(
    postgresql: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Make the tables in a database, once; tests get copies."""
    make_tables(postgresql.create("tables"), tmp_path_factory.mktemp("tables"))
    return "tables"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give a test an empty database with all tables, on each of the two."""
    if request.param == "sqlite":
        tables = request.getfixturevalue("sqlite_tables")
        shutil.copy(tables, tmp_path / "outkey.sqlite3")
        configure(None, tmp_path)
    else:
        tables = request.getfixturevalue("postgresql_tables")
        cluster = request.getfixturevalue("postgresql")
        configure(cluster.empty_copy("outkey", tables), tmp_path)
    yield request.param
    connections.close_all()


def stored_runs() -> "Runs":
    """Return the runs in Django's database."""
    from outkey.hosts.django.rows.runs import DjangoRunRows
    from outkey.hosts.django.rows.shared_state import DjangoStateRows
    from outkey.hosts.django.rows.storage import django_storage
    from outkey.sync.engine.line_registry import Registry
    from outkey.sync.engine.runs.runs import Runs

    storage = django_storage()
    return Runs(
        DjangoRunRows(),
        DjangoStateRows(),
        storage.database,
        Registry(storage, SystemClock()),
    )
