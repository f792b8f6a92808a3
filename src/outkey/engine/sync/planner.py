"""Requested runs: by users and schedules, done by workers, retried after failures."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from outkey.core.errors import (
    ConfigError,
    HostError,
    LineBusy,
    OutkeyError,
    RunStopped,
    StorageUnavailable,
)
from outkey.core.sync.run import Run, RunState
from outkey.core.sync.run_states import KILLED, STOPPING
from outkey.core.sync.schedule import ATTEMPTS, delay_before_retry, locks_of
from outkey.engine.managing.registry import Registry
from outkey.engine.sync.plan import SyncPorts
from outkey.engine.sync.runner import SyncRunner
from outkey.ports.sync import Queue

# Seconds between tries: a database that restarts is back by then.
STORAGE_DELAYS = (1, 2, 4, 8, 15, 30)
T = TypeVar("T")


class Planner:
    """Requests runs and does them, also those whose worker was killed.

    A run that is requested twice is done once.
    """

    def __init__(
        self,
        ports: SyncPorts,
        registry: Registry,
        queue: Queue,
        is_stopping: Callable[[], bool],
    ) -> None:
        self.clock = ports.clock
        self._runner = SyncRunner(ports)
        self._runs = ports.runs
        self._calendar = ports.calendar
        self._registry = registry
        self._queue = queue
        self._is_stopping = is_stopping

    def request(self, line: str, actor: str, *, dry_run: bool = False) -> Run:
        """Request a run as soon as a worker is free; LineBusy names an active one."""
        self._runner.refuse_faults(line)
        try:
            run = self._runs.request(line, actor, dry_run=dry_run)
        except LineBusy as busy:
            busy.run = self._runs.open_run_id(line, dry_run=dry_run)
            raise
        self._notify_workers(run)
        return run

    def plan(self, actor: str) -> None:
        """Request what is due by its schedule; notify workers of all that is due."""
        with self._runs.transaction():
            since, now = self._runs.claim_schedules()
            for line in self._registry.timetable():
                next_at = self._next_after(line.schedule, since)
                if next_at is not None and next_at <= now:
                    with suppress(LineBusy):  # it runs already
                        self._runs.request(line.name, actor, run_now=False)
        for run, lock in self.due():
            self._queue.put(run, lock)

    def next_runs(self, names: Collection[str]) -> dict[str, float | None]:
        """Return when these lines run next; None without a valid schedule."""
        now = self.clock.now()
        return {
            line.name: self._next_after(line.schedule, now)
            for line in self._registry.timetable(names)
        }

    def due(self) -> list[tuple[Run, str]]:
        """Return the due runs that no process works on, each with the lock it needs."""
        runs = self._runs.due()
        locks = self._locks({run.line for run in runs})
        return [(run, locks[run.line]) for run in runs if run.line in locks]

    def work(self, run_id: str) -> Run:
        """Do a run that is due, and return it; a failure is stored with it."""
        due = self._runs.due(run_id)
        if not due:
            return self._runs.get(run_id)
        requested = due[0]
        was_killed = requested.state is RunState.RUNNING
        if was_killed and (requested.dry_run or requested.attempt >= ATTEMPTS):
            # A dry run is not continued. Another one that is killed again and again is
            # perhaps what kills its workers.
            self._fail(requested, KILLED)
            return self._runs.get(run_id)
        last = requested
        steps = self._runner.run(
            requested.line,
            requested.actor,
            dry_run=requested.dry_run,
            run_id=run_id,
            is_stopping=self._is_stopping,
        )
        try:
            for run in steps:
                last = run
        except (LineBusy, RunStopped) as error:
            # Otherwise another process has the run, or a user has cancelled it.
            if error.reason == STOPPING:
                self._handle_failure(last, error, has_begun=True)
        except OutkeyError as error:
            self._handle_failure(last, error, has_begun=last is not requested)
        return self._retry_storage(lambda: self._runs.get(run_id))

    def _next_after(self, schedule: str, moment: float) -> float | None:
        if not schedule:
            return None
        try:
            return self._calendar.next_after(schedule, moment)
        except ConfigError:  # refused when the line is saved, and by every run
            return None

    def _notify_workers(self, run: Run) -> None:
        # There is no lock if the line was just deleted.
        for lock in self._locks({run.line}).values():
            self._queue.put(run, lock)

    def _locks(self, lines: Collection[str]) -> dict[str, str]:
        """Return the locks that runs of these lines hold, by line."""
        timetable = self._registry.timetable() if lines else []
        owners = {line.configuration for line in timetable if line.name in lines}
        locks = locks_of(
            timetable, {owner: self._runs_at_once(owner) for owner in owners}
        )
        return {line: locks[line] for line in lines if line in locks}

    def _runs_at_once(self, configuration: str) -> int:
        try:
            return self._registry.get(configuration).limits.runs_at_once
        except OutkeyError:  # its runs report what is wrong with it
            return 1

    def _fail(self, run: Run, cause: str) -> None:
        # RunStopped: it is stored as ended already, or another process continues it.
        with suppress(RunStopped):
            self._runs.finish(replace(run, state=RunState.FAILED, cause=cause))

    def _handle_failure(self, run: Run, error: OutkeyError, *, has_begun: bool) -> None:
        """Store a failure that the run could not store itself; retry if it may help."""
        if not has_begun or isinstance(error, HostError):
            self._retry_storage(lambda: self._fail(run, error.code))
        was_stopped = error.reason == STOPPING
        delay = 0.0 if was_stopped else delay_before_retry(error, run.attempt)
        if delay is not None and not run.dry_run:
            attempt = run.attempt if was_stopped else run.attempt + 1
            self._retry_storage(lambda: self._retry_later(run, delay, attempt))

    def _retry_later(self, run: Run, delay: float, attempt: int) -> None:
        with suppress(LineBusy):  # another process continues it
            waiting = self._runs.retry_later(run, delay, attempt)
            if not delay:  # workers are notified of a later one when it is due
                self._notify_workers(waiting)

    def _retry_storage(self, work: Callable[[], T]) -> T:
        """Do some work, again and again while storage is unavailable for a moment."""
        for seconds in STORAGE_DELAYS:
            try:
                return work()
            except StorageUnavailable:
                self.clock.sleep(seconds)
        return work()
