"""The watch over webhooks: silent senders, refusals, and an inbox that grows."""

from collections.abc import Iterator
from dataclasses import dataclass

from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.ports.database import Database, StateRows
from outkey.sending.core.audit.actors import WEBHOOK_ACTOR
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.engine.runs.runs import Runs
from outkey.webhooks.core.inbox.activity import WebhookActivity
from outkey.webhooks.core.inbox.inbox import DeliveryState
from outkey.webhooks.core.settings.checks import (
    FAILED_SECONDS,
    MOST_COUNTED,
    NOTICE_OF_CHECK,
    WAITING_SECONDS,
    WatchedWebhook,
    watch_findings,
)
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.engine.refusals import Refusals
from outkey.webhooks.ports.webhooks import DeliveryQuery, DeliveryRows

SAMPLE = 500  # deliveries that are read at a time to learn what is usual
NEWEST_RUNS = 50  # of deliveries that are looked at


@dataclass(frozen=True, slots=True)
class WebhookWatch:
    """Finds silent and failing webhooks; stores only their usual rate."""

    states: StateRows
    deliveries: DeliveryRows
    refusals: Refusals
    runs: Runs
    database: Database

    def findings(self, stored: StoredWebhook) -> list[Finding]:
        """Return the findings about a webhook's activity."""
        if stored.is_paused:
            return []  # a user has decided that nothing is accepted
        return list(watch_findings(self._watched(stored)))

    def conditions(self, stored: StoredWebhook) -> Iterator[Condition]:
        """Yield the conditions to notify users of, and store the usual rate."""
        self._save_activity(stored)
        kinds = {finding.id: None for finding in self.findings(stored)}
        for check in kinds:
            yield Condition(
                NOTICE_OF_CHECK[check], stored.webhook.configuration, stored.name
            )

    def _watched(self, stored: StoredWebhook) -> WatchedWebhook:
        name = stored.name
        now = self.database.now()
        line = stored.webhook.line or stored.webhook.run
        waiting = DeliveryQuery(
            endpoint=stored.endpoint,
            states=(DeliveryState.RECEIVED,),
            received_before=now - WAITING_SECONDS,
            oldest_first=True,
            limit=MOST_COUNTED,
        )
        failed = DeliveryQuery(
            endpoint=stored.endpoint,
            states=(DeliveryState.FAILED,),
            received_from=now - FAILED_SECONDS,
            limit=MOST_COUNTED,
        )
        return WatchedWebhook(
            name=name,
            now=now,
            line=line,
            activity=self._activity(stored),
            pulled_at=self._pulled_at(line),
            refused=self.refusals.within_two_hours(name),
            explained=self.refusals.explanations(name),
            waiting=self.deliveries.find(waiting),
            failed=self.deliveries.find(failed),
            rejecting=self._rejecting_runs(stored, now - FAILED_SECONDS),
        )

    def _rejecting_runs(self, stored: StoredWebhook, since: float) -> list[Run]:
        """Return the runs whose rejected records were not retried, newest first."""
        line = stored.webhook.line
        runs = self.runs.newest(NEWEST_RUNS, line, received=True) if line else ()
        return [
            run
            for run in runs
            if run.started_at >= since
            and run.actor == f"{WEBHOOK_ACTOR}{stored.name}"
            and run.counts.failed
            and not run.repaired_by
        ]

    def _pulled_at(self, line: str) -> float | None:
        """Return when the last complete run of a line began; None without one."""
        if not line:
            return None
        runs = self.runs.newest(10, line, RunState.DONE, received=False)
        begun = [run.started_at for run in runs if not run.dry_run and not run.retry_of]
        return max(begun, default=None)

    def _known_activity(self, stored: StoredWebhook) -> WebhookActivity:
        """Return the usual rate of a webhook as it was last stored."""
        states = self.states.read(StateKind.HOOK_ACTIVITY, [stored.endpoint])
        state = states.get(stored.endpoint)
        return WebhookActivity.from_facts(state.value if state else {})

    def _activity(self, stored: StoredWebhook) -> WebhookActivity:
        """Return the usual rate of a webhook with the deliveries since then."""
        known = self._known_activity(stored)
        query = DeliveryQuery(
            endpoint=stored.endpoint, received_from=known.last_at, limit=SAMPLE
        )
        moments = sorted(
            delivery.received_at for delivery in self.deliveries.find(query)
        )
        if len(moments) == SAMPLE:
            known = known.without_last()  # there were more before these
        last_at = known.last_at
        return known.after([at for at in moments if last_at is None or at > last_at])

    def _save_activity(self, stored: StoredWebhook) -> None:
        activity = self._activity(stored)
        if activity != self._known_activity(stored):
            facts = {stored.endpoint: activity.facts()}
            self.states.put(StateKind.HOOK_ACTIVITY, facts)
