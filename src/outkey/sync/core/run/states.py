"""The life of a run: pure transitions from one stored run to the next.

    begin        (new), WAITING, FAILED → RUNNING
    enqueue      (new), FAILED → WAITING
    expedite     WAITING → WAITING, due now
    checkpoint   RUNNING → RUNNING, with a longer lease
    finish       WAITING, RUNNING → DONE, FAILED (the caller says which)
    end_killed   RUNNING → FAILED (killed)
    release      RUNNING → FAILED (stopping)
    give_way     RUNNING → WAITING, due now
    retry_later  FAILED → WAITING
    cancel       WAITING, RUNNING → CANCELLED
    pause        RUNNING → WAITING, FAILED (line_paused)
    reset        WAITING, FAILED → the same, without a position

A running run has a lease that every checkpoint extends; a process that does not extend
it counts as killed. A function returns the run as it is to be written, in the next
generation, or raises LineBusy or RunStopped. The time is that of a clock that all
processes share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from outkey.foundation.core.errors import LineBusy, RunStopped, resume_line_hint
from outkey.foundation.core.stored_times import LONGEST_WAIT, is_possible, is_recent
from outkey.foundation.core.text import Text
from outkey.sync.core.run.run import OPEN_STATES, Counts, Run, RunState

# The lease of a run that makes no requests: most of the longest work between two
# checkpoints is that of a script on some records.
SHORT_LEASE_SECONDS = 30.0
# The deliveries of a line that are all accepted are one run for each hour and webhook,
# or there would be one a second.
FOLDED_SECONDS = 3600.0
FOLDED_RECORDS = 10_000
# For writing a page, while its transaction locks out other processes. One that takes
# longer was suspended.
PAGE_SECONDS = 600.0

KILLED = "killed"  # the cause of a run whose process stopped extending the lease
STOPPING = "stopping"  # the cause of a run whose process got the stop signal
CANCELLED = "cancelled"  # why a checkpoint is refused: a user cancelled the run
PAUSED = "line_paused"  # the cause of a run whose line a user has paused
TAKEN_OVER = "taken_over"  # why a checkpoint is refused: another process has the run


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request for a run: of which line, by whom, dry or not."""

    line: str
    digest: str  # of the line as it is now; "" where it cannot be read
    actor: str
    dry_run: bool = False
    full_every: float = 0.0  # seconds; 0.0: only the first run reads everything
    by_clock: bool = False  # a run continues where the last one was by the clock


class Start(NamedTuple):
    """Where a run starts: what it sends as `since`, and the last full run."""

    since: str = ""
    full_at: float = 0.0


def is_alive(run: Run, now: float) -> bool:
    """Whether a process is at work on the run."""
    is_leased = run.until >= now and not is_from_future(run, now)
    return run.state is RunState.RUNNING and is_leased


def is_due(run: Run, now: float) -> bool:
    """Whether a worker should take the run: it waits, or its worker was killed."""
    return run.state in OPEN_STATES and run.is_requested and is_over(run, now)


def is_over(run: Run, now: float) -> bool:
    """Whether the lease of a running run, or the wait of another one, has ended."""
    return run.until <= now or is_from_future(run, now)


def is_from_future(run: Run, now: float) -> bool:
    """Whether a clock that was ahead has set the lease or the wait of an open run.

    A new run is due from the moment at which it was requested.
    """
    if run.state is RunState.RUNNING:
        return not is_possible(run.until, now, run.lease)
    was_postponed = run.until != run.started_at
    return not is_possible(run.until, now, LONGEST_WAIT if was_postponed else 0.0)


def is_resumable(run: Run, digest: str) -> bool:
    """Whether the run has a position that means something to the line as it is now."""
    return run.digest == digest and bool(run.position)


def end_killed(running: Run, now: float) -> Run:
    """Record that the process of a running run was killed; LineBusy while it lives."""
    if is_alive(running, now):
        raise LineBusy
    return _next(
        running,
        state=RunState.FAILED,
        ended_at=now,
        cause=KILLED,
        attempt=running.attempt + 1 if running.is_requested else 0,
    )


