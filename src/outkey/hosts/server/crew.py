"""The workers of `outkey serve` on SQLite: threads that look every second for runs that are due."""

import logging
import threading
from collections.abc import Callable

from django.db import connections

from outkey.engine.sync import Planner
from outkey.hosts.django.wiring import planner
from outkey.hosts.installation import Installation

ACTOR = "schedule"
LOOK_SECONDS = 1.0
PLAN_SECONDS = 15.0
AT_ONCE = 4
_logger = logging.getLogger("outkey.runs")


class Crew:
    """A few runs at a time; one that is under way when the server stops is let go at its page."""

    def __init__(self, here: Installation) -> None:
        self._ended = threading.Event()
        self._planner: Planner = planner(here, self._ended.is_set)
        self._busy: dict[str, threading.Thread] = {}  # by lock
        self._planned_at = float("-inf")
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look in a thread; one that was made before a fork would not be there."""
        self._thread = threading.Thread(target=self._look, name="outkey-crew", daemon=True)
        self._thread.start()

    def end(self, patience: float = 5.0) -> None:
        """Take no more runs, and let go of those under way."""
        self._ended.set()
        for thread in [self._thread, *self._busy.values()]:
            if thread is not None:
                thread.join(patience)

    def round(self) -> None:
        """Ask for what is due by its schedule, and begin what waits while there is room."""
        clock = self._planner.clock
        if clock.monotonic() - self._planned_at >= PLAN_SECONDS:
            self._planner.plan(ACTOR)
            self._planned_at = clock.monotonic()
        self._busy = {lock: one for lock, one in self._busy.items() if one.is_alive()}
        for run, lock in self._planner.due():
            if lock not in self._busy and len(self._busy) < AT_ONCE and not self._ended.is_set():
                work = threading.Thread(target=self._work, args=(run.id,), daemon=True)
                self._busy[lock] = work
                work.start()

    def _look(self) -> None:
        while True:
            guarded(self.round)
            if self._ended.wait(LOOK_SECONDS):
                break
        connections.close_all()

    def _work(self, run: str) -> None:
        guarded(lambda: self._planner.work(run))
        connections.close_all()


def guarded(work: Callable[[], object]) -> None:
    """Do some work; what fails is logged and tried again later."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the next look tries again
        # Only its name: what a driver or a library says may hold a value.
        _logger.error("work on runs failed (%s)", type(error).__name__)  # noqa: TRY400
