"""Runs that somebody or a schedule asks for, and that a worker takes: now, later, or once more."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
from outkey.core.sync.schedule import ATTEMPTS, delay_before_retry, lock_of
from outkey.engine.sync.runner import STOPPING, SyncRunner
from outkey.ports import Calendar, Clock, Queue, Registry, Runs

_PATIENCE = (1, 2, 4, 8, 15, 30)  # seconds; a database that restarts is back by then
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Planner:
    """Asks for runs and works them off; what is asked for twice is run once."""

    runner: SyncRunner
    registry: Registry
    runs: Runs
    queue: Queue
    calendar: Calendar
    clock: Clock
    stopping: Callable[[], bool] = lambda: False

    def ask(self, line: str, actor: str, *, dry_run: bool = False) -> Run:
        """Ask for a run as soon as a worker is free."""
        self.runner.refuse_faults(line)
        return self._handed_out(self.runs.request(line, actor, dry_run=dry_run))

    def plan(self, actor: str) -> None:
        """Ask for what its schedule says is due, and hand out once more what nobody has taken."""
        with self.runs.page():
            since, now = self.runs.planned()
            for line in self.registry.lines():
                if line.sync and line.sync.schedule and self._comes(line.sync.schedule, since, now):
                    with suppress(LineBusy):  # it is at it
                        self.runs.request(line.name, actor)
        for run, lock in self.due():
            self.queue.put(run, lock)

    def due(self) -> list[tuple[Run, str]]:
        """Return the runs that nobody is at, each with the lock that it needs."""
        runs = self.runs.due()
        return list(zip(runs, self._locks([run.line for run in runs]), strict=True))

    def work(self, run: str) -> Run:
        """Do a run that is due, and return how it stands then; a failure is kept with it."""
        asked = next(iter(self.runs.due(run)), None)
        if asked is None:
            return self.runs.get(run)
        was_killed = asked.state is RunState.RUNNING
        if was_killed and asked.attempt >= ATTEMPTS:  # again and again, and perhaps by this run
            return self._failed(asked, "killed")
        last = asked
        try:
            steps = self.runner.run(asked.line, asked.actor, dry_run=asked.dry_run)
            for last in steps:
                if self.stopping() and last.state is RunState.RUNNING:
                    steps.throw(RunStopped(reason=STOPPING))
        except LineBusy:
            pass
        except OutkeyError as error:
            self._settle(last, error, kept=last is not asked)
        return self._patiently(lambda: self.runs.get(run))

    def _comes(self, schedule: str, since: float, now: float) -> bool:
        try:
            return self.calendar.next_after(schedule, since) <= now
        except ConfigError:  # it was refused when it was saved; a line with a fault is not run
            return False

    def _handed_out(self, run: Run) -> Run:
        (lock,) = self._locks([run.line])
        self.queue.put(run, lock)
        return run

    def _locks(self, lines: Sequence[str]) -> list[str]:
        """Return the locks that runs of these lines hold."""
        every = self.registry.lines() if lines else []
        owners = {line.name: line.configuration for line in every}
        owned = self.registry.find({owners[line] for line in lines})
        limits = {name: found.limits.runs_at_once for name, found in owned.items()}
        return [lock_of(line, owners, limits[owners[line]]) for line in lines]

    def _failed(self, run: Run, cause: str) -> Run:
        ended = replace(run, state=RunState.FAILED, cause=cause, ended_at=self.clock.now())
        with suppress(RunStopped):  # it is written down already, or another one goes on with it
            self.runs.finish(ended)
        return ended

    def _settle(self, run: Run, error: OutkeyError, *, kept: bool) -> None:
        """Ask for a run that failed once more, if that may help."""
        if not kept or isinstance(error, HostError):  # how it ended could not be written down
            self._patiently(lambda: self._failed(run, error.code))
        stopped = error.reason == STOPPING
        wait = 0.0 if stopped else delay_before_retry(error, run.attempt)
        if wait is not None and not run.dry_run:
            self._patiently(lambda: self._ask_again(run, wait, run.attempt + (not stopped)))

    def _ask_again(self, run: Run, wait: float, attempt: int) -> None:
        with suppress(LineBusy):  # somebody else goes on with it
            asked = self.runs.request(run.line, run.actor, wait=wait, attempt=attempt)
            if not wait:  # one for later is handed out when it is due
                self._handed_out(asked)

    def _patiently(self, work: Callable[[], T]) -> T:
        for seconds in _PATIENCE:
            try:
                return work()
            except StorageUnavailable:
                self.clock.sleep(seconds)
        return work()
