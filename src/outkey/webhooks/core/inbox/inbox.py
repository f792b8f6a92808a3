"""A delivery in the inbox of a webhook, and how its state changes."""

from dataclasses import dataclass, replace
from enum import StrEnum

from outkey.foundation.core.moments import iso_moment
from outkey.foundation.core.stored_times import LONGEST_WAIT, lies_ahead
from outkey.sending.core.vault.envelope import Place

# Begins a nonce that is valid only until a worker takes the delivery.
WAITING = "waiting:"
LEASE_SECONDS = 120.0  # how long a worker has a delivery before another may take it


class DeliveryState(StrEnum):
    """The state of a stored delivery."""

    RECEIVED = "received"  # waits for a worker, or for another attempt
    PROCESSED = "processed"
    FAILED = "failed"
    IGNORED = "ignored"  # nothing had to be done


# What a worker is done with. The others wait for one anyway.
ENDED = (DeliveryState.PROCESSED, DeliveryState.FAILED, DeliveryState.IGNORED)


@dataclass(frozen=True, slots=True)
class ReplayScope:
    """Which deliveries are processed again: of a state, of a period, or both.

    The times are Unix times of reception; the end does not belong to the period.
    """

    state: DeliveryState | None = None
    since: float | None = None
    until: float | None = None

    @property
    def states(self) -> tuple[DeliveryState, ...]:
        """The states of the deliveries that are meant."""
        return ENDED if self.state is None else (self.state,)

    def facts(self) -> tuple[str, ...]:
        """Return the scope as the audit records it."""
        since = "" if self.since is None else f"from {iso_moment(self.since)}"
        until = "" if self.until is None else f"to {iso_moment(self.until)}"
        return tuple(filter(None, (self.state or "", since, until)))


@dataclass(frozen=True, slots=True)
class InboxDelivery:
    """A verified delivery as it is stored; `key` is unique for its endpoint.

    `nonce` too is accepted only once; one of a delivery that only names what to fetch
    begins with WAITING, and is valid until a worker takes the delivery. `body` is
    sealed, and empty where it was not read.
    """

    id: str  # "" until it is stored
    endpoint: str
    key: str
    event_id: str = ""  # as the sender states it
    event_type: str = ""
    nonce: str = ""
    fetch_id: str = ""
    received_at: float = 0.0
    state: DeliveryState = DeliveryState.RECEIVED
    due_at: float = 0.0  # when a worker may take it
    attempts: int = 0
    reason: str = ""
    records: int | None = None  # how many it had, once it is processed
    run: str = ""  # the run that rejected some of its records, and lists them
    tested_by: str = ""  # the user who sent it as a test; "": the sender did
    generation: int = 1  # each write raises it
    body: bytes = b""

    def is_due(self, now: float) -> bool:
        """Whether a worker may take it: nothing waits for a clock that was ahead.

        A delivery that was not taken yet is due from the moment it was received.
        """
        was_postponed = self.due_at != self.received_at
        longest = LONGEST_WAIT if was_postponed else 0.0
        return not lies_ahead(self.due_at, now, longest)

    def take(self, now: float) -> "InboxDelivery":
        """Return the delivery as a worker takes it, for the length of a lease.

        What is named again from now on may have changed since, and is stored again.
        """
        return replace(
            self,
            nonce="" if self.nonce.startswith(WAITING) else self.nonce,
            due_at=now + LEASE_SECONDS,
            attempts=self.attempts + 1,
            generation=self.generation + 1,
        )

    def end(
        self,
        state: DeliveryState,
        *,
        reason: str = "",
        records: int | None = None,
        run: str = "",
    ) -> "InboxDelivery":
        """Return the delivery as it ended."""
        return replace(
            self,
            state=state,
            reason=reason,
            records=records,
            run=run,
            generation=self.generation + 1,
        )

    def postpone(self, at: float, reason: str, attempts: int) -> "InboxDelivery":
        """Return the delivery as it waits for another attempt."""
        return replace(
            self,
            state=DeliveryState.RECEIVED,
            due_at=at,
            reason=reason,
            attempts=attempts,
            generation=self.generation + 1,
        )


def body_place(endpoint: str, key: str) -> Place:
    """Return the place that a delivery's body is bound to."""
    return Place("delivery", endpoint, key, 1, "")
