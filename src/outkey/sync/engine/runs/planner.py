"""Requested runs: by users and schedules, done by workers, retried after failures."""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from outkey.foundation.core.errors import (
    ConfigError,
    HostError,
    LineBusy,
    OutkeyError,
    RateLimited,
    RunStopped,
    StorageUnavailable,
)
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.core.run.schedule import (
    ATTEMPTS,
    SLICE_SECONDS,
    DueRun,
    Retry,
    first_in_line,
    is_place_wanted,
    next_retry,
)
from outkey.sync.core.run.states import KILLED, STOPPING
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.ports.sync import Queue

# Seconds between tries: a database that restarts is back by then.
STORAGE_DELAYS = (1, 2, 4, 8, 15, 30)
LOOK_SECONDS = 5.0  # between two looks whether a run makes way for another one
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

    def request(
        self,
        line: str,
        actor: str,
        *,
        dry_run: bool = False,
        allows_removal: bool = False,
    ) -> Run:
        """Request a run as soon as a worker is free; LineBusy names an active one.

        `allows_removal` turns the guard against the removal of many records off.
        """
        self._runner.refuse_faults(line)
        if dry_run:
            self._runs.refuse_on_hold()  # no worker would begin it
        else:
            self._runs.refuse_paused_line(line)
        with self._name_active_run(line, dry_run=dry_run):
            run = self._runs.request(
                line, actor, dry_run=dry_run, allows_removal=allows_removal
            )
        self._notify_workers(run.line)
        return run

    def request_retry(self, run_id: str, actor: str) -> Run:
        """Request a retry of what a run rejected; LineBusy names an active run."""
        self._runner.refuse_unfit_retry(run_id)
        line = self._runs.get(run_id).line
        with self._name_active_run(line, dry_run=False):
            run = self._runs.request_retry(run_id, actor)
        self._notify_workers(line)
        return run

    @contextmanager
    def _name_active_run(self, line: str, *, dry_run: bool) -> Iterator[None]:
        """Let a LineBusy have the id of the run that is active."""
        try:
            yield
        except LineBusy as busy:
            busy.run = self._runs.open_run_id(line, dry_run=dry_run)
            raise

    def plan(self, actor: str) -> None:
        """Request what is due by its schedule; notify workers of all that is due.

        Nothing while the installation is on hold: the schedules are followed from where
        they were when it is resumed.
        """
        if self._runs.is_on_hold():
            return
        with self._runs.transaction():
            since, now = self._runs.claim_schedules()
            timetable = self._registry.timetable()
            paused = self._runs.paused_lines()
            # A line of the same name that is created later is not paused.
            self._runs.resume_lines(*paused - {line.name for line in timetable})
            for line in timetable:
                if line.name in paused:
                    continue
                next_at = self._next_after(line.schedule, since)
                if next_at is not None and next_at <= now:
                    with suppress(LineBusy):  # it runs already
                        self._runs.request(line.name, actor, run_now=False)
        self._hand_out(self.due())

    def next_runs(self, names: Collection[str]) -> dict[str, float | None]:
        """Return when these lines run next; None without a schedule or when paused."""
        now = self._runs.now()
        paused = self._runs.paused_lines()
        is_on_hold = self._runs.is_on_hold()
        return {
            line.name: None
            if is_on_hold or line.name in paused
            else self._next_after(line.schedule, now)
            for line in self._registry.timetable(names)
        }

    def due(self, configuration: str = "") -> list[DueRun]:
        """Return the due runs that a process could begin, longest waiting first.

        With a configuration only those of its lines.
        """
        runs = self._runs.startable(configuration)
        timetable = self._registry.timetable({run.line for run in runs}) if runs else ()
        lines = {line.name: line for line in timetable}
        owners = {line.configuration for line in timetable}
        places = {owner: self._runs_at_once(owner) for owner in owners}
        return [
            DueRun(run, line.configuration, places[line.configuration], line.database)
            for run in runs
            if (line := lines.get(run.line))  # it was not just deleted
        ]

    def database_of(self, run_id: str) -> str:
        """Return the other database that a due run needs; "" for none."""
        lines = {run.line for run in self._runs.due(run_id)}
        timetable = self._registry.timetable(lines) if lines else ()
        return next((line.database for line in timetable), "")

    def work(self, run_id: str) -> Run:
        """Do a run if it is due, and return it."""
        self.try_work(run_id)
        return self._retry_storage(lambda: self._runs.get(run_id))

    def try_work(self, run_id: str) -> bool:
        """Do a run if it is due; a failure is stored with it.

        Return whether this process had it: workers are notified of a run twice, if two
        places may become free for it.
        """
        due = self._runs.due(run_id)
        if not due:
            return False
        requested = due[0]
        was_killed = requested.state is RunState.RUNNING
        if was_killed and (requested.dry_run or requested.attempt >= ATTEMPTS):
            # A dry run is not continued. Another one that is killed again and again is
            # perhaps what kills its workers.
            self._fail(requested, KILLED)
            return True
        last = requested
        try:
            for run in self._slice(requested):
                last = run
        except (LineBusy, RunStopped) as error:
            # Otherwise another process has the run, or a user has cancelled it.
            if error.reason == STOPPING:
                self._retry_later(last, Retry(0.0, last.attempt))
            elif last is requested:
                return False
        except OutkeyError as error:
            self._handle_failure(requested, last, error)
        self._retry_storage(lambda: self._notify_workers(requested.line))
        return True

    def _slice(self, requested: Run) -> Iterator[Run]:
        """Return the steps of a run, until it makes way for one that waits.

        An API whose pages are slow, or never end, must not keep a place for hours.
        """
        looks_at = self.clock.monotonic() + SLICE_SECONDS
        with closing(self._steps(requested)) as steps:
            for run in steps:
                yield run
                now = self.clock.monotonic()
                if now < looks_at:
                    continue
                looks_at = now + LOOK_SECONDS
                if self._makes_way(requested, run):
                    break
            else:
                return
        self._retry_storage(lambda: self._runs.give_way(run))

    def _makes_way(self, requested: Run, run: Run) -> bool:
        """Whether a run that has had its time lets another one begin.

        Only where it continues later, and got further in this time: otherwise it would
        never end.
        """
        has_moved = bool(run.position) and run.position != requested.position
        if run.dry_run or run.state is not RunState.RUNNING or not has_moved:
            return False
        with suppress(StorageUnavailable):  # the run itself is to notice that
            alive = [other.line for other in self._runs.alive() if other.is_requested]
            timetable = self._registry.timetable(set(alive))
            owners = {line.name: line.configuration for line in timetable}
            active = Counter(owners.get(line, "") for line in alive)
            own = owners.get(run.line, "")
            return is_place_wanted(own, self.due(), active, self._runs.now())
        return False

    def _steps(self, requested: Run) -> Generator[Run]:
        """Return the steps of a run that was requested."""
        if requested.retry_of:
            return self._runner.retry(
                requested.retry_of,
                requested.actor,
                retry_id=requested.id,
                is_stopping=self._is_stopping,
            )
        return self._runner.run(
            requested.line,
            requested.actor,
            dry_run=requested.dry_run,
            run_id=requested.id,
            is_stopping=self._is_stopping,
        )

    def _next_after(self, schedule: str, moment: float) -> float | None:
        if not schedule:
            return None
        try:
            return self._calendar.next_after(schedule, moment)
        except ConfigError:  # refused when the line is saved, and by every run
            return None

    def _notify_workers(self, line: str) -> None:
        """Hand out the runs of a line's configuration that may be next."""
        # After each run: what all others wait for must not be read each time.
        for timed in self._registry.timetable({line}):
            self._hand_out(self.due(timed.configuration))

    def _hand_out(self, due: Iterable[DueRun]) -> None:
        """Notify workers of the runs that may be next, and not of all that wait."""
        for run, lock in first_in_line(due):
            self._queue.put(run, lock)

    def _runs_at_once(self, configuration: str) -> int:
        try:
            return self._registry.get(configuration).limits.runs_at_once
        except OutkeyError:  # its runs report what is wrong with it
            return 1

    def _fail(self, run: Run, cause: str) -> None:
        # RunStopped: it is stored as ended already, or another process continues it.
        with suppress(RunStopped):
            self._runs.finish(replace(run, state=RunState.FAILED, cause=cause))

    def _handle_failure(self, requested: Run, run: Run, error: OutkeyError) -> None:
        """Store a failure that the run could not store itself; retry if it may help."""
        has_begun = run is not requested
        if not has_begun or isinstance(error, HostError):
            self._retry_storage(lambda: self._fail(run, error.code))
        # A rate limit refuses a request before it is sent.
        has_sent = has_begun and not isinstance(error, RateLimited)
        was_in_vain = has_sent and not self._got_further(requested)
        retry = next_retry(error, run.attempt, was_in_vain=was_in_vain)
        if retry is not None:
            self._retry_later(run, retry)

    def _got_further(self, requested: Run) -> bool:
        """Whether a run has saved a page or a record since a worker took it."""
        stored = self._retry_storage(lambda: self._runs.get(requested.id))
        return stored.position != requested.position

    def _retry_later(self, run: Run, retry: Retry) -> None:
        if not run.dry_run:
            self._retry_storage(lambda: self._put_back(run, retry))

    def _put_back(self, run: Run, retry: Retry) -> None:
        with suppress(LineBusy):  # another process continues it
            self._runs.retry_later(run, *retry)

    def _retry_storage(self, work: Callable[[], T]) -> T:
        """Do some work, again and again while storage is unavailable for a moment."""
        for seconds in STORAGE_DELAYS:
            try:
                return work()
            except StorageUnavailable:
                self.clock.sleep(seconds)
        return work()
