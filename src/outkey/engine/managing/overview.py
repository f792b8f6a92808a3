"""What the home page of a host shows: statuses, notices, weaknesses and charts.

It is computed from summaries and counts, so that no row and no secret is read for it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from outkey.core.audit.events import CHALLENGED
from outkey.core.errors import (
    AuditUnavailable,
    ConfigError,
    EgressDenied,
    HeaderConflict,
    InactiveConfiguration,
    Paused,
    RateLimited,
    RedirectBlocked,
    Sealed,
    SecretMissing,
    SecretRebindRequired,
)
from outkey.core.findings.checks import Level, severity
from outkey.core.findings.health import Status, Summary
from outkey.core.findings.monitoring import KIND_OF_STATUS, Notice
from outkey.core.findings.posture import (
    ANY_NAME,
    CONFIGURATION_CHECKS,
    ConfigurationFacts,
    Policy,
    PostureCheck,
)
from outkey.core.moments import hour_text
from outkey.core.sync.run import Counts
from outkey.core.text import Text

CHART_HOURS = 24
_NAMED_OF_A_WEAKNESS = 5
# The beginning of the notices that repeat what a status says.
_NOTICE_OF_STATUS = {
    **KIND_OF_STATUS,
    Status.EXPIRED: "S-token-ends",
    Status.EXPIRING_SOON: "S-token-ends",
}
# The outcomes of attempts that outkey itself did not send, or did not follow.
_REFUSALS = frozenset(
    kind.code
    for kind in (
        AuditUnavailable,
        ConfigError,
        EgressDenied,
        HeaderConflict,
        InactiveConfiguration,
        Paused,
        RateLimited,
        RedirectBlocked,
        Sealed,
        SecretMissing,
        SecretRebindRequired,
    )
)
NoticeFacts = dict[str, object]
SecretAges = Mapping[str, Mapping[str, float]]  # by configuration, then by field


# ── what needs attention ────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class AttentionEntry:
    """A configuration that is not working, with the notice that explains its status."""

    summary: Summary
    status: Status
    notice: NoticeFacts | None = None


@dataclass(frozen=True, slots=True)
class Weakness:
    """One recommendation that some configurations do not follow.

    Only the first of them are named.
    """

    level: Level
    message: Text
    hint: Text
    count: int
    names: tuple[str, ...]

    @property
    def more(self) -> int:
        """How many are not named."""
        return self.count - len(self.names)


@dataclass(frozen=True, slots=True)
class Overview:
    """What the home page shows, the most urgent first."""

    counts: Mapping[Status, int]
    attention: Sequence[AttentionEntry]
    notices: Sequence[NoticeFacts]  # that say more than a status, newest first
    weaknesses: Sequence[Weakness]

    @property
    def levels(self) -> list[tuple[Level, int]]:
        """How many findings there are of each level."""
        counts: Counter[Level] = Counter()
        for weakness in self.weaknesses:
            counts[weakness.level] += weakness.count
        return [(level, counts[level]) for level in Level if counts[level]]


def build_overview(
    summaries: Iterable[Summary],
    notices: Sequence[Notice],
    *,
    now: float,
    sealed: bool,
    policy: Policy,
    secret_ages: SecretAges,
) -> Overview:
    """Compute the overview.

    `notices` are the open ones, oldest first; `secret_ages` is when the stored secrets
    that may be too old were set.
    """
    statuses: dict[str, Status] = {}
    failing: list[Summary] = []
    survey = WeaknessSurvey(policy, now)
    for summary in summaries:
        status = summary.health.status(now=now, sealed=sealed)
        statuses[summary.name] = status
        survey.add(summary, secret_ages.get(summary.name, {}))
        if status is not Status.WORKING:
            failing.append(summary)
    explanations, others = sort_notices(notices, statuses)
    order = list(Status)
    failing.sort(key=lambda entry: (order.index(statuses[entry.name]), entry.name))
    attention = [
        AttentionEntry(entry, statuses[entry.name], explanations.get(entry.name))
        for entry in failing
    ]
    return Overview(
        counts=Counter(statuses.values()),
        attention=attention,
        notices=others,
        weaknesses=survey.weaknesses(),
    )


def sort_notices(
    notices: Sequence[Notice], statuses: Mapping[str, Status]
) -> tuple[dict[str, NoticeFacts], list[NoticeFacts]]:
    """Return the notices that only explain a status, by name, and the others."""
    explanations: dict[str, NoticeFacts] = {}
    others: list[NoticeFacts] = []
    for notice in reversed(notices):
        kind, name, _about = notice.condition
        prefix = _NOTICE_OF_STATUS.get(statuses.get(name, Status.WORKING))
        if prefix and kind.startswith(prefix):
            explanations[name] = notice.facts()
        else:
            others.append(notice.facts())
    return explanations, others


class WeaknessSurvey:
    """Counts what the summaries of configurations show; `outkey doctor` sees more."""

    def __init__(self, policy: Policy, now: float) -> None:
        self._policy = policy
        self._now = now
        self._names: defaultdict[
            tuple[Level, PostureCheck[ConfigurationFacts]], list[str]
        ]
        self._names = defaultdict(list)

    def add(self, summary: Summary, set_at: Mapping[str, float]) -> None:
        """Take one configuration into account."""
        facts = ConfigurationFacts(
            name=summary.name,
            base_url=summary.base_url,
            authentication_type=summary.authentication_type,
            environment=summary.environment,
            active=summary.health.active,
            stores_secret=summary.health.stores_secret,
            set_at=set_at,
            now=self._now,
            policy=self._policy,
            health=summary.health,
        )
        blocking = self._policy.blocking.get(summary.environment, ())
        for check in CONFIGURATION_CHECKS:
            # Once for each configuration, in however many places it is found.
            for _place in check.find(facts):
                self._names[check.level_for(blocking), check].append(summary.name)
                break

    def weaknesses(self) -> list[Weakness]:
        """Return what was found: the worst first, then what concerns the most."""
        weaknesses = [
            Weakness(
                level,
                *check.texts(name=ANY_NAME),
                len(names),
                tuple(names[:_NAMED_OF_A_WEAKNESS]),
            )
            for (level, check), names in self._names.items()
        ]
        return sorted(
            weaknesses,
            key=lambda weakness: (severity(weakness.level), -weakness.count),
        )


# ── charts ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One bar of a chart: heights in percent of the highest bar."""

    label: str
    ok: float
    failed: float
    refused: float
    total: int


