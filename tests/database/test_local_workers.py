"""The workers of `outkey serve` on SQLite."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.db import connections
from django.test import override_settings

from database.test_workers import two_lines
from outkey.administration.core.document.document import parse_document
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.spar import Spar
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.core.run.schedule import DueRun
from outkey.sync.engine.runs import loop
from outkey.sync.engine.runs.loop import RUNS_AT_ONCE

if TYPE_CHECKING:
    from database.conftest import Cluster
    from outkey.administration.engine.application import Application
    from outkey.hosts.django.workers.local_workers import LocalWorkers
    from outkey.sync.engine.runs.runs import Runs

WAREHOUSE = """
[database.warehouse]
url = "env:WAREHOUSE_URL"
[line."into warehouse"]
configuration = "shop"
direction = "pull"
path = "/records/contacts?count=5"
records = "items"
target = "table:warehouse.contacts"
keys = ["id"]
[[line."into warehouse".fields]]
api = "id"
host = "id"
"""
pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@pytest.fixture
def application(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator["Application"]:
    from outkey.hosts.django.wiring import install

    (tmp_path / "home" / "config").mkdir(parents=True)
    monkeypatch.setenv("SHOP_TOKEN", "spar-token")
    made = install(tmp_path / "home", {})
    with override_settings(OUTKEY={"RECORDS": {"demo.Contact": {"active": False}}}):
        yield made
    made.gateway.close()
    made.audit.close()


@pytest.fixture
def crew(application: "Application") -> Iterator["LocalWorkers"]:
    from outkey.hosts.django.workers.local_workers import LocalWorkers

    made = LocalWorkers(application)
    yield made
    made.end(20)


@pytest.fixture
def shop(application: "Application") -> Iterator["Runs"]:
    with Spar() as spar:
        document = parse_document(two_lines(spar, 1500, "runs_at_once = 1"))
        application.apply(application.administration("tester"), document, dry_run=False)
        yield application.runs


def states(runs: "Runs") -> dict[str, str]:
    return {run.line: str(run.state) for run in runs.newest(10)}


def until(crew: "LocalWorkers", runs: "Runs", state: RunState) -> list[int]:
    """Let the crew look until every run is in a state; return the runs seen active."""
    ends, seen = time.monotonic() + 40, [0]
    while set(states(runs).values()) != {state}:
        crew.loop.round()
        seen.append(len(runs.newest(10, state=RunState.RUNNING)))
        assert time.monotonic() < ends, states(runs)
        time.sleep(0.05)
    return seen


def test_runs_that_wait_are_done_as_many_at_a_time_as_their_configuration_allows(
    crew: "LocalWorkers", shop: "Runs"
) -> None:
    for line in ("contacts", "others"):
        shop.request(line, "ada")
    assert max(until(crew, shop, RunState.DONE)) == 1
    assert [run.counts.created for run in shop.newest(10)] == [1500, 1500]


def test_a_crew_that_ends_lets_go_of_its_runs_and_the_next_one_goes_on(
    application: "Application", crew: "LocalWorkers", shop: "Runs"
) -> None:
    from outkey.hosts.django.workers.local_workers import LocalWorkers

    asked = shop.request("contacts", "ada")
    crew.start()
    ends = time.monotonic() + 30
    while shop.get(asked.id).pages < 2:
        assert time.monotonic() < ends
        time.sleep(0.02)
    crew.end(20)
    let_go = shop.get(asked.id)
    assert (let_go.state, let_go.cause) == (RunState.WAITING, "stopping")
    after = LocalWorkers(application)
    until(after, shop, RunState.DONE)
    after.end(20)
    assert shop.get(asked.id).counts.created == 1500


class Endless:
    """A planner whose runs ignore cancellation; another one is due at every look."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.asked = 0
        self.release = threading.Event()

    def plan(self, actor: str) -> None:
        pass

    def due(self) -> list[DueRun]:
        self.asked += 1
        run = Run(str(self.asked), "contacts", "ada", 0.0)
        return [DueRun(run, f"configuration {self.asked}", places=1)]

    def work(self, _run: str) -> None:
        self.release.wait(20)


@pytest.fixture
def endless(crew: "LocalWorkers", monkeypatch: pytest.MonkeyPatch) -> Iterator[Endless]:
    made = Endless()
    monkeypatch.setattr(crew.loop, "_planner", made)
    yield made
    made.release.set()


def test_a_crew_that_has_its_hands_full_does_not_ask_what_is_due(
    crew: "LocalWorkers", endless: Endless
) -> None:
    for _ in range(RUNS_AT_ONCE + 3):
        crew.loop.round()
    assert endless.asked == RUNS_AT_ONCE


def test_a_crew_that_ends_waits_for_all_its_runs_together(
    crew: "LocalWorkers", endless: Endless
) -> None:
    for _ in range(4):
        crew.loop.round()
    begun = time.monotonic()
    crew.end(0.5)
    assert 0.4 < time.monotonic() - begun < 1.5


def test_what_fails_is_logged_by_its_name_and_looked_at_again(
    crew: "LocalWorkers",
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tried = threading.Event()

    def fail(_self: object) -> None:
        tried.set()
        raise ValueError("the-value-of-something")

    monkeypatch.setattr(loop.RunLoop, "round", fail)
    monkeypatch.setattr(loop, "LOOK_SECONDS", 0.01)
    crew.start()
    assert tried.wait(10)
    tried.clear()
    assert tried.wait(10)
    crew.end(10)
    assert "ValueError" in caplog.text
    assert "the-value-of-something" not in caplog.text
    connections.close_all()


def test_a_crew_ends_soon_although_a_database_does_not_respond(
    application: "Application",
    postgresql: "Cluster",
    crew: "LocalWorkers",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = postgresql.create("silent")
    monkeypatch.setenv("WAREHOUSE_URL", url)
    with (
        Spar() as spar,
        psycopg.connect(url) as other,
        psycopg.connect(url, autocommit=True) as watch,
    ):
        application.apply(
            application.administration("tester"),
            parse_document(two_lines(spar, 5) + WAREHOUSE),
            dry_run=False,
        )
        application.runs.request("into warehouse", "ada")
        until(crew, application.runs, RunState.DONE)
        # As if a statement took long.
        other.execute("LOCK TABLE contacts IN ACCESS EXCLUSIVE MODE")
        asked = application.runs.request("into warehouse", "ada")
        crew.loop.round()
        ends = time.monotonic() + 30
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        while watch.execute(waiting).fetchone() == (0,):
            assert time.monotonic() < ends
            time.sleep(0.1)
        assert application.runs.get(asked.id).state is RunState.RUNNING
        began = time.monotonic()
        crew.end(60)
        assert time.monotonic() - began < 25  # its statement would wait for 30
        assert not crew.loop.is_working()
        other.rollback()
    released = application.runs.get(asked.id)
    assert (released.state, released.cause) == (
        RunState.WAITING,
        "storage_unavailable",
    )
