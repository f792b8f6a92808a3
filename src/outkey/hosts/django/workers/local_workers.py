"""Workers without a queue, as on SQLite: threads that look for runs every second."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import connections

from outkey.administration.engine.application import Application
from outkey.hosts.django.workers.heartbeats import heartbeat_thread
from outkey.hosts.django.workers.unattended_work import log_and_continue
from outkey.hosts.django.workers.webhook_rounds import webhook_thread
from outkey.sync.engine.runs.loop import RUNS_AT_ONCE, RunLoop

# For the page that a run is at: as long as a request may take by default.
STOP_SECONDS = 60.0
TARGET_SECONDS = 5.0
HELPER_SECONDS = 5.0
logger = logging.getLogger("outkey.runs")


class LocalWorkers:
    """A thread that looks for runs, and a thread for each run under way."""

    def __init__(self, application: Application, limit: int = RUNS_AT_ONCE) -> None:
        self._stop_signal = stop_signal = threading.Event()
        self.loop = RunLoop(
            application.sync.planner(stop_signal.is_set),
            _start_thread,
            stop_signal,
            is_sealed=application.keys.is_sealed,
            limit=limit,
        )
        self._interrupt_targets = application.sync.interrupt
        self._webhooks = webhook_thread(application, stop_signal)
        self._heartbeat = heartbeat_thread(application, stop_signal)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start to look for runs; not in `__init__`, since a fork ends all threads."""
        self._thread = threading.Thread(
            target=self._run, name="outkey-workers", daemon=True
        )
        self._thread.start()
        self._webhooks.start()
        self._heartbeat.start()

    def stop(self) -> None:
        """Start no more runs, without waiting for those under way."""
        self._stop_signal.set()

    def end(self, patience: float = STOP_SECONDS) -> None:
        """Start no more runs, and release those under way at their next page.

        One that waits for another database for longer than `TARGET_SECONDS` is ended.
        """
        ends_at = time.monotonic() + patience
        self.loop.stop(min(patience, TARGET_SECONDS), self._thread)
        while self.loop.is_working() and time.monotonic() < ends_at:
            self._interrupt_targets()
            self.loop.stop(min(1.0, max(ends_at - time.monotonic(), 0.0)))
        self._webhooks.join(min(patience, HELPER_SECONDS))
        self._heartbeat.join(min(patience, HELPER_SECONDS))

    def _run(self) -> None:
        self.loop.run(lambda work: log_and_continue(logger, work, again_soon=True))
        connections.close_all()


def _start_thread(work: Callable[[], object]) -> threading.Thread:
    """Do some work in a thread of its own; an error is logged."""
    thread = threading.Thread(target=log_and_continue, args=(logger, work), daemon=True)
    thread.start()
    return thread
