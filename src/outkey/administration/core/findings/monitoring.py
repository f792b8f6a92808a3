"""The rules of monitoring: patterns of attempts, runs and health, and their notices."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import median
from typing import Any, NamedTuple, Self

from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.moments import DAY_SECONDS, day_of, iso_moment, iso_or_none
from outkey.foundation.core.stored_times import SKEW_SECONDS, is_recent
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import CHALLENGED
from outkey.sending.core.configuration.expiry import NEW_TOKEN_HINT, warning_stage
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


class NoticeKind(NamedTuple):
    """The texts of a notice.

    One with a `duration` is about an event and closes after it; any other is about a
    state, and closes when that recovers.
    """

    level: Level
    message: Text
    hint: Text
    duration: float = 0.0
    reports_recovery: bool = True


CERTIFICATE_HINT = Text(
    "Report it to the API's provider, or renew it where the API is your own."
)
NOTICE_KINDS: Mapping[str, NoticeKind] = {
    "S-failing": NoticeKind(
        Level.ERROR,
        Text("the last test failed"),
        Text("Open the configuration, and test it."),
    ),
    "S-paused": NoticeKind(
        Level.ERROR,
        Text("sending is paused, since the credentials were refused again and again"),
        Text("Enter the right credentials, or test the configuration."),
    ),
    "S-person-needed": NoticeKind(
        Level.ERROR,
        Text("the provider requires a user to allow access again"),
        Text(
            "Press Connect on the configuration's page, or enter a new refresh token."
        ),
    ),
    "S-refused-burst": NoticeKind(
        Level.WARNING,
        Text("the API refused the credentials ten times within a minute"),
        Text("Check the audit for what sends, and test the configuration."),
    ),
    "S-host-failing": NoticeKind(
        Level.ERROR,
        Text("several configurations fail at one host"),
        Text("Check whether the provider has an outage before you change credentials."),
    ),
    "S-new-origin": NoticeKind(
        Level.WARNING,
        Text("requests go to a host that was never used before"),
        Text(
            "Check the configuration's history for who changed the URL, and whether"
            " on purpose."
        ),
        duration=DAY_SECONDS,
    ),
    "S-accepted-after-refusals": NoticeKind(
        Level.NOTICE,
        Text("the credentials were accepted after a series of refusals"),
        Text(
            "If no user has corrected them, they may have been guessed: check the"
            " audit."
        ),
        duration=DAY_SECONDS,
    ),
    "S-line-failing": NoticeKind(
        Level.ERROR,
        Text("the last run of a sync line failed"),
        Text("Open the run to see the cause, and run the line again."),
    ),
    "S-no-worker": NoticeKind(
        Level.ERROR,
        Text("runs of sync lines wait, and no worker takes them"),
        Text("Start outkey worker, or check why it ended; it needs the key."),
    ),
    "S-volume": NoticeKind(
        Level.WARNING,
        Text("more than ten times as many requests as usual"),
        Text("Check the audit for what sends, or set a rate limit."),
    ),
    "S-sign-ins": NoticeKind(
        Level.WARNING,
        Text("many sign-ins of a user have failed within an hour"),
        Text(
            "The password may be guessed by an attacker. Ask the user, and restrict who"
            " can reach the pages."
        ),
        duration=DAY_SECONDS,
    ),
    "S-webhook-silent": NoticeKind(
        Level.WARNING,
        Text("a webhook has had no delivery for three times the usual gap"),
        Text("Check the settings at the sender, and run its sync line."),
    ),
    "S-webhook-refusing": NoticeKind(
        Level.ERROR,
        Text("many deliveries of a webhook are refused"),
        Text("See the reasons with outkey webhook show, before the sender gives up."),
    ),
    "S-webhook-waiting": NoticeKind(
        Level.ERROR,
        Text("deliveries of a webhook wait, and are not processed"),
        Text("Check that a worker is running, and the sync line of the webhook."),
    ),
    "S-webhook-failing": NoticeKind(
        Level.WARNING,
        Text("deliveries of a webhook have failed"),
        Text(
            "See the inbox of the webhook, and replay them when the cause is removed."
        ),
    ),
    "S-webhook-rejecting": NoticeKind(
        Level.WARNING,
        Text("records of a webhook's deliveries were rejected"),
        Text("Open the run to see why, correct the cause, and retry them."),
    ),
    "S-token-ends-0": NoticeKind(
        Level.ERROR,
        Text("the token has ended"),
        NEW_TOKEN_HINT,
        reports_recovery=False,
    ),
    "S-token-ends-1": NoticeKind(
        Level.WARNING,
        Text("the token ends within a day"),
        NEW_TOKEN_HINT,
        reports_recovery=False,
    ),
    "S-token-ends-7": NoticeKind(
        Level.WARNING,
        Text("the token ends within a week"),
        NEW_TOKEN_HINT,
        reports_recovery=False,
    ),
    "S-token-ends-30": NoticeKind(
        Level.WARNING,
        Text("the token ends within 30 days"),
        NEW_TOKEN_HINT,
        reports_recovery=False,
    ),
    "S-certificate-ends-0": NoticeKind(
        Level.ERROR,
        Text("the server's certificate has ended"),
        CERTIFICATE_HINT,
        reports_recovery=False,
    ),
    "S-certificate-ends-1": NoticeKind(
        Level.WARNING,
        Text("the server's certificate ends within a day"),
        CERTIFICATE_HINT,
        reports_recovery=False,
    ),
    "S-certificate-ends-7": NoticeKind(
        Level.WARNING,
        Text("the server's certificate ends within a week"),
        CERTIFICATE_HINT,
        reports_recovery=False,
    ),
    "S-certificate-ends-30": NoticeKind(
        Level.WARNING,
        Text("the server's certificate ends within 30 days"),
        CERTIFICATE_HINT,
        reports_recovery=False,
    ),
}
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
    def kind(self) -> NoticeKind:
        """The level and the texts."""
        return NOTICE_KINDS[self.condition.kind]

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
            "level": str(self.kind.level),
            "configuration": self.condition.configuration,
            "about": self.condition.about,
            "message": self.kind.message,
            "hint": self.kind.hint,
            "opened_at": iso_moment(self.opened_at),
            "closed_at": iso_or_none(self.closed_at),
        }

    def text(self) -> str:
        """Return the notice as one line for users."""
        state = str(self.kind.level) if self.closed_at is None else "recovered"
        _, configuration, about = self.condition
        parts = (state, configuration, self.kind.message, about)
        return ": ".join(part for part in parts if part)

    def is_over(self, now: float) -> bool:
        """Whether an event is old enough, so that its notice closes."""
        return not is_recent(self.opened_at, now, self.kind.duration)

    def reports_recovery(self) -> bool:
        """Whether users are notified when it closes."""
        return self.kind.reports_recovery and not self.kind.duration


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
    """What is usual for a configuration."""

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
    """Return what a configuration's health shows: failing, paused, about to end."""
    name = summary.name
    health = summary.health
    if not health.active:
        return
    kind = KIND_OF_STATUS.get(health.status(now=now, sealed=False))
    if kind is not None:
        yield Condition(kind, name)
    last_days = {"token": health.expires_on, "certificate": certificate_end(health)}
    for noun, last_day in last_days.items():
        stage = None if last_day is None else warning_stage(last_day, now)
        if stage is not None:
            yield Condition(f"S-{noun}-ends-{stage}", name, str(last_day))


def certificate_end(health: Health) -> date | None:
    """Return the last day of the server's certificate, as the last test saw it."""
    moment = health.seen.get("certificate_ends")
    if not isinstance(moment, int | float):
        return None
    return day_of(moment)
