"""Targets that cannot be opened, or only after a long time, and the places of runs."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    StorageUnavailable,
    SyncFailed,
)
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sync.adapters.tables.databases import NamedDatabases
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.line.line import Sync
from outkey.sync.core.mapping.records import PreparedTarget, Shape
from outkey.sync.core.mapping.targets import other_database
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.core.run.schedule import DueRun, places_of_database
from outkey.sync.engine.pull.received_pull import ReceivedPage
from outkey.sync.engine.runs.loop import DatabasePlaces, RunLoop
from outkey.sync.engine.runs.runner import SyncRunner
from unit.sync.engine.pull.test_sync_run import PULL, Api, FakeSync, fake_sync, people
from unit.sync.engine.runs.test_sync_loop import Shop
from unit.sync.engine.runs.test_sync_planner import FakePlanner, fake_planner

TARGET = "table:w.contacts"
INTO_TABLE = replace(PULL, target=TARGET)


class WatchedTables(TableStore):
    """Tables that do something before they are opened for the first time in a run."""

    before: Callable[[], object] = staticmethod(lambda: None)

    def prepare(
        self, target: str, shape: Shape, *, dry_run: bool = False
    ) -> PreparedTarget:
        self.before()
        return super().prepare(target, shape, dry_run=dry_run)


@dataclass
class Watched:
    """A line into a table, and the runs that were stored when it was opened."""

    sync: FakeSync
    tables: WatchedTables
    seen: list[Run] = field(default_factory=list)

    def fail(self, error: BaseException) -> None:
        """Let opening fail, once the stored runs were noted."""

        def look() -> None:
            self.seen += self.sync.runs.newest(9)
            raise error

        self.tables.before = look  # type: ignore[method-assign]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return watched_line(tmp_path)


def watched_line(folder: Path, sync: Sync = INTO_TABLE) -> Watched:
    made = fake_sync(sync, Api(people(1, 2, 3)))
    settings = {"w": OtherDatabase("w", f"sqlite:///{folder / 'w.db'}")}
    files = SqliteFiles([folder])
    named = NamedDatabases(lambda: settings, ReferencedSecrets().open_reference, files)
    tables = WatchedTables(
        MemoryStateRows(), None, named, lambda run: made.runs.get(run).line
    )
    ports = replace(made.ports, tables=tables)
    return Watched(replace(made, runner=SyncRunner(ports), ports=ports), tables)


def test_a_run_has_begun_when_its_target_is_opened(watched: Watched) -> None:
    watched.fail(StorageUnavailable())
    with pytest.raises(StorageUnavailable):
        watched.sync.run()
    (run,) = watched.seen
    assert (run.state, run.until > watched.sync.runs.now()) == (RunState.RUNNING, True)
    (failed,) = watched.sync.runs.newest(9)
    assert (failed.state, failed.cause) == (RunState.FAILED, "storage_unavailable")
    assert failed.ended_at is not None


def test_a_fault_of_the_line_leaves_no_run_of_the_command_line(
    watched: Watched,
) -> None:
    for dry_run in (True, False):
        watched.fail(ConfigError())
        with pytest.raises(ConfigError):
            watched.sync.run(dry_run=dry_run)
        assert len(watched.seen) == 1
        watched.seen.clear()
        assert watched.sync.runs.newest(9) == []


def test_a_run_to_be_continued_stays_where_it_was_if_it_cannot_be_opened(
    watched: Watched,
) -> None:
    steps = watched.sync.runner.run("contacts", "ada")
    next(steps)
    next(steps)
    with pytest.raises(KeyboardInterrupt):
        steps.throw(KeyboardInterrupt())
    (before,) = watched.sync.runs.newest(9)
    for error in (ConfigError(), StorageUnavailable()):
        watched.fail(error)
        with pytest.raises(type(error)):
            watched.sync.run()
        (after,) = watched.sync.runs.newest(9)
        assert (after.position, after.pages) == (before.position, 1)
        assert (after.state, after.cause) == (RunState.FAILED, error.code)


def test_an_unexpected_error_at_the_target_ends_the_run_with_its_place(
    watched: Watched,
) -> None:
    watched.fail(LookupError("hunter2"))
    with pytest.raises(SyncFailed, match="unexpected error: LookupError") as failed:
        watched.sync.run()
    assert failed.value.__cause__ is None
    (run,) = watched.sync.runs.newest(9)
    assert (run.state, run.cause) == (RunState.FAILED, "internal_error")
    assert "hunter2" not in str(run.notes)
    assert run.notes == (failed.value.message,)


def test_an_interrupt_while_the_target_is_opened_releases_the_run(
    watched: Watched,
) -> None:
    watched.fail(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        watched.sync.run()
    (run,) = watched.sync.runs.newest(9)
    assert (run.state, run.cause) == (RunState.FAILED, "stopping")


def test_the_time_that_opening_takes_counts(tmp_path: Path) -> None:
    watched = watched_line(tmp_path, replace(INTO_TABLE, max_minutes=1))
    clock = watched.sync.world.clock
    watched.tables.before = lambda: clock.advance(40)  # type: ignore[method-assign]
    with pytest.raises(OutkeyError, match="limit of 1 minute"):
        watched.sync.run()


def test_received_records_wait_for_a_target_that_cannot_be_opened(
    watched: Watched,
) -> None:
    watched.fail(StorageUnavailable())
    page = ReceivedPage(people(1), lambda *_: None)
    with pytest.raises(StorageUnavailable):
        watched.sync.runner.receive("contacts", "hook", [page])
    assert [run.state for run in watched.seen] == [RunState.RUNNING]
    watched.tables.before = lambda: None  # type: ignore[method-assign]
    watched.sync.runner.receive("contacts", "hook", [page])
    assert watched.tables.count(TARGET) == 1


def test_a_requested_run_is_retried_when_its_target_can_be_opened(
    watched: Watched,
) -> None:
    fake = fake_planner(watched.sync)
    fake.planner.request("contacts", "ada")
    watched.fail(StorageUnavailable())
    (waiting,) = fake.work()
    assert (waiting.state, waiting.cause) == (RunState.WAITING, "storage_unavailable")
    watched.tables.before = lambda: None  # type: ignore[method-assign]
    fake.wait(16)
    (done,) = fake.work()
    assert (done.state, done.counts.created) == (RunState.DONE, 3)


# ── places ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("target", "database"),
    [
        ("table:w.contacts", "w"),
        ("table:w.sales.contacts", "w"),
        ("table:contacts", ""),
        ("file:a.csv", ""),
        ("shop.order", ""),
        (None, ""),
        (["table:w.t"], ""),
    ],
)
def test_the_other_database_of_a_target_is_known_by_its_name(
    target: object, database: str
) -> None:
    assert other_database(target) == database


def test_a_due_run_has_the_other_database_of_its_line(watched: Watched) -> None:
    fake = fake_planner(watched.sync)
    assert fake.planner.database_of("9") == ""
    run = fake.planner.request("contacts", "ada")
    (due,) = fake.planner.due()
    assert due.database == "w"
    assert fake.planner.database_of(run.id) == "w"
    own: FakePlanner = fake_planner(fake_sync())
    run = own.planner.request("contacts", "ada")
    assert own.planner.database_of(run.id) == ""


@dataclass
class Lined:
    """A planner whose runs are in these databases, each of its own configuration."""

    shop: Shop
    databases: list[str]

    def loop(self, limit: int) -> RunLoop:
        due = [
            DueRun(Run(str(number), "", "", 0.0), f"c{number}", 1, database)
            for number, database in enumerate(self.databases)
        ]
        self.shop.planner.due = lambda: due  # type: ignore[method-assign]
        return self.shop.loop(limit)

    def started(self) -> list[str]:
        for work in self.shop.started:
            work.work()
        return [self.databases[int(run)] for run in self.shop.planner.worked]


@pytest.mark.parametrize(
    ("limit", "started"),
    [
        (1, ["w"]),
        (2, ["w", ""]),
        (4, ["w", "w", "", "x"]),
        (5, ["w", "w", "", "x", ""]),
    ],
)
def test_runs_of_one_database_have_half_of_the_places(
    limit: int, started: list[str]
) -> None:
    lined = Lined(Shop(), ["w", "w", "w", "w", "", "x", ""])
    loop = lined.loop(limit)
    for _ in range(3):
        loop.round()
    assert lined.started() == started
    assert loop.is_working()
    for work in lined.shop.started:
        work.alive = False
    assert not loop.is_working()


def test_the_own_database_has_all_places() -> None:
    lined = Lined(Shop(), ["", "", "", ""])
    lined.loop(4).round()
    assert len(lined.started()) == 4


def test_a_queue_gives_runs_of_one_database_half_of_the_places() -> None:
    places = DatabasePlaces(4)
    assert [places_of_database(limit) for limit in (1, 2, 3, 4, 9)] == [1, 1, 1, 2, 4]
    with places.take("w") as first, places.take("w") as second:
        with places.take("w") as third, places.take("") as own, places.take("x") as x:
            assert (first, second, third, own, x) == (True, True, False, True, True)
        with places.take("w") as again:
            assert not again
    with places.take("w") as free:
        assert free
    assert cast("object", places._active["w"]) == 0
