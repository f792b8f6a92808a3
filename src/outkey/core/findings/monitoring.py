"""What the watch makes of recent attempts: patterns as pure functions, and the words of notices."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from statistics import median
from typing import NamedTuple

from outkey.core.findings.checks import Level
from outkey.core.findings.health import Status, Summary

RECENT_SECONDS = 600.0
_BURST, _BURST_SECONDS = 10, 60.0
_MANY_FAIL = 3
_SERIES = 5
_WEEK_HOURS = 7 * 24
_LEAST_VOLUME, _TIMES_VOLUME, _LEAST_HOURS = 100, 10, 5
_MOST_ORIGINS = 50
_STAGES = (0, 1, 7, 30)  # days before an end; each is told once
_DAY = 86_400.0


class Kind(NamedTuple):
    """The words of a notice. One that `lasts` happened once; any other lasts until it recovers."""

    level: Level
    message: str
    hint: str
    lasts: float = 0.0
    recovers: bool = True  # the end is worth telling too


_TOKEN_HINT = (
    "Get a new one from the API's provider, and enter it with its expiry date."  # noqa: S105 - a hint
)
_CERTIFICATE_HINT = "Tell whoever runs the API, or renew it where the API is your own."
_ENDS = {
    0: "has ended",
    1: "ends within a day",
    7: "ends within a week",
    30: "ends within 30 days",
}
KINDS: Mapping[str, Kind] = {
    "S-failing": Kind(
        Level.ERROR, "the last test failed", "Open the configuration, and test it."
    ),
    "S-paused": Kind(
        Level.ERROR,
        "sending is paused, since the credentials were refused again and again",
        "Enter the right credentials, or test the configuration.",
    ),
    "S-person-needed": Kind(
        Level.ERROR,
        "the provider wants a person to allow the access again",
        "Press Connect on the configuration's page, or enter a new refresh token.",
    ),
    "S-refused-burst": Kind(
        Level.WARNING,
        "the API refused the credentials ten times within a minute",
        "Look into the audit who sends, and test the configuration.",
    ),
    "S-host-failing": Kind(
        Level.ERROR,
        "several configurations fail at one host",
        "Look whether the provider has a disturbance before you change credentials.",
    ),
    "S-new-origin": Kind(
        Level.WARNING,
        "requests go to an address where they never went before",
        "Look into the configuration's history who changed the address, and whether on"
        " purpose.",
        lasts=_DAY,
    ),
    "S-accepted-after-refusals": Kind(
        Level.NOTICE,
        "the credentials were accepted after a series of refusals",
        "If nobody has corrected them, somebody may be guessing: look into the audit.",
        lasts=_DAY,
    ),
    "S-line-failing": Kind(
        Level.ERROR,
        "the last run of a sync line failed",
        "Open the run to see the cause, and run the line again.",
    ),
    "S-no-worker": Kind(
        Level.ERROR,
        "runs of sync lines wait, and no worker takes them",
        "Start outkey worker, or look why it ended; it needs the key.",
    ),
    "S-volume": Kind(
        Level.WARNING,
        "more than ten times as many requests as usual",
        "Look into the audit what sends, or set a rate limit.",
    ),
    **{
        f"S-{noun}-ends-{stage}": Kind(
            Level.WARNING if stage else Level.ERROR,
            f"the {words} {_ENDS[stage]}",
            hint,
            recovers=False,
        )
        for noun, words, hint in (
            ("token", "token", _TOKEN_HINT),
            ("certificate", "server's certificate", _CERTIFICATE_HINT),
        )
        for stage in _STAGES
    },
}


class Condition(NamedTuple):
    """What a notice is about: there is one open notice at most for each."""

    kind: str
    configuration: str = ""
    about: str = ""  # a host, an address, a day or a line


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that people are told of, when it opens and when it closes."""

    sign: Condition
    opened_at: float
    closed_at: float | None = None

    def facts(self) -> dict[str, object]:
        """Return the notice as programs read it."""
        words = KINDS[self.sign.kind]
        return {
            "id": self.sign.kind,
            "level": str(words.level),
            "configuration": self.sign.configuration,
            "about": self.sign.about,
            "message": words.message,
            "hint": words.hint,
            "opened_at": self.opened_at,
            "closed_at": self.closed_at,
        }

    def text(self) -> str:
        """Return the notice as one line for a person."""
        words, (_, name, about) = KINDS[self.sign.kind], self.sign
        state = str(words.level) if self.closed_at is None else "recovered"
        return ": ".join(filter(None, (state, name, words.message, about)))


