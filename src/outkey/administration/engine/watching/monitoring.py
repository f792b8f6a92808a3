"""Monitoring: conditions of attempts, runs and configurations, each reported once."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from outkey.administration.core.findings.monitoring import (
    RECENT_SECONDS,
    Baseline,
    EndedAttempt,
    Notice,
    failing_hosts,
    health_conditions,
    refusal_bursts,
    run_conditions,
    update_baseline,
)
from outkey.administration.core.findings.notice_checks import NOTICE_CHECK_BY_ID
from outkey.administration.ports.installation import LineRuns, Notifier
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.stored_times import is_possible
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.engine.duties import MONITORING
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.database import Database, StateRows
from outkey.sending.core.audit.events import Tag
from outkey.sending.ports.storage import AuditRows
from outkey.sync.engine.line_registry import Registry

READ_AT_ONCE = 5000
MAX_BATCHES = 20
MAX_RECENT = 50_000
MAX_PENDING = 10_000
MILLISECONDS = 1000
INTENTS = frozenset({Tag.SEND_INTENT, Tag.TOKEN_INTENT})
OUTCOMES = frozenset({Tag.SEND_OUTCOME, Tag.TOKEN_OUTCOME})


@dataclass(frozen=True, slots=True)
class MonitoredRows:
    """The tables that monitoring reads and writes."""

    database: Database
    states: StateRows
    audit: AuditRows
    runs: LineRuns
    registry: Registry
    # What users are notified of about webhooks.
    webhook_conditions: Callable[[], Iterable[Condition]] = tuple


class Monitor:
    """Reads what happened since the last time, and reports what is new about it."""

    def __init__(
        self, rows: MonitoredRows, notifiers: Sequence[Notifier], clock: Clock
    ) -> None:
        self._rows = rows
        self._notifiers = notifiers
        self._clock = clock
        self._recent: deque[EndedAttempt] = deque(maxlen=MAX_RECENT)
        self._origins: dict[str, str] = {}  # of pending attempts, by their id

    def look(self) -> list[Notice]:
        """Read on, open and close notices, and report them; return those reported."""
        now = self._clock.now()
        before = {
            notice.condition: notice for notice in open_notices(self._rows.states)
        }
        position, attempts, others = self._read_records()
        self._drop_old_attempts(now)
        baselines, events = self._update_baselines(attempts, now)
        lasting = {*self._lasting_conditions(before, baselines, now)}
        opened = [
            Notice(condition, now)
            for condition in sorted({*events, *others, *lasting} - before.keys())
        ]
        closed = [
            replace(notice, closed_at=now)
            for condition, notice in before.items()
            if condition not in lasting and notice.is_over(now)
        ]
        self._save(position, baselines, [*opened, *closed])
        reported = opened + [notice for notice in closed if notice.reports_recovery()]
        if reported:
            for notifier in self._notifiers:
                notifier.send(reported)
        return reported

    def _read_records(self) -> tuple[int, list[EndedAttempt], list[Condition]]:
        """Return the position after the records that were read, and what they report.

        They report attempts, and events that users are notified of.
        """
        position = self._position()
        attempts: list[EndedAttempt] = []
        events: list[Condition] = []
        for _ in range(MAX_BATCHES):
            records = self._rows.audit.after(position, READ_AT_ONCE)
            for facts in records:
                position = int(str(facts["id"]))
                attempt = self._attempt(facts)
                if attempt is not None:
                    attempts.append(attempt)
                elif event := event_of(facts):
                    events.append(event)
            if len(records) < READ_AT_ONCE:
                break
        self._recent.extend(attempts)
        return position, attempts, events

    def _position(self) -> int:
        """Return the id of the last record that was read; at first the newest one's."""
        marks = self._rows.states.read(StateKind.MARK, [MONITORING])
        if MONITORING in marks and "position" in marks[MONITORING].value:
            return int(marks[MONITORING].value["position"])
        newest = self._rows.audit.newest(1)
        return int(str(newest[0]["id"])) if newest else 0

    def _attempt(self, facts: Mapping[str, object]) -> EndedAttempt | None:
        """Return how an attempt ended; its origin is in the record of its intent."""
        tag = facts.get("tag")
        attempt = str(facts.get("attempt"))
        if tag in INTENTS:
            self._origins[attempt] = str(facts.get("origin"))
            if len(self._origins) > MAX_PENDING:
                del self._origins[next(iter(self._origins))]
        at = facts.get("at")
        status = facts.get("status")
        if tag not in OUTCOMES:
            return None
        if not isinstance(at, int) or not isinstance(status, int):
            return None
        return EndedAttempt(
            at=at / MILLISECONDS,
            configuration=str(facts.get("configuration")),
            origin=self._origins.pop(attempt, ""),
            outcome=str(facts.get("outcome")),
            status=status,
        )

    def _drop_old_attempts(self, now: float) -> None:
        while self._recent:
            at = self._recent[0].at
            # Attempts are recorded by the clock of each machine.
            if at >= now - RECENT_SECONDS and is_possible(at, now, RECENT_SECONDS):
                break
            self._recent.popleft()

    def _update_baselines(
        self, attempts: Sequence[EndedAttempt], now: float
    ) -> tuple[dict[str, Baseline], list[Condition]]:
        by_name = attrgetter("configuration")
        before = self._baselines({attempt.configuration for attempt in attempts})
        after: dict[str, Baseline] = {}
        conditions: list[Condition] = []
        for name, some in groupby(sorted(attempts, key=by_name), key=by_name):
            baseline = before.get(name, Baseline())
            after[name], events = update_baseline(name, baseline, list(some), now=now)
            conditions += events
        return after, conditions

    def _baselines(self, names: Collection[str]) -> dict[str, Baseline]:
        states = self._rows.states.read(StateKind.BASELINE, names)
        return {
            name: Baseline.from_facts(state.value) for name, state in states.items()
        }

    def _lasting_conditions(
        self,
        before: Mapping[Condition, Notice],
        baselines: Mapping[str, Baseline],
        now: float,
    ) -> Iterator[Condition]:
        yield from refusal_bursts(self._recent)
        yield from failing_hosts(self._recent)
        yield from self._unusual_volumes(before, baselines, now)
        # Runs are due and alive by the clock of the database.
        yield from run_conditions(self._rows.runs.latest(), self._rows.database.now())
        for summary in self._rows.registry.summaries():
            yield from health_conditions(summary, now)
        yield from self._rows.webhook_conditions()

    def _unusual_volumes(
        self,
        before: Mapping[Condition, Notice],
        baselines: Mapping[str, Baseline],
        now: float,
    ) -> Iterator[Condition]:
        """Return the unusual ones of those that have sent, or were unusual before."""
        reported = {
            condition.configuration
            for condition in before
            if condition.kind == "S-volume"
        }
        others = self._baselines(reported - baselines.keys())
        for name, baseline in {**baselines, **others}.items():
            if baseline.is_unusual(now):
                yield Condition("S-volume", name)

    def _save(
        self,
        position: int,
        baselines: Mapping[str, Baseline],
        notices: Sequence[Notice],
    ) -> None:
        states = self._rows.states
        facts = {name: baseline.facts() for name, baseline in baselines.items()}
        with self._rows.database.transaction():
            states.put(StateKind.MARK, {MONITORING: {"position": position}})
            states.put(StateKind.BASELINE, facts)
            states.put(
                StateKind.NOTICE,
                {
                    notice.condition.key(): (
                        notice.state() if notice.closed_at is None else None
                    )
                    for notice in notices
                },
            )


def event_of(facts: Mapping[str, object]) -> Condition | None:
    """Return the event that a record reports, if users are notified of it."""
    tag, name = facts.get("tag"), str(facts.get("configuration"))
    if tag == Tag.SESSIONS_SLOWED:
        user = str(facts.get("key")).removeprefix("user ")
        return Condition("S-sign-ins", about=user)
    if tag == Tag.ROTATION_REFUSED:
        return Condition("S-rotation-refused", name)
    # Without an actor, outkey did it by itself: for its age.
    if tag == Tag.ROTATION_DISCARDED and not facts.get("actor"):
        return Condition("S-rotation-stale", name)
    return None


def open_notices(states: StateRows) -> list[Notice]:
    """Return the open notices, oldest first; a kind of another version is not shown."""
    notices = [
        Notice.from_state(state.value)
        for state in states.read(StateKind.NOTICE).values()
        if not is_odd(state.value)
    ]
    return sorted(
        (notice for notice in notices if notice.condition.kind in NOTICE_CHECK_BY_ID),
        key=attrgetter("opened_at", "condition"),
    )


def has_monitored(states: StateRows) -> bool:
    """Whether monitoring has run at least once in this installation."""
    return bool(states.read(StateKind.MARK, [MONITORING]))
