"""The webhooks of an installation: their settings, inboxes, findings and work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import ConfigError, UnknownConfiguration, no_webhooks
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets

if TYPE_CHECKING:  # loaded when it is used: most commands and pages need none of it
    from collections.abc import Callable, Iterator

    from outkey.administration.engine.editing.administration import Administration
    from outkey.administration.engine.subjects.runs import Synchronization
    from outkey.foundation.core.findings.checks import Finding
    from outkey.foundation.core.findings.conditions import Condition
    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.clock import Clock
    from outkey.foundation.ports.database import Database, StateRows
    from outkey.sending.engine.exchange.sender import Sender
    from outkey.sync.engine.line_registry import Registry
    from outkey.sync.engine.record_rights import UserRecords
    from outkey.sync.engine.runs.runs import Runs
    from outkey.sync.engine.sync_settings import SyncSettings
    from outkey.webhooks.core.inbox.inbox import InboxDelivery
    from outkey.webhooks.core.settings.facts import ShownWebhook
    from outkey.webhooks.core.settings.stored import StoredWebhook
    from outkey.webhooks.engine.changes import WebhookAdministration
    from outkey.webhooks.engine.inbox import Inbox
    from outkey.webhooks.engine.monitoring import WebhookWatch
    from outkey.webhooks.engine.overview import WebhookOverview
    from outkey.webhooks.engine.processing import WebhookWork
    from outkey.webhooks.engine.reception import Reception, ReceptionPorts
    from outkey.webhooks.engine.stored_webhooks import WebhookSettings
    from outkey.webhooks.engine.work import Handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """Everything about webhooks; a host without them has none, and refuses the rest."""

    database: Database
    states: StateRows
    registry: Registry
    runs: Runs
    sender: Sender
    clock: Clock
    settings: SyncSettings
    sync: Synchronization
    # None: the host stores no deliveries, so that it receives no webhooks.
    open_ports: Callable[[], ReceptionPorts] | None
    handler: Callable[[str], Handler]
    listed_handlers: tuple[str, ...]
    public_url: str
    is_on_hold: Callable[[], bool]

    def ports(self) -> ReceptionPorts:
        """Return the ports of webhooks; ConfigError if the host has none."""
        if self.open_ports is None:
            raise no_webhooks()
        return self.open_ports()

    def stored(self) -> dict[str, StoredWebhook]:
        """Return the webhooks by name; none in a host without them."""
        if self.open_ports is None or not self.states.read(StateKind.WEBHOOK):
            return {}
        return self.open_ports().settings.all()

    def unreadable(self) -> list[str]:
        """Return the names of webhooks that cannot be read."""
        if self.open_ports is None or not self.states.read(StateKind.WEBHOOK):
            return []
        return self.open_ports().settings.unreadable()

    def reception(self, end_thread: Callable[[], object] | None = None) -> Reception:
        """Return what receives deliveries; ConfigError if the host has no webhooks.

        With `end_thread`, which releases what a thread holds of the host, refusals are
        counted in a thread of their own a moment later.
        """
        from outkey.webhooks.engine.reception import Reception  # noqa: PLC0415
        from outkey.webhooks.engine.refusals import LaterRefusals  # noqa: PLC0415

        ports = self.ports()
        if end_thread is None:
            return Reception(ports)
        later = LaterRefusals(
            ports.refusals, self.clock, self.sender.threads, end_thread
        )
        return Reception(ports, later)

    def inbox(self) -> Inbox:
        """Return the deliveries of webhooks."""
        from outkey.webhooks.engine.inbox import Inbox  # noqa: PLC0415

        ports = self.ports()
        return Inbox(ports.settings, ports.deliveries, ports.database)

    def refused(self, webhook: str) -> dict[str, int]:
        """Return how many deliveries of a webhook were refused, by reason."""
        return self.ports().refusals.totals(webhook)

    def explained_refusals(self, webhook: str) -> dict[str, tuple[Text, Text]]:
        """Return text and hint of each reason for which deliveries were refused."""
        from outkey.webhooks.core.verification.refusals import refusal_texts  # noqa: PLC0415

        refusals = self.ports().refusals
        explained = refusals.explanations(webhook)
        return {
            reason: explained.get(reason) or refusal_texts(reason)
            for reason in refusals.totals(webhook)
        }

    def findings(self, stored: StoredWebhook) -> list[Finding]:
        """Return what is wrong with a webhook, and what happened to it."""
        from outkey.webhooks.core.settings.checks import (  # noqa: PLC0415
            ending_findings,
            handler_findings,
        )

        ports = self.ports()
        return [
            *ports.settings.findings(stored),
            *handler_findings(stored.webhook, self.listed_handlers),
            *ending_findings(stored.webhook, ports.database.now()),
            *self._watch().findings(stored),
        ]

    def shown(self, stored: StoredWebhook) -> ShownWebhook:
        """Return a webhook with its URL, its refusals and its findings."""
        from outkey.webhooks.core.settings.facts import ShownWebhook  # noqa: PLC0415

        return ShownWebhook(
            stored,
            endpoint=self.endpoint_url(stored.endpoint),
            refused=self.refused(stored.name),
            explained=self.explained_refusals(stored.name),
            findings=self.findings(stored),
        )

    def overviews(self, name: str = "") -> list[WebhookOverview]:
        """Return all webhooks as a user looks at them, or the one of a name."""
        from outkey.webhooks.engine.overview import history_begin, overviews  # noqa: PLC0415

        webhooks = self.stored()
        if name:
            webhooks = {name: self.ports().settings.listed(name)}
        if not webhooks:
            return []
        ports = self.ports()
        endpoint = webhooks[name].endpoint if name else ""
        return overviews(
            [(stored, self.findings(stored)) for stored in webhooks.values()],
            ports.deliveries.count_by_hour(
                history_begin(self.database.now()), endpoint
            ),
            ports.refusals.summaries(),
        )

    def endpoint_url(self, endpoint: str) -> str:
        """Return the URL of an endpoint; only its path if the public URL is unknown."""
        return f"{self.public_url.rstrip('/')}/hooks/{endpoint}"

    def administration(self, administration: Administration) -> WebhookAdministration:
        """Return what a user changes webhooks with."""
        from outkey.webhooks.engine.changes import WebhookAdministration  # noqa: PLC0415

        return WebhookAdministration(
            registry=administration.registry,
            audit=administration.audit,
            actor=administration.actor,
            settings=self.ports().settings,
            inbox=self.inbox(),
            paths=self.sender.context.paths,
            pairs=self.settings,
            public_url=self.public_url,
            listed_handlers=self.listed_handlers,
            sent_secrets=self._secrets_of,
        )

    def retry(
        self,
        administration: Administration,
        run_id: str,
        records: UserRecords | None = None,
    ) -> tuple[str, list[InboxDelivery]]:
        """Process the deliveries again of which a run has rejected records.

        Return the name of their webhook, and the deliveries.
        """
        from outkey.sync.engine.runs.runner import refuse_unended  # noqa: PLC0415

        run = self.runs.get(run_id)
        inbox = self.inbox()
        deliveries = inbox.rejected_by(run_id)
        if not deliveries and self.runs.rejected(run_id, 1):
            raise ConfigError(
                Text("the deliveries of this run are not known any more"),
                hint=Text("Replay those that have failed in the inbox of the webhook."),
                field="run",
            )
        refuse_unended(run, has_rejected=bool(deliveries))
        self.sync.refuse_forbidden(run.line, records)
        stored = inbox.settings.by_endpoint(deliveries[0].endpoint)
        if stored is None:  # it was just deleted, and its deliveries soon are
            raise UnknownConfiguration(field="webhook")
        ids = [delivery.id for delivery in deliveries]
        changes = self.administration(administration)
        return stored.name, changes.replay(stored.name, ids)

    def work(self, stopping: Callable[[], bool] = lambda: False) -> WebhookWork:
        """Return the processing of deliveries; a worker calls its `round`."""
        from outkey.webhooks.engine.processing import WebhookWork, WorkPorts  # noqa: PLC0415

        ports = self.ports()
        return WebhookWork(
            WorkPorts(
                settings=ports.settings,
                deliveries=ports.deliveries,
                database=ports.database,
                finder=ports.finder,
                lines=self.registry,
                runner=self.sync.runner(),
                runs=self.runs,
                planner=self.sync.planner(stopping),
                handler=self.handler,
                listed_handlers=self.listed_handlers,
                sender=self.sender,
                monotonic=self.clock.monotonic,
                is_on_hold=self.is_on_hold,
            ),
            stopping,
        )

    def conditions(self) -> Iterator[Condition]:
        """Yield what monitoring notices about webhooks."""
        for stored in self.stored().values():
            yield from self._watch().conditions(stored)

    def naming(self) -> WebhookSettings | None:
        """Return the webhooks, which name configurations and lines; None if none do."""
        return self.inbox().settings if self.stored() else None

    def note_refused(self) -> None:
        """Record the deliveries that were refused in past minutes."""
        if self.states.read(StateKind.HOOK_REFUSALS):
            self.ports().refusals.note_past_minutes()

    def prune(self, before: float) -> None:
        """Delete what was received before a time."""
        if self.stored():
            self.inbox().prune(before)

    def _watch(self) -> WebhookWatch:
        from outkey.webhooks.engine.monitoring import WebhookWatch  # noqa: PLC0415

        ports = self.ports()
        return WebhookWatch(
            states=self.states,
            deliveries=ports.deliveries,
            refusals=ports.refusals,
            runs=self.runs,
            database=self.database,
        )

    def _secrets_of(self, configuration: str) -> list[Secret]:
        return sent_secrets(self.sender.context, self.registry.get(configuration))
