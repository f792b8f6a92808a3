"""Runs of sync lines: requested, begun, saved page by page, and ended.

The rules are `sync.core.run.states`; the rows belong to the host. Whatever reads and
writes does so in one transaction, and a write that came second is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import (
    ConfigError,
    LineBusy,
    LinePaused,
    Sealed,
    SecretUnreadable,
    UnknownConfiguration,
    resume_line_hint,
    unknown_run,
)
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.hold import refuse_on_hold
from outkey.foundation.core.moments import parse_interval
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.text import Text
from outkey.foundation.engine.duties import SCHEDULES, Duties
from outkey.sync.core.run import states as run_states
from outkey.sync.core.run.run import ENDED_STATES, GRACE_SECONDS, OPEN_STATES, RunState
from outkey.sync.core.run.states import RunRequest, Start
from outkey.sync.engine.line_shapes import LineShapes
from outkey.sync.engine.sync_settings import SyncSettings
from outkey.sync.ports.sync import RunOrder, RunQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from outkey.foundation.ports.database import Database, StateRows
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sync.core.line.line import SyncLine
    from outkey.sync.core.run.run import RejectedRecord, RejectionGroup, Run
    from outkey.sync.engine.line_registry import Registry
    from outkey.sync.ports.sync import LineSource, RunRows

MAX_DUE = 5000
STATES_OF_LINE = (StateKind.PAUSED_LINE, StateKind.LINE_START, StateKind.LINE_SHAPE)
UNDONE = frozenset({RunState.WAITING, RunState.FAILED})  # may be continued
CANCEL_TRIES = 20  # a run that is cancelled may save a page at the same moment
PRUNE_BATCH = 500
FOLLOW_SECONDS = 1.0
GROUPING_BATCH = 10_000
KEY_BATCH = 500  # databases limit the values of one statement
NO_NUMBER = 2**62  # greater than that of any record
MAX_RETRIES = 50  # after a run; more would make it start over


class Runs:
    """The runs of an installation."""

    def __init__(
        self,
        rows: RunRows,
        states: StateRows,
        database: Database,
        configurations: LineSource,
    ) -> None:
        self._rows = rows
        self._duties = Duties(states, database)
        self.settings = SyncSettings(states)
        self.shapes = LineShapes(states)
        self._states = states
        self._database = database
        self._configurations = configurations

    def limited_to(self, registry: Registry, states: StateRows) -> Runs:
        """Return the runs of the lines of a limited registry."""
        from outkey.sync.engine.limited_rows import LimitedRuns  # noqa: PLC0415

        rows = LimitedRuns(self._rows, registry.line_rows)
        return Runs(rows, states, self._database, registry)

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Commit everything written inside, records and checkpoint, or nothing."""
        return self._database.transaction(durable=durable)

    def now(self) -> float:
        """Return the time by the clock that all times of runs come from."""
        return self._database.now()

    def begin(self, line: str, actor: str, *, dry_run: bool, run_id: str = "") -> Run:
        """Begin a run, or continue one; LineBusy while a run of the line is active.

        Also while one of the other line of its pair is, dry runs not counted: they
        write and send nothing.

        The first of these begins: the waiting run, the last run if it is to be
        continued (`run_states.run_to_resume`), a new one. With a `run_id`, RunStopped
        if that is another run.
        """
        from outkey.sync.core.run.line_digest import line_digest  # noqa: PLC0415

        stored_line = self._configurations.line(line)
        configuration = self._configurations.get(stored_line.configuration)
        digest = line_digest(stored_line, configuration)
        request = RunRequest(line, digest, actor, dry_run, *_starts_of(stored_line))
        lease = self._lease(configuration)
        with self._database.transaction():
            if not dry_run:
                self._claim_pair(line)
            now = self._database.now()
            self._end_killed(line, now)
            before = run_states.run_to_begin(
                self._waiting(request), self._last(request), request, run_id
            )
            if before is None:
                run = self._new_run(request, now)
            elif run_states.is_resumable(before, digest):
                run = before
            else:
                self._rows.put_rejected(before.id, 1, ())
                run = run_states.restart(before, digest, now, self._start(request, now))
            if run.state is RunState.FAILED and not run_id:  # no worker continues it
                run = replace(run, allows_removal=False)
            return self._swap(before, run_states.begin(run, actor, now, lease))

    def request(
        self,
        line: str,
        actor: str,
        *,
        dry_run: bool = False,
        run_now: bool = True,
        allows_removal: bool = False,
    ) -> Run:
        """Request a run from a worker; LineBusy while a run of this kind lives.

        Returns the waiting run if there is one, made due now if `run_now`; a failed or
        killed run waits to be continued. LineBusy if a retry waits.
        """
        request = self._request(line, actor, dry_run=dry_run)
        with self._database.transaction():
            now = self._database.now()
            self._end_killed(line, now, dry_run=dry_run)
            waiting = self._waiting(request)
            if waiting is not None:
                due = run_states.expedite(waiting, now) if run_now else waiting
                if allows_removal and not waiting.allows_removal:
                    due = run_states.allow_removal(due)
                return waiting if due is waiting else self._swap(waiting, due)
            before = run_states.run_to_resume(self._last(request), request)
            run = before or self._new_run(request, now)
            run = replace(run, allows_removal=allows_removal)
            return self._swap(before, run_states.enqueue(run, actor, now))

    def save(self, run: Run) -> Run:
        """Store a checkpoint; RunStopped if the run was cancelled or taken over."""
        return self._write(run, run_states.checkpoint(run, self._database.now()))

    def renew(self, run: Run) -> Run:
        """Extend the lease of a run; RunStopped if it has ended, or as for `save`."""
        run_states.refuse_ended_lease(run, self._database.now())
        return self.save(run)

    def hold(self, run: Run) -> None:
        """Keep other processes from taking a run over until the transaction ends.

        RunStopped if the run was cancelled or taken over, or if its lease has ended.
        """
        stored = next(iter(self._rows.find(RunQuery(id=run.id), lock=True)), None)
        if stored is None or stored.generation != run.generation:
            raise run_states.refusal(stored)
        # By the clock of the database, after the wait for the lock.
        run_states.refuse_ended_lease(stored, self._database.now())

    def finish(self, run: Run) -> Run:
        """Store how a run ended; RunStopped if it was cancelled or taken over."""
        is_of_line = run.is_ordinary and not run.is_received
        with self._database.transaction():
            if run.state is RunState.DONE and is_of_line:
                self.end_reset(run.line)
            return self._write(run, run_states.finish(run, self._database.now()))

    def discard(self, run: Run) -> None:
        """Delete a run that was not begun in the end, and has nothing to show."""
        self._rows.swap(run, None)

    def release(self, run: Run) -> Run:
        """End a run whose process stops, so that another can continue it at once.

        RunStopped if it has ended, or another process has it already.
        """
        stored = self.get(run.id)
        now = self._database.now()
        return self._write(stored, run_states.release(stored, run, now))

    def give_way(self, run: Run) -> Run:
        """Let a run wait again, so that its place is free for the others that wait.

        RunStopped if it has ended, or another process has it already.
        """
        stored = self.get(run.id)
        now = self._database.now()
        return self._write(stored, run_states.give_way(stored, run, now))

    def retry_later(self, run: Run, seconds: float, attempt: int) -> Run:
        """Queue a failed run for another attempt; LineBusy if another run waits."""
        stored = self.get(run.id)
        now = self._database.now()
        return self._swap(stored, run_states.retry_later(stored, now, seconds, attempt))

    def cancel(self, run_id: str) -> Run:
        """Cancel a run that waits or runs: it stops at its next page.

        Returns the run as it is stored then.
        """
        return self._change(run_id, run_states.cancel)

    def _change(self, run_id: str, transition: Callable[[Run, float], Run]) -> Run:
        """Change a run that another process may work on; return the changed run."""
        for _ in range(CANCEL_TRIES):
            run = self.get(run_id)
            after = transition(run, self._database.now())
            if after is run:
                return run
            stored = self._store(run, after)
            if stored is not None:
                return stored
        raise LineBusy

    def add_rejected(self, run: Run, records: Sequence[RejectedRecord]) -> None:
        """Store the records that a page of the run rejected."""
        if not records:
            return
        stored = [replace(record, key=stored_key(record.key)) for record in records]
        first = min(record.number for record in records)
        self._rows.put_rejected(run.id, first, stored)

    def rejected(self, run_id: str, limit: int) -> Sequence[RejectedRecord]:
        """Return the first records that a run rejected."""
        return self._rows.rejected(self.get(run_id).id, limit)

    def rejection_groups(self, run_id: str) -> list[RejectionGroup]:
        """Count the rejected records of a run by reason and field, most first."""
        from outkey.sync.core.run.run import group_rejections  # noqa: PLC0415

        return group_rejections(self._every_rejected(self.get(run_id).id))

    def _every_rejected(self, run: str) -> Iterator[RejectedRecord]:
        skip = 0
        while records := self._rows.rejected(run, GROUPING_BATCH, skip=skip):
            skip += len(records)
            yield from records

    def begin_retry(self, run_id: str, actor: str, retry_id: str = "") -> Run:
        """Begin a run of what an earlier one rejected; LineBusy while one is active.

        It starts where the next ordinary run would, and leaves that where it is.
        With a `retry_id`, the requested retry begins; RunStopped if another process
        has it.
        """
        rejecting = self.get(run_id)
        request = self._request(rejecting.line, actor, dry_run=False)
        line = self._configurations.line(rejecting.line)
        lease = self._lease(self._configurations.get(line.configuration))
        with self._database.transaction():
            self._claim_pair(rejecting.line)
            now = self._database.now()
            self._end_killed(rejecting.line, now)
            before = self._requested_retry(retry_id) if retry_id else None
            if before is None:
                run = self._new_retry(rejecting, request, now)
            elif run_states.is_resumable(before, request.digest):
                run = before
            else:
                self._rows.put_rejected(before.id, 1, ())
                start = self._start_of_retry(request, now)
                run = run_states.restart(before, request.digest, now, start)
            return self._swap(before, run_states.begin(run, actor, now, lease))

    def begin_received(
        self, line: str, actor: str, *, has_requests: bool = False
    ) -> tuple[Run, str]:
        """Begin a run for received records; LineBusy while a run is active.

        It extends the run of the deliveries before, if that rejected nothing. It leaves
        the next ordinary run where it is. Return it with the id of the run that waits
        or was the last one, which may be continued; "" if there was none.

        Without requests the lease is short: a process that was killed does not lock
        the line for as long as a request may take.
        """
        request = self._request(line, actor, dry_run=False)
        lease = run_states.SHORT_LEASE_SECONDS
        if has_requests:
            stored_line = self._configurations.line(line)
            lease = self._lease(self._configurations.get(stored_line.configuration))
        received = RunQuery(line=line, dry_run=False, received=True)
        with self._database.transaction():
            self._claim_pair(line)
            now = self._database.now()
            self._end_killed(line, now)
            last = self._waiting(request) or self._last(request)
            before = run_states.run_to_extend(self._first(received), request, now)
            run = before or run_states.new_run(request, now, Start())
            begun = run_states.begin(run, actor, now, lease)
            begun = replace(begun, is_received=True)
            return self._swap(before, begun), last.id if last else ""

    def request_retry(self, run_id: str, actor: str) -> Run:
        """Request a retry of what a run rejected; LineBusy while another run lives.

        Returns the retry that waits already, if it is of the same run.
        """
        rejecting = self.get(run_id)
        request = self._request(rejecting.line, actor, dry_run=False)
        with self._database.transaction():
            now = self._database.now()
            self._end_killed(rejecting.line, now, dry_run=False)
            waiting = self._first(_waiting_runs(request))
            if waiting is not None and waiting.retry_of == rejecting.id:
                due = run_states.expedite(waiting, now)
                return waiting if due is waiting else self._swap(waiting, due)
            run = self._new_retry(rejecting, request, now)
            return self._swap(None, run_states.enqueue(run, actor, now))

    def _new_retry(self, rejecting: Run, request: RunRequest, now: float) -> Run:
        start = self._start_of_retry(request, now)
        run = run_states.new_run(request, now, start)
        return replace(run, retry_of=rejecting.id)

    def _start_of_retry(self, request: RunRequest, now: float) -> Start:
        complete = self._complete(request.line, request.digest)
        since = self._next_start(complete, request, now).since
        return Start(since, complete.full_at if complete else 0.0)

    def _requested_retry(self, retry_id: str) -> Run:
        """Return a requested retry that may begin now; RunStopped if it may not."""
        retry = self.get(retry_id)
        was_killed = retry.state is RunState.FAILED and retry.cause == run_states.KILLED
        if retry.state is not RunState.WAITING and not was_killed:
            raise run_states.refusal(retry)
        return retry

    def still_rejected(self, run_id: str, keys: Iterable[str]) -> set[str]:
        """Return those of these keys that a run rejected, and no retry has accepted."""
        by_stored = {stored_key(key): key for key in keys if key}
        rejected: set[str] = set()
        for batch in groups_of(by_stored, KEY_BATCH):
            skip = 0
            while records := self._rows.rejected(
                run_id, GROUPING_BATCH, skip=skip, keys=batch
            ):
                skip += len(records)
                rejected.update(by_stored[record.key] for record in records)
        return rejected

    def rejecting_runs(self, line: str) -> list[str]:
        """Return the runs that rejected records, since and with the last complete one.

        Not retries: what they accept is no longer rejected by the earlier run.
        """
        rejecting: list[str] = []
        ordinary = RunQuery(line=line, dry_run=False, received=False)
        for run in self._rows.find(ordinary):
            if run.retry_of:
                continue
            if self._rows.rejected(run.id, 1):
                rejecting.append(run.id)
            if run.state is RunState.DONE:
                break
        return rejecting

    def remove_rejected(self, run_id: str, keys: Iterable[str], by: str) -> None:
        """Delete rejected records that a retry has accepted, whose id is `by`."""
        removed = {stored_key(key) for key in keys}
        if not removed:
            return
        self._rows.put_rejected(run_id, NO_NUMBER, (), removed)
        if not self._rows.rejected(run_id, 1):
            self.repair(run_id, by)

    def repair(self, run_id: str, by: str = "") -> None:
        """Store that nothing is left of what a run rejected.

        `by` is the run that has accepted it, or processed it again; without one, the
        run names itself.
        """
        run = self._first(RunQuery(id=run_id))
        if run is not None:
            self._rows.put_rejected(run.id, 1, ())
            self._rows.swap(run, run_states.repair(run, by or run.id))

    def get(self, run_id: str) -> Run:
        """Return one run, or raise ConfigError."""
        # An empty id would restrict nothing.
        run = self._first(RunQuery(id=run_id)) if run_id else None
        if run is None:
            raise unknown_run()
        return run

    def newest(
        self,
        limit: int,
        line: str = "",
        state: str = "",
        *,
        received: bool | None = None,
    ) -> Sequence[Run]:
        """Return runs, newest first; only those of deliveries, or only the others."""
        states = (RunState(state),) if state else ()
        query = RunQuery(line=line, states=states, received=received, limit=limit)
        return self._rows.find(query)

    def follow(self, run_id: str, sleep: Callable[[float], object]) -> Iterator[Run]:
        """Yield a run whenever it has changed, until it has ended."""
        last = None
        while True:
            run = self.get(run_id)
            if run != last:
                yield run
            # A worker that retries a run stores first that it has failed.
            may_be_retried = run.state is RunState.FAILED and run.is_requested
            if run.state in ENDED_STATES and (run == last or not may_be_retried):
                return
            last = run
            sleep(FOLLOW_SECONDS)

    def open_run_id(self, line: str, *, dry_run: bool) -> str:
        """Return the id of the run of this kind that waits or runs; "" for none."""
        run = self._first(RunQuery(line=line, states=OPEN_STATES, dry_run=dry_run))
        return "" if run is None else run.id

    def refuse_running(self, line: str) -> None:
        """Raise LineBusy while a run of a line is in progress."""
        run = self._first(RunQuery(line=line, states=(RunState.RUNNING,)))
        if run is not None:
            busy = LineBusy()
            busy.run = run.id
            raise busy

    def refuse_alive(self, line: str) -> None:
        """Raise LineBusy while a process is at work on a run of a line."""
        for run in self.alive():
            if run.line == line:
                busy = LineBusy()
                busy.run = run.id
                raise busy

    def due(self, run_id: str = "", *, configuration: str = "") -> Sequence[Run]:
        """Return the requested runs that no process works on, longest due first.

        With an id only that run, if it is due, and with a configuration only those of
        its lines. None of a paused line, but dry runs; none at all while the
        installation is on hold.
        """
        now = self._database.now()
        query = RunQuery(
            id=run_id,
            configuration=configuration,
            states=OPEN_STATES,
            requested=True,
            due_by=now,
            order=RunOrder.DUE,
            limit=MAX_DUE,
        )
        # An odd row, whose state is another one in the table, is not done.
        runs = [
            run
            for run in self._rows.find(query)
            if run.state in OPEN_STATES and run_states.is_due(run, now)
        ]
        if not runs or self.is_on_hold():
            return []
        paused = self.paused_lines()
        return [run for run in runs if run.dry_run or run.line not in paused]

    def startable(self, configuration: str = "") -> list[Run]:
        """Return the due runs whose line has no other run under way.

        Nor has the other line of its pair, for what is no dry run. With a configuration
        only those of its lines.
        """
        due = self.due(configuration=configuration)
        if not due:
            return []
        alive = self.alive()
        busy = {run.line for run in alive}
        writing = {run.line for run in alive if not run.dry_run}
        pairs = self.settings.pairs().values() if writing else ()
        beside = {pair.other(line) for line in writing for pair in pairs}
        return [
            run
            for run in due
            if run.line not in busy and (run.dry_run or run.line not in beside)
        ]

    def alive(self) -> list[Run]:
        """Return the runs under way."""
        running = self._rows.find(RunQuery(states=(RunState.RUNNING,), limit=MAX_DUE))
        now = self._database.now()
        return [run for run in running if run_states.is_alive(run, now)]

    def count_running(self) -> int:
        """Return how many runs are under way."""
        return len(self.alive())

    def claim_schedules(self) -> tuple[float, float]:
        """Claim the time since the schedules were last followed: its begin and its end.

        No other process can claim it, if the transaction around is committed.
        """
        return self._duties.claim_interval(SCHEDULES)

    def pause_configuration(self, configuration: str, seconds: float) -> None:
        """Let no run of a configuration begin for some time, on any machine."""
        from outkey.sync.core.run.pauses import pause_end  # noqa: PLC0415

        state = self._pause(configuration)
        now = self._database.now()
        until = now + seconds
        if until > pause_end(state.value, now):
            # If another process was faster, it has just heard of the same pause.
            facts = {"until": until, "at": now}
            kind = StateKind.RUN_PAUSE
            self._states.swap(kind, configuration, state.generation, facts)

    def refuse_paused_configuration(self, configuration: str) -> None:
        """Raise RateLimited while a configuration is in a pause."""
        from outkey.sync.core.run.pauses import pause_end, pause_error  # noqa: PLC0415

        now = self._database.now()
        until = pause_end(self._pause(configuration).value, now)
        if until > now:
            raise pause_error(until, now)

    def pause_line(self, line: str) -> None:
        """Let no run of a line begin until it is resumed; stop the one under way."""
        facts = {"at": self._database.now()}
        self._states.put(StateKind.PAUSED_LINE, {line: facts})
        running = RunQuery(line=line, states=(RunState.RUNNING,), dry_run=False)
        run = self._first(running)
        if run is not None:
            self._change(run.id, run_states.pause)

    def rename_line(self, line: str, new_name: str) -> None:
        """Move the pause, the reset and the shape of a line to its new name."""
        for kind in STATES_OF_LINE:
            for state in self._states.read(kind, [line]).values():
                self._states.put(kind, {new_name: state.value, line: None})

    def reset_line(self, line: str, since: str) -> None:
        """Let the next run of a line begin at a stored value; "": as a first one.

        It is so until a run of the line is complete. LineBusy while a run is active.
        """
        request = self._request(line, "", dry_run=False)
        with self._database.transaction():
            now = self._database.now()
            self._end_killed(line, now, dry_run=False)
            run = self._waiting(request) or self._last(request)
            if run is not None and run.state in UNDONE:
                self._swap(run, run_states.reset(run))
            facts = {"since": since, "at": now}
            self._states.put(StateKind.LINE_START, {line: facts})

    def reset_value(self, line: str) -> str:
        """Return where a line was reset to, until a run of it is complete; or ""."""
        return self._reset_of(line) or ""

    def full_at(self, line: str) -> float:
        """Return when the last complete run began that read everything; 0.0: none."""
        complete = self._complete(line)
        return complete.full_at if complete else 0.0

    def end_reset(self, line: str) -> None:
        """Let the next run of a line begin where the last complete one was."""
        if self._reset_of(line) is not None:
            self._states.put(StateKind.LINE_START, {line: None})

    def resume_lines(self, *lines: str) -> None:
        """Let runs of these lines begin again."""
        self._states.put(StateKind.PAUSED_LINE, dict.fromkeys(lines))

    def paused_lines(self) -> set[str]:
        """Return the lines that users have paused."""
        return {*self._states.read(StateKind.PAUSED_LINE)}

    def refuse_paused_line(self, line: str) -> None:
        """Raise LinePaused for a line that a user has paused, or OnHold."""
        self.refuse_on_hold()
        if self._states.read(StateKind.PAUSED_LINE, [line]):
            raise LinePaused(hint=resume_line_hint(line))

    def is_on_hold(self) -> bool:
        """Whether no run begins because the installation was restored."""
        return bool(self._states.read(StateKind.HOLD))

    def refuse_on_hold(self) -> None:
        """Raise OnHold until a restored installation is resumed."""
        refuse_on_hold(self._states.read(StateKind.HOLD))

    def prune(self, before: float) -> None:
        """Delete the runs that ended before a time.

        The last complete run of each line stays: it has the cursor of the next one.
        """
        query = RunQuery(
            states=ENDED_STATES,
            ended_before=before,
            order=RunOrder.OLDEST,
            limit=PRUNE_BATCH,
        )
        latest_complete: dict[str, str] = {}
        while runs := self._rows.find(query):
            for line in {run.line for run in runs} - latest_complete.keys():
                complete = self._complete(line)
                latest_complete[line] = "" if complete is None else complete.id
            with self._database.transaction():
                for run in runs:
                    if run.id != latest_complete[run.line]:
                        self._rows.swap(run, None)
            query = replace(query, after=runs[-1].id)

    def _lease(self, configuration: Configuration) -> float:
        """Return for how many seconds a checkpoint extends the lease of a run."""
        return GRACE_SECONDS + configuration.limits.total_timeout

    def _pause(self, configuration: str) -> SharedState:
        states = self._states.read(StateKind.RUN_PAUSE, [configuration])
        return states.get(configuration, SharedState())

    def _claim_pair(self, line: str) -> None:
        """Let no run of the other line of a pair begin before the transaction ends.

        LineBusy if one is active. One that was killed is ended, so that its process
        stops if it still lives; a worker continues it later.
        """
        from outkey.sync.core.run.schedule import ATTEMPTS  # noqa: PLC0415

        for name in self.settings.pairs_of([line]):
            pair = self.settings.lock_pair(name)
            other = pair.other(line) if pair else ""
            query = RunQuery(
                line=other, states=(RunState.RUNNING,), dry_run=False, limit=1
            )
            now = self._database.now()
            for running in self._rows.find(query, lock=True) if other else ():
                if run_states.is_alive(running, now):
                    raise LineBusy(
                        Text(
                            "a run of the other line of the pair is active: {line}",
                            line=other,
                        )
                    )
                ended = self._swap(running, run_states.end_killed(running, now))
                if ended.is_requested and ended.attempt <= ATTEMPTS:
                    again = run_states.retry_later(ended, now, 0.0, ended.attempt)
                    self._rows.swap(ended, again)  # not if another run waits

    def _end_killed(
        self, line: str, now: float, *, dry_run: bool | None = None
    ) -> None:
        query = RunQuery(
            line=line, states=(RunState.RUNNING,), dry_run=dry_run, limit=1
        )
        for running in self._rows.find(query, lock=True):
            self._swap(running, run_states.end_killed(running, now))

    def _waiting(self, request: RunRequest) -> Run | None:
        """Return the ordinary run that waits; not a retry, of which there is one."""
        run = self._first(_waiting_runs(request))
        return None if run is None or run.retry_of else run

    def _last(self, request: RunRequest) -> Run | None:
        """Return the line's last run.

        Retries and runs of deliveries are not counted: nothing continues them.
        """
        query = RunQuery(
            line=request.line, dry_run=False, received=False, limit=MAX_RETRIES
        )
        runs = self._rows.find(query)
        return next((run for run in runs if not run.retry_of), None)

    def _new_run(self, request: RunRequest, now: float) -> Run:
        run = run_states.new_run(request, now, self._start(request, now))
        removed = run_states.removed_before(self._last(request))
        return replace(run, removed=removed)

    def _start(self, request: RunRequest, now: float) -> Start:
        complete = self._complete(request.line, request.digest)
        return self._next_start(complete, request, now)

    def _next_start(
        self, complete: Run | None, request: RunRequest, now: float
    ) -> Start:
        """Return where the next run starts: after a reset where that says."""
        since = self._reset_of(request.line)
        if since is None:
            return run_states.next_start(complete, now, request)
        return Start(since, complete.full_at if complete and since else now)

    def _reset_of(self, line: str) -> str | None:
        """Return where a line was reset to, "" for a first run; None if it was not."""
        reset = self._states.read(StateKind.LINE_START, [line]).get(line)
        return None if reset is None else str(reset.value["since"])

    def _complete(self, line: str, digest: str = "") -> Run | None:
        states = (RunState.DONE,)
        query = RunQuery(
            line=line, states=states, dry_run=False, received=False, digest=digest
        )
        run = self._first(query)
        if run is not None and run.state is not RunState.DONE:  # an odd row
            runs = self._rows.find(replace(query, limit=MAX_RETRIES))
            run = next((other for other in runs if other.state is RunState.DONE), None)
        return run

    def _first(self, query: RunQuery) -> Run | None:
        return next(iter(self._rows.find(replace(query, limit=1))), None)

    def _swap(self, before: Run | None, after: Run) -> Run:
        stored = self._store(before, after)
        if stored is None:
            raise LineBusy
        return stored

    def _write(self, run: Run, after: Run) -> Run:
        """Write a run that this process works on."""
        stored = self._store(run, after)
        if stored is None:
            raise run_states.refusal(self._first(RunQuery(id=run.id)))
        return stored

    def _store(self, before: Run | None, after: Run) -> Run | None:
        """Store a run, and count one that ends; None if another process was faster."""
        from outkey.sync.engine.runs.counting import count_run  # noqa: PLC0415

        is_end = after.ended_at is not None
        if not is_end or (before is not None and before.ended_at is not None):
            return self._rows.swap(before, after)
        with self._database.transaction():
            stored = self._rows.swap(before, after)
            if stored is not None:
                count_run(self._states, stored)
            return stored

    def _request(self, name: str, actor: str, *, dry_run: bool) -> RunRequest:
        """Return the request for a run of a line; without a digest if it is unreadable.

        A run of such a line can still be requested: it reports what is wrong. So one
        that was changed outside of outkey does not stop the schedules of other lines.
        """
        from outkey.sync.core.run.line_digest import line_digest  # noqa: PLC0415

        try:
            line = self._configurations.line(name)
            digest = line_digest(line, self._configurations.get(line.configuration))
        except UnknownConfiguration:
            raise
        except (ConfigError, SecretUnreadable, Sealed):
            return RunRequest(name, "", actor, dry_run)
        return RunRequest(name, digest, actor, dry_run, *_starts_of(line))


def _waiting_runs(request: RunRequest) -> RunQuery:
    """Return the query for the run of this kind that waits, of which there is one."""
    states = (RunState.WAITING,)
    return RunQuery(line=request.line, states=states, dry_run=request.dry_run)


def _starts_of(line: SyncLine) -> tuple[float, bool]:
    """Return how often a line reads everything, and whether it has windows of time.

    In seconds; 0.0: once.
    """
    if line.sync is None:
        return 0.0, False
    return parse_interval(line.sync.full_every), bool(line.sync.incremental.window)


def stored_key(key: str) -> str:
    """Return the key of a rejected record as it is stored."""
    from outkey.sync.core.mapping.excerpt import printable  # noqa: PLC0415
    from outkey.sync.core.mapping.keys import MAX_KEY_LENGTH  # noqa: PLC0415

    return printable(key[:MAX_KEY_LENGTH])