def run_to_resume(last: Run | None, request: RunRequest) -> Run | None:
    """Return the line's last run, dry ones not counted, if it is to be continued.

        the run …                  the line is unchanged    the line was changed
        failed                     if it has a position     no
        was killed                 yes                      no
        was killed, by request     yes                      yes, from the first page

    A dry run is never continued.
    """
    if request.dry_run or last is None or last.state is not RunState.FAILED:
        return None
    if last.cause == KILLED:
        is_continued = last.is_requested or last.digest == request.digest
    else:
        is_continued = is_resumable(last, request.digest)
    return last if is_continued else None


def run_to_begin(
    waiting: Run | None, last: Run | None, request: RunRequest, run_id: str = ""
) -> Run | None:
    """Return the stored run that is to begin now, or None: a new one.

    `run_id` is the run that the process wants; RunStopped if that is not the one.
    """
    run = waiting or run_to_resume(last, request)
    if run_id and (run is None or run.id != run_id):
        raise RunStopped(reason=TAKEN_OVER)
    return run


def run_to_extend(last: Run | None, request: RunRequest, now: float) -> Run | None:
    """Return the last run of deliveries if the next ones are to be counted with it.

    Not one that rejected a record: that one is listed with what it rejected.
    """
    if last is None or (last.actor, last.digest) != (request.actor, request.digest):
        return None
    was_interrupted = last.cause in {KILLED, STOPPING, PAUSED}
    is_complete = last.state is RunState.DONE or was_interrupted
    has_rejected = last.counts.failed or last.counts.children.failed
    was_just_now = is_recent(last.started_at, now, FOLDED_SECONDS)
    is_small = last.counts.total < FOLDED_RECORDS
    can_go_on = is_complete and not has_rejected and was_just_now and is_small
    return last if can_go_on else None


def new_run(request: RunRequest, now: float, start: Start) -> Run:
    """Return a run that is not stored yet and has the first page before it."""
    return Run(
        id="",
        line=request.line,
        actor=request.actor,
        started_at=now,
        dry_run=request.dry_run,
        digest=request.digest,
        since=start.since,
        full_at=start.full_at,
    )


def removed_before(last: Run | None) -> Mapping[str, int]:
    """Return the children that a new run counts as deleted before it begins."""
    return {} if last is None or last.state is RunState.DONE else last.removed


def restart(run: Run, digest: str, now: float, start: Start) -> Run:
    """Return the run as if it had not begun: at the first page, nothing counted.

    But what it has removed stays removed, and counts for the guard.
    """
    return replace(
        run,
        digest=digest,
        started_at=now,
        since=start.since,
        full_at=start.full_at,
        position={},
        cursor="",
        counts=Counts(),
        pages=0,
        worked=0.0,
        counted=0,
        notes=(),
    )


def begin(run: Run, actor: str, now: float, lease: float) -> Run:
    """Start a run in this process, with a lease that checkpoints extend."""
    return _next(
        run,
        actor=actor,
        state=RunState.RUNNING,
        until=now + lease,
        lease=lease,
        ended_at=None,
        cause="",
    )


def enqueue(run: Run, actor: str, now: float) -> Run:
    """Queue a new run, or one that is to be continued, for a worker."""
    return _next(
        run,
        actor=actor,
        state=RunState.WAITING,
        until=now,
        attempt=1,
    )


def expedite(waiting: Run, now: float) -> Run:
    """Make a waiting run due now; one that is due already stays as it is."""
    return _next(waiting, until=now) if waiting.until > now else waiting


def allow_removal(waiting: Run) -> Run:
    """Let a waiting run remove more records than the guard of its line allows."""
    return _next(waiting, allows_removal=True)


def retry_later(run: Run, now: float, seconds: float, attempt: int) -> Run:
    """Queue a failed run for another attempt; LineBusy if it has not failed."""
    if run.state is not RunState.FAILED:
        raise LineBusy
    return _next(run, state=RunState.WAITING, until=now + seconds, attempt=attempt)