def hourly_bars(
    counts: Iterable[tuple[int, str, int]], this_hour: int
) -> list[ChartBar]:
    """Return a bar for each of the last 24 hours, by what became of the attempts.

    `counts` are hours since 1970, outcomes, and how many attempts ended so.
    """
    hours: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for hour, outcome, count in counts:
        hours[hour][kind_of_outcome(outcome)] += count
    highest = max((kinds.total() for kinds in hours.values()), default=0) or 1
    bars = []
    for hour in range(this_hour - CHART_HOURS + 1, this_hour + 1):
        kinds = hours[hour]
        bar = ChartBar(
            label=hour_text(hour * 3600),
            ok=kinds["ok"] * 100 / highest,
            failed=kinds["failed"] * 100 / highest,
            refused=kinds["refused"] * 100 / highest,
            total=kinds.total(),
        )
        bars.append(bar)
    return bars


def kind_of_outcome(outcome: str) -> str:
    """Return whether an attempt was ok, failed, or was refused by outkey itself."""
    if outcome in {"ok", CHALLENGED}:
        return "ok"
    return "refused" if outcome in _REFUSALS else "failed"


def run_bars(runs: Sequence[tuple[str, bool, Counts]]) -> list[ChartBar]:
    """Return a bar for each run: records that it wrote, and those that it rejected.

    Each run is its label, whether it failed, and its counts.
    """
    highest = max((counts.total for *_, counts in runs), default=0) or 1
    bars = []
    for label, has_failed, counts in runs:
        written = (counts.total - counts.failed) * 100 / highest
        bar = ChartBar(
            label=label,
            ok=0.0 if has_failed else written,
            failed=written if has_failed else 0.0,
            refused=counts.failed * 100 / highest,
            total=counts.total,
        )
        bars.append(bar)
    return bars
