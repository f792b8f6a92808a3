"""Runs of sync lines: requested, begun, saved page by page, and ended.

The rules are `core.sync.run_states`; the rows belong to the host. Whatever reads and
writes does so in one transaction, and a write that came second is refused.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from outkey.core.errors import (
    ConfigError,
    LineBusy,
    UnknownConfiguration,
    unknown_run,
)
from outkey.core.sync import run_states
from outkey.core.sync.identity import line_digest
from outkey.core.sync.run import (
    ENDED_STATES,
    OPEN_STATES,
    RejectedRecord,
    Run,
    RunState,
)
from outkey.core.sync.run_states import RunRequest
from outkey.engine.managing.duties import SCHEDULES, Duties
from outkey.ports.sending import Configurations
from outkey.ports.storage import Database, StateRows
from outkey.ports.sync import RunOrder, RunQuery, RunRows

MAX_DUE = 5000
MAX_KEY_LENGTH = 200
CANCEL_TRIES = 20  # a run that is cancelled may save a page at the same moment
PRUNE_BATCH = 500


class Runs:
    """The runs of an installation."""

    def __init__(
        self,
        rows: RunRows,
        states: StateRows,
        database: Database,
        configurations: Configurations,
    ) -> None:
        self._rows = rows
        self._duties = Duties(states, database)
        self._database = database
        self._configurations = configurations

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Commit everything written inside, records and checkpoint, or nothing."""
        return self._database.transaction(durable=durable)

    def begin(self, line: str, actor: str, *, dry_run: bool, run_id: str = "") -> Run:
        """Begin a run, or continue one; LineBusy while a run of the line is active.

        The first of these begins: the waiting run, the last run if it is to be
        continued (`run_states.run_to_resume`), a new one. With a `run_id`, RunStopped
        if that is another run.
        """
        stored_line = self._configurations.line(line)
        configuration = self._configurations.get(stored_line.configuration)
        digest = line_digest(stored_line, configuration)
        request = RunRequest(line, digest, actor, dry_run)
        lease = run_states.GRACE_SECONDS + configuration.limits.total_timeout
        with self._database.transaction():
            now = self._database.now()
            self._end_killed(line, now)
            before = run_states.run_to_begin(
                self._waiting(request), self._last(request), request, run_id
            )
            if before is None:
                run = run_states.new_run(request, now, self._since(request))
            elif run_states.is_resumable(before, digest):
                run = before
            else:
                self._rows.put_rejected(before.id, 1, ())
                run = run_states.restart(before, digest, now, self._since(request))
            return self._swap(before, run_states.begin(run, actor, now, lease))

    def request(
        self, line: str, actor: str, *, dry_run: bool = False, run_now: bool = True
    ) -> Run:
        """Request a run from a worker; LineBusy while a run of this kind lives.

        Returns the waiting run if there is one, made due now if `run_now`; a failed or
        killed run waits to be continued.
        """
        request = RunRequest(line, self._digest(line), actor, dry_run)
        with self._database.transaction():
            now = self._database.now()
            self._end_killed(line, now, dry_run=dry_run)
            waiting = self._waiting(request)
            if waiting is not None:
                due = run_states.expedite(waiting, now) if run_now else waiting
                return waiting if due is waiting else self._swap(waiting, due)
            before = run_states.run_to_resume(self._last(request), request)
            run = before or run_states.new_run(request, now, self._since(request))
            return self._swap(before, run_states.enqueue(run, actor, now))

    def save(self, run: Run) -> Run:
        """Store a checkpoint; RunStopped if the run was cancelled or taken over."""
        return self._write(run, run_states.checkpoint(run, self._database.now()))

    def finish(self, run: Run) -> Run:
        """Store how a run ended; RunStopped if it was cancelled or taken over."""
        return self._write(run, run_states.finish(run, self._database.now()))

    def release(self, run: Run) -> Run:
        """End a run whose process stops, so that another can continue it at once.

        RunStopped if it has ended, or another process has it already.
        """
        stored = self.get(run.id)
        now = self._database.now()
        return self._write(stored, run_states.release(stored, run, now))

    def retry_later(self, run: Run, seconds: float, attempt: int) -> Run:
        """Queue a failed run for another attempt; LineBusy if another run waits."""
        stored = self.get(run.id)
        now = self._database.now()
        return self._swap(stored, run_states.retry_later(stored, now, seconds, attempt))

    def cancel(self, run_id: str) -> Run:
        """Cancel a run that waits or runs: it stops at its next page.

        Returns the run as it is stored then.
        """
        for _ in range(CANCEL_TRIES):
            run = self.get(run_id)
            cancelled = run_states.cancel(run, self._database.now())
            if cancelled is run:
                return run
            stored = self._rows.swap(run, cancelled)
            if stored is not None:
                return stored
        raise LineBusy

    def add_rejected(self, run: Run, records: Sequence[RejectedRecord]) -> None:
        """Store the records that a page of the run rejected."""
        if not records:
            return
        printable = [
            replace(record, key=printable_key(record.key)) for record in records
        ]
        first = min(record.number for record in records)
        self._rows.put_rejected(run.id, first, printable)

    def rejected(self, run_id: str, limit: int) -> Sequence[RejectedRecord]:
        """Return the first records that a run rejected."""
        return self._rows.rejected(self.get(run_id).id, limit)

    def get(self, run_id: str) -> Run:
        """Return one run, or raise ConfigError."""
        # An empty id would restrict nothing.
        run = self._first(RunQuery(id=run_id)) if run_id else None
        if run is None:
            raise unknown_run()
        return run

    def newest(self, limit: int, line: str = "", state: str = "") -> Sequence[Run]:
        """Return runs, newest first."""
        states = (RunState(state),) if state else ()
        return self._rows.find(RunQuery(line=line, states=states, limit=limit))

    def open_run_id(self, line: str, *, dry_run: bool) -> str:
        """Return the id of the run of this kind that waits or runs; "" for none."""
        run = self._first(RunQuery(line=line, states=OPEN_STATES, dry_run=dry_run))
        return "" if run is None else run.id

    def due(self, run_id: str = "") -> Sequence[Run]:
        """Return the requested runs that no process works on, longest due first.

        With an id only that run, if it is due.
        """
        query = RunQuery(
            id=run_id,
            states=OPEN_STATES,
            requested=True,
            until=self._database.now(),
            order=RunOrder.DUE,
            limit=MAX_DUE,
        )
        return self._rows.find(query)

    def claim_schedules(self) -> tuple[float, float]:
        """Claim the time since the schedules were last followed: its begin and its end.

        No other process can claim it, if the transaction around is committed.
        """
        return self._duties.claim_interval(SCHEDULES)

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

    def _end_killed(
        self, line: str, now: float, *, dry_run: bool | None = None
    ) -> None:
        query = RunQuery(
            line=line, states=(RunState.RUNNING,), dry_run=dry_run, limit=1
        )
        for running in self._rows.find(query, lock=True):
            self._swap(running, run_states.end_killed(running, now))

    def _waiting(self, request: RunRequest) -> Run | None:
        states = (RunState.WAITING,)
        return self._first(
            RunQuery(line=request.line, states=states, dry_run=request.dry_run)
        )

    def _last(self, request: RunRequest) -> Run | None:
        return self._first(RunQuery(line=request.line, dry_run=False))

    def _since(self, request: RunRequest) -> str:
        return run_states.next_since(self._complete(request.line, request.digest))

    def _complete(self, line: str, digest: str = "") -> Run | None:
        states = (RunState.DONE,)
        return self._first(
            RunQuery(line=line, states=states, dry_run=False, digest=digest)
        )

    def _first(self, query: RunQuery) -> Run | None:
        return next(iter(self._rows.find(replace(query, limit=1))), None)

    def _swap(self, before: Run | None, after: Run) -> Run:
        stored = self._rows.swap(before, after)
        if stored is None:
            raise LineBusy
        return stored

    def _write(self, run: Run, after: Run) -> Run:
        """Write a run that this process works on."""
        stored = self._rows.swap(run, after)
        if stored is None:
            raise run_states.refusal(self._first(RunQuery(id=run.id)))
        return stored

    def _digest(self, name: str) -> str:
        """Return the digest of a line; "" where the line cannot be read.

        A run of such a line can still be requested: it reports what is wrong.
        """
        try:
            line = self._configurations.line(name)
            return line_digest(line, self._configurations.get(line.configuration))
        except UnknownConfiguration:
            raise
        except ConfigError:
            return ""


def printable_key(key: str) -> str:
    """Return a key without characters that a database refuses or a terminal obeys."""
    return "".join(
        character if character.isprintable() else "\ufffd"
        for character in key[:MAX_KEY_LENGTH]
    )
