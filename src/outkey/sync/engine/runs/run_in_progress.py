"""A run in progress, of either direction: its checkpoint, lease, limits and end."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from outkey.foundation.core.errors import BadResponse, Cause, OutkeyError, SyncFailed
from outkey.foundation.core.moments import moment_text
from outkey.foundation.core.text import Text, counted
from outkey.sending.core.request.message import Response
from outkey.sync.core.drift.drift import Drift
from outkey.sync.core.mapping.excerpt import excerpt_of
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.paging.paging import Position, position_of
from outkey.sync.core.paging.since import stored_moment
from outkey.sync.core.run.effects import Effect, Note
from outkey.sync.core.run.line_digest import line_digest
from outkey.sync.core.run.reasons import (
    ALL_REFUSED,
    GUARD,
    JOB_FAILED,
    JOB_TIMEOUT,
    RUN_LIMIT,
    TARGET_REPLACED,
    sync_failure,
)
from outkey.sync.core.run.remedies import summary_of
from outkey.sync.core.run.run import (
    MAX_NOTES,
    Counts,
    ParentCounts,
    RejectedRecord,
    Run,
    RunState,
)
from outkey.sync.core.run.states import Start, restart
from outkey.sync.engine.pull.children import ChildEffects
from outkey.sync.engine.pull.secret_guard import SecretGuard
from outkey.sync.engine.pull.target_columns import NoteChange, ignore_change
from outkey.sync.engine.runs.line_plan import LinePlan, SyncPorts

PREVIEW_SECONDS = 10.0
# A checkpoint extends the lease of a run. Work on one page that takes longer than this
# extends it too; the lease is a minute longer than a request may take.
RENEWAL_SECONDS = 15.0
RENEWALS = 4  # within one lease, at least
# Statuses about the sender or the moment, not about the record or page requested.
STATUSES_ABOUT_SENDER = frozenset({401, 403, 407, 408, 425, 429})
NO_CHILDREN = ChildEffects()
NO_PARENTS = ParentCounts()
# After these all records must be read again: to see whether they are still missing, or
# because the job that was to bring them is lost.
READS_AGAIN = frozenset({GUARD, TARGET_REPLACED, JOB_FAILED, JOB_TIMEOUT})


class RunInProgress:
    """The state of one run; until `adopt` it is a dry run that is not stored."""

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
            started_at=ports.runs.now(),
            dry_run=True,
            digest=self.digest,
        )
        self.allows_removal = False  # whether the guard is off, for this run
        self._note = note
        # Called with each note of the run, such as what it changes of a table.
        self.on_note: NoteChange = ignore_change
        self._notes: dict[Text, None] = {}
        self.expected = 0  # records, as the API states; 0: unknown
        self.drift: tuple[Drift, ...] = ()  # how the records differ from earlier ones
        self._began_at = ports.clock.monotonic()
        self._worked_before = 0.0  # seconds; they do not count for the limit of time
        self._preview_ends_at = float("inf")
        self._renewed_at = self._began_at

    def adopt(self, run: Run, began_at: float) -> Run:
        """Continue a stored run that has begun at a time of the monotonic clock.

        If the line was changed after this plan was read, the position does not fit the
        plan: then the run starts at the first page.
        """
        self.run = run
        self._notes = dict.fromkeys(run.notes)
        self.drift = run.drift
        self.expected = run.expected
        if run.digest != self.digest:
            self.start_over()
        self._renewed_at = began_at
        self._began_at = began_at - self.run.worked
        if run.is_received:  # the limit of time is for the deliveries of now
            self._worked_before = self.run.worked
            self._began_at = began_at
        return self.run

    @contextmanager
    def lend_run(self, other: "RunInProgress") -> Iterator[None]:
        """Let the work of another line be a part of this run."""
        other.run = self.run
        try:
            yield
        finally:
            self.run = other.run

    def start_over(self) -> None:
        """Begin at the first page, and request all records."""
        self._notes = {}
        self.drift = ()
        if self.sync.for_each and self.run.is_ordinary:
            self.ports.parents.delete(self.run.line)
        start = Start(full_at=self.run.started_at)
        self.run = restart(self.run, self.digest, self.run.started_at, start)

    def note_change(self, note: Text) -> None:
        """Pass a note of the run to the caller, and store it with the run, once."""
        self.on_note(note)
        if len(self._notes) < MAX_NOTES:
            self._notes[note] = None

    def complete(
        self,
        remove_missing: Callable[[], Counts] = Counts,
        has_open_conflicts: Callable[[], bool] = bool,
    ) -> Run:
        """Store the run as done, with the records that `remove_missing` removes.

        A run that rejected every record has failed, and is returned as such: only a
        user can help, so nothing is raised that a worker would retry. Nothing was
        written or accepted, so the next run starts over.
        """
        run = replace(self.run, position={})
        if run.counts.is_all_rejected:
            return self._finish(replace(run, state=RunState.FAILED, cause=ALL_REFUSED))
        # The next run requests the rejected records and children again, and the
        # records of conflicts. `save_page` sees to those in windows; the list of each
        # parent has a value of its own.
        rejected = run.counts.failed or run.counts.children.failed
        is_one_list = not self.has_windows and not self.sync.for_each
        if (rejected and is_one_list) or has_open_conflicts():
            run = replace(run, cursor=run.since)
        with self.page_transaction():
            run = replace(run, counts=run.counts + remove_missing())
            self._delete_vanished_parents(run)
            return self._finish(replace(run, state=RunState.DONE))

    def _delete_vanished_parents(self, run: Run) -> None:
        """Delete what is known of the lists of parents that are there no more."""
        if self.sync.for_each and run.is_ordinary and has_read_parents(run):
            self.ports.parents.delete(run.line, but_of=run.full_at)

    def fail(self, error: OutkeyError, *, restarts: bool) -> None:
        """End a run that failed.

        It can be continued at its position, or if it `restarts` from the first page:
        that of its window, unless all records have to be read again.
        """
        failed = failed_run(replace(self.run, notes=tuple(self._notes)), error)
        self._notes = dict.fromkeys(failed.notes)
        if restarts:
            failed = replace(failed, position=self._position_to_restart(error))
        in_parts = self.has_windows or bool(self.sync.for_each)
        if in_parts and failed.position and error.reason == RUN_LIMIT:
            # The next limit counts from here, or the run would never come further.
            failed = replace(failed, counted=failed.counts.total)
            self._began_at = self.ports.clock.monotonic()
            if self.has_windows:
                window = stored_moment(str(failed.position["window"]), "")
                self._notes[
                    Text(
                        "the next run continues at {moment}",
                        moment=moment_text(window.timestamp()),
                    )
                ] = None
        self._finish(failed)

    def _position_to_restart(self, error: OutkeyError) -> dict[str, object]:
        """Return the first page of the window or lists it is in; {}: of the run."""
        position = self.position()
        if error.reason in READS_AGAIN:
            return {}
        if position.turn:  # the lists that are open begin again
            return replace(position, turn=self.next_turn()).as_checkpoint()
        if not position.window:
            return {}
        return Position(
            window=position.window, doubtful=position.doubtful
        ).as_checkpoint()

    def next_turn(self) -> str:
        """Return the name of a beginning of the run, after which no list is done."""
        return f"{self.run.id}.{self.run.generation}"

    def position(self) -> Position:
        """Return the position at which the run continues."""
        return position_of(self.run.position)

    @contextmanager
    def page_transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Commit records with their checkpoint, or nothing.

        However long the database takes, no other process takes the run over meanwhile.
        RunStopped if one has.
        """
        with self.ports.runs.transaction(durable=durable):
            self.ports.runs.hold(self.run)
            yield
        self._renewed_at = self.ports.clock.monotonic()

    def keep_working(self) -> None:
        """Call this often while working on a page, outside of a transaction.

        It refuses to continue what has used up its time, and extends the lease;
        RunStopped if the run was cancelled or taken over.
        """
        self.refuse_more_time()
        now = self.ports.clock.monotonic()
        is_stored = bool(self.run.id)  # a preview is not
        renewal = min(RENEWAL_SECONDS, self.run.lease / RENEWALS)
        if is_stored and now - self._renewed_at > renewal:
            self.run = self.ports.runs.renew(self.run)
            self._renewed_at = now

    def save_page(
        self,
        position: Position,
        effects: Sequence[Effect],
        cursor: str = "",
        children: ChildEffects = NO_CHILDREN,
        *,
        pages: int | None = None,
        parents: ParentCounts = NO_PARENTS,
    ) -> Run:
        """Store a checkpoint with the effects on the records since the last one.

        Call it in a transaction, and assign the returned run to `run` only after the
        commit. `pages` are those of the run, where the position has those of a part.
        """
        run = self.run
        counts = run.counts + _counts_of(effects, children) + Counts(parents=parents)
        saved = self.ports.runs.save(
            replace(
                run,
                position=position.as_checkpoint(),
                pages=position.pages if pages is None else pages,
                cursor=self._cursor_after(counts, cursor),
                counts=counts,
                removed=dict(Counter(run.removed) + children.deleted),
                worked=self._seconds_worked(),
                notes=tuple(self._notes),
                drift=self.drift,
                expected=self.expected,
            )
        )
        numbered = list(enumerate(effects, start=run.counts.total + 1))
        # A child has the number of its parent.
        numbered += [
            (run.counts.total + 1 + place, effect) for place, effect in children.effects
        ]
        refused = [pair for pair in numbered if is_refused(pair[1])]
        if run.retry_of:
            keys = {effect.key for effect in effects}
            rejected_again = {effect.key for _, effect in refused}
            accepted = keys - rejected_again
            self.ports.runs.remove_rejected(run.retry_of, accepted, run.id)
        if refused:
            masked = self.guard.mask([effect for _, effect in refused])
            self.ports.runs.add_rejected(
                saved,
                [
                    _rejected_record(number, effect)
                    for (number, _), effect in zip(refused, masked, strict=True)
                ],
            )
        return saved

    def _cursor_after(self, counts: Counts, cursor: str) -> str:
        """Return where the next run begins, as far as this run has come.

        That is the beginning of the first window that had a rejected record, so that
        the next run requests it again.
        """
        has_rejected = counts.failed or counts.children.failed
        return self.run.cursor if has_rejected and self.has_windows else cursor

    @property
    def has_windows(self) -> bool:
        """Whether the run requests one list window by window."""
        return bool(self.sync.incremental.window) and not self.sync.for_each

    def records_left(self) -> int:
        """Return how many more records this run may take, since a limit stopped it."""
        taken = self.run.counts.total - self.run.counted
        return self.sync.max_records - taken

    def refuse_more_records(self, count: int) -> None:
        """Refuse this many more records if they are more than the run may take.

        A run of deliveries is extended by later ones, and has no such limit.
        """
        if count > self.records_left() and not self.run.is_received:
            raise sync_failure(
                RUN_LIMIT,
                counted(
                    self.sync.max_records,
                    Text("the run reached its limit of 1 record"),
                    Text(
                        "the run reached its limit of {count} records",
                        count=self.sync.max_records,
                    ),
                ),
            )

    def refuse_more_time(self) -> None:
        """Refuse to continue a run or a preview that has used up its time."""
        now = self.ports.clock.monotonic()
        if now - self._began_at > 60 * self.sync.max_minutes:
            raise sync_failure(
                RUN_LIMIT,
                counted(
                    self.sync.max_minutes,
                    Text("the run reached its limit of 1 minute"),
                    Text(
                        "the run reached its limit of {count} minutes",
                        count=self.sync.max_minutes,
                    ),
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

    def report(
        self, effects: Sequence[Effect], children: ChildEffects = NO_CHILDREN
    ) -> None:
        """Pass effects to the note of the caller, without secrets.

        Those of children follow that of their parent.
        """
        if self._note is None:
            return
        placed = [*enumerate(effects), *children.effects]
        placed.sort(key=lambda pair: pair[0])
        for effect in self.guard.mask([effect for _, effect in placed]):
            self._note(effect)

    def _finish(self, run: Run) -> Run:
        return self.ports.runs.finish(
            replace(
                run,
                worked=self._seconds_worked(),
                notes=tuple(self._notes),
                drift=self.drift,
            )
        )

    def _seconds_worked(self) -> float:
        """Return the seconds of work on this run, by earlier processes too."""
        now = self.ports.clock.monotonic()
        return self._worked_before + (now - self._began_at)


def has_read_parents(run: Run) -> bool:
    """Whether a run has requested all lists of its parents, and all of each."""
    return run.is_full and not run.counts.parents.skipped


def failed_run(run: Run, error: OutkeyError) -> Run:
    """Return a run as an error ends it."""
    # The cause has words of its own; numbers are in the message only.
    cause = str(error.reason or error.code)
    notes = dict.fromkeys(run.notes)
    if isinstance(error, SyncFailed) and error.message != summary_of(cause):
        notes[error.message] = None
    return replace(run, state=RunState.FAILED, cause=cause, notes=tuple(notes))


def is_about_request(refusal: Response | BadResponse) -> bool:
    """Whether a refusal is about this record or page, so that others may succeed."""
    status = refusal.status
    if status in STATUSES_ABOUT_SENDER or refusal.cause is Cause.TOKEN_EXPIRED:
        return False
    return 300 <= status < 500


def is_refused(effect: Effect) -> bool:
    """Whether a record was rejected."""
    return effect.outcome is WriteOutcome.REFUSED


def _rejected_record(number: int, effect: Effect) -> RejectedRecord:
    """Return a rejected record as it is stored; the effect is masked."""
    return RejectedRecord(
        number,
        effect.key,
        effect.field,
        effect.reason,
        kind=effect.kind,
        excerpt=excerpt_of(effect.refused) if effect.kind else "",
    )


def _counts_of(
    effects: Sequence[Effect], children: ChildEffects = NO_CHILDREN
) -> Counts:
    """Return how many effects there are of each outcome."""
    outcomes = [effect.outcome for effect in effects]
    return Counts(
        created=outcomes.count(WriteOutcome.CREATED),
        updated=outcomes.count(WriteOutcome.UPDATED),
        unchanged=outcomes.count(WriteOutcome.UNCHANGED),
        failed=outcomes.count(WriteOutcome.REFUSED),
        deleted=outcomes.count(WriteOutcome.DELETED),
        children=children.counts(),
        changed_fields=changed_fields(effects),
    )


def changed_fields(effects: Sequence[Effect]) -> dict[str, int]:
    """Return how many updates change each field."""
    # Most updates of a page change the same fields: these are counted together.
    updates = Counter(effect.changed for effect in effects if effect.changed)
    counts: Counter[str] = Counter()
    for names, count in updates.items():
        for name in names:
            counts[name] += count
    return dict(counts)
