"""Refused deliveries, counted: a row of the audit for each webhook, reason, minute."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.text import Text
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.database import Database, StateRows
from outkey.foundation.ports.threads import StartedThread, Threads
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.ports.sending import Audit
from outkey.webhooks.core.inbox.delivery import Refused

ACTOR = "webhook"
MINUTE = 60
HOUR = 3600
EXPLAINED_PER_MINUTE = 20
LATER_SECONDS = 0.05
MAX_UNEXPLAINED = 20  # deliveries that are in memory until they are explained
TRIES = 100  # to count a refusal beside those of other processes

FindReason = Callable[[], Refused]


class RefusalCounter(Protocol):
    """Counts refusals."""

    def count(
        self,
        webhook: str,
        reason: str,
        number: int = 1,
        find_reason: FindReason | None = None,
    ) -> None:
        """Count refusals of a webhook for a reason.

        `find_reason` explains one of them better: its reason is counted instead.
        """


@dataclass(frozen=True, slots=True)
class RefusalSummary:
    """How many deliveries were refused, by reason, and when the last one was."""

    totals: Mapping[str, int] = field(default_factory=dict)
    last_at: float | None = None


class Refusals:
    """Counts refusals in shared states, so that no flood fills the audit."""

    def __init__(self, states: StateRows, database: Database, audit: Audit) -> None:
        self._states = states
        self._database = database
        self._audit = audit

    def with_states(self, states: StateRows) -> "Refusals":
        """Return the refusals of other states."""
        return Refusals(states, self._database, self._audit)

    def may_explain(self, webhook: str) -> bool:
        """Whether there is time to find out why a delivery is refused.

        Not for each of a flood: that takes as long as many verifications.
        """
        state = self._state(webhook)
        is_past = state.value.get("minute") != self._minute()
        return is_past or sum(_recent_of(state).values()) < EXPLAINED_PER_MINUTE

    def count(
        self,
        webhook: str,
        reason: str,
        number: int = 1,
        find_reason: FindReason | None = None,
    ) -> None:
        """Count refusals at once; store how they are explained, if there is time."""
        refused = None
        if find_reason is not None and self.may_explain(webhook):
            refused = find_reason()
            reason = refused.reason
        for _ in range(TRIES):
            with self._database.transaction(durable=False):
                state = self._state(webhook)
                now = self._database.now()
                minute = int(now // MINUTE)
                is_past = state.value.get("minute") != minute
                recent = {} if is_past else _recent_of(state)
                value = {
                    "total": _with_more(total_of(state), reason, number),
                    "minute": minute,
                    "at": now,
                    "recent": _with_more(recent, reason, number),
                    "hours": self._hours_after(state, reason, number),
                    "explained": {
                        **state.value.get("explained", {}),
                        **_explanation_facts(refused),
                    },
                }
                is_counted = self._swap(webhook, state, value)
            if is_counted:
                if is_past:
                    self._note(webhook, _recent_of(state))
                return

    def totals(self, webhook: str) -> dict[str, int]:
        """Return how many deliveries of a webhook were refused, by reason."""
        return total_of(self._state(webhook))

    def summaries(self) -> dict[str, RefusalSummary]:
        """Return the refusals of every webhook that has some, by its name."""
        states = self._states.read(StateKind.HOOK_REFUSALS)
        return {
            webhook: RefusalSummary(total_of(state), last_at=state.value.get("at"))
            for webhook, state in states.items()
        }

    def within_two_hours(self, webhook: str) -> dict[str, int]:
        """Return the refused deliveries of this hour and the last one, by reason."""
        counts: Counter[str] = Counter()
        for by_reason in self._recent_hours(self._state(webhook)).values():
            counts.update(by_reason)
        return dict(counts)

    def explanations(self, webhook: str) -> dict[str, tuple[Text, Text]]:
        """Return text and hint of the reasons, as the last delivery of each had it."""
        explained = self._state(webhook).value.get("explained", {})
        return {
            reason: (Text.from_json(text), Text.from_json(hint))
            for reason, (text, hint) in explained.items()
        }

    def note_past_minutes(self) -> None:
        """Record in the audit what was counted in minutes that have ended."""
        minute = self._minute()
        for webhook, state in self._states.read(StateKind.HOOK_REFUSALS).items():
            recent = _recent_of(state)
            if not recent or state.value.get("minute") == minute:
                continue
            if self._swap(webhook, state, {**state.value, "recent": {}}):
                self._note(webhook, recent)

    def _note(self, webhook: str, recent: Mapping[str, int]) -> None:
        changes = [
            Change(Tag.DELIVERIES_REFUSED, ACTOR, fields=(webhook, reason, str(count)))
            for reason, count in recent.items()
        ]
        if changes:
            self._audit.note(*changes)

    def _hours_after(
        self, state: SharedState, reason: str, number: int
    ) -> dict[str, object]:
        hours = self._recent_hours(state)
        hour = str(int(self._database.now() // HOUR))
        return {**hours, hour: _with_more(hours.get(hour, {}), reason, number)}

    def _recent_hours(self, state: SharedState) -> dict[str, dict[str, int]]:
        """Return the counts of this hour and the one before."""
        this_hour = int(self._database.now() // HOUR)
        stored = state.value.get("hours", {})
        return {
            hour: counts
            for hour, counts in stored.items()
            if int(hour) in {this_hour - 1, this_hour}
        }

    def _minute(self) -> int:
        return int(self._database.now() // MINUTE)

    def _state(self, webhook: str) -> SharedState:
        states = self._states.read(StateKind.HOOK_REFUSALS, [webhook])
        return states.get(webhook, SharedState())

    def _swap(
        self, webhook: str, state: SharedState, value: Mapping[str, object]
    ) -> bool:
        return self._states.swap(
            StateKind.HOOK_REFUSALS, webhook, state.generation, value
        )


def total_of(state: SharedState) -> dict[str, int]:
    """Return all counts of a state, by reason."""
    return dict(state.value.get("total", {}))


def _recent_of(state: SharedState) -> dict[str, int]:
    """Return the counts of the last minute that are not in the audit yet."""
    return dict(state.value.get("recent", {}))


def _with_more(counts: Mapping[str, int], reason: str, number: int) -> dict[str, int]:
    """Return counts with more for a reason."""
    return {**counts, reason: counts.get(reason, 0) + number}


def _explanation_facts(explanation: Refused | None) -> dict[str, list[str]]:
    """Return text and hint of an explanation, by its reason, as JSON can hold them."""
    if explanation is None:
        return {}
    texts = [explanation.text.to_json(), explanation.hint.to_json()]
    return {str(explanation.reason): texts}


class LaterRefusals:
    """Counts refusals in a thread of its own, several at a time, a moment later.

    So a sender does not wait for the database, a flood of forgeries causes few writes,
    and the time of a response does not tell what was refused. The counts of that moment
    are lost if the process is killed.
    """

    def __init__(
        self,
        refusals: Refusals,
        clock: Clock,
        threads: Threads,
        end_thread: Callable[[], object],
    ) -> None:
        self._refusals = refusals
        self._clock = clock
        self._threads = threads
        self._end_thread = end_thread
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._unexplained: dict[tuple[str, str], FindReason] = {}
        self._thread: StartedThread | None = None

    def count(
        self,
        webhook: str,
        reason: str,
        number: int = 1,
        find_reason: FindReason | None = None,
    ) -> None:
        """Note refusals, to be explained and counted soon."""
        with self._lock:
            self._counts[webhook, reason] += number
            if find_reason is not None and len(self._unexplained) < MAX_UNEXPLAINED:
                self._unexplained[webhook, reason] = find_reason
            # In a forked child, the thread has ended.
            if self._thread is None or not self._thread.is_alive():
                self._thread = self._threads.start(self._work, "outkey-refusals")

    def join(self, patience: float) -> None:
        """Wait until everything is counted."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(patience)

    def _work(self) -> None:
        try:
            while noted := self._take():
                for (webhook, reason), (number, find_reason) in noted.items():
                    # What cannot be stored now is not worth a growing memory.
                    with suppress(OutkeyError):
                        self._refusals.count(webhook, reason, number, find_reason)
        finally:
            with self._lock:
                # An error has ended it: the next refusal starts another one.
                if self._thread is threading.current_thread():
                    self._thread = None
            self._end_thread()

    def _take(self) -> dict[tuple[str, str], tuple[int, FindReason | None]]:
        """Wait for a moment, and return the refusals; no error ends the thread."""
        self._clock.sleep(LATER_SECONDS)
        with self._lock:
            noted = {
                key: (number, self._unexplained.get(key))
                for key, number in self._counts.items()
            }
            self._counts = Counter()
            self._unexplained = {}
            if not noted:
                self._thread = None
            return noted
