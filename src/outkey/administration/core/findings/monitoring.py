"""The rules of monitoring: patterns of attempts, runs and health, and their notices."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import median
from typing import Any, NamedTuple, Self

from outkey.administration.core.findings.notice_checks import (
    NOTICE_CHECK_BY_ID,
    NoticeCheck,
)
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.moments import day_of, iso_moment, iso_or_none
from outkey.foundation.core.stored_times import SKEW_SECONDS, is_recent
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import CHALLENGED
from outkey.sending.core.configuration.expiry_warnings import warning_stage
from outkey.sending.core.configuration.health import Health, Status, Summary
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.core.run.states import is_alive, is_due

RECENT_SECONDS = 600.0
BURST_REFUSALS = 10
BURST_SECONDS = 60.0
FAILING_CONFIGURATIONS = 3  # at one host
REFUSALS_BEFORE_SUCCESS = 5  # in a row
WEEK_HOURS = 7 * 24
UNUSUAL_VOLUME = 100  # attempts in an hour, at least
UNUSUAL_FACTOR = 10
LEAST_HOURS = 5  # with attempts, before anything is known to be usual
MAX_ORIGINS = 50
OVERDUE_SECONDS = 300.0


KIND_OF_STATUS = {
    Status.FAILING: "S-failing",
    Status.PAUSED: "S-paused",
    Status.REAUTHORIZATION_NEEDED: "S-person-needed",
}


@dataclass(frozen=True, slots=True)
class Notice:
    """A condition that users are notified of, when it opens and when it closes."""

    condition: Condition
    opened_at: float
    closed_at: float | None = None

    @property
    def check(self) -> NoticeCheck:
        """The row of the table, with its level."""
        return NOTICE_CHECK_BY_ID[self.condition.kind]

    @property
    def message(self) -> Text:
        """The state or event."""
        return self.check.texts()[0]

    @property
    def hint(self) -> Text:
        """The remedy, as an instruction."""
        return self.check.texts()[1]

    @classmethod
    def from_state(cls, value: Mapping[str, Any]) -> Self:
        """Return the open notice that `state` describes."""
        condition = {name: value[name] for name in Condition._fields}
        return cls(Condition(**condition), value["opened_at"])

    def state(self) -> dict[str, object]:
        """Return an open notice as it is stored."""
        return self.condition._asdict() | {"opened_at": self.opened_at}

    def facts(self) -> dict[str, object]:
        """Return the notice as programs read it."""
        return {
            "id": self.condition.kind,
            "level": str(self.check.level),
            "configuration": self.condition.configuration,
            "about": self.condition.about,
            "message": self.message,
            "hint": self.hint,
            "opened_at": iso_moment(self.opened_at),
            "closed_at": iso_or_none(self.closed_at),
        }

    def text(self) -> str:
        """Return the notice as one line for users."""
        state = str(self.check.level) if self.closed_at is None else "recovered"
        _, configuration, about = self.condition
        parts = (state, configuration, self.message, about)
        return ": ".join(part for part in parts if part)

    def is_over(self, now: float) -> bool:
        """Whether an event is old enough, so that its notice closes."""
        return not is_recent(self.opened_at, now, self.check.duration)

    def reports_recovery(self) -> bool:
        """Whether users are notified when it closes."""
        return self.check.reports_recovery and not self.check.duration


class EndedAttempt(NamedTuple):
    """One attempt that ended; status 0 means that there was no response."""

    at: float
    configuration: str
    origin: str
    outcome: str
    status: int

    @property
    def is_failure(self) -> bool:
        """Whether the API or the credentials failed, and not the caller's request."""
        silent = self.status == 0 and self.outcome not in {"unknown", "cancelled"}
        return silent or self.is_refusal or self.status >= 500

    @property
    def is_refusal(self) -> bool:
        """Whether the API refused the credentials."""
        return self.status == 401 and self.outcome != CHALLENGED


