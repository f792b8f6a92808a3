"""Runs that somebody or a schedule asks for, and that a worker takes: now, later, or once more."""

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
from outkey.core.sync.schedule import ATTEMPTS, delay_before_retry, locks_of
from outkey.engine.managing.registry import Registry
from outkey.engine.sync.run_in_progress import SyncPorts
from outkey.engine.sync.runner import STOPPING, SyncRunner
from outkey.ports.sync import Queue

_PATIENCE = (1, 2, 4, 8, 15, 30)  # seconds; a database that restarts is back by then
T = TypeVar("T")


class Planner:
    """Asks for runs and works them off; what is asked for twice is run once."""

    def __init__(
        self,
        ports: SyncPorts,
        registry: Registry,
        queue: Queue,
        stopping: Callable[[], bool],
    ) -> None:
        self.clock, self._runner = ports.clock, SyncRunner(ports)
        self._runs, self._calendar = ports.runs, ports.calendar
        self._registry, self._queue, self._stopping = registry, queue, stopping

    def ask(self, line: str, actor: str, *, dry_run: bool = False) -> Run:
        """Ask for a run as soon as a worker is free."""
        self._runner.refuse_faults(line)
        return self._handed_out(self._runs.request(line, actor, dry_run=dry_run))

    def plan(self, actor: str) -> None:
        """Ask for what its schedule says is due, and hand out once more what nobody has taken."""
        with self._runs.page():
            since, now = self._runs.take_schedules()
            for line in self._registry.timetable():
                if line.schedule and self._comes(line.schedule, since, now):
                    with suppress(LineBusy):  # it is at it
                        self._runs.request(line.name, actor, sooner=False)
        for run, lock in self.due():
            self._queue.put(run, lock)

    def due(self) -> list[tuple[Run, str]]:
        """Return the runs that nobody is at, each with the lock that it needs."""
        runs = self._runs.due()
        locks = self._locks({run.line for run in runs})
        return [(run, locks[run.line]) for run in runs if run.line in locks]

    def work(self, run: str) -> Run:
        """Do a run that is due, and return how it stands then; a failure is kept with it."""
        asked = next(iter(self._runs.due(run)), None)
        if asked is None:
            return self._runs.get(run)
        was_killed = asked.state is RunState.RUNNING
        if (
            was_killed and asked.attempt >= ATTEMPTS
        ):  # again and again, and perhaps by this run
            return self._failed(asked, "killed")
        last = asked
        try:
            steps = self._runner.run(
                asked.line, asked.actor, dry_run=asked.dry_run, asked=run
            )
            for last in steps:
                if self._stopping() and last.state is RunState.RUNNING:
                    steps.throw(RunStopped(reason=STOPPING))
        except (LineBusy, RunStopped) as error:
            if error.reason == STOPPING:
                self._settle(last, error, begun=True)
        except OutkeyError as error:
            self._settle(last, error, begun=last is not asked)
        return self._patiently(lambda: self._runs.get(run))

    def _comes(self, schedule: str, since: float, now: float) -> bool:
        try:
            return self._calendar.next_after(schedule, since) <= now
        except (
            ConfigError
        ):  # it was refused when it was saved; a line with a fault is not run
            return False

    def _handed_out(self, run: Run) -> Run:
        for lock in self._locks(
            {run.line}
        ).values():  # none where the line was just deleted
            self._queue.put(run, lock)
        return run

    def _locks(self, lines: Collection[str]) -> dict[str, str]:
        """Return the locks that runs of these lines hold, by line."""
        timetable = self._registry.timetable() if lines else []
        owners = {line.configuration for line in timetable if line.name in lines}
        locks = locks_of(timetable, {owner: self._at_once(owner) for owner in owners})
        return {line: locks[line] for line in lines if line in locks}

    def _at_once(self, configuration: str) -> int:
        try:
            return self._registry.get(configuration).limits.runs_at_once
        except OutkeyError:  # its runs will say what is wrong with it
            return 1

    def _failed(self, run: Run, cause: str) -> Run:
        ended = replace(
            run, state=RunState.FAILED, cause=cause, ended_at=self.clock.now()
        )
        with suppress(
            RunStopped
        ):  # it is written down already, or another one goes on with it
            self._runs.finish(ended)
        return ended

    def _settle(self, run: Run, error: OutkeyError, *, begun: bool) -> None:
        """Ask for a run that failed once more, if that may help."""
        if not begun or isinstance(
            error, HostError
        ):  # how it ended could not be written down
            self._patiently(lambda: self._failed(run, error.code))
        stopped = error.reason == STOPPING
        wait = 0.0 if stopped else delay_before_retry(error, run.attempt)
        if wait is not None and not run.dry_run:
            attempt = run.attempt if stopped else run.attempt + 1
            self._patiently(lambda: self._ask_again(run, wait, attempt))

    def _ask_again(self, run: Run, wait: float, attempt: int) -> None:
        with suppress(LineBusy):  # somebody else goes on with it
            asked = self._runs.wait_again(run, wait, attempt)
            if not wait:  # one for later is handed out when it is due
                self._handed_out(asked)

    def _patiently(self, work: Callable[[], T]) -> T:
        for seconds in _PATIENCE:
            try:
                return work()
            except StorageUnavailable:
                self.clock.sleep(seconds)
        return work()
