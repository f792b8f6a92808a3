"""The pages of runs: requested, followed while a worker does them, cancelled."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from time import time

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from outkey.core.access.permissions import Permission
from outkey.core.errors import LineBusy
from outkey.core.sync.reasons import rejection_text
from outkey.core.sync.remedies import remedy_of, summary_of
from outkey.core.sync.run import OPEN_STATES, Counts, RunState
from outkey.engine.managing.overview import ChartBar, run_bars
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    require,
    user_of,
)
from outkey.hosts.django.pages.shell import page
from outkey.hosts.django.runs import DjangoRunRows
from outkey.hosts.django.templatetags.outkey import moment
from outkey.hosts.django.translation import translate_text
from outkey.hosts.django.wiring import records

PAGE_SIZE = 50
CHART_RUNS = 24  # the chart has room for as many
REJECTED_SIZE = 50
LINES_SIZE = 1000
LATE_SECONDS = 30
SOON_SECONDS = 60
ROW_NUMBER = re.compile(r"[0-9]{1,18}")
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

    @classmethod
    def of(cls, run: models.Run) -> "ListedRun":
        """Return a run of the table with its counts."""
        return cls(run, Counts.from_facts(run.counts))

    @property
    def chip(self) -> tuple[str, object]:
        """The colour and text of its state; rejected records make it a warning."""
        state = self.run.state
        rejected = self.counts.failed
        if state != RunState.DONE or not rejected:
            return STATES.get(state, ("", state))
        if self.counts.is_all_rejected:
            return "ok-error", _("done, all rejected")
        return "ok-warning", _("done, %s rejected") % rejected

    @property
    def cause(self) -> str:
        """Why it ended, in the user's language."""
        return translate_text(summary_of(self.run.cause))

    @property
    def remedy(self) -> str:
        """What helps, as a test of the configuration would put it."""
        return translate_text(remedy_of(self.run.cause))


def list_page(request: HttpRequest) -> HttpResponse:
    """List runs, newest first, with a chart of them."""
    require(request, Permission.VIEW_RUN)
    line = request.GET.get("line", "").strip()
    state = request.GET.get("state", "").strip()
    before = request.GET.get("before", "").strip()
    rows = models.Run.objects.select_related("line").order_by("-id")
    if line:
        rows = rows.filter(line__name=line)
    if state in STATES:
        rows = rows.filter(state=state)
    if ROW_NUMBER.fullmatch(before):
        rows = rows.filter(pk__lt=int(before))
    runs = [ListedRun.of(run) for run in rows[: PAGE_SIZE + 1]]
    lines = models.SyncLine.objects.filter(sync__isnull=False).order_by("name")
    context = {
        "title": _("Runs"),
        "runs": runs[:PAGE_SIZE],
        "bars": newest_bars(runs),
        "chosen": {"line": line, "state": state},
        "states": [(name, text) for name, (_colour, text) in STATES.items()],
        "lines": lines.values_list("name", flat=True)[:LINES_SIZE],
        "older": runs[PAGE_SIZE - 1].run.pk if len(runs) > PAGE_SIZE else None,
    }
    return page(request, "outkey/runs.html", context)


def run_page(request: HttpRequest, record: int) -> HttpResponse:
    """Show one run: how far it is, what it did, and which records it rejected."""
    require(request, Permission.VIEW_RUN)
    rows = models.Run.objects.select_related("line__configuration")
    run = get_object_or_404(rows, pk=record)
    listed = ListedRun.of(run)
    # Not through `Runs`, which would refuse a row that is only partly readable.
    rejected = DjangoRunRows().rejected(str(run.pk), REJECTED_SIZE)
    running = run.state == RunState.RUNNING
    waiting = run.state == RunState.WAITING
    context = {
        "title": _("Run %s") % run.pk,
        "run": run,
        "shown": listed,
        "running": running,
        "waiting": waiting,
        "busy": "busy" in request.GET and run.state in OPEN_STATES,
        "again": moment(run.until),
        "follows": running or (waiting and run.until < time() + SOON_SECONDS),
        "is_late": waiting and run.until < time() - LATE_SECONDS,
        "ended": run.state in {RunState.FAILED, RunState.CANCELLED} and not run.dry_run,
        # No value of a rejected record is shown, not even its key.
        "rejected": [
            (item.number, item.field, translate_text(rejection_text(item.reason)))
            for item in rejected
        ],
        "more": max(0, listed.counts.failed - REJECTED_SIZE),
    }
    return page(request, "outkey/run.html", context)


@require_POST
def start(request: HttpRequest, record: int) -> HttpResponse:
    """Request a run of a stored line, and show the page of the run."""
    require(request, Permission.RUN_LINE)
    row = get_object_or_404(models.SyncLine, pk=record)
    actor = administration_for(request.user).actor
    try:
        run = installation().request_run(
            row.name, actor, records(user_of(request)), dry_run="dry" in request.POST
        )
    except LineBusy as busy:
        if not busy.run:
            raise
        # A message would vanish when the page reloads itself.
        return HttpResponseRedirect(url_of_run(busy.run) + "?busy=1")
    return HttpResponseRedirect(url_of_run(run.id))


@require_POST
def cancel(request: HttpRequest, record: int) -> HttpResponse:
    """Cancel a run: at once while it waits, else at its next page."""
    require(request, Permission.RUN_LINE)
    run = get_object_or_404(models.Run, pk=record)
    installation().runs.cancel(str(run.pk))
    messages.success(request, _("The run is cancelled; what it has written stays."))
    return HttpResponseRedirect(url_of_run(run.pk))


def url_of_run(run: object) -> str:
    """Return the URL of the page of a run."""
    return reverse("admin:outkey_run_change", args=[run])


def newest_bars(runs: Sequence[ListedRun]) -> list[ChartBar]:
    """Return a bar for each of the newest runs, oldest first."""
    newest = reversed(runs[:CHART_RUNS])
    return run_bars(
        [
            (f"#{listed.run.pk}", listed.run.state == RunState.FAILED, listed.counts)
            for listed in newest
        ]
    )
