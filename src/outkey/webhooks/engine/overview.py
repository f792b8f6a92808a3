"""Webhooks as a user looks at them: their states, counts and charts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from outkey.foundation.core.chart import CHART_HOURS, Chart, ChartColumn
from outkey.foundation.core.findings.checks import Finding, Level
from outkey.foundation.core.moments import hour_text
from outkey.foundation.core.text import Text
from outkey.webhooks.core.inbox.health import (
    LABELS,
    SENTENCES,
    WebhookFacts,
    WebhookState,
    hook_state,
)
from outkey.webhooks.core.inbox.inbox import DeliveryState
from outkey.webhooks.core.settings.checks import FAILED, REFUSED, SILENT
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.engine.refusals import RefusalSummary
from outkey.webhooks.ports.webhooks import DeliveryCount

HISTORY_DAYS = 14
HOUR = 3600
DAY = 86_400
# The kinds of the chart, the lowest of a column first; a kind names a colour.
DELIVERY_KINDS = {
    "ok": Text("processed"),
    "unchanged": Text("ignored"),
    "updated": Text("waiting"),
    "failed": Text("failed"),
}
STATE_ORDER = (
    DeliveryState.PROCESSED,
    DeliveryState.IGNORED,
    DeliveryState.RECEIVED,
    DeliveryState.FAILED,
)


@dataclass(frozen=True, slots=True)
class DeliveryDay:
    """The deliveries of one day: how many, and how many of them failed."""

    day: date
    count: int
    failed: int


@dataclass(frozen=True, slots=True)
class WebhookOverview:
    """A webhook, and what became of its deliveries."""

    stored: StoredWebhook
    findings: Sequence[Finding]
    counts: Sequence[DeliveryCount]
    refusals: RefusalSummary

    @property
    def facts(self) -> WebhookFacts:
        """The facts that its state depends on."""
        return WebhookFacts(
            is_paused=self.stored.is_paused,
            has_error=any(finding.level is Level.ERROR for finding in self.findings),
            last_at=self.last_at,
            refused_at=self.refusals.last_at,
            is_silent=any(finding.id == SILENT.id for finding in self.findings),
            failed=self.number(DeliveryState.FAILED),
            waiting=self.number(DeliveryState.RECEIVED),
        )

    @property
    def state(self) -> WebhookState:
        """Its state."""
        return hook_state(self.facts)

    @property
    def label(self) -> Text:
        """Its state in a word or two."""
        return LABELS[self.state]

    @property
    def sentence(self) -> Text:
        """The meaning of its state."""
        return SENTENCES[self.state]

    @property
    def other_findings(self) -> list[Finding]:
        """The findings that neither the state nor the refused deliveries show."""
        shown = {REFUSED.id, FAILED.id}
        return [finding for finding in self.findings if finding.id not in shown]

    @property
    def last_at(self) -> float | None:
        """When the last delivery was accepted; None if the inbox has none."""
        return max((count.newest_at for count in self.counts), default=None)

    @property
    def refused(self) -> int:
        """How many deliveries were refused."""
        return sum(self.refusals.totals.values())

    def number(self, state: DeliveryState) -> int:
        """Return how many deliveries of the inbox are in a state."""
        return sum(count.count for count in self.counts if count.state is state)

    def chart(self, now: float, zone: tzinfo) -> Chart:
        """Return a column for each of the last 24 hours, by state of the deliveries."""
        hours: Counter[tuple[int, DeliveryState]] = Counter()
        for count in self.counts:
            hours[count.hour, count.state] += count.count
        this_hour = int(now // HOUR)
        columns = [
            ChartColumn(
                label=hour_text(hour * HOUR, zone),
                counts=[hours[hour, state] for state in STATE_ORDER],
            )
            for hour in range(this_hour - CHART_HOURS + 1, this_hour + 1)
        ]
        return Chart(DELIVERY_KINDS, columns)

    def days(self, now: float, zone: tzinfo) -> list[DeliveryDay]:
        """Return the last days of a time zone, the oldest first."""
        totals: Counter[date] = Counter()
        failed: Counter[date] = Counter()
        for count in self.counts:
            day = datetime.fromtimestamp(count.hour * HOUR, zone).date()
            totals[day] += count.count
            if count.state is DeliveryState.FAILED:
                failed[day] += count.count
        today = datetime.fromtimestamp(now, zone).date()
        days = [today - timedelta(days=ago) for ago in range(HISTORY_DAYS)]
        return [DeliveryDay(day, totals[day], failed[day]) for day in reversed(days)]


def history_begin(now: float) -> float:
    """Return since when deliveries are counted by hour."""
    return now - (HISTORY_DAYS + 1) * DAY


def overviews(
    webhooks: Iterable[tuple[StoredWebhook, Sequence[Finding]]],
    counts: Iterable[DeliveryCount],
    refusals: Mapping[str, RefusalSummary],
) -> list[WebhookOverview]:
    """Return the overviews of webhooks, each with its findings."""
    by_endpoint: dict[str, list[DeliveryCount]] = {}
    for count in counts:
        by_endpoint.setdefault(count.endpoint, []).append(count)
    return [
        WebhookOverview(
            stored,
            findings,
            by_endpoint.get(stored.endpoint, []),
            refusals.get(stored.name, RefusalSummary()),
        )
        for stored, findings in webhooks
    ]
