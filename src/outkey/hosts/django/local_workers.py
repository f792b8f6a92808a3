"""Workers where there is no queue, as on SQLite: threads that look every second for runs."""

import logging
import threading
import time

from django.db import connections

from outkey.engine.application import Application
from outkey.engine.sync import Planner
from outkey.hosts.django.guarded import guarded

ACTOR = "schedule"
LOOK_SECONDS = 1.0
PLAN_SECONDS = 15.0
AT_ONCE = 4
_logger = logging.getLogger("outkey.runs")


class LocalWorkers:
    """A few runs at a time; one that is under way when the server stops is let go at its page."""

    def __init__(self, application: Application, at_once: int = AT_ONCE) -> None:
        self._application = application
        self._at_once = at_once
        self._ended = threading.Event()
        self._planner: Planner = application.planner(self._ended.is_set)
        self._busy: dict[str, threading.Thread] = {}  # by lock
        self._planned_at = float("-inf")
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look in a thread; one that was made before a fork would not be there."""
        self._thread = threading.Thread(
            target=self._look, name="outkey-crew", daemon=True
        )
        self._thread.start()

    def end(self, patience: float = 5.0) -> None:
        """Take no more runs, and let go of those under way."""
        self._ended.set()
        ends = time.monotonic() + patience
        if self._thread is not None:
            self._thread.join(patience)  # first: it may begin one more
        for thread in list(self._busy.values()):
            thread.join(max(ends - time.monotonic(), 0))

    def round(self) -> None:
        """Ask for what is due by its schedule, and begin what waits while there is room."""
        clock = self._planner.clock
        if clock.monotonic() - self._planned_at >= PLAN_SECONDS:
            self._planner.plan(ACTOR)
            self._planned_at = clock.monotonic()
        self._busy = {lock: one for lock, one in self._busy.items() if one.is_alive()}
        # Without the key every run would fail, and say nothing about its line.
        if len(self._busy) >= self._at_once or self._application.keys.is_sealed():
            return
        for run, lock in self._planner.due():
            is_room = lock not in self._busy and len(self._busy) < self._at_once
            if is_room and not self._ended.is_set():
                work = threading.Thread(target=self._work, args=(run.id,), daemon=True)
                work.start()
                self._busy[lock] = work

    def _look(self) -> None:
        while True:
            guarded(_logger, self.round, again_soon=True)
            if self._ended.wait(LOOK_SECONDS):
                break
        connections.close_all()

    def _work(self, run: str) -> None:
        guarded(_logger, lambda: self._planner.work(run))
