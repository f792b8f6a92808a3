"""Pulls that are killed in the middle: no record twice, none missing, no half file."""

import csv
import json
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

import forks
from database.conftest import Cluster
from database.mariadb import MariaDb
from outkey.foundation.core.secret import Secret
from outkey.spar import Spar
from outkey.sync.adapters.tables.databases import parse_database_url

SIZE = 20
KILLS, FULL_KILLS = 3, 25
PAGES_EACH = 8
PATIENCE = 60.0
PLACES = (
    "own sqlite",
    pytest.param("own postgresql", marks=pytest.mark.full),
    "postgresql",
    "mariadb",
    pytest.param("sqlite", marks=pytest.mark.full),
    "file",
)
DOCUMENT = """
[database.warehouse]
url = "env:WAREHOUSE_URL"
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:ACME_TOKEN"
[line.contacts]
configuration = "acme"
direction = "pull"
path = "/records/contacts"
query = {{ count = "{count}" }}
records = "items"
target = "{target}"
keys = ["id"]
[line.contacts.pagination]
kind = "page"
size = {size}
size_parameter = "per_page"
position_parameter = "page"
[[line.contacts.fields]]
api = "id"
host = "id"
[[line.contacts.fields]]
api = "full_name"
host = "name"
"""


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.mark.parametrize("where", PLACES)
def test_a_killed_pull_ends_with_every_record_once(
    where: str,
    spar: Spar,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    kills = FULL_KILLS if request.config.getoption("--full") else KILLS
    count = (kills + 1) * PAGES_EACH * SIZE
    environment = {
        "PATH": "/usr/bin:/bin",
        "OUTKEY_HOME": str(tmp_path / "home"),
        "ACME_TOKEN": "spar-token",
        "WAREHOUSE_URL": f"sqlite:///{tmp_path / 'warehouse.db'}",
        "OUTKEY_SQLITE_FOLDERS": str(tmp_path),
    }
    own = f"sqlite:///{tmp_path / 'home' / 'data' / 'outkey.sqlite3'}"
    target = "table:warehouse.contacts"
    if where in {"postgresql", "mariadb"}:
        server: Cluster | MariaDb = request.getfixturevalue(where)
        environment["WAREHOUSE_URL"] = server.create("kills")
    if where.startswith("own"):
        target = "table:contacts"
    if where == "own postgresql":
        cluster: Cluster = request.getfixturevalue("postgresql")
        own = environment["OUTKEY_DATABASE_URL"] = cluster.create("kills")
    if where == "file":
        target = "file:contacts.csv"
    text = DOCUMENT.format(url=spar.url, count=count, target=target, size=SIZE)
    outkey = [*forks.OUTKEY]
    applied = forks.run([*outkey, "apply", "-"], environment, stdin=text)
    assert applied.returncode == 0, applied.stderr
    spar.clear()
    chance = random.Random(20261116)
    for _ in range(kills):
        with forks.Popen(
            [*outkey, "line", "run", "contacts", "--json"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        ) as process:
            wait_for_pages(spar, process, chance.randint(1, PAGES_EACH))
            time.sleep(chance.uniform(0, 0.03))
            process.kill()
        execute(own, "UPDATE outkey_run SET until = 0")
    done = forks.run([*outkey, "line", "run", "contacts", "--json"], environment)
    facts = json.loads(done.stdout)
    assert (facts["state"], facts["failed"]) == ("done", 0), done.stderr
    # Another database may have seen one page of each kill twice.
    assert facts["created"] + facts["unchanged"] == count
    if where == "file":
        file = tmp_path / "home" / "data" / "files" / "contacts.csv"
        with file.open(newline="") as opened:
            keys = [row["id"] for row in csv.DictReader(opened)]
    elif where.startswith("own"):
        assert facts["created"] == count
        keys = [row[0] for row in execute(own, "SELECT id FROM data_contacts")]
    else:
        url = environment["WAREHOUSE_URL"]
        keys = [row[0] for row in execute(url, "SELECT id FROM contacts")]
    assert (len(keys), len({*keys})) == (count, count)


def wait_for_pages(spar: Spar, process: subprocess.Popen[str], pages: int) -> None:
    wanted = len(spar.journal) + pages
    ends = time.monotonic() + PATIENCE
    while len(spar.journal) < wanted and process.poll() is None:
        assert time.monotonic() < ends
        time.sleep(0.002)


def execute(url: str, statement: str) -> list[tuple[str, ...]]:
    engine = create_engine(parse_database_url("kills", Secret(url)))
    try:
        with engine.begin() as connection:
            result = connection.exec_driver_sql(statement)
            return [tuple(row) for row in result] if result.returns_rows else []
    finally:
        engine.dispose()
