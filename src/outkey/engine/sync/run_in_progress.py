"""One run under way: what both directions share, from the first checkpoint to the end."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import partial
from typing import NoReturn
from zoneinfo import ZoneInfo

from outkey.core.config.configuration import Configuration, SyncLine
from outkey.core.echo.sent_secrets import credentials_in, without_repetition
from outkey.core.errors import OutkeyError, SyncFailed
from outkey.core.secret import MASK, Secret
from outkey.core.sync.line import Direction, Gone, Sync
from outkey.core.sync.mapping import Zones
from outkey.core.sync.paging import Position, position_of
from outkey.core.sync.remedies import HINTS
from outkey.core.sync.response import mark_of
from outkey.core.sync.run import Counts, Outcome, Quarantined, Run, RunState
from outkey.engine.sending.echoed_secrets import (
    EchoDetector,
    gives_away,
    holds_echo,
    sent_secrets,
)
from outkey.engine.sending.sender import Sender
from outkey.ports.sending import Clock
from outkey.ports.sync import Calendar, LineSource, PathCompiler, Records, Runs

_KNOWN_SECONDS = 10.0
_PREVIEW_SECONDS = 10.0
RUN_LIMIT = "run_limit"  # why a run ends that reached one of its line's limits
# Answers that say something about us or the moment, not about what was asked for.
_ABOUT_US = frozenset({401, 403, 407, 408, 425, 429})


@dataclass(frozen=True, slots=True)
class Effect:
    """What a run does with one record, or would do."""

    outcome: Outcome
    key: str = ""
    values: Mapping[str, object] = dataclass_field(default_factory=dict, repr=False)
    field: str = ""
    reason: str = ""
    # Of a dry run: each field that would change, before and after.
    changes: Mapping[str, tuple[object, object]] = dataclass_field(
        default_factory=dict, repr=False
    )


Note = Callable[[Effect], None]


@dataclass(frozen=True, slots=True)
class SyncPorts:
    """What a runner reaches the world with."""

    sender: Sender
    configurations: LineSource
    records: Records
    runs: Runs
    finder: PathCompiler
    clock: Clock
    calendar: Calendar
    zones: Zones = ZoneInfo


@dataclass(frozen=True, slots=True)
class Plan:
    """A line with what it needs."""

    line: SyncLine
    sync: Sync
    configuration: Configuration


class RunInProgress(ABC):
    """One run on its way; without a run of its own it is a dry one that nobody keeps."""

    def __init__(self, ports: SyncPorts, plan: Plan, note: Note | None = None) -> None:
        self._ports, self._plan, self._sync, self._note = ports, plan, plan.sync, note
        self._mark = mark_of((plan.line, plan.sync.script))
        self._known: list[Secret] = []
        self._known_until = float("-inf")
        self._detector = EchoDetector()
        self.run = Run("", plan.line.name, "", ports.clock.now(), dry_run=True)
        self._heard: object = None  # the last answer, before anything was made of it
        self._sent: tuple[Secret, ...] = ()  # for the last answer
        self._began_at = ports.clock.monotonic()
        self._preview_ends_at = float("inf")

    def begin(self, run: Run) -> Run:
        """Take a run; where its place means nothing to this line, it counts from the beginning."""
        known = run.position.get("line") == self._mark
        anew = replace(run, position={}, counts=Counts(), pages=0, worked=0.0)
        self.run = run if known else anew
        self._began_at = self._ports.clock.monotonic() - self.run.worked
        return self.run

    @abstractmethod
    def sample(self, limit: int) -> Sequence[Effect]:
        """Return what would become of the first records."""

    @abstractmethod
    def steps(self) -> Iterator[Run]:
        """Go on from the run's position to the end."""

    def close(self) -> Run:
        """Archive what is gone, if the run has seen all there is, and end it."""
        run = self.run
        if run.counts.failed:  # what was left out is asked for again
            run = replace(run, cursor=run.since)
        with self._ports.runs.page():
            if self._saw_everything():
                gone = self._ports.records.archive(self._sync.target, run.line, run.id)
                run = replace(run, counts=run.counts + Counts(archived=gone))
            return self._end(run, RunState.DONE)

    def fail(self, error: OutkeyError, *, anew: bool) -> None:
        """End a run that failed; the next one goes on with it, unless it shall begin anew."""
        cause = str(error.reason or error.code)
        position = {} if anew else self.run.position
        self._end(replace(self.run, cause=cause), RunState.FAILED, position)

    def _end(
        self, run: Run, state: RunState, position: Mapping[str, object] | None = None
    ) -> Run:
        now = self._ports.clock.now()
        ended = replace(run, state=state, position=position or {}, ended_at=now)
        ended = replace(ended, worked=self._worked())
        self._ports.runs.finish(ended)
        return ended

    def _saw_everything(self) -> bool:
        """Tell whether a record that was not seen must be gone.

        Not if some could not be read, or if a 404 told the end, which may be a passing fault; and
        an API that shows nothing at all is more likely to hide its records than to have none.
        """
        run, sync = self.run, self._sync
        if run.dry_run or sync.gone is Gone.KEEP or sync.direction is Direction.PUSH:
            return False
        is_partial = (
            bool(run.since and sync.incremental.parameter) or self._position().doubtful
        )
        return not is_partial and not run.counts.failed and _seen(run.counts) > 0

    def _position(self) -> Position:
        return position_of(self._mark, self.run.position)

    def _kept(
        self, position: Position, effects: Sequence[Effect], cursor: str = ""
    ) -> Run:
        """Keep a checkpoint with what became of the records since the last one."""
        run = self.run
        kept = self._ports.runs.save(
            replace(
                run,
                position=position.kept(),
                pages=position.pages,
                cursor=cursor,
                counts=run.counts + _counted(effects),
                worked=self._worked(),
            )
        )
        refused = {
            number: effect
            for number, effect in enumerate(effects, start=_seen(run.counts) + 1)
            if effect.outcome is Outcome.REFUSED
        }
        if refused:
            left_out = zip(refused, self._masked(list(refused.values())), strict=True)
            items = [
                Quarantined(n, one.key, one.field, one.reason) for n, one in left_out
            ]
            self._ports.runs.quarantine(kept, items)
        return kept

    # ── how much a run may do ────────────────────────────────────────────────────────────────

    def _worked(self) -> float:
        """Return the seconds of work on this run, also of those who worked on it before."""
        return self._ports.clock.monotonic() - self._began_at

    def _records_left(self) -> int:
        """Return how many more records this run may take."""
        return self._sync.max_records - _seen(self.run.counts)

    def _refuse_more_records(self) -> NoReturn:
        raise _run_limit(
            f"the run reached its limit of {self._sync.max_records} records"
        )

    def _refuse_more_time(self) -> None:
        """Stop a run that has used up its minutes, or a preview that takes too long."""
        if self._worked() > 60 * self._sync.max_minutes:
            raise _run_limit(
                f"the run reached its limit of {self._sync.max_minutes} minutes"
            )
        if self._ports.clock.monotonic() > self._preview_ends_at:
            raise SyncFailed(
                f"the preview took longer than {_PREVIEW_SECONDS:g} seconds",
                hint=HINTS["preview_limit"],
                reason="preview_limit",
            )

    def _limit_preview(self) -> None:
        """Let what is made of the first records take a few seconds and no more."""
        self._preview_ends_at = self._ports.clock.monotonic() + _PREVIEW_SECONDS

    def _tell(self, effects: Sequence[Effect]) -> None:
        if self._note is not None:
            for effect in self._masked(effects):
                self._note(effect)

    # ── an API may hand back what we have sent it ────────────────────────────────────────────

    def _masked(self, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Return effects as they may be told and kept, without a secret.

        Where one stands in the answer, an expression or a script may have made anything of it:
        then nothing of the page is told.
        """
        secrets = self._secrets()
        if gives_away(secrets, self._heard):
            return [_hidden(effect, lambda _: True) for effect in effects]
        if gives_away(secrets, [(one.key, one.values, one.changes) for one in effects]):
            return [_hidden(effect, partial(gives_away, secrets)) for effect in effects]
        return effects

    def _refuse_secret(self, *kept: str) -> None:
        """Refuse to keep a place or a value to go on from that holds a secret."""
        # What was made for one request may be so short that it stands in a cursor by chance.
        if any(kept) and (
            gives_away(self._stored(), kept) or self._echoes().is_in(kept)
        ):
            raise _secret_in_cursor()

    def _refuse_echo(self, value: object) -> None:
        """Refuse to go on from a value that was masked, since it repeats a secret."""
        if holds_echo(value):
            raise _secret_in_cursor()

    def _echoes(self) -> EchoDetector:
        """Return what finds the secrets that the last answer may repeat."""
        self._detector.look_for(self._secrets())
        return self._detector

    def _secrets(self) -> list[Secret]:
        """Return what the last answer may repeat: what is stored, and what was sent for it."""
        return without_repetition([*self._stored(), *credentials_in(self._sent)])

    def _stored(self) -> list[Secret]:
        """Return the configuration's secrets and tokens, opened again only now and then."""
        now = self._ports.clock.monotonic()
        if now >= self._known_until:
            configuration = self._ports.configurations.get(
                self._plan.line.configuration
            )
            self._known = sent_secrets(self._ports.sender.context, configuration)
            self._known_until = now + _KNOWN_SECONDS
        return self._known


def is_about_what_was_asked(status: int) -> bool:
    """Tell whether a refusal is about this record or page, so that another may be answered."""
    return 300 <= status < 500 and status not in _ABOUT_US


def _hidden(effect: Effect, hides: Callable[[object], bool]) -> Effect:
    def shown(value: object) -> object:
        return MASK if hides(value) else value

    return replace(
        effect,
        key=str(shown(effect.key)),
        values={name: shown(value) for name, value in effect.values.items()},
        changes={
            name: (shown(old), shown(new))
            for name, (old, new) in effect.changes.items()
        },
    )


def _run_limit(message: str) -> SyncFailed:
    return SyncFailed(message, hint=HINTS[RUN_LIMIT], reason=RUN_LIMIT)


def _seen(counts: Counts) -> int:
    return counts.created + counts.updated + counts.unchanged + counts.failed


def _counted(effects: Sequence[Effect]) -> Counts:
    counted = Counter(effect.outcome for effect in effects)
    return Counts(
        created=counted[Outcome.CREATED],
        updated=counted[Outcome.UPDATED],
        unchanged=counted[Outcome.UNCHANGED],
        failed=counted[Outcome.REFUSED],
    )


def _secret_in_cursor() -> SyncFailed:
    return SyncFailed(
        "the API hands back a secret as the place or the value to go on from",
        hint="Page by number or offset, and choose another incremental field.",
        reason="secret_in_cursor",
    )
