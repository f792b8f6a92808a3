"""Runs into tables and files: a server dies, a disk is full, an API is empty."""

import csv
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

import forks
from database.conftest import Cluster
from database.list_api import ListApi, list_api, orders
from database.mariadb import MariaDb
from database.test_table_kills import execute
from programs import program_command

COUNT = 200
PATIENCE = 60.0
SECTION = '[database.warehouse]\nurl = "env:WAREHOUSE_URL"'


@pytest.fixture
def api() -> Iterator[ListApi]:
    with list_api() as made:
        yield made


@dataclass
class Home:
    """A home whose line `orders` writes to some place."""

    folder: Path
    target: str
    url: str  # of the database with the table
    own: str  # of outkey's own
    environment: dict[str, str]
    server: Cluster | MariaDb | None = None
    key: str = "id"
    table: str = "orders"
    archived: str = "archived_at IS NOT NULL"
    lines: list[str] = field(default_factory=list)

    def __call__(self, *arguments: str, stdin: str = "") -> Any:  # noqa: ANN401
        return forks.run([*forks.OUTKEY, *arguments], self.environment, stdin=stdin)

    def apply(
        self, api: ListApi, keys: str = "", *, has_children: bool = False
    ) -> None:
        text = api.document(
            self.target,
            more=SECTION if "warehouse." in self.target else "",
            keys=keys,
            key=self.key,
            has_children=has_children,
        )
        applied = self("apply", "-", stdin=text)
        assert applied.returncode == 0, applied.stderr

    def run(self, *options: str) -> dict[str, Any]:
        done = self("line", "run", "orders", "--json", *options)
        facts: dict[str, Any] = json.loads(done.stdout)
        return facts

    def let_lease_end(self) -> None:
        execute(self.own, "UPDATE outkey_run SET until = 0")

    def keys(self, table: str = "", where: str = "1 = 1") -> list[str]:
        name = table or self.table
        column = self.key if not table else "sku"
        found = execute(self.url, f"SELECT {column} FROM {name} WHERE {where}")
        return sorted(row[0] for row in found)


PLACES = ("own sqlite", "own postgresql", "sqlite", "postgresql", "mariadb")


def home_at(where: str, folder: Path, request: pytest.FixtureRequest) -> Home:
    environment = {
        "PATH": "/usr/bin:/bin",
        "OUTKEY_HOME": str(folder / "home"),
        "OUTKEY_DEMO": "1",
        "LIST_TOKEN": "list-token",
        "WAREHOUSE_URL": f"sqlite:///{folder / 'warehouse.db'}",
        "OUTKEY_SQLITE_FOLDERS": str(folder),
    }
    own = f"sqlite:///{folder / 'home' / 'data' / 'outkey.sqlite3'}"
    server: Cluster | MariaDb | None = None
    if where in {"postgresql", "mariadb"}:
        server = request.getfixturevalue(where)
        environment["WAREHOUSE_URL"] = server.create("faults")
    if where in {"own postgresql", "model postgresql"}:
        server = request.getfixturevalue("postgresql")
        own = environment["OUTKEY_DATABASE_URL"] = server.create("faults")
    home = Home(
        folder,
        "table:warehouse.orders",
        environment["WAREHOUSE_URL"],
        own,
        environment,
        server,
    )
    if where.startswith("own"):
        home.target, home.url, home.table = "table:orders", own, "data_orders"
    if where.startswith("model"):
        home.target, home.url, home.table = "demo.contact", own, "demo_contact"
        home.key, home.archived = "external_id", "NOT active"
    return home


