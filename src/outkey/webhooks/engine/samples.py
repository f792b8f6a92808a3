"""Test deliveries: who sends a sample is known before it arrives, and is stored.

The sample goes the way of every delivery, by HTTP. It has a random mark in a header; a
mark that was not made here means nothing.
"""

import secrets
from dataclasses import dataclass, replace

from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_times import is_recent
from outkey.foundation.ports.database import Database, StateRows
from outkey.webhooks.core.inbox.delivery import Delivery

HEADER = "X-Outkey-Test"
MARK_BYTES = 16
VALID_SECONDS = 600.0  # longer than any sample is on its way


@dataclass(frozen=True, slots=True)
class SampleMarks:
    """The marks of the samples that are on their way."""

    states: StateRows
    database: Database

    def make(self, endpoint: str, actor: str) -> str:
        """Return the mark of a sample that a user is about to send."""
        mark = secrets.token_urlsafe(MARK_BYTES)
        facts = {"endpoint": endpoint, "actor": actor, "at": self.database.now()}
        self.states.put(StateKind.HOOK_SAMPLE, {mark: facts, **self._expired()})
        return mark

    def remove(self, mark: str) -> None:
        """Remove a mark: its sample was stored, or refused."""
        self.states.put(StateKind.HOOK_SAMPLE, {mark: None})

    def tested_by(self, endpoint: str, delivery: Delivery) -> str:
        """Return the user who sent a sample; "" for a delivery of the sender itself."""
        marks = delivery.header_values(HEADER)
        if len(marks) != 1:
            return ""
        states = self.states.read(StateKind.HOOK_SAMPLE, marks)
        for state in states.values():
            is_valid = is_recent(_sent_at(state), self.database.now(), VALID_SECONDS)
            if is_valid and state.value["endpoint"] == endpoint:
                return str(state.value["actor"])
        return ""

    def _expired(self) -> dict[str, None]:
        """Return the marks that a killed process has left, to be removed."""
        now = self.database.now()
        states = self.states.read(StateKind.HOOK_SAMPLE)
        return {
            mark: None
            for mark, state in states.items()
            if not is_recent(_sent_at(state), now, VALID_SECONDS)
        }


def _sent_at(state: SharedState) -> float:
    """Return when a sample was sent; long ago for a mark that cannot be read."""
    return float(state.value.get("at", 0.0))


def with_mark(delivery: Delivery, mark: str) -> Delivery:
    """Return a signed sample with its mark."""
    return replace(delivery, headers=(*delivery.headers, (HEADER, mark)))


def without_mark(delivery: Delivery) -> Delivery:
    """Return a delivery without marks, which are nothing of the sender's."""
    if not delivery.header_values(HEADER):
        return delivery
    headers = tuple(
        pair for pair in delivery.headers if pair[0].lower() != HEADER.lower()
    )
    return replace(delivery, headers=headers)