@dataclass(frozen=True, slots=True)
class Baseline:
    """The usual behaviour of a configuration."""

    origins: tuple[str, ...] = ()
    hours: Mapping[int, int] = field(default_factory=dict)  # attempts by Unix hour
    refused: int = 0  # in a row

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the baseline that `facts` describes; without facts, a new one."""
        return cls(
            tuple(facts.get("origins", ())),
            dict(facts.get("hours", ())),
            facts.get("refused", 0),
        )

    def facts(self) -> dict[str, object]:
        """Return the baseline as JSON can hold it."""
        hours = [[hour, count] for hour, count in self.hours.items()]
        return {"origins": list(self.origins), "hours": hours, "refused": self.refused}

    def is_unusual(self, now: float) -> bool:
        """Whether this hour's volume is far above that of the busy hours of a week."""
        this_hour = int(now // 3600)
        count = self.hours.get(this_hour, 0)
        before = [
            attempts
            for hour, attempts in self.hours.items()
            if 0 < this_hour - hour <= WEEK_HOURS
        ]
        if len(before) < LEAST_HOURS or count <= UNUSUAL_VOLUME:
            return False
        return count > UNUSUAL_FACTOR * median(before)


class LineRun(NamedTuple):
    """The last run of a sync line, or its last dry run."""

    configuration: str
    run: Run


def update_baseline(
    name: str, baseline: Baseline, attempts: Sequence[EndedAttempt], now: float
) -> tuple[Baseline, list[Condition]]:
    """Return the baseline after these attempts of a configuration, and what was new."""
    conditions = []
    origins = dict.fromkeys(attempt.origin for attempt in attempts if attempt.origin)
    new_origins = [origin for origin in origins if origin not in baseline.origins]
    if baseline.origins:  # the first ones are expected
        conditions += [
            Condition("S-new-origin", name, origin) for origin in new_origins
        ]
    refused = baseline.refused
    for attempt in attempts:
        if attempt.is_refusal:
            refused += 1
        elif 0 < attempt.status < 400:
            if refused >= REFUSALS_BEFORE_SUCCESS:
                conditions.append(Condition("S-accepted-after-refusals", name))
            refused = 0
    hours = Counter(dict(baseline.hours))
    hours.update(int(attempt.at // 3600) for attempt in attempts)
    # An hour that begins soon may be this one by another clock.
    oldest = int(now // 3600) - WEEK_HOURS
    newest = int((now + SKEW_SECONDS) // 3600)
    after = Baseline(
        origins=(*baseline.origins, *new_origins)[-MAX_ORIGINS:],
        hours={
            hour: count for hour, count in hours.items() if oldest <= hour <= newest
        },
        refused=refused,
    )
    return after, conditions


def refusal_bursts(attempts: Iterable[EndedAttempt]) -> Iterator[Condition]:
    """Return the configurations that were refused many times within a minute."""
    refusals: defaultdict[str, list[float]] = defaultdict(list)
    for attempt in attempts:
        if attempt.is_refusal:
            refusals[attempt.configuration].append(attempt.at)
    for name, moments in refusals.items():
        moments.sort()
        spans = zip(moments, moments[BURST_REFUSALS - 1 :], strict=False)
        if any(last - first <= BURST_SECONDS for first, last in spans):
            yield Condition("S-refused-burst", name)


def failing_hosts(attempts: Iterable[EndedAttempt]) -> Iterator[Condition]:
    """Return the origins where the last attempts of many configurations failed."""
    last_attempts = {
        (attempt.origin, attempt.configuration): attempt
        for attempt in attempts
        if attempt.origin
    }
    failures = Counter(
        attempt.origin for attempt in last_attempts.values() if attempt.is_failure
    )
    for origin, count in failures.items():
        if count >= FAILING_CONFIGURATIONS:
            yield Condition("S-host-failing", "", origin)


def run_conditions(runs: Sequence[LineRun], now: float) -> Iterator[Condition]:
    """Return the sync lines whose last run failed, and whether runs lack a worker."""
    if has_overdue_run(runs, now):
        yield Condition("S-no-worker")
    for configuration, run in runs:
        if run.state is RunState.FAILED and not run.dry_run:
            yield Condition("S-line-failing", configuration, run.line)


def has_overdue_run(runs: Sequence[LineRun], now: float) -> bool:
    """Whether a run has been overdue for minutes while no run is active.

    A waiting run is overdue after its time, a killed one after its lease.
    """
    if any(is_alive(run, now) for _, run in runs):
        return False
    return any(
        is_due(run, now) and now - run.until > OVERDUE_SECONDS for _, run in runs
    )


def health_conditions(summary: Summary, now: float) -> Iterator[Condition]:
    """Return the conditions of a configuration's health: failing, paused, expiring."""
    name = summary.name
    health = summary.health
    if not health.active:
        return
    kind = KIND_OF_STATUS.get(health.status(now=now, sealed=False))
    if kind is not None:
        yield Condition(kind, name)
    last_days = {"token": health.expires_on, "certificate": _certificate_end(health)}
    for noun, last_day in last_days.items():
        stage = None if last_day is None else warning_stage(last_day, now)
        if stage is not None:
            yield Condition(f"S-{noun}-ends-{stage}", name, str(last_day))


def _certificate_end(health: Health) -> date | None:
    """Return the last day of the server's certificate, as the last test saw it."""
    moment = health.seen.get("certificate_ends")
    if not isinstance(moment, int | float):
        return None
    return day_of(moment)
