"""The watch: what recent attempts and the configurations' standings say, told once each.

Here is what runs in the background of a host; when, and in which process, is the host's business.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from outkey.core.audit.chain import AuditKeys
from outkey.core.audit.events import Tag
from outkey.core.errors import OutkeyError
from outkey.core.findings.monitoring import (
    KINDS,
    RECENT_SECONDS,
    Attempt,
    Baseline,
    Condition,
    Notice,
    bursts,
    failing_hosts,
    learned,
    standing_signs,
)
from outkey.engine.managing.changes import Administration
from outkey.engine.managing.connection_test import SAFE
from outkey.engine.sending.sender import Sender
from outkey.ports.monitoring import MonitoringRows, Notifier
from outkey.ports.sending import Clock
from outkey.ports.storage import AuditRows, Checkpoints, Registry

_AT_ONCE = 5000
_MOST_BATCHES = 20
_MOST_RECENT = 50_000
_MOST_UNDER_WAY = 10_000
_DUE_AT_ONCE = 1000
_SHARE = 60  # of what is due is tested at each round, so that a whole day's is spread over an hour
_INTENTS = frozenset({Tag.SEND_INTENT, Tag.TOKEN_INTENT})
_OUTCOMES = frozenset({Tag.SEND_OUTCOME, Tag.TOKEN_OUTCOME})
_SCALE = 1000
_MISSED_SECONDS = 300.0


class Monitor:
    """Looks at what happened since the last time, and tells what is new about it."""

    def __init__(
        self,
        book: MonitoringRows,
        registry: Registry,
        messengers: Sequence[Notifier],
        clock: Clock,
    ) -> None:
        self._book, self._registry = book, registry
        self._messengers, self._clock = messengers, clock
        self._recent: deque[Attempt] = deque(maxlen=_MOST_RECENT)
        self._origins: dict[str, str] = {}  # of the attempts under way

    def look(self) -> list[Notice]:
        """Read on, open and close notices, and tell them; return what was told."""
        now, before = self._clock.now(), {n.sign: n for n in self._book.open_notices()}
        position, seen = self._read()
        while self._recent and self._recent[0].at < now - RECENT_SECONDS:
            self._recent.popleft()
        habits, events = self._learned(seen)
        lasting = {*self._signs(before, habits, now)}
        opened = [
            Notice(sign, now) for sign in sorted({*events, *lasting} - before.keys())
        ]
        closed = [
            replace(notice, closed_at=now)
            for sign, notice in before.items()
            if sign not in lasting and now >= notice.opened_at + KINDS[sign.kind].lasts
        ]
        self._book.turn(position, habits, [*opened, *closed])
        ended = [
            n
            for n in closed
            if KINDS[n.sign.kind].recovers and not KINDS[n.sign.kind].lasts
        ]
        told = [*opened, *ended]
        for messenger in self._messengers if told else ():
            messenger.tell(told)
        return told

    def _read(self) -> tuple[int, list[Attempt]]:
        position, seen = self._book.position(), list[Attempt]()
        for _ in range(_MOST_BATCHES):
            records = self._book.records(position, _AT_ONCE)
            seen += filter(None, map(self._seen, records))
            position = max([position, *(int(str(facts["id"])) for facts in records)])
            if len(records) < _AT_ONCE:
                break
        self._recent.extend(seen)
        return position, seen

    def _seen(self, facts: Mapping[str, object]) -> Attempt | None:
        """Return how an attempt ended; where it went stands in the record of its intent."""
        tag, attempt = facts.get("tag"), str(facts.get("attempt"))
        if tag in _INTENTS:
            self._origins[attempt] = str(facts.get("origin"))
            if len(self._origins) > _MOST_UNDER_WAY:
                del self._origins[next(iter(self._origins))]
        at, status = facts.get("at"), facts.get("status")
        if (
            tag not in _OUTCOMES
            or not isinstance(at, int)
            or not isinstance(status, int)
        ):
            return None
        name, outcome = str(facts.get("configuration")), str(facts.get("outcome"))
        return Attempt(
            at / _SCALE, name, self._origins.pop(attempt, ""), outcome, status
        )

    def _learned(
        self, seen: Sequence[Attempt]
    ) -> tuple[dict[str, Baseline], list[Condition]]:
        by_name = attrgetter("configuration")
        known = self._book.habits({one.configuration for one in seen})
        habits, signs = dict[str, Baseline](), list[Condition]()
        for name, some in groupby(sorted(seen, key=by_name), key=by_name):
            habits[name], odd = learned(name, known.get(name, Baseline()), list(some))
            signs += odd
        return habits, signs

    def _signs(
        self,
        before: Mapping[Condition, Notice],
        habits: Mapping[str, Baseline],
        now: float,
    ) -> Iterator[Condition]:
        yield from bursts(self._recent)
        yield from failing_hosts(self._recent)
        told = {
            sign.configuration for sign in before if sign.kind == "S-volume"
        } - habits.keys()
        for name, habit in {**habits, **self._book.habits(told)}.items():
            if habit.is_unusual(now):
                yield Condition("S-volume", name)
        if self._book.is_anybody_missed(_MISSED_SECONDS):
            yield Condition("S-no-worker")
        for configuration, line in self._book.failing_lines():
            yield Condition("S-line-failing", configuration, line)
        for summary in self._registry.summaries():
            yield from standing_signs(summary, now)


def verify_due(
    desk: Administration, sender: Sender, seconds: float, goes_on: Callable[[], bool]
) -> int:
    """Test a share of the configurations whose last test is older, one after the other."""
    names = desk.registry.due(sender.context.clock.now() - seconds, _DUE_AT_ONCE)
    done = 0
    for name in names[: 1 + len(names) // _SHARE]:
        if not goes_on():
            break
        with suppress(
            OutkeyError
        ):  # it was removed meanwhile, or cannot be recorded now
            if desk.registry.get(name).verification.test_method in SAFE:
                desk.test(sender, name)
        done += 1
    return done


def prune_expired(
    desk: Administration,
    rows: AuditRows,
    checkpoints: Checkpoints,
    keys: AuditKeys,
    moment: float,
) -> int:
    """Remove the records from before a moment; without any, the chain is not even verified."""
    if next(rows.expired(round(moment * _SCALE), _AT_ONCE), None) is None:
        return 0
    return sum(desk.prune_audit(rows, checkpoints, keys, moment))
