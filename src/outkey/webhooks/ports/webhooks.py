"""Interfaces of webhooks: stored deliveries, and a vault for secrets and bodies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.reference import Reference
from outkey.sending.core.vault.envelope import Place
from outkey.webhooks.core.inbox.inbox import DeliveryState, InboxDelivery


@dataclass(frozen=True, slots=True)
class DeliveryQuery:
    """Which stored deliveries to find; a default restricts nothing."""

    id: str = ""  # text from outside: not necessarily an id
    before: str = ""  # text from outside: only what was stored before this id
    endpoint: str = ""
    nonce: str = ""
    run: str = ""  # only those of which this run has rejected records
    states: tuple[DeliveryState, ...] = ()
    due_by: float | None = None  # only those that `InboxDelivery.is_due` then
    received_from: float | None = None
    received_before: float | None = None
    oldest_first: bool = False
    has_body: bool = False  # whether the sealed bodies are read
    limit: int = 50


@dataclass(frozen=True, slots=True)
class DeliveryCount:
    """How many deliveries of an endpoint are in a state and came in one hour."""

    endpoint: str
    state: DeliveryState
    hour: int  # since 1970; 0 for all that came before the hours that are counted
    count: int
    newest_at: float


class DeliveryRows(Protocol):
    """The table of deliveries, in the same database as the runs."""

    def find(self, query: DeliveryQuery) -> Sequence[InboxDelivery]:
        """Return the deliveries of a query, newest first unless it says otherwise."""

    def insert(self, deliveries: Sequence[InboxDelivery]) -> None:
        """Insert deliveries that are not stored yet, all or none.

        Left out are those whose endpoint has one with the same key or nonce, also among
        these.
        """

    def swap(
        self, before: InboxDelivery | None, after: InboxDelivery | None
    ) -> InboxDelivery | None:
        """Replace a delivery, if its generation is still `before`'s; its body stays.

        `after` may give up the nonce of `before`, and has no other one.
        Without `before` insert one, without `after` delete one. At least one of the two
        is given. Return the delivery as it is stored (or deleted), with its id; None if
        another process was faster, or if its endpoint has one with this key or nonce.
        """

    def count_by_hour(
        self, since: float, endpoint: str = ""
    ) -> Sequence[DeliveryCount]:
        """Return how many deliveries there are, by endpoint, state and hour.

        Those from before `since` are counted together. "" counts all endpoints.
        """


class WebhookVault(Protocol):
    """Seals the secrets of webhooks and the bodies of deliveries, and opens them."""

    def seal(self, secret: Secret, place: Place) -> bytes:
        """Return the bytes to store for a secret, or raise Sealed."""

    def open(self, sealed: bytes, place: Place) -> Secret:
        """Return a secret, or raise Sealed or SecretUnreadable."""

    def open_reference(self, reference: Reference, field: str) -> Secret:
        """Return the secret that a reference names, or raise SecretMissing."""

    def new_key(self) -> Secret:
        """Return a new key for bodies."""

    def seal_body(self, key: Secret, body: bytes, place: Place) -> bytes:
        """Return the bytes to store for a body."""

    def open_body(self, key: Secret, sealed: bytes, place: Place) -> bytes:
        """Return a body, or raise SecretUnreadable."""
