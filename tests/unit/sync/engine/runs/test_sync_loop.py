"""The loop of a worker, with work that is started in no thread."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from outkey.foundation.engine.rounds import repeat
from outkey.sync.core.run.run import RunState
from outkey.sync.core.run.schedule import DueRun
from outkey.sync.engine.runs.loop import PLAN_SECONDS, RunLoop
from outkey.testing import FakeClock
from unit.sync.engine.pull.test_sync_run import Api, fake_sync, people
from unit.sync.engine.runs.test_sync_planner import HOURLY, fake_planner


@dataclass
class Signal:
    """A stop signal that sets itself after some rounds."""

    rounds: int = 99
    stopped: bool = False
    pauses: list[float | None] = field(default_factory=list)

    def is_set(self) -> bool:
        return self.stopped

    def set(self) -> None:
        self.stopped = True

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout)
        self.rounds -= 1
        return self.rounds <= 0


@dataclass
class Work:
    """Work that goes on until it is told to end."""

    work: Callable[[], object]
    clock: FakeClock
    seconds: float = 0.0
    alive: bool = True
    patience: list[float | None] = field(default_factory=list)

    def is_alive(self) -> bool:
        return self.alive

    def join(self, timeout: float | None = None) -> None:
        self.patience.append(timeout)
        self.clock.advance(self.seconds)


class FakePlanner:
    """A planner with one more due run at every look, each of another configuration."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.planned = 0
        self.looks = 0
        self.owners: list[str] = []
        self.worked: list[str] = []

    def plan(self, _actor: str) -> None:
        self.planned += 1

    def due(self) -> list[DueRun]:
        self.looks += 1
        owners = self.owners or [f"configuration {self.looks}"]
        return [
            DueRun(Named(f"{self.looks}.{n}"), owner, places=1)  # type: ignore[arg-type]
            for n, owner in enumerate(owners)
        ]

    def work(self, run_id: str) -> None:
        self.worked.append(run_id)


@dataclass
class Named:
    id: str


@dataclass
class Shop:
    planner: FakePlanner = field(default_factory=FakePlanner)
    signal: Signal = field(default_factory=Signal)
    started: list[Work] = field(default_factory=list)
    sealed: bool = False

    def start(self, work: Callable[[], object]) -> Work:
        self.started.append(Work(work, self.planner.clock))
        return self.started[-1]

    def loop(self, limit: int = 2) -> RunLoop:
        return RunLoop(
            self.planner,  # type: ignore[arg-type]
            self.start,
            self.signal,
            is_sealed=lambda: self.sealed,
            limit=limit,
        )


def test_schedules_are_planned_now_and_then() -> None:
    shop = Shop()
    loop = shop.loop()
    for seconds in (0, PLAN_SECONDS - 1, 2, PLAN_SECONDS):
        shop.planner.clock.advance(seconds)
        loop.round()
    assert shop.planner.planned == 3


def test_as_many_runs_are_started_as_there_is_room_for() -> None:
    shop = Shop()
    loop = shop.loop(limit=2)
    for _ in range(4):
        loop.round()
    assert (len(shop.started), shop.planner.looks) == (2, 2)
    shop.started[0].alive = False
    loop.round()
    assert len(shop.started) == 3
    for started in shop.started:
        started.work()
    assert shop.planner.worked == ["1.0", "2.0", "3.0"]


def test_of_runs_that_share_a_place_one_is_started_and_no_more_than_the_limit() -> None:
    shop = Shop()
    shop.planner.owners = ["a", "a", "b", "c"]
    shop.loop(limit=2).round()
    assert len(shop.started) == 2


def test_without_the_key_nothing_is_started() -> None:
    shop = Shop(sealed=True)
    shop.loop().round()
    assert (shop.started, shop.planner.planned) == ([], 1)


def test_who_is_told_to_stop_starts_nothing_more_and_waits_for_all_together() -> None:
    shop = Shop()
    shop.planner.owners = ["a", "b"]
    loop = shop.loop()
    loop.round()
    looking = Work(lambda: None, shop.planner.clock, seconds=2.0)
    shop.started[0].seconds = 4.0
    loop.stop(5.0, looking)
    assert [work.patience for work in (looking, *shop.started)] == [[5.0], [3.0], [0]]
    for started in shop.started:
        started.alive = False
    loop.round()
    assert len(shop.started) == 2
    Shop().loop().stop(1.0)  # before it was started


def test_rounds_are_repeated_until_the_signal_each_of_them_guarded() -> None:
    shop = Shop(signal=Signal(rounds=3))
    guarded: list[object] = []
    shop.loop().run(guarded.append)
    assert (len(guarded), shop.signal.pauses) == (3, [1.0, 1.0, 1.0])
    with pytest.raises(ZeroDivisionError):  # who guards nothing hears of it
        repeat(lambda: 1 / 0, 1.0, Signal())


def test_a_cron_job_that_starts_work_by_doing_it_needs_no_thread() -> None:
    fake = fake_planner(fake_sync(HOURLY, Api(people(1, 2, 3))))
    clock = fake.sync.world.clock

    def do(work: Callable[[], object]) -> Work:
        work()
        return Work(work, clock, alive=False)

    loop = RunLoop(fake.planner, do, Signal(), is_sealed=lambda: False)
    loop.round()
    fake.wait(3600)
    loop.round()
    (run,) = fake.sync.runs.newest(9)
    assert (run.state, run.counts.created) == (RunState.DONE, 3)
