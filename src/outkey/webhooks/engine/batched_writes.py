"""Stores deliveries: those of all threads that wait are committed together.

A commit waits for the disk, so that one for each delivery would be too slow. The first
thread commits what has arrived, also for other threads; what arrives meanwhile is
committed next. No thread reports success before the commit.

A delivery may come with the webhook that it was verified by, as it was read some time
before. Then the webhook is read again, once for all deliveries that are committed
together, and the delivery is stored only if the webhook is still the same.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter

from outkey.foundation.core.errors import OutkeyError, StorageUnavailable
from outkey.foundation.ports.database import Database
from outkey.webhooks.core.inbox.inbox import InboxDelivery
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.ports.webhooks import DeliveryRows

WAIT_SECONDS = 10.0  # then the response asks the sender to retry; many wait no longer
MOST_WAITING = 1000  # deliveries
MOST_BYTES_WAITING = 128 * 1024 * 1024
MOST_TOGETHER = 100  # deliveries in one transaction
MOST_BYTES_TOGETHER = 1024 * 1024  # unless a single one is larger


@dataclass(slots=True, eq=False)
class WaitingDelivery:
    """A delivery whose thread waits until it is stored."""

    delivery: InboxDelivery
    verified_by: StoredWebhook | None = None  # if it has to be read again
    is_settled: threading.Event = field(default_factory=threading.Event)
    is_committed: bool = False  # with those that were taken from the queue together
    is_outdated: bool = False  # its webhook has changed, so that it was left out
    is_next: bool = False  # its thread commits what waits now


class Intake:
    """Takes deliveries from many threads; one of these commits for all."""

    def __init__(
        self,
        deliveries: DeliveryRows,
        database: Database,
        read_again: Callable[[str], StoredWebhook | None],
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._deliveries = deliveries
        self._database = database
        self._read_again = read_again  # the webhook of an endpoint
        self._wait_seconds = wait_seconds
        self._lock = threading.Lock()
        self._queue: deque[WaitingDelivery] = deque()
        self._bytes = 0  # of the bodies in the queue
        self._is_committing = False

    def store(
        self, delivery: InboxDelivery, verified_by: StoredWebhook | None = None
    ) -> bool:
        """Return True when a delivery is committed, or was before.

        Return False if the webhook `verified_by` has changed: nothing is stored then.
        Raise StorageUnavailable if the commit fails, and after the waiting time. The
        delivery may then be committed a little later: a sender that repeats it changes
        nothing.
        """
        waiting = WaitingDelivery(delivery, verified_by)
        with self._lock:
            self._add(waiting)
            waiting.is_next = not self._is_committing
            self._is_committing = True
        if not waiting.is_next:
            self._wait(waiting)
        if waiting.is_next:
            self._commit_for_all()
        if not waiting.is_committed:
            raise StorageUnavailable
        return not waiting.is_outdated

    def _add(self, waiting: WaitingDelivery) -> None:
        size = len(waiting.delivery.body)
        is_over = self._bytes + size > MOST_BYTES_WAITING
        if len(self._queue) >= MOST_WAITING or (self._queue and is_over):
            raise StorageUnavailable
        self._queue.append(waiting)
        self._bytes += size

    def _wait(self, waiting: WaitingDelivery) -> None:
        """Wait until a delivery is settled or its thread's turn comes."""
        if waiting.is_settled.wait(self._wait_seconds):
            return
        with self._lock:
            # Its turn may have come just now.
            if waiting in self._queue and not waiting.is_next:
                self._queue.remove(waiting)
                self._bytes -= len(waiting.delivery.body)

    def _commit_for_all(self) -> None:
        """Commit what waits, tell the threads, and let one of the next go on."""
        together = self._take()
        is_committed = False
        try:
            with suppress(OutkeyError):
                self._commit_twice(together)
                is_committed = True
        finally:
            for waiting in together:
                waiting.is_committed = is_committed
                waiting.is_settled.set()
            self._pass_on()

    def _take(self) -> list[WaitingDelivery]:
        """Take those from the queue that are committed together."""
        together: list[WaitingDelivery] = []
        size = 0
        with self._lock:
            while self._queue and len(together) < MOST_TOGETHER:
                size += len(self._queue[0].delivery.body)
                if together and size > MOST_BYTES_TOGETHER:
                    break
                together.append(self._queue.popleft())
                self._bytes -= len(together[-1].delivery.body)
        return together

    def _commit_twice(self, together: list[WaitingDelivery]) -> None:
        """Commit deliveries; once more if that fails.

        The connection of this thread may be an old one, to a database that was
        restarted. What the first commit has stored all the same is left out.
        """
        try:
            self._commit(together)
        except StorageUnavailable:
            self._commit(together)

    def _commit(self, together: list[WaitingDelivery]) -> None:
        self._mark_outdated(together)
        deliveries = [
            waiting.delivery for waiting in together if not waiting.is_outdated
        ]
        # In one order for all processes: two that store the same deliveries at the same
        # time then wait for each other one way only.
        deliveries.sort(key=attrgetter("endpoint", "key"))
        with self._database.transaction():
            now = self._database.now()
            self._deliveries.insert(
                [
                    replace(delivery, received_at=now, due_at=now)
                    for delivery in deliveries
                ]
            )

    def _mark_outdated(self, together: list[WaitingDelivery]) -> None:
        """Mark the deliveries whose webhook has changed since they were verified.

        It is read after all of them have arrived, so that a change holds at once.
        """
        checked = [waiting for waiting in together if waiting.verified_by is not None]
        webhooks = {
            endpoint: self._read_again(endpoint)
            for endpoint in {waiting.delivery.endpoint for waiting in checked}
        }
        for waiting in checked:
            current = webhooks[waiting.delivery.endpoint]
            waiting.is_outdated = waiting.verified_by is not current

    def _pass_on(self) -> None:
        with self._lock:
            if self._queue:
                self._queue[0].is_next = True
                self._queue[0].is_settled.set()
            else:
                self._is_committing = False
