"""The loop of a worker: plan by schedule, and do the runs that are due.

A host calls `round` from whatever calls it regularly, a thread or a cron job, and says
how work is started beside it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from outkey.foundation.engine.rounds import StopSignal, repeat
from outkey.sync.core.run.run import SCHEDULE_ACTOR
from outkey.sync.core.run.schedule import DueRun, next_in_line, places_of_database
from outkey.sync.engine.runs.planner import Planner

LOOK_SECONDS = 1.0
PLAN_SECONDS = 15.0
RUNS_AT_ONCE = 4


class RunningWork(Protocol):
    """Work that was started; a `threading.Thread` is."""

    def is_alive(self) -> bool:
        """Whether the work goes on."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until the work has ended, or for so many seconds."""


StartWork = Callable[[Callable[[], object]], RunningWork]


class RunLoop:
    """Does requested runs, a few at a time; `stop` releases those under way."""

    def __init__(
        self,
        planner: Planner,
        start_work: StartWork,
        stop_signal: StopSignal,
        *,
        is_sealed: Callable[[], bool],
        limit: int = RUNS_AT_ONCE,
    ) -> None:
        self._planner = planner
        self._start_work = start_work
        self._stop_signal = stop_signal
        self._is_sealed = is_sealed
        self._limit = limit
        self._working: dict[str, tuple[DueRun, RunningWork]] = {}  # by id of the run
        self._turns: dict[str, int] = {}  # the last turn of each configuration
        self._planned_at = float("-inf")

    def round(self) -> None:
        """Request what is due by its schedule; start due runs while there is room."""
        now = self._planner.clock.monotonic()
        if now - self._planned_at >= PLAN_SECONDS:
            self._planner.plan(SCHEDULE_ACTOR)
            self._planned_at = now
        self._working = {
            item.run.id: (item, work)
            for item, work in self._working.values()
            if work.is_alive()
        }
        # Without the key every run would fail, and its line would not be to blame.
        if not self._has_room() or self._is_sealed():
            return
        due = [item for item in self._planner.due() if item.run.id not in self._working]
        while self._has_room() and not self._stop_signal.is_set():
            active = Counter(item.configuration for item, _ in self._working.values())
            full = self._full_databases()
            startable = (item for item in due if item.database not in full)
            item = next_in_line(startable, active, self._turns)
            if item is None:
                return
            due.remove(item)
            self._turns[item.configuration] = max(self._turns.values(), default=0) + 1
            work = self._start_work(self._work_on(item.run.id))
            self._working[item.run.id] = item, work

    def run(self, guard: Callable[[Callable[[], object]], object]) -> None:
        """Do round after round until the stop signal; `guard` calls each of them."""
        repeat(lambda: guard(self.round), LOOK_SECONDS, self._stop_signal)

    def stop(self, patience: float, loop: RunningWork | None = None) -> None:
        """Start no more runs, release those under way, and wait for them a while.

        `loop` is the work that calls `run`: it may be about to start one more.
        """
        self._stop_signal.set()
        clock = self._planner.clock
        deadline = clock.monotonic() + patience
        if loop is not None:
            loop.join(patience)
        for _, work in list(self._working.values()):
            work.join(max(deadline - clock.monotonic(), 0))

    def is_working(self) -> bool:
        """Whether a run is under way."""
        return any(work.is_alive() for _, work in list(self._working.values()))

    def _has_room(self) -> bool:
        return len(self._working) < self._limit

    def _full_databases(self) -> set[str]:
        """Return the other databases whose runs have all places that they may have."""
        active = Counter(item.database for item, _ in self._working.values())
        most = places_of_database(self._limit)
        return {name for name, count in active.items() if name and count >= most}

    def _work_on(self, run_id: str) -> Callable[[], object]:
        return lambda: self._planner.work(run_id)


class DatabasePlaces:
    """Counts the runs of each other database, for a worker whose queue starts them."""

    def __init__(self, limit: int) -> None:
        self._most = places_of_database(limit)
        self._active = Counter[str]()
        self._lock = threading.Lock()

    @contextmanager
    def take(self, database: str) -> Iterator[bool]:
        """Take a place until the end of the block; False if all of them are taken.

        "" is no other database: it has as many places as are wanted.
        """
        with self._lock:
            has_place = not database or self._active[database] < self._most
            self._active[database] += has_place
        try:
            yield has_place
        finally:
            with self._lock:
                self._active[database] -= has_place
