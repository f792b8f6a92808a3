"""A run under way: what both directions share, from its checkpoint to its end."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

from outkey.core.errors import OutkeyError
from outkey.core.sync.identity import line_digest
from outkey.core.sync.line import Direction, Gone
from outkey.core.sync.paging import Position, position_of
from outkey.core.sync.reasons import RUN_LIMIT, sync_failure
from outkey.core.sync.records import WriteOutcome
from outkey.core.sync.run import Counts, RejectedRecord, Run, RunState
from outkey.core.sync.run_states import restart
from outkey.core.text import Text
from outkey.engine.sync.plan import Effect, LinePlan, Note, SyncPorts
from outkey.engine.sync.secret_guard import SecretGuard

PREVIEW_SECONDS = 10.0
# Statuses about the sender or the moment, not about the record or page requested.
STATUSES_ABOUT_SENDER = frozenset({401, 403, 407, 408, 425, 429})


class RunInProgress(ABC):
    """One run under way; until `adopt` it is a dry run that is not stored."""

    def __init__(
        self, ports: SyncPorts, plan: LinePlan, note: Note | None = None
    ) -> None:
        self.ports = ports
        self.plan = plan
        self.sync = plan.sync
        self.guard = SecretGuard(ports, plan)
        self.digest = line_digest(plan.line, plan.configuration)
        self.run = Run(
            id="",
            line=plan.line.name,
            actor="",
            started_at=ports.clock.now(),
            dry_run=True,
            digest=self.digest,
        )
        self._note = note
        self._began_at = ports.clock.monotonic()
        self._preview_ends_at = float("inf")

    def adopt(self, run: Run) -> Run:
        """Continue a stored run that has begun.

        If the line was changed after this plan was read, the position does not fit the
        plan: then the run starts at the first page.
        """
        is_same_line = run.digest == self.digest
        self.run = (
            run if is_same_line else restart(run, self.digest, run.started_at, "")
        )
        self._began_at = self.ports.clock.monotonic() - self.run.worked
        return self.run

    @abstractmethod
    def sample(self, limit: int) -> Sequence[Effect]:
        """Return what would become of the first records."""

    @abstractmethod
    def steps(self) -> Iterator[Run]:
        """Continue from the run's position to the end; yield it after each page."""

    def complete(self) -> Run:
        """Store the run as done; archive what is missing upstream if it saw all."""
        run = self.run
        if run.counts.failed:  # the next run requests the rejected records again
            run = replace(run, cursor=run.since)
        with self.ports.runs.transaction():
            if self._saw_everything():
                archived = self.ports.records.archive(
                    self.sync.target, run.line, run.id
                )
                run = replace(run, counts=run.counts + Counts(archived=archived))
            return self._finish(replace(run, state=RunState.DONE, position={}))

    def fail(self, error: OutkeyError, *, restarts: bool) -> None:
        """End a run that failed.

        It can be continued at its position, or from the first page if it `restarts`.
        """
        self._finish(
            replace(
                self.run,
                state=RunState.FAILED,
                cause=str(error.reason or error.code),
                position={} if restarts else self.run.position,
            )
        )

    def position(self) -> Position:
        """Return the position at which the run continues."""
        return position_of(self.run.position)

    def save_page(
        self, position: Position, effects: Sequence[Effect], cursor: str = ""
    ) -> Run:
        """Store a checkpoint with what became of the records since the last one.

        Call it in a transaction, and assign the returned run to `self.run` only after
        the commit.
        """
        run = self.run
        saved = self.ports.runs.save(
            replace(
                run,
                position=position.as_checkpoint(),
                pages=position.pages,
                cursor=cursor,
                counts=run.counts + counts_of(effects),
                worked=self._seconds_worked(),
            )
        )
        refused = {
            number: effect
            for number, effect in enumerate(effects, start=run.counts.seen + 1)
            if effect.outcome is WriteOutcome.REFUSED
        }
        if refused:
            masked = self.guard.mask(list(refused.values()))
            self.ports.runs.add_rejected(
                saved,
                [
                    RejectedRecord(number, effect.key, effect.field, effect.reason)
                    for number, effect in zip(refused, masked, strict=True)
                ],
            )
        return saved

    def records_left(self) -> int:
        """Return how many more records this run may take."""
        return self.sync.max_records - self.run.counts.seen

    def refuse_more_records(self, count: int) -> None:
        """Refuse this many more records if they are more than the run may take."""
        if count > self.records_left():
            raise sync_failure(
                RUN_LIMIT,
                Text(
                    "the run reached its limit of {count} records",
                    count=self.sync.max_records,
                ),
            )

    def refuse_more_time(self) -> None:
        """Refuse to continue a run or a preview that has used up its time."""
        now = self.ports.clock.monotonic()
        if now - self._began_at > 60 * self.sync.max_minutes:
            raise sync_failure(
                RUN_LIMIT,
                Text(
                    "the run reached its limit of {count} minutes",
                    count=self.sync.max_minutes,
                ),
            )
        if now > self._preview_ends_at:
            raise sync_failure(
                "preview_limit",
                Text(
                    "the preview took longer than {seconds} seconds",
                    seconds=f"{PREVIEW_SECONDS:g}",
                ),
            )

    def limit_preview(self) -> None:
        """Limit a preview to a few seconds from now."""
        self._preview_ends_at = self.ports.clock.monotonic() + PREVIEW_SECONDS

    def report(self, effects: Sequence[Effect]) -> None:
        """Pass effects to the note of the caller, without secrets."""
        if self._note is not None:
            for effect in self.guard.mask(effects):
                self._note(effect)

    def _finish(self, run: Run) -> Run:
        return self.ports.runs.finish(replace(run, worked=self._seconds_worked()))

    def _saw_everything(self) -> bool:
        """Whether a record that this run has not seen is missing upstream.

        Not if some could not be read, or if a 404 was taken for the end, which may be a
        temporary fault. Nor if the API returned no record at all: it is more likely to
        hide its records than to have none.
        """
        run = self.run
        sync = self.sync
        if run.dry_run or sync.gone is Gone.KEEP or sync.direction is Direction.PUSH:
            return False
        is_incremental = bool(run.since and sync.incremental.parameter)
        if is_incremental or self.position().doubtful:
            return False
        return not run.counts.failed and run.counts.seen > 0

    def _seconds_worked(self) -> float:
        """Return the seconds of work on this run, by earlier processes too."""
        return self.ports.clock.monotonic() - self._began_at


def is_about_request(status: int) -> bool:
    """Whether a refusal is about this record or page, so that others may succeed."""
    return 300 <= status < 500 and status not in STATUSES_ABOUT_SENDER


def counts_of(effects: Sequence[Effect]) -> Counts:
    """Return how many effects there are of each outcome."""
    outcomes = [effect.outcome for effect in effects]
    return Counts(
        created=outcomes.count(WriteOutcome.CREATED),
        updated=outcomes.count(WriteOutcome.UPDATED),
        unchanged=outcomes.count(WriteOutcome.UNCHANGED),
        failed=outcomes.count(WriteOutcome.REFUSED),
    )