# ── a server that dies ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("where", ["own postgresql", "postgresql", "mariadb"])
def test_a_database_that_dies_in_the_middle_of_a_run_has_every_record_in_the_end(
    where: str, api: ListApi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = home_at(where, tmp_path, request)
    server = home.server
    assert server is not None
    if where == "mariadb":  # a committed page stays, as it does by default
        execute(home.url, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    api.records = orders(COUNT)
    home.apply(api, has_children=True)
    stops = {4: server.stop}
    api.before_page = lambda page: stops.pop(page, lambda: None)()
    failed = home("line", "run", "orders")
    try:
        assert failed.returncode == 5, failed.stdout + failed.stderr
        named = "the database warehouse" if "own" not in where else "the database"
        assert named in failed.stderr
        assert "maria-p" not in failed.stdout + failed.stderr
    finally:
        server.start()
    home.let_lease_end()
    # Parents and children of a page are written together, or not at all.
    written = len(home.keys())
    assert written in range(0, 61, 20)
    assert len(home.keys(f"{home.table}_lines")) == 2 * written
    facts = home.run()
    assert (facts["state"], facts["failed"]) == ("done", 0), facts
    assert home.keys() == [record["id"] for record in api.records]
    assert len({*home.keys(f"{home.table}_lines")}) == 2 * COUNT


# ── a full disk ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def small_disk(request: pytest.FixtureRequest) -> Iterator[Callable[[int], Path]]:
    """A file system of some megabytes, which can grow.

    Not in the folders of pytest: the user of PostgreSQL may not enter them.
    """
    folder = Path(tempfile.mkdtemp(prefix="outkey-disk-"))

    def resize(megabytes: int) -> Path:
        remount = ["remount"] if os.path.ismount(folder) else []
        options = ",".join([*remount, "mode=755", f"size={megabytes}m"])
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder],
            capture_output=True,
            check=False,
        )
        if mounted.returncode:
            pytest.skip("this user may not mount a small file system (tmpfs)")
        return folder

    yield resize
    try:
        if (folder / "space").exists():
            drop_small(request.getfixturevalue("postgresql"))
    finally:
        if os.path.ismount(folder):
            subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


def large_orders(count: int) -> list[dict[str, object]]:
    """Return records that no database compresses to nothing."""
    chance = random.Random(20261116)
    return orders(count, chance.randbytes(6000).hex())


@pytest.mark.parametrize("where", ["own sqlite", "sqlite", "postgresql", "file"])
def test_a_full_disk_ends_a_run_with_what_to_do_and_the_next_one_completes_it(
    where: str,
    api: ListApi,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    small_disk: Callable[[int], Path],
) -> None:
    disk = small_disk({"own sqlite": 3, "postgresql": 24}.get(where, 1))
    home = home_at(where, tmp_path, request)
    if where == "own sqlite":
        home.environment["OUTKEY_HOME"] = str(disk / "home")
        home.own = home.url = f"sqlite:///{disk / 'home' / 'data' / 'outkey.sqlite3'}"
    elif where == "sqlite":
        home.url = f"sqlite:///{disk / 'warehouse.db'}"
        home.environment["WAREHOUSE_URL"] = home.url
        home.environment["OUTKEY_SQLITE_FOLDERS"] = str(disk)
    elif where == "file":
        home.target = "file:orders.csv"
        home.environment["OUTKEY_FILES"] = str(disk / "files")
    else:
        home.url = database_on(disk, request.getfixturevalue("postgresql"))
        home.environment["WAREHOUSE_URL"] = home.url
        home.environment["OUTKEY_SQLITE_FOLDERS"] = str(disk)
    file = disk / "files" / "orders.csv"
    api.records = orders(30)
    home.apply(api)
    assert home.run()["created"] == 30
    before = file.read_bytes() if where == "file" else b""
    api.records = large_orders(3000 if where == "postgresql" else 1000)
    failed = home("line", "run", "orders")
    assert failed.returncode == 5, failed.stdout + failed.stderr
    assert "space" in failed.stderr.lower(), failed.stderr
    if where == "file":
        assert file.read_bytes() == before
    else:
        assert len(home.keys()) % 20 in {0, 10}
    small_disk(128)
    home.let_lease_end()
    facts = home.run()
    assert (facts["state"], facts["failed"]) == ("done", 0), facts
    expected = [record["id"] for record in api.records]
    if where == "file":
        with file.open(newline="") as opened:
            assert [row["id"] for row in csv.DictReader(opened)] == expected
    else:
        assert home.keys() == expected


def database_on(disk: Path, cluster: Cluster) -> str:
    """Create a database on the small disk."""
    folder = disk / "space"
    folder.mkdir()
    shutil.chown(folder, "postgres", "postgres")
    place = cluster.url.rpartition("/")[0]
    with psycopg.connect(f"{place}/postgres", autocommit=True) as server:
        server.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")  # type: ignore[call-overload]
        server.execute("CREATE DATABASE small TABLESPACE small")
    return f"{place}/small"