class Attempt(NamedTuple):
    """One attempt that ended; status 0 means without an answer."""

    at: float
    configuration: str
    origin: str
    outcome: str
    status: int

    @property
    def failed(self) -> bool:
        """Whether the other side is to blame; what a caller asked for wrongly is no failure."""
        silent = self.status == 0 and self.outcome not in {"unknown", "cancelled"}
        return silent or self.status == 401 or self.status >= 500


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is usual for a configuration."""

    origins: tuple[str, ...] = ()
    hours: Mapping[int, int] = field(
        default_factory=dict
    )  # attempts by hour of Unix time
    refused: int = 0  # in a row

    def facts(self) -> dict[str, object]:
        """Return what is kept of it, as JSON can hold it."""
        hours = [[hour, count] for hour, count in self.hours.items()]
        return {"origins": list(self.origins), "hours": hours, "refused": self.refused}

    def is_unusual(self, now: float) -> bool:
        """Tell whether this hour's volume is far above that of the hours with any in a week."""
        this_hour = int(now // 3600)
        before = [
            n for hour, n in self.hours.items() if 0 < this_hour - hour <= _WEEK_HOURS
        ]
        count = self.hours.get(this_hour, 0)
        known = len(before) >= _LEAST_HOURS and count > _LEAST_VOLUME
        return known and count > _TIMES_VOLUME * median(before)


def habit_of(facts: Mapping[str, object]) -> Baseline:
    """Undo `Baseline.facts`."""
    return Baseline(tuple(facts["origins"]), dict(facts["hours"]), facts["refused"])  # type: ignore[arg-type, call-overload]  # written by `facts`


def learned(
    name: str, habit: Baseline, seen: Sequence[Attempt]
) -> tuple[Baseline, list[Condition]]:
    """Return the habit with these attempts of one configuration, and what was odd about them."""
    signs = []
    origins = list(dict.fromkeys(one.origin for one in seen if one.origin))
    fresh = [origin for origin in origins if origin not in habit.origins]
    if habit.origins:  # the first ones are no surprise
        signs += [Condition("S-new-origin", name, origin) for origin in fresh]
    refused = habit.refused
    for one in seen:
        if one.status == 401:
            refused += 1
        elif 0 < one.status < 400:
            if refused >= _SERIES:
                signs.append(Condition("S-accepted-after-refusals", name))
            refused = 0
    hours = Counter(dict(habit.hours)) + Counter(int(one.at // 3600) for one in seen)
    oldest = max(hours) - _WEEK_HOURS
    kept = {hour: count for hour, count in hours.items() if hour >= oldest}
    return Baseline((*habit.origins, *fresh)[-_MOST_ORIGINS:], kept, refused), signs


def bursts(recent: Iterable[Attempt]) -> Iterator[Condition]:
    """Find the configurations that were refused many times within a minute."""
    refused: defaultdict[str, list[float]] = defaultdict(list)
    for one in recent:
        if one.status == 401:
            refused[one.configuration].append(one.at)
    for name, moments in refused.items():
        moments.sort()
        pairs = zip(moments, moments[_BURST - 1 :], strict=False)
        if any(last - first <= _BURST_SECONDS for first, last in pairs):
            yield Condition("S-refused-burst", name)


def failing_hosts(recent: Iterable[Attempt]) -> Iterator[Condition]:
    """Find the origins where the last attempts of many configurations failed."""
    newest = {
        (one.origin, one.configuration): one.failed for one in recent if one.origin
    }
    counts = Counter(origin for (origin, _), failed in newest.items() if failed)
    for origin, count in counts.items():
        if count >= _MANY_FAIL:
            yield Condition("S-host-failing", "", origin)


_OF_STATUS = {
    Status.FAILING: "S-failing",
    Status.PAUSED: "S-paused",
    Status.REAUTHORIZATION_NEEDED: "S-person-needed",
}


def standing_signs(summary: Summary, now: float) -> Iterator[Condition]:
    """Say what a configuration's standing alone tells: failing, paused, about to end."""
    name, standing = summary.name, summary.standing
    if not standing.active:
        return
    kind = _OF_STATUS.get(standing.status(now=now, sealed=False))
    if kind is not None:
        yield Condition(kind, name)
    ends = standing.seen.get("certificate_ends")
    certificate = (
        datetime.fromtimestamp(ends, UTC).date()
        if isinstance(ends, int | float)
        else None
    )
    today = datetime.fromtimestamp(now, UTC).date()
    for noun, day in (("token", standing.expires_on), ("certificate", certificate)):
        stage = None if day is None else _stage(day, today)
        if stage is not None:
            yield Condition(f"S-{noun}-ends-{stage}", name, str(day))


def _stage(day: date, today: date) -> int | None:
    """Return which warning it is time for; an end that has passed is the last one."""
    left = (day - today).days
    return (
        0 if left < 0 else next((stage for stage in _STAGES[1:] if left <= stage), None)
    )
