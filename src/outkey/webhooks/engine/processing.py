"""Processing deliveries: through a line, by a run, or by a function of the host."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from outkey.foundation.core.errors import (
    ConfigError,
    LineBusy,
    LinePaused,
    OutkeyError,
    PolicyError,
    RemoteError,
    RowUnreadable,
    RunStopped,
    SecretUnreadable,
    UnknownConfiguration,
)
from outkey.foundation.core.limited_json import read_limited_json
from outkey.foundation.ports.database import Database
from outkey.foundation.ports.expressions import PathCompiler
from outkey.sending.core.audit.actors import WEBHOOK_ACTOR
from outkey.sending.engine.exchange.sender import Sender
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.paging.response import Record, checked_records, read_json
from outkey.sync.core.run.reasons import ALL_REFUSED, sync_failure
from outkey.sync.core.run.schedule import next_retry
from outkey.sync.engine.pull.received_pull import ReceivedOutcome, ReceivedPage
from outkey.sync.engine.runs.planner import Planner
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.engine.runs.runs import Runs
from outkey.sync.ports.sync import LineSource
from outkey.webhooks.core.inbox.delivery_words import (
    HANDLER_FAILED,
    LINE_RENAMED,
    NO_RECORDS,
    NOT_FOUND,
    OUT_OF_ORDER,
)
from outkey.webhooks.core.inbox.inbox import LEASE_SECONDS, DeliveryState, InboxDelivery
from outkey.webhooks.core.settings.confirmation import object_ids
from outkey.webhooks.core.settings.handlers import refuse_unlisted_handler
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.engine.fetching import NO_OBJECT, fetch_objects
from outkey.webhooks.engine.stored_webhooks import WebhookSettings
from outkey.webhooks.engine.work import Handler, ReceivedEvent
from outkey.webhooks.ports.webhooks import DeliveryQuery, DeliveryRows

AT_ONCE = 200  # deliveries of one webhook and round
SHARE_SECONDS = 5.0  # for one webhook, before all others have their turn
BUSY_SECONDS = 2.0  # until a line that is busy is tried again
PAUSED_SECONDS = 60.0
DEFERRED_SECONDS = 15.0  # for what waits behind a delivery that has to wait


@dataclass(frozen=True, slots=True)
class WorkPorts:
    """The parts of an installation that processing uses."""

    settings: WebhookSettings
    deliveries: DeliveryRows
    database: Database
    finder: PathCompiler
    lines: LineSource
    runner: SyncRunner
    runs: Runs
    planner: Planner
    handler: Callable[[str], Handler]  # by the name that a webhook states
    listed_handlers: Collection[str]  # those that the operator allows
    sender: Sender
    monotonic: Callable[[], float]
    is_on_hold: Callable[[], bool] = lambda: False


class FetchUnfinished(Exception):
    """The time for the objects of a delivery is over, and some are not fetched yet."""

    def __init__(self, objects: Mapping[str, object]) -> None:
        super().__init__()
        self.objects = objects  # those that are, by id


class UnfinishedDelivery(NamedTuple):
    """A delivery of this worker of which some objects are fetched, by id."""

    delivery: InboxDelivery
    webhook: Webhook  # as it was then
    objects: Mapping[str, object]

    def is_of(self, delivery: InboxDelivery, webhook: Webhook) -> bool:
        """Whether the objects are still those of this delivery."""
        return self.delivery.id == delivery.id and self.webhook == webhook


class WebhookWork:
    """Processes due deliveries; a worker calls `round` again and again."""

    def __init__(
        self, ports: WorkPorts, is_stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self._ports = ports
        self._is_stopping = is_stopping
        self._share_end = 0.0  # of the webhook whose turn it is
        self._last_turns: dict[str, float] = {}  # of those that used up their shares
        self._unfinished: dict[str, UnfinishedDelivery] = {}  # by endpoint
        self._resumed: UnfinishedDelivery | None = None  # of that webhook

    def round(self) -> int:
        """Process what is due, oldest first; return how many deliveries that were.

        A round ends with the first webhook that uses up its share of time. In the next
        one the others come first, so that none waits for all that a slow API, or a
        stranger, causes at another one. While the installation is on hold all wait.
        """
        due = self._due_deliveries()
        if due and self._ports.is_on_hold():
            return 0
        failure: OutkeyError | None = None
        for endpoint in sorted(due, key=lambda each: self._last_turns.get(each, 0.0)):
            if self._is_stopping():
                break
            self._share_end = self._ports.monotonic() + SHARE_SECONDS
            self._resumed = self._unfinished.pop(endpoint, None)
            try:
                self._process_endpoint(endpoint, due[endpoint])
            except OutkeyError as error:  # the other webhooks do not wait for it
                failure = failure or error
            self._last_turns.pop(endpoint, None)
            if self._is_share_over():
                self._last_turns[endpoint] = self._share_end
                break
        if failure is not None:
            raise failure
        return sum(map(len, due.values()))

    def _is_share_over(self) -> bool:
        return self._ports.monotonic() >= self._share_end

    def _due_deliveries(self) -> dict[str, list[InboxDelivery]]:
        """Return the deliveries that are due, by endpoint.

        Those of one webhook may be the oldest of all for a long time. Then the others
        are looked for one by one.
        """
        ports = self._ports
        query = DeliveryQuery(
            states=(DeliveryState.RECEIVED,),
            due_by=ports.database.now(),
            oldest_first=True,
            limit=AT_ONCE,
        )
        found = [unfinished.delivery for unfinished in self._unfinished.values()]
        oldest = ports.deliveries.find(query)
        found.extend(oldest)
        if len(oldest) == AT_ONCE:
            endpoints = {stored.endpoint for stored in ports.settings.all().values()}
            for endpoint in endpoints.difference(row.endpoint for row in oldest):
                found.extend(ports.deliveries.find(replace(query, endpoint=endpoint)))
        due: dict[str, list[InboxDelivery]] = {}
        for delivery in found:
            due.setdefault(delivery.endpoint, []).append(delivery)
        return due

    def _process_endpoint(
        self, endpoint: str, deliveries: Sequence[InboxDelivery]
    ) -> None:
        ports = self._ports
        waiting = [d for d in deliveries if d.state is DeliveryState.RECEIVED]
        for delivery in deliveries:
            if delivery not in waiting:  # its row was changed outside of outkey
                self._fail(delivery, delivery.reason)
        try:
            stored = ports.settings.by_endpoint(endpoint)
        except UnknownConfiguration as error:
            for delivery in waiting:
                self._fail(delivery, error.code)
            return
        except SecretUnreadable as error:  # until an operator has confirmed it
            self._defer(waiting, reason=error.code)
            return
        except (ConfigError, RowUnreadable):
            self._postpone(waiting, PAUSED_SECONDS, RowUnreadable.code, counts=True)
            return
        if stored is not None:
            self._process(stored, waiting)
            return
        for delivery in waiting:  # of a webhook that was just deleted
            ports.deliveries.swap(delivery, None)

    def _fail(self, delivery: InboxDelivery, reason: str) -> None:
        failed = delivery.end(DeliveryState.FAILED, reason=reason)
        self._ports.deliveries.swap(delivery, failed)

    def _process(
        self, stored: StoredWebhook, deliveries: Sequence[InboxDelivery]
    ) -> None:
        webhook = stored.webhook
        if webhook.handler or webhook.confirm:
            self._process_singly(stored, deliveries)
            return
        taken = self._take(deliveries)
        work = self._start_run if webhook.run else self._store_records
        self._guard(stored, taken, partial(work, stored))

    def _process_singly(
        self, stored: StoredWebhook, deliveries: Sequence[InboxDelivery]
    ) -> None:
        """Process what may take long: each is taken just before.

        While the API does not respond, the ones after it wait too: each would take as
        long as a timeout, and other webhooks would wait for all of them. The same is
        true of what is left when the share of the webhook is over.
        """
        work = self._handle if stored.webhook.handler else self._store_records
        for position, delivery in enumerate(deliveries, start=1):
            if self._is_stopping():
                return
            taken = self._take([delivery])
            self._guard(stored, taken, partial(work, stored))
            if stored.endpoint in self._unfinished:
                return
            if stored.webhook.confirm and self._is_waiting(delivery):
                self._defer(deliveries[position:])
                return
            if self._is_share_over():
                return

    def _is_waiting(self, delivery: InboxDelivery) -> bool:
        """Whether a delivery that was processed waits for another attempt."""
        query = DeliveryQuery(id=delivery.id, states=(DeliveryState.RECEIVED,))
        return bool(self._ports.deliveries.find(query))

    def _defer(self, deliveries: Sequence[InboxDelivery], reason: str = "") -> None:
        """Let deliveries that were not taken wait for a moment."""
        at = self._ports.database.now() + DEFERRED_SECONDS
        for delivery in deliveries:
            waiting = delivery.postpone(
                at, reason or delivery.reason, delivery.attempts
            )
            self._ports.deliveries.swap(delivery, waiting)

    def _take(self, deliveries: Sequence[InboxDelivery]) -> list[InboxDelivery]:
        """Return those of these deliveries that no other worker has taken."""
        database = self._ports.database
        # Nothing waits for the disk: what a power failure takes back is taken again.
        with database.transaction(durable=False):
            now = database.now()
            swaps = [
                self._ports.deliveries.swap(delivery, delivery.take(now))
                for delivery in deliveries
            ]
        return [delivery for delivery in swaps if delivery is not None]

    def _guard(
        self,
        stored: StoredWebhook,
        taken: Sequence[InboxDelivery],
        work: Callable[[Sequence[InboxDelivery]], object],
    ) -> None:
        """Do some work; deliveries that it leaves are retried, or have failed.

        Several deliveries that failed together are retried one by one: one of them may
        be the cause, and the others must not fail with it.
        """
        if not taken:
            return
        try:
            work(taken)
        except FetchUnfinished as unfinished:
            self._continue_later(stored, taken[0], unfinished.objects)
        except (LineBusy, RunStopped):
            self._postpone(taken, BUSY_SECONDS, LineBusy.code, counts=False)
        except LinePaused:
            self._postpone(taken, PAUSED_SECONDS, LinePaused.code, counts=False)
        except OutkeyError as error:
            self._handle_error(stored, taken, work, error)

    def _handle_error(
        self,
        stored: StoredWebhook,
        taken: Sequence[InboxDelivery],
        work: Callable[[Sequence[InboxDelivery]], object],
        error: OutkeyError,
    ) -> None:
        is_unknown = isinstance(error, UnknownConfiguration)
        if is_unknown and self._has_changed(stored):
            self._postpone(taken, BUSY_SECONDS, LINE_RENAMED, counts=False)
            return
        is_final = next_retry(error, 1, was_in_vain=True) is None
        if len(taken) == 1 or not is_final:
            for delivery in taken:
                self._handle_failure(delivery, error)
            return
        waiting = list(filter(self._is_waiting, taken))
        for position, delivery in enumerate(waiting):
            if position and self._is_share_over():
                self._give_back(waiting[position:])
                return
            self._guard(stored, [delivery], work)

    def _has_changed(self, stored: StoredWebhook) -> bool:
        """Whether a webhook was changed since it was read, as by renaming its line."""
        current = self._ports.settings.by_endpoint(stored.endpoint)
        return current is not None and current.webhook != stored.webhook

    def _postpone(
        self,
        taken: Sequence[InboxDelivery],
        seconds: float,
        reason: str,
        *,
        counts: bool,
    ) -> None:
        at = self._ports.database.now() + seconds
        for delivery in taken:
            attempts = delivery.attempts if counts else delivery.attempts - 1
            waiting = delivery.postpone(at, reason, attempts)
            # Not one that has been processed before the work ended.
            self._ports.deliveries.swap(delivery, waiting)

    def _give_back(self, taken: Sequence[InboxDelivery]) -> None:
        """Let deliveries that were taken wait for the next turn of their webhook."""
        with self._ports.database.transaction(durable=False):
            self._postpone(taken, 0.0, "", counts=False)

    def _continue_later(
        self,
        stored: StoredWebhook,
        delivery: InboxDelivery,
        objects: Mapping[str, object],
    ) -> None:
        """Save what was fetched, and the lease, for the next turn of the webhook."""
        if self._is_stopping():
            self._give_back([delivery])
            return
        end = self._ports.database.now() + LEASE_SECONDS
        leased = delivery.postpone(end, delivery.reason, delivery.attempts - 1)
        if self._ports.deliveries.swap(delivery, leased) is not None:
            self._unfinished[stored.endpoint] = UnfinishedDelivery(
                leased, stored.webhook, objects
            )

    def _handle_failure(self, delivery: InboxDelivery, error: OutkeyError) -> None:
        reason = str(error.reason or error.code)
        retry = next_retry(error, delivery.attempts, was_in_vain=True)
        if retry is not None:
            self._postpone([delivery], retry.delay, reason, counts=True)
        else:
            self._fail(delivery, reason)

    # ── a function of the host ──────────────────────────────────────────────────────

    def _handle(self, stored: StoredWebhook, taken: Sequence[InboxDelivery]) -> None:
        (delivery,) = taken
        name = stored.webhook.handler
        refuse_unlisted_handler(name, self._ports.listed_handlers, "handler")
        handler = self._ports.handler(name)
        body = self._body(stored, delivery)
        payload: object = None
        if stored.webhook.confirm:
            documents = self._fetch_objects(stored, delivery, body)
            if not documents:
                self._ignore(delivery, NOT_FOUND)
                return
            payload = documents[0] if len(documents) == 1 else documents
        else:
            with suppress(ValueError):
                payload = read_limited_json(body)
        event = ReceivedEvent(
            webhook=stored.name,
            event_id=delivery.event_id,
            event_type=delivery.event_type,
            body=body,
            payload=payload,
            fetch_id=delivery.fetch_id,
        )
        ended = delivery.end(DeliveryState.PROCESSED)
        try:
            handler(event)
        except OutkeyError:
            raise
        except Exception:  # noqa: BLE001 - its text may hold a value of the body
            ended = delivery.end(DeliveryState.FAILED, reason=HANDLER_FAILED)
        # Nothing waits for the disk: after a power failure it is called again.
        with self._ports.database.transaction(durable=False):
            self._ports.deliveries.swap(delivery, ended)

    # ── a run of a line ─────────────────────────────────────────────────────────────

    def _start_run(self, stored: StoredWebhook, taken: Sequence[InboxDelivery]) -> None:
        """Request one run for all of these deliveries."""
        self._ports.planner.request(stored.webhook.run, _actor_of(stored))
        with self._ports.database.transaction():
            for delivery in taken:
                ended = delivery.end(DeliveryState.PROCESSED)
                self._ports.deliveries.swap(delivery, ended)

    # ── the records of a line ───────────────────────────────────────────────────────

    def _store_records(
        self, stored: StoredWebhook, taken: Sequence[InboxDelivery]
    ) -> None:
        self._ports.runner.receive(
            stored.webhook.line,
            _actor_of(stored),
            self._pages(stored, taken),
            self._is_stopping,
            secrets=self._ports.settings.known_secrets(stored),
            has_requests=bool(stored.webhook.confirm),
        )

    def _pages(
        self, stored: StoredWebhook, taken: Sequence[InboxDelivery]
    ) -> Iterator[ReceivedPage]:
        """Yield the records of each delivery; end those that have none.

        Those that are left when the share of the webhook is over are given back.
        """
        for position, delivery in enumerate(taken):
            if position and self._is_share_over():
                self._give_back(taken[position:])
                return
            try:
                records = self._records(stored, delivery)
            except FetchUnfinished as unfinished:
                self._continue_later(stored, delivery, unfinished.objects)
                continue
            except (RemoteError, PolicyError, ConfigError) as error:
                self._handle_failure(delivery, error)
                continue
            if records:
                yield ReceivedPage(records, partial(self._conclude, delivery))
            elif records is None:
                self._ignore(delivery, NOT_FOUND)
            else:
                self._ignore(delivery, NO_RECORDS)

    def _ignore(self, delivery: InboxDelivery, reason: str) -> None:
        ignored = delivery.end(DeliveryState.IGNORED, reason=reason, records=0)
        self._ports.deliveries.swap(delivery, ignored)
        self._repair(delivery.run)

    def _repair(self, earlier: str, by: str = "") -> None:
        """Repair the run that rejected records of deliveries, once none is left."""
        query = DeliveryQuery(run=earlier, limit=1)
        if earlier and not self._ports.deliveries.find(query):
            self._ports.runs.repair(earlier, by)

    def _records(
        self, stored: StoredWebhook, delivery: InboxDelivery
    ) -> list[Record] | None:
        """Return the records of a delivery; None if the API has none that it names."""
        body = self._body(stored, delivery)
        if not stored.webhook.confirm:
            return self._records_in(stored, _read_payload(body))
        documents = self._fetch_objects(stored, delivery, body)
        if not documents:
            return None
        return [
            record
            for document in documents
            for record in self._records_in(stored, document)
        ]

    def _records_in(self, stored: StoredWebhook, document: object) -> list[Record]:
        find = self._ports.finder.compile(stored.webhook.records, field="records")
        value = find(document)
        if value is None:
            return []
        return checked_records(value if isinstance(value, list) else [value])

    def _fetch_objects(
        self, stored: StoredWebhook, delivery: InboxDelivery, body: bytes
    ) -> list[object]:
        """Return the objects that a delivery names, as the API has them now."""
        identifiers = [delivery.fetch_id]
        if not delivery.fetch_id:
            expression = stored.webhook.confirm_id
            find = self._ports.finder.compile(expression, field="confirm_id")
            identifiers = object_ids(find(_read_payload(body)))
        objects: dict[str, object] = {}
        resumed = self._resumed
        if resumed is not None and resumed.is_of(delivery, stored.webhook):
            objects.update(resumed.objects)
        fetching = fetch_objects(
            self._ports.sender,
            self._ports.lines,
            stored.webhook,
            [identifier for identifier in identifiers if identifier not in objects],
            actor=_actor_of(stored),
            now=self._ports.database.now,
        )
        for identifier, document in fetching:
            objects[identifier] = document
            is_over = self._is_share_over() or self._is_stopping()
            if is_over and len(objects) < len(identifiers):
                raise FetchUnfinished(objects)
        return [document for document in objects.values() if document is not NO_OBJECT]

    def _conclude(self, delivery: InboxDelivery, outcome: ReceivedOutcome) -> None:
        """Store how a delivery ended, in the transaction of its records."""
        count = len(outcome.effects)
        outcomes = {effect.outcome for effect in outcome.effects}
        end = partial(
            delivery.end,
            records=count,
            run=outcome.run if outcome.has_rejected else "",
        )
        ended = end(DeliveryState.PROCESSED)
        if outcomes == {WriteOutcome.REFUSED}:
            ended = end(DeliveryState.FAILED, reason=ALL_REFUSED)
        elif not count:
            ended = end(DeliveryState.IGNORED, reason=NO_RECORDS)
        elif outcome.outdated == count:
            ended = end(DeliveryState.IGNORED, reason=OUT_OF_ORDER)
        if self._ports.deliveries.swap(delivery, ended) is None:
            raise LineBusy  # another worker has it: its records are taken back
        self._repair(delivery.run, outcome.run)

    def _body(self, stored: StoredWebhook, delivery: InboxDelivery) -> bytes:
        query = DeliveryQuery(id=delivery.id, has_body=True)
        (found,) = self._ports.deliveries.find(query)
        return self._ports.settings.open_body(stored, found)


def _read_payload(body: bytes) -> object:
    """Return the JSON of a delivery; what a pull would take may be refused here."""
    try:
        read_limited_json(body)
    except ValueError:
        raise sync_failure("not_json") from None
    return read_json(body)


def _actor_of(stored: StoredWebhook) -> str:
    """Return who does what a delivery causes."""
    return f"{WEBHOOK_ACTOR}{stored.name}"