def drop_small(cluster: Cluster) -> None:
    """Drop that database, before its disk is gone."""
    place = cluster.url.rpartition("/")[0]
    with psycopg.connect(f"{place}/postgres", autocommit=True) as server:
        server.execute("DROP DATABASE IF EXISTS small WITH (FORCE)")
        server.execute("DROP TABLESPACE IF EXISTS small")


# ── an API that hides its records ────────────────────────────────────────────────────


@pytest.mark.parametrize("gone", ["archive", "delete"])
@pytest.mark.parametrize(
    "where",
    [
        "own sqlite",
        pytest.param("own postgresql", marks=pytest.mark.full),
        pytest.param("sqlite", marks=pytest.mark.full),
        "postgresql",
        "mariadb",
        pytest.param("model sqlite", marks=pytest.mark.full),
        "model postgresql",
    ],
)
def test_an_api_that_hides_its_records_removes_none(
    where: str,
    gone: str,
    api: ListApi,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    home = home_at(where, tmp_path, request)
    has_children = not where.startswith("model")
    api.records = orders(50)
    home.apply(api, f'gone = "{gone}"', has_children=has_children)
    assert home.run()["created"] == 50
    for count, state in ((0, "done"), (10, "failed"), (0, "done")):
        api.records = orders(count)
        done = home("line", "run", "orders", "--json")
        facts = json.loads(done.stdout or "{}")
        if state == "failed":
            assert (done.returncode, "guard" in done.stderr + done.stdout) == (1, True)
        else:
            assert (facts["state"], facts["archived"], facts["deleted"]) == (
                state,
                0,
                0,
            )
        assert len(home.keys()) == 50
        if gone == "archive":
            assert home.keys(where=home.archived) == []
        if has_children:
            assert len(home.keys(f"{home.table}_lines")) == 100
    api.records = orders(10)
    facts = home.run("--allow-removal")
    assert facts[{"archive": "archived", "delete": "deleted"}[gone]] == 40
    if gone == "delete":
        assert len(home.keys()) == 10
        if has_children:
            assert len(home.keys(f"{home.table}_lines")) == 20
    else:
        assert len(home.keys(where=home.archived)) == 40


def test_an_empty_list_leaves_a_file_as_it_is(
    api: ListApi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for ending in ("csv", "jsonl", "parquet"):
        home = home_at("file", tmp_path, request)
        home.target = f"file:orders.{ending}"
        file = tmp_path / "home" / "data" / "files" / f"orders.{ending}"
        api.records = orders(30)
        home.apply(api)
        home.run()
        before = file.read_bytes()
        api.records = []
        (note,) = home.run()["changes_to_target"]
        assert "not replaced" in note
        assert file.read_bytes() == before
        assert home.run("--allow-removal")["changes_to_target"] == []
        assert len(file.read_bytes()) < len(before)


@pytest.mark.parametrize("gone", ["archive", "delete"])
def test_a_worker_removes_nothing_when_an_api_hides_its_records(
    gone: str, api: ListApi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = home_at("own postgresql", tmp_path, request)
    api.records = orders(50)
    home.apply(api, f'gone = "{gone}"\nschedule = "* * * * *"')
    log = tmp_path / "worker.log"
    with log.open("wb") as output:
        worker = forks.Popen(
            [*program_command("database/quick_worker"), "worker"],
            env=home.environment,
            stdout=output,
            stderr=output,
        )
        try:
            for count, report in (
                (50, "50 created"),
                (0, "nothing to do"),
                (10, "more records are missing"),
            ):
                api.records = orders(count)
                let_schedule_come(home)
                wait_for(log, report)
                assert len(home.keys()) == 50
                if gone == "archive":
                    assert home.keys(where=home.archived) == []
        finally:
            worker.terminate()
            worker.wait()


def let_schedule_come(home: Home) -> None:
    """Let the schedule of a minute ago be due."""
    mark = json.dumps({"at": time.time() - 61})
    execute(
        home.own,
        "INSERT INTO outkey_sharedstate (kind, key, generation, value)"
        f" VALUES ('mark', 'schedules', 1, '{mark}') ON CONFLICT (kind, key)"
        " DO UPDATE SET value = excluded.value, generation ="
        " outkey_sharedstate.generation + 1",
    )


def wait_for(log: Path, text: str) -> None:
    ends = time.monotonic() + PATIENCE
    while text not in log.read_text():
        assert time.monotonic() < ends, log.read_text()
        time.sleep(0.1)