def cancel(run: Run, now: float) -> Run:
    """Cancel a run; one that has ended stays as it is."""
    if run.state not in OPEN_STATES:
        return run
    return _next(run, state=RunState.CANCELLED, ended_at=now)


def pause(run: Run, now: float) -> Run:
    """Stop a running run at its next page; a dry run, which writes nothing, goes on.

    A worker continues it after the pause, or the next run of the command line.
    """
    if run.state is not RunState.RUNNING or run.dry_run:
        return run
    if run.is_requested:
        return _next(run, state=RunState.WAITING, until=now, cause=PAUSED)
    return _next(run, state=RunState.FAILED, ended_at=now, cause=PAUSED)


def reset(run: Run) -> Run:
    """Let a run that waits or has failed not be continued where it was."""
    return _next(run, position={})


def repair(run: Run, by: str) -> Run:
    """Name the run that has repaired what an ended run rejected."""
    return _next(run, repaired_by=by)


def checkpoint(run: Run, now: float) -> Run:
    """Extend the lease of a run that has saved a page."""
    refuse_ended_lease(run, now, PAGE_SECONDS)
    return _next(run, until=now + run.lease)


def refuse_ended_lease(run: Run, now: float, grace: float = 0.0) -> None:
    """Raise RunStopped if the lease of a run has ended.

    Its process was suspended and wakes, or is too slow. What it has read or received is
    out of date, even if no other process has taken the run over yet.
    """
    if run.until + grace < now:
        raise RunStopped(
            Text("the process of the run was suspended, or took too long"),
            reason=TAKEN_OVER,
        )


def finish(run: Run, now: float) -> Run:
    """Store the end of a run whose state the caller has set to DONE or FAILED."""
    return _next(run, ended_at=now)


def release(stored: Run, held: Run, now: float) -> Run:
    """Fail a run whose process stops, so that the next need not wait for the lease.

    A worker then lets it wait for another attempt (`retry_later`).

    `held` is the run as the process knows it, `stored` as it is now. An interrupt may
    come between the commit of a page and the moment the process knows of it: so one
    generation more is still this process; two are another one.
    """
    is_ours = stored.generation - held.generation <= 1
    if stored.state is not RunState.RUNNING or not is_ours:
        raise refusal(stored)
    return _next(stored, state=RunState.FAILED, cause=STOPPING, ended_at=now)


def give_way(stored: Run, held: Run, now: float) -> Run:
    """Let a run wait again, behind all that wait; its process does another one.

    It has not ended: it is neither counted as a run that failed nor has it a cause.
    """
    released = release(stored, held, now)
    return replace(released, state=RunState.WAITING, until=now, ended_at=None, cause="")


def refusal(stored: Run | None) -> RunStopped:
    """Return why a process may not write a run that is stored like this now.

    None is a run that was deleted with its line.
    """
    if stored is not None and stored.state is RunState.CANCELLED:
        return RunStopped(reason=CANCELLED)
    if stored is not None and stored.cause == PAUSED:
        return RunStopped(
            Text("the sync line was paused; what the run has written stays"),
            hint=resume_line_hint(stored.line),
            reason=PAUSED,
        )
    return RunStopped(reason=TAKEN_OVER)


def next_start(complete: Run | None, now: float, request: RunRequest) -> Start:
    """Return where the run after the last complete one starts.

    A run without `since` reads everything. It is due when the last such run is older
    than `full_every`, and when a clock that was ahead made the last run store a moment
    that is still to come.
    """
    if complete is None:
        return Start("", now)
    since = complete.cursor or complete.since
    full_every = request.full_every
    is_due = full_every > 0 and not is_recent(complete.full_at, now, full_every)
    is_ahead = request.by_clock and not is_possible(complete.started_at, now)
    if is_due or is_ahead or not since:
        return Start("", now)
    return Start(since, complete.full_at)


def _next(run: Run, **changes: Any) -> Run:  # noqa: ANN401 - fields of Run
    return replace(run, generation=run.generation + 1, **changes)
