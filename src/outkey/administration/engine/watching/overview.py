"""The home page of a host: statuses, notices and weaknesses.

It is computed from summaries and counts, so that no row and no secret is read for it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from outkey.administration.core.findings.monitoring import KIND_OF_STATUS, Notice
from outkey.administration.core.findings.posture import (
    ANY_NAME,
    CONFIGURATION_CHECKS,
    ConfigurationFacts,
    PostureCheck,
)
from outkey.administration.core.policy.policy import Policy
from outkey.foundation.core.findings.checks import Level, severity
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.health import Status, Summary

_NAMED_OF_A_WEAKNESS = 5
# The beginning of the notices that repeat a status.
_NOTICE_OF_STATUS = {
    **KIND_OF_STATUS,
    Status.EXPIRED: "S-token-ends",
    Status.EXPIRING_SOON: "S-token-ends",
}
SecretAges = Mapping[str, Mapping[str, float]]  # by configuration, then by field


# ── what needs attention ────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class AttentionEntry:
    """A configuration that is not working, with the notice that explains its status."""

    summary: Summary
    status: Status
    notice: Notice | None = None


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
    """The contents of the home page, the most urgent first."""

    counts: Mapping[Status, int]  # of active configurations
    inactive: int  # configurations that a user has switched off
    attention: Sequence[AttentionEntry]  # the first of those that do not work
    notices: Sequence[Notice]  # that say more than a status, newest first

    @property
    def needing(self) -> int:
        """How many active configurations do not work, or soon will not."""
        return self.unwell - self.counts.get(Status.NEVER_TESTED, 0)

    @property
    def unwell(self) -> int:
        """How many active configurations are not known to work."""
        return sum(self.counts.values()) - self.counts.get(Status.WORKING, 0)


def build_overview(
    counts: Mapping[Status, int],
    inactive: int,
    first: Iterable[Summary],
    notices: Sequence[Notice],
    statuses: Mapping[str, Status],
) -> Overview:
    """Compute the overview.

    `first` are the configurations to list, in their order; `notices` are the open
    ones, oldest first. `statuses` are those of the configurations of both.
    """
    explanations, others = _sort_notices(notices, statuses)
    attention = [
        AttentionEntry(summary, statuses[summary.name], explanations.get(summary.name))
        for summary in first
    ]
    return Overview(counts, inactive, attention, others)


def _sort_notices(
    notices: Sequence[Notice], statuses: Mapping[str, Status]
) -> tuple[dict[str, Notice], list[Notice]]:
    """Return the notices that only explain a status, by name, and the others."""
    explanations: dict[str, Notice] = {}
    others: list[Notice] = []
    for notice in reversed(notices):
        kind, name, _about = notice.condition
        prefix = _NOTICE_OF_STATUS.get(statuses.get(name, Status.WORKING))
        if prefix and kind.startswith(prefix):
            explanations[name] = notice
        else:
            others.append(notice)
    return explanations, others


@dataclass(frozen=True, slots=True)
class Recommendations:
    """The recommendations about all configurations, the worst first."""

    weaknesses: Sequence[Weakness]

    @property
    def levels(self) -> list[tuple[Level, int]]:
        """How many findings there are of each level."""
        counts: Counter[Level] = Counter()
        for weakness in self.weaknesses:
            counts[weakness.level] += weakness.count
        return [(level, counts[level]) for level in Level if counts[level]]


def recommendations(
    summaries: Iterable[Summary],
    *,
    now: float,
    policy: Policy,
    secret_ages: SecretAges,
) -> Recommendations:
    """Compute the recommendations.

    `secret_ages` is when the stored secrets that may be too old were set.
    """
    survey = WeaknessSurvey(policy, now)
    for summary in summaries:
        survey.add(summary, secret_ages.get(summary.name, {}))
    return Recommendations(survey.weaknesses())


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
            for place in check.find(facts):
                level = check.level_for(blocking, place.level)
                self._names[level, check].append(summary.name)
                break

    def weaknesses(self) -> list[Weakness]:
        """Return the weaknesses: the worst first, then the most frequent."""
        weaknesses = [
            Weakness(
                level,
                *check.texts(name=quote(names[0]) if len(names) == 1 else ANY_NAME),
                len(names),
                tuple(names[:_NAMED_OF_A_WEAKNESS]),
            )
            for (level, check), names in self._names.items()
        ]
        return sorted(
            weaknesses,
            key=lambda weakness: (severity(weakness.level), -weakness.count),
        )
