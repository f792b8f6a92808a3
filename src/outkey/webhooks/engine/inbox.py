"""The inbox: deliveries are listed, processed by workers, and processed again."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.text import Text
from outkey.foundation.ports.database import Database
from outkey.webhooks.core.inbox.content import DeliveryContent
from outkey.webhooks.core.inbox.inbox import (
    ENDED,
    DeliveryState,
    InboxDelivery,
    ReplayScope,
)
from outkey.webhooks.engine.stored_webhooks import WebhookSettings
from outkey.webhooks.ports.webhooks import DeliveryQuery, DeliveryRows

PRUNE_BATCH = 500
DELETE_BATCH = 500
REPLAY_BATCH = 200  # in one transaction, so that no delivery waits for it
MAX_REPLAYED = 10_000


@dataclass(frozen=True, slots=True)
class Inbox:
    """The stored deliveries of an installation."""

    settings: WebhookSettings
    deliveries: DeliveryRows
    database: Database

    def newest(
        self, webhook: str, state: str = "", limit: int = 50, before: str = ""
    ) -> Sequence[InboxDelivery]:
        """Return the deliveries of a webhook, newest first.

        `before` is the id of a delivery: only older ones are returned.
        """
        states = (DeliveryState(state),) if state else ()
        endpoint = self.settings.get(webhook).endpoint
        query = DeliveryQuery(
            endpoint=endpoint, states=states, before=before, limit=limit
        )
        return self.deliveries.find(query)

    def get(
        self, webhook: str, delivery_id: str, *, has_body: bool = False
    ) -> InboxDelivery:
        """Return one delivery of a webhook, or raise ConfigError."""
        endpoint = self.settings.get(webhook).endpoint
        query = DeliveryQuery(id=delivery_id, endpoint=endpoint, has_body=has_body)
        # An empty id would restrict nothing.
        found = self.deliveries.find(query) if delivery_id else ()
        if not found:
            raise ConfigError(
                Text("there is no delivery with this id"),
                hint=Text("See: outkey webhook inbox {name}", name=webhook),
                field="delivery",
            )
        return found[0]

    def rejected_by(self, run: str) -> Sequence[InboxDelivery]:
        """Return the deliveries of which a run has rejected records, oldest first."""
        query = DeliveryQuery(run=run, oldest_first=True, limit=MAX_REPLAYED)
        return self.deliveries.find(query) if run else ()

    def content(self, webhook: str, delivery_id: str) -> DeliveryContent:
        """Return the body of a delivery and its headers without credentials."""
        stored = self.settings.get(webhook)
        delivery = self.get(webhook, delivery_id, has_body=True)
        return self.settings.open_content(stored, delivery)

    def replay(self, webhook: str, ids: Collection[str]) -> list[InboxDelivery]:
        """Let workers process deliveries again: all of these, or none."""
        deliveries = [self.get(webhook, delivery_id) for delivery_id in ids]
        now = self.database.now()
        with self.database.transaction():
            return [
                self._swap(delivery, delivery.postpone(now, "", attempts=0))
                for delivery in deliveries
            ]

    def in_scope(self, webhook: str, scope: ReplayScope) -> Sequence[InboxDelivery]:
        """Return the deliveries of a scope, oldest first.

        ConfigError for one that has too many, or that names those that wait anyway.
        """
        if scope.state is DeliveryState.RECEIVED:
            raise ConfigError(
                Text("deliveries that were not processed yet wait for a worker"),
                hint=Text("Choose one of {names}.", names=", ".join(ENDED)),
                field="state",
            )
        query = DeliveryQuery(
            endpoint=self.settings.get(webhook).endpoint,
            states=scope.states,
            received_from=scope.since,
            received_before=scope.until,
            oldest_first=True,
            limit=MAX_REPLAYED + 1,
        )
        deliveries = self.deliveries.find(query)
        if len(deliveries) > MAX_REPLAYED:
            raise ConfigError(
                Text("these are more than {count} deliveries", count=MAX_REPLAYED),
                hint=Text("Choose a shorter period, and replay the rest after it."),
            )
        return deliveries

    def replay_all(
        self,
        deliveries: Sequence[InboxDelivery],
        advance: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Let workers process deliveries again, some at once; return how many.

        Not those that have changed since they were read: others replay them too.
        """
        count = 0
        for batch in groups_of(deliveries, REPLAY_BATCH):
            now = self.database.now()
            with self.database.transaction():
                for delivery in batch:
                    waiting = delivery.postpone(now, "", attempts=0)
                    count += self.deliveries.swap(delivery, waiting) is not None
            advance(len(batch))
        return count

    def prune(self, before: float) -> int:
        """Delete the deliveries from before a time; return how many."""
        query = DeliveryQuery(
            received_before=before, oldest_first=True, limit=PRUNE_BATCH
        )
        return self._delete_all(query)

    def delete_all_of(self, endpoint: str) -> int:
        """Delete the deliveries of an endpoint; return how many."""
        query = DeliveryQuery(endpoint=endpoint, limit=DELETE_BATCH)
        return self._delete_all(query)

    def _delete_all(self, query: DeliveryQuery) -> int:
        """Delete batch after batch; what a worker changes meanwhile may stay."""
        count = 0
        while batch := self.deliveries.find(query):
            deleted = 0
            with self.database.transaction():
                for delivery in batch:
                    deleted += self.deliveries.swap(delivery, None) is not None
            count += deleted
            if not deleted:
                break  # others change all of these: the next pruning deletes them
        return count

    def _swap(self, before: InboxDelivery, after: InboxDelivery) -> InboxDelivery:
        stored = self.deliveries.swap(before, after)
        if stored is None:
            raise ConfigError(
                Text("a worker has the delivery now"), hint=Text("Retry in a moment.")
            )
        return stored
