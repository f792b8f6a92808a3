"""The home page: what needs attention, what runs, and what was sent today."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Count, F, IntegerField, Max, OuterRef, Subquery
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from outkey.administration.engine.watching.attention import (
    AttentionItem,
    HelpfulAction,
    LineFacts,
    Subject,
    attention_items,
    with_rejection,
)
from outkey.administration.engine.watching.audit_trail import last_chain_check
from outkey.administration.engine.watching.charts import hourly_chart
from outkey.administration.engine.watching.monitoring import open_notices
from outkey.administration.engine.watching.overview import Overview, build_overview
from outkey.administration.engine.watching.run_history import (
    HISTORY_DAYS,
    RunHistory,
    run_history,
)
from outkey.foundation.core.chart import CHART_HOURS, Chart
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import AuditRecord, Configuration, Run, SyncLine
from outkey.hosts.django.pages.access import (
    installation,
    may,
    require,
    rights_of,
    visible,
)
from outkey.hosts.django.pages.lines.pairs import open_conflicts, url_of_pair
from outkey.hosts.django.pages.lines.runs import ListedRun, ordinary_runs
from outkey.hosts.django.pages.shell import page
from outkey.hosts.django.pages.webhooks.pages import url_of as webhook_url
from outkey.hosts.django.rows.runs import DjangoRunRows
from outkey.hosts.django.rows.statuses import status_conditions, status_rank
from outkey.hosts.django.rows.storage import health_of
from outkey.hosts.django.time_zones import chosen_zone
from outkey.sending.core.configuration.health import Status, Summary
from outkey.sync.core.run.run import Counts, RunState

HOUR = 3600
DAY = 86_400
CHART_RECORDS = 100_000  # a chart of more would take longer than a page may
CACHED_SECONDS = 15
MOST_CACHED = 100
CACHED_COUNTS: dict[str, tuple[float, list[tuple[int, str, int]]]] = {}
NO_COUNTS = Counts()
ATTENTION_SIZE = 12
LINES_SIZE = 10
HISTORY_RUNS = 3000  # of all lines on the page
RUN_COLUMNS = ("id", "state", "cause", "counts", "started_at", "ended_at")
# Where the button of a configuration leads, below the page of the configuration.
PLACES = {
    HelpfulAction.CONNECT: "#oauth2",
    HelpfulAction.REPLACE: "#authentication",
    HelpfulAction.ENTER_SECRET: "#authentication",
}


@dataclass(frozen=True)
class ShownItem:
    """A subject that needs attention, with the URLs of its page and its button."""

    item: AttentionItem
    page_url: str
    url: str
    is_post: bool = False  # the button does it, instead of leading there


@dataclass(frozen=True)
class ShownLine:
    """One row of the table of syncs."""

    row: SyncLine
    facts: LineFacts
    last: ListedRun | None
    next_at: float | None
    history: RunHistory


def home_page(request: HttpRequest) -> HttpResponse:
    """Show what needs attention, the syncs, and the attempts of the last day.

    A user who may read only the audit is sent there.
    """
    if not may(request, Permission.VIEW) and may(request, Permission.VIEW_AUDIT):
        return HttpResponseRedirect(reverse("admin:outkey_auditrecord_changelist"))
    require(request, Permission.VIEW)
    now = time.time()
    overview = _installation_overview()
    lines = _read_lines() if may(request, Permission.VIEW_LINE) else {}
    items = attention_items(
        overview.attention,
        [facts for facts, _at in lines.values()],
        overview.notices,
        allowed=rights_of(request),
        now=now,
        conflicts=open_conflicts() if may(request, Permission.VIEW_LINE) else {},
    )
    name = request.GET.get("configuration", "")
    # The chart counts by names, which may have been those of another owner before.
    is_limited = installation().reach.is_limited
    may_audit = may(request, Permission.VIEW_AUDIT) and not is_limited
    context = {
        "title": _("Overview"),
        "is_empty": not overview.counts and not overview.inactive,
        "needing": overview.needing,
        "untested": overview.counts.get(Status.NEVER_TESTED, 0),
        "working": overview.counts.get(Status.WORKING, 0),
        "inactive": overview.inactive,
        "failing_lines": sum(facts.is_failing for facts, _at in lines.values()),
        "line_count": len(lines),
        "running": visible(Run).filter(state=RunState.RUNNING).count() if lines else 0,
        "has_no_worker": any(
            notice.condition.kind == "S-no-worker" for notice in overview.notices
        ),
        "verification": last_chain_check(installation().states) if may_audit else None,
        "items": _shown_items(items[:ATTENTION_SIZE]),
        "more": len(items)
        - len(items[:ATTENTION_SIZE])
        + overview.unwell
        - len(overview.attention),
        "lines": _shown_lines(request, lines, now),
        "attempts": _attempt_chart(name) if may_audit else None,
        "configuration": name,
        "time_zone": str(timezone.get_current_timezone()),
        "chosen_zone": chosen_zone(request.user),
        "may_add": may(request, Permission.ADD),
        "may_test": may(request, Permission.TEST) and overview.unwell,
    }
    return page(request, "outkey/home.html", context)


def _installation_overview() -> Overview:
    """Return the state of all configurations; the database counts them."""
    application = installation()
    sealed = application.keys.is_sealed()
    now = time.time()
    ranked = visible(Configuration).annotate(rank=status_rank(sealed=sealed))
    statuses_by_rank = [*status_conditions(sealed=sealed), Status.WORKING]
    # Only columns of one index are read, and counted here: for SQLite to group by an
    # expression takes ten times as long.
    active = ranked.filter(active=True).order_by()
    ranks = Counter(active.values_list("rank", flat=True).iterator())
    counts = {statuses_by_rank[rank]: count for rank, count in ranks.items()}
    working = statuses_by_rank.index(Status.WORKING)
    unwell = active.filter(rank__lt=working).order_by("rank", "name")
    names = list(unwell.values_list("name", flat=True)[:ATTENTION_SIZE])
    notices = open_notices(application.states)
    rows = rows_by_name(
        [*names, *(notice.condition.configuration for notice in notices)]
    )
    # Without those that were deleted a moment ago.
    first = [_summary_of_row(rows[name]) for name in names if name in rows]
    return build_overview(
        counts,
        visible(Configuration).filter(active=False).count(),
        first,
        notices,
        {
            name: health_of(row).status(now=now, sealed=sealed)
            for name, row in rows.items()
        },
    )


def _summary_of_row(row: Configuration) -> Summary:
    """Return the summary of a row that lists show."""
    return Summary(
        name=row.name,
        base_url=row.base_url,
        authentication_type=row.authentication_type,
        environment=row.environment,
        network=row.network,
        owner=row.owner,
        health=health_of(row),
    )


# ── what needs attention ────────────────────────────────────────────────────────────


def _shown_items(items: Sequence[AttentionItem]) -> list[ShownItem]:
    """Return items with their links; what was deleted a moment ago is left out."""
    configurations = rows_by_name(
        item.name for item in items if item.subject is Subject.CONFIGURATION
    )
    names = [item.name for item in items if item.subject is Subject.LINE]
    lines = dict(visible(SyncLine).filter(name__in=names).values_list("name", "pk"))
    return [
        shown
        for item in items
        if (shown := _shown_item(item, configurations, lines)) is not None
    ]


def _shown_item(
    item: AttentionItem,
    configurations: Mapping[str, Configuration],
    lines: Mapping[str, int],
) -> ShownItem | None:
    """Return an item with its links; None if there is no page of it any more."""
    if item.subject is Subject.LINE:
        return _shown_line_item(item, lines[item.name]) if item.name in lines else None
    if item.subject is Subject.WEBHOOK:
        url = webhook_url(item.name) if item.action else ""
        return ShownItem(item, url, url)
    if item.subject is Subject.PAIR:
        is_decided = item.action is HelpfulAction.DECIDE
        url = url_of_pair(item.name, "pair_conflicts" if is_decided else "pair")
        return ShownItem(item, url_of_pair(item.name), url)
    if item.subject is Subject.INSTALLATION:
        return ShownItem(item, "", _url_of_section(item))
    row = configurations.get(item.name)
    return None if row is None else _shown_configuration_item(item, row)


def _shown_configuration_item(item: AttentionItem, row: Configuration) -> ShownItem:
    """Return an item of a configuration with its links."""
    own = reverse("admin:outkey_configuration_change", args=[row.pk])
    if item.action is HelpfulAction.TEST:
        url = reverse("admin:outkey_configuration_check", args=[row.pk])
        return ShownItem(item, own, url, is_post=True)
    if item.action in {HelpfulAction.OPEN_AUDIT, HelpfulAction.OPEN_KEYS}:
        return ShownItem(item, own, _url_of_section(item))
    return ShownItem(item, own, own + PLACES.get(item.action or HelpfulAction.OPEN, ""))


def _shown_line_item(item: AttentionItem, record: int) -> ShownItem:
    """Return an item of a line with its links."""
    own = reverse("admin:outkey_syncline_change", args=[record])
    if item.action is HelpfulAction.RESUME_LINE:
        url = reverse("admin:outkey_syncline_pause", args=[record])
        return ShownItem(item, own, url, is_post=True)
    if item.action is HelpfulAction.OPEN_RUN:
        return ShownItem(item, own, reverse("admin:outkey_run_change", args=[item.run]))
    if item.action is HelpfulAction.OPEN_MAPPING:
        groups = DjangoRunRows().rejection_groups(item.run, 1)
        if groups:
            item = with_rejection(item, groups[0])
    return ShownItem(item, own, own)


def _url_of_section(item: AttentionItem) -> str:
    """Return the page that an item leads to which has no page of its own."""
    if item.action is HelpfulAction.OPEN_KEYS:
        return reverse("admin:outkey_knownkey_changelist")
    if item.action is HelpfulAction.OPEN_RUNS:
        return reverse("admin:outkey_run_changelist")
    if item.action is HelpfulAction.OPEN_AUDIT:
        audit = reverse("admin:outkey_auditrecord_changelist")
        return f"{audit}?{urlencode({'configuration': item.name})}"
    return reverse("admin:outkey_configuration_changelist")


def rows_by_name(names: Iterable[str]) -> dict[str, Configuration]:
    """Return the rows of configurations, which links are made from."""
    rows = visible(Configuration).defer("settings").filter(name__in=set(names))
    return {row.name: row for row in rows}


# ── syncs ───────────────────────────────────────────────────────────────────────────


def _read_lines() -> dict[int, tuple[LineFacts, float]]:
    """Return the lines that synchronize, and when each ran last, by their ids."""
    newest = ordinary_runs().filter(line=OuterRef("pk"))
    lines = list(
        visible(SyncLine)
        .filter(sync__isnull=False)
        .annotate(last=Subquery(newest.values("id")[:1]))
        .order_by("name")
        .values_list("pk", "name", "last")
    )
    rows = visible(Run).filter(pk__in=[last for *_, last in lines if last])
    # Plain values: there may be thousands, and models cost twice as much.
    runs = {row[0]: row for row in rows.values_list(*RUN_COLUMNS)}
    paused = installation().runs.paused_lines()
    facts = {}
    for record, name, last in lines:
        if last not in runs:
            facts[record] = LineFacts(name, name in paused), 0.0
            continue
        run, state, cause, counts, started_at, ended_at = runs[last]
        facts[record] = (
            LineFacts(
                name=name,
                is_paused=name in paused,
                run=str(run),
                state=state,
                cause=cause,
                counts=Counts.from_facts(counts) if counts.get("failed") else NO_COUNTS,
                ended_at=ended_at,
            ),
            started_at,
        )
    return facts


def _shown_lines(
    request: HttpRequest, lines: Mapping[int, tuple[LineFacts, float]], now: float
) -> list[ShownLine]:
    """Return the first rows of the table of syncs: failing ones, then the newest."""

    def order(record: int) -> tuple[bool, float, str]:
        facts, started_at = lines[record]
        return not facts.is_failing, -started_at, facts.name

    chosen = sorted(lines, key=order)[:LINES_SIZE]
    rows = visible(SyncLine).select_related("configuration").in_bulk(chosen)
    next_runs = installation().next_runs([row.name for row in rows.values()])
    runs: dict[int, Run] = {}
    histories: dict[int, RunHistory] = {}
    if may(request, Permission.VIEW_RUN):
        numbers = [int(lines[record][0].run or 0) for record in chosen]
        runs = {run.line_id: run for run in visible(Run).filter(pk__in=numbers)}
        histories = _read_histories(chosen, now)
    shown = []
    for record in chosen:
        if record not in rows:  # deleted a moment ago
            continue
        facts, _started_at = lines[record]
        line = ShownLine(
            row=rows[record],
            facts=facts,
            last=ListedRun.of(runs[record]) if record in runs else None,
            next_at=next_runs.get(facts.name),
            history=histories.get(record, RunHistory(())),
        )
        shown.append(line)
    return shown


def _read_histories(lines: Sequence[int], now: float) -> dict[int, RunHistory]:
    """Return the history of the newest runs of these lines, day by day."""
    rows = ordinary_runs().filter(
        line__in=lines, started_at__gte=now - HISTORY_DAYS * DAY
    )
    columns = rows.values_list("line_id", "started_at", "state", "counts")
    runs: defaultdict[int, list[tuple[float, str, Counts]]] = defaultdict(list)
    for line, started_at, state, counts in columns[:HISTORY_RUNS]:
        runs[line].append((started_at, state, Counts.from_facts(counts)))
    zone = timezone.get_current_timezone()
    return {line: run_history(runs[line], now, zone) for line in lines}


# ── attempts ────────────────────────────────────────────────────────────────────────


def _attempt_chart(configuration: str = "") -> Chart:
    """Return the attempts of the last day by hour, among the newest records."""
    newest = AuditRecord.objects.aggregate(Max("id"))["id__max"] or 0
    now = time.time()
    # Counting so many takes a while; those of a moment ago are good enough.
    moment = now // CACHED_SECONDS * CACHED_SECONDS if newest > CHART_RECORDS else now
    counts = _attempt_counts(configuration, newest - CHART_RECORDS, moment)
    this_hour = int(now) // HOUR
    return hourly_chart(counts, this_hour, timezone.get_current_timezone())


def _attempt_counts(
    configuration: str, after: int, moment: float
) -> list[tuple[int, str, int]]:
    """Return hours, outcomes and numbers of the attempts; cached for a moment."""
    cached = CACHED_COUNTS.get(configuration)
    if cached is not None and cached[0] == moment:
        return cached[1]
    first_hour = int(moment) // HOUR - CHART_HOURS
    records = AuditRecord.objects.filter(id__gt=after, at__gte=first_hour * HOUR * 1000)
    records = records.exclude(outcome="")
    if configuration:
        records = records.filter(configuration=configuration)
    hour = Cast(F("at") / (HOUR * 1000), IntegerField())
    counts = list(records.values_list(hour, "outcome").annotate(Count("id")))
    if len(CACHED_COUNTS) > MOST_CACHED:
        CACHED_COUNTS.clear()
    CACHED_COUNTS[configuration] = moment, counts
    return counts
