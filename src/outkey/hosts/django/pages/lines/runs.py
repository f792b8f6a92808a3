"""Runs as pages list them; how they are requested, retried and cancelled."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from outkey.administration.engine.watching.charts import run_chart
from outkey.foundation.core.chart import Chart
from outkey.foundation.core.errors import ConfigError, LineBusy
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text, text_from_data
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
    user_of,
    visible,
)
from outkey.hosts.django.pages.lists import (
    PAGE_SIZE,
    ListFilter,
    pager_to,
    read_choices,
    split_page,
)
from outkey.hosts.django.pages.shell import message_of, page
from outkey.hosts.django.rows.row_ids import row_id
from outkey.hosts.django.translation import translate_text
from outkey.hosts.django.wiring import records
from outkey.sync.core.run.parents import without_parent
from outkey.sync.core.run.reasons import GUARD
from outkey.sync.core.run.remedies import cause_text
from outkey.sync.core.run.run import (
    ENDED_STATES,
    OPEN_STATES,
    Counts,
    Run,
    RunState,
    RunTrigger,
    trigger_of,
)

if TYPE_CHECKING:
    from outkey.sync.engine.record_rights import UserRecords

CHART_RUNS = 24  # the chart has room for as many
LINES_SIZE = 1000
LONGEST_SECONDS = 366 * 24 * 3600
OTHER = "other"
PERIODS = {  # by days: the name of each, and its seconds
    "1": (gettext_lazy("last 24 hours"), 86_400),
    "7": (gettext_lazy("last 7 days"), 7 * 86_400),
    "30": (gettext_lazy("last 30 days"), 30 * 86_400),
}
# The choices of the filter, which does not distinguish the other triggers.
TRIGGER_CHOICES = {
    RunTrigger.DELIVERY: gettext_lazy("deliveries of webhooks"),
    OTHER: gettext_lazy("schedules and users"),
}
STATES: dict[str, tuple[str, object]] = {  # the colour of each, and its name
    RunState.WAITING: ("", gettext_lazy("waiting")),
    RunState.RUNNING: ("ok-notice", gettext_lazy("running")),
    RunState.DONE: ("ok-success", gettext_lazy("done")),
    RunState.FAILED: ("ok-error", gettext_lazy("failed")),
    RunState.CANCELLED: ("ok-warning", gettext_lazy("cancelled")),
}


@dataclass(frozen=True)
class ListedRun:
    """A run as the pages show it, whatever its row holds."""

    run: models.Run
    counts: Counts
    checkpoint: Mapping[str, object]

    @classmethod
    def of(cls, run: models.Run) -> "ListedRun":
        """Return a run of the table with its counts."""
        return cls(run, Counts.from_facts(run.counts), _checkpoint_of(run))

    @property
    def repaired_by(self) -> int | None:
        """The run that has accepted what this one rejected; None if there is none."""
        return row_id(self.checkpoint.get("repaired_by"))

    @property
    def trigger(self) -> RunTrigger:
        """The event that started it."""
        return trigger_of(
            self.run.actor,
            is_received=self.run.is_received,
            is_retry=bool(self.checkpoint.get("retry_of")),
            dry_run=self.run.dry_run,
        )

    @property
    def chip(self) -> tuple[str, object]:
        """The colour and text of its state; rejected records make it a warning."""
        state = self.run.state
        rejected = self.counts.failed
        if self.repaired_by and state in ENDED_STATES:
            return "ok-success", _("repaired")
        if state != RunState.DONE or not rejected:
            return STATES.get(state, ("", state))
        if self.counts.is_all_rejected:
            return "ok-error", _("done, all rejected")
        return "ok-warning", _("done, %s rejected") % rejected

    @property
    def cause(self) -> str:
        """Why it ended, in the user's language."""
        return translate_text(cause_text(self.run.cause))

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it waits or runs, or if it cannot be read."""
        if self.run.ended_at is None:
            return None
        seconds = self.run.ended_at - self.run.started_at
        worked = self.checkpoint.get("worked")
        if isinstance(worked, int | float) and worked > 0:
            seconds = worked
        return seconds if 0 <= seconds < LONGEST_SECONDS else None

    @property
    def removed(self) -> int:
        """How many records it archived or deleted."""
        return self.counts.archived + self.counts.deleted

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.run.state in OPEN_STATES

    @cached_property
    def rejecting_run(self) -> int | None:
        """The run whose rejected records can be retried; None if there is none."""
        has_rejected = getattr(self.run, "has_rejected", False)
        if self.is_open or self.run.dry_run or not has_rejected:
            return None
        retried = row_id(self.checkpoint.get("retry_of"))
        if retried is None:
            return int(self.run.pk)
        # A later retry may have accepted what this one rejected again.
        rejected = visible(models.Quarantine).filter(run=retried)
        return retried if rejected.exists() else None


@dataclass(frozen=True)
class DrawnRuns:
    """A chart of runs, with the page that each column leads to."""

    chart: Chart
    urls: Sequence[str]


def list_page(request: HttpRequest) -> HttpResponse:
    """List runs, newest first, with a chart of them."""
    require(request, Permission.VIEW_RUN)
    choices = read_choices(request, "line", "state", "days", "trigger")
    found = list(_filtered_runs(request, choices)[: PAGE_SIZE + 1])
    shown, older = split_page(found, lambda run: run.pk)
    runs = [ListedRun.of(run) for run in shown]
    lines = visible(models.SyncLine).filter(sync__isnull=False).order_by("name")
    names = list(lines.values_list("name", flat=True)[:LINES_SIZE])
    context = {
        "title": _("Runs"),
        "runs": runs,
        "run_chart": newest_chart(runs),
        "chosen": choices,
        "is_filtered": any(choices.values()),
        "filters": list_filters(request),
        "lines": names,
        "pager": pager_to(request, _("Older"), before=older),
    }
    return page(request, "outkey/runs.html", context)


def list_filters(request: HttpRequest) -> list[ListFilter]:
    """Return the filters of the list, besides the line."""
    states = [(name, text) for name, (_colour, text) in STATES.items()]
    triggers = TRIGGER_CHOICES.items()
    periods = [(days, text) for days, (text, _seconds) in PERIODS.items()]
    return [
        ListFilter.read(request, "state", _("State"), states),
        ListFilter.read(request, "trigger", _("Trigger"), triggers),
        ListFilter.read(request, "days", _("Time range"), periods, _("any time")),
    ]


def _filtered_runs(
    request: HttpRequest, choices: Mapping[str, str]
) -> QuerySet[models.Run]:
    """Return the runs that a user has chosen to see, newest first."""
    rows = rows_of_runs().order_by("-id")
    if choices["trigger"] in TRIGGER_CHOICES:
        rows = rows.filter(is_received=choices["trigger"] == RunTrigger.DELIVERY)
    if choices["line"]:
        rows = rows.filter(line__name=choices["line"])
    if choices["state"] in STATES:
        rows = rows.filter(state=choices["state"])
    if choices["days"] in PERIODS:
        _text, seconds = PERIODS[choices["days"]]
        begin = installation().runs.now() - seconds
        rows = rows.filter(started_at__gte=begin)
    before = row_id(request.GET.get("before", "").strip())
    return rows if before is None else rows.filter(pk__lt=before)


def ordinary_runs() -> QuerySet[models.Run]:
    """Return the runs that show whether a line works, newest first.

    A dry run changes nothing, and a run of deliveries does not read the line.
    """
    rows = visible(models.Run).filter(dry_run=False, is_received=False)
    return rows.order_by("-id")


def rows_of_runs() -> QuerySet[models.Run]:
    """Return the query for runs as lists show them."""
    rejected = visible(models.Quarantine).filter(run=OuterRef("pk"))
    rows = visible(models.Run).select_related("line")
    return rows.annotate(has_rejected=Exists(rejected))


@require_POST
def start(request: HttpRequest, record: int) -> HttpResponse:
    """Request a run of a stored line, and show the page of the run."""
    require(request, Permission.RUN_LINE)
    row = get_object_or_404(visible(models.SyncLine), pk=record)
    return request_run_of(
        request,
        row.name,
        dry_run="dry" in request.POST,
        allows_removal="allow_removal" in request.POST,
    )


def request_run_of(
    request: HttpRequest,
    line: str,
    *,
    dry_run: bool = False,
    allows_removal: bool = False,
) -> HttpResponse:
    """Request a run of a line for the user, and lead to its page."""
    actor = administration_for(request.user).actor
    return _show_requested(
        lambda: installation().request_run(
            line,
            actor,
            records(user_of(request)),
            dry_run=dry_run,
            allows_removal=allows_removal,
        )
    )


@require_POST
def retry(request: HttpRequest, record: int) -> HttpResponse:
    """Request a retry of what a run rejected, and show the page of the retry."""
    if not may(request, Permission.RUN_WEBHOOK):
        require(request, Permission.RUN_LINE)
    run = get_object_or_404(visible(models.Run), pk=record)
    rights = records(user_of(request))
    if run.is_received:
        require(request, Permission.RUN_WEBHOOK)
        return retry_deliveries(request, run, rights)
    require(request, Permission.RUN_LINE)
    actor = administration_for(request.user).actor
    return _show_requested(
        lambda: installation().sync.request_retry(str(run.pk), actor, rights)
    )


def retry_deliveries(
    request: HttpRequest, run: models.Run, rights: "UserRecords"
) -> HttpResponse:
    """Process the deliveries of a run again, and show the first of them."""
    try:
        name, deliveries = installation().webhooks.retry(
            administration_for(request.user), str(run.pk), rights
        )
    except ConfigError as error:
        messages.error(request, message_of(error))
        return HttpResponseRedirect(_url_of_run(run.pk))
    count = len(deliveries)
    messages.success(request, _("Deliveries that are processed again: %s.") % count)
    if not may(request, Permission.VIEW_DELIVERY):
        return HttpResponseRedirect(_url_of_run(run.pk))
    view = "webhook_delivery" if count == 1 else "webhook_inbox"
    query = {"name": name} | ({"id": deliveries[0].id} if count == 1 else {})
    return HttpResponseRedirect(f"{reverse(f'admin:outkey_{view}')}?{urlencode(query)}")


def _show_requested(request_run: Callable[[], Run]) -> HttpResponse:
    """Request a run, and lead to its page, or to that of the run that is active."""
    try:
        run = request_run()
    except LineBusy as busy:
        if not busy.run:
            raise
        # A message would vanish when the page reloads itself.
        return HttpResponseRedirect(_url_of_run(busy.run) + "?busy=1")
    return HttpResponseRedirect(_url_of_run(run.id))


@require_POST
def cancel(request: HttpRequest, record: int) -> HttpResponse:
    """Cancel a run: at once while it waits, else at its next page."""
    require(request, Permission.RUN_LINE)
    run = get_object_or_404(visible(models.Run), pk=record)
    actor = administration_for(request.user).actor
    installation().sync.cancel(str(run.pk), actor)
    messages.success(request, _("The run is cancelled; what it has written stays."))
    return HttpResponseRedirect(_url_of_run(run.pk))


def may_view_records(request: HttpRequest, line: models.SyncLine) -> bool:
    """Whether the user may see the records of a line, and their children."""
    rights = records(user_of(request))
    try:
        for target in targets_of(line.sync):
            rights.demand(target, "view")
    except ConfigError:
        return False
    return True


def targets_of(sync: object) -> Iterator[str]:
    """Yield the targets of a stored line; "" for each that cannot be read."""
    facts = sync if isinstance(sync, dict) else {}
    children = facts.get("children", [])
    parts = children if isinstance(children, list) else [None]
    for part in (facts, *parts):
        yield str(part.get("target", "")) if isinstance(part, dict) else ""


def _checkpoint_of(run: models.Run) -> Mapping[str, object]:
    """Return the checkpoint of a run; an empty one if its row cannot be read."""
    try:
        checkpoint = json.loads(run.checkpoint)
    except ValueError:
        return {}
    return checkpoint if isinstance(checkpoint, dict) else {}


def may_view_parents(request: HttpRequest, line: models.SyncLine) -> bool:
    """Whether the user may see the records that are the parents of a line."""
    for_each = line.sync.get("for_each") if isinstance(line.sync, dict) else None
    name = for_each.get("line") if isinstance(for_each, dict) else None
    if not name:
        return True
    parents = visible(models.SyncLine).filter(name=str(name))
    return any(may_view_records(request, parent) for parent in parents)


def notes_of(
    checkpoint: Mapping[str, object], *, names_parents: bool = False
) -> list[str]:
    """Return the notes of a run in the user's language; none that is unreadable.

    The key of a parent is only in them if the user may see it.
    """
    stored = checkpoint.get("notes")
    notes: list[Text] = []
    for data in stored if isinstance(stored, list) else ():
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            notes.append(text_from_data(data))
    if not names_parents:
        notes = [without_parent(note) for note in notes]
    return [translate_text(note) for note in notes]


def guard_stop(line: models.SyncLine) -> models.Run | None:
    """Return the newest run of a line, if the guard against removals stopped it."""
    newest = ordinary_runs().filter(line=line).first()
    return newest if newest is not None and newest.cause == GUARD else None


def guard_note(line: models.SyncLine) -> str:
    """Return why the newest run of a line removed nothing; "" if it was not stopped."""
    run = guard_stop(line)
    if run is None:
        return ""
    return " ".join(notes_of(_checkpoint_of(run))) or translate_text(cause_text(GUARD))


def _url_of_run(run: object) -> str:
    """Return the URL of the page of a run."""
    return reverse("admin:outkey_run_change", args=[run])


def newest_chart(runs: Sequence[ListedRun]) -> DrawnRuns:
    """Return a chart of the newest runs, oldest first; dry runs wrote nothing."""
    newest = [listed for listed in runs if not listed.run.dry_run][:CHART_RUNS][::-1]
    facts = [
        (f"#{listed.run.pk}", listed.run.state == RunState.FAILED, listed.counts)
        for listed in newest
    ]
    urls = [_url_of_run(listed.run.pk) for listed in newest]
    return DrawnRuns(run_chart(facts), urls)
