"""The pages of sync lines: each names a call of a configuration, or synchronizes."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.core.access.permissions import Permission
from outkey.core.config.configuration import SyncLine
from outkey.core.errors import ConfigError, OutkeyError
from outkey.core.findings.checks import Finding
from outkey.core.sync.reasons import rejection_text
from outkey.core.sync.records import HostField, Target, WriteOutcome
from outkey.engine.managing.line_editing import (
    LineEdit,
    entered_line_values,
    field_of_error,
    line_values,
)
from outkey.engine.sync import Effect
from outkey.engine.sync.unsaved_lines import WithLine
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
    user_of,
)
from outkey.hosts.django.pages.runs import ListedRun, newest_bars
from outkey.hosts.django.pages.shell import limited_concurrency, page
from outkey.hosts.django.storage import line_of
from outkey.hosts.django.translation import translate_text
from outkey.hosts.django.wiring import records

PAGE_SIZE = 50
RUNS_SIZE = 10
CONFIGURATIONS_SIZE = 1000
MOST_CHARACTERS = 80  # of a value in a sample
# Each holds a page of records in memory, up to 50 MB.
running_samples = threading.BoundedSemaphore(4)


@dataclass(frozen=True)
class ListedLine:
    """One row of the list: a line, when it runs next, and its last run."""

    row: models.SyncLine
    schedule: str
    next_at: float | None
    last: ListedRun | None


@dataclass(frozen=True)
class SampleRow:
    """What a run would do with one record: its values, or why it would be rejected."""

    outcome: WriteOutcome
    values: Sequence[str]
    field: str
    reason: str


@dataclass(frozen=True)
class Sample:
    """What a run would do with the first records, by the fields of the host."""

    columns: Sequence[str]
    rows: Sequence[SampleRow]


def list_page(request: HttpRequest) -> HttpResponse:
    """List sync lines with their last runs, fifty at a time."""
    require(request, Permission.VIEW_LINE)
    last_run = models.Run.objects.filter(line=OuterRef("pk")).order_by("-id")
    lines = (
        models.SyncLine.objects.select_related("configuration")
        .filter(name__gt=request.GET.get("after", ""))
        .annotate(last=Subquery(last_run.values("id")[:1]))
        .order_by("name")
    )
    rows = list(lines[: PAGE_SIZE + 1])
    runs = models.Run.objects.in_bulk([row.last for row in rows if row.last])
    next_runs = installation().next_runs([row.name for row in rows[:PAGE_SIZE]])
    entries = [
        ListedLine(
            row=row,
            schedule=line_of(row).timed().schedule,
            next_at=next_runs.get(row.name),
            last=ListedRun.of(runs[row.last]) if row.last in runs else None,
        )
        for row in rows[:PAGE_SIZE]
    ]
    context = {
        "title": _("Sync Lines"),
        "rows": entries,
        "next": rows[PAGE_SIZE - 1].name if len(rows) > PAGE_SIZE else "",
    }
    return page(request, "outkey/lines.html", context)


def edit_page(request: HttpRequest, record: int | None = None) -> HttpResponse:
    """Show and save one sync line."""
    row = get_object_or_404(models.SyncLine, pk=record) if record else None
    stored = stored_line(row)
    if "sample" in request.POST:
        return sample_page(request, record)
    if request.method != "POST":
        require(request, Permission.VIEW_LINE if row else Permission.ADD_LINE)
        return form_page(request, row, line_values(stored))
    require(request, Permission.CHANGE_LINE if row else Permission.ADD_LINE)
    values = entered_line_values(request.POST.dict(), stored)
    application = installation()
    user = user_of(request)
    try:
        edit = LineEdit.read(values, stored, application.registry)
        edit.save(
            administration_for(request.user),
            allowed=partial(may, request),
            runner=application.sync_runner(
                records(user), WithLine(application.registry, edit.line)
            ),
            rights=records(user),
        )
    except ConfigError as error:
        require(request, Permission.VIEW_LINE if row else Permission.ADD_LINE)
        return form_page(request, row, values, error)
    messages.success(request, _("The sync line %s was saved.") % edit.line.name)
    return HttpResponseRedirect(reverse("admin:outkey_syncline_changelist"))


@require_POST
def sample_page(request: HttpRequest, record: int | None = None) -> HttpResponse:
    """Fetch one page, and show what a run of the form, saved or not, would do."""
    view = Permission.VIEW_LINE if record else Permission.ADD_LINE
    require(request, view, Permission.RUN_LINE)
    row = get_object_or_404(models.SyncLine, pk=record) if record else None
    stored = stored_line(row)
    values = line_values(stored)
    if row is None or may(request, Permission.CHANGE_LINE):
        values = entered_line_values(request.POST.dict(), stored)
    application = installation()
    try:
        edit = LineEdit.read(values, stored, application.registry)
        edit.refuse_script(partial(may, request))
        runner = application.sync_runner(
            records(user_of(request)), WithLine(application.registry, edit.line)
        )
        with limited_concurrency(), limited_concurrency(running_samples):
            effects = runner.preview(edit.line.name)
    except OutkeyError as error:
        return form_page(request, row, values, error)
    return form_page(request, row, values, sample=sample_of(effects))


def delete_page(request: HttpRequest, record: int) -> HttpResponse:
    """Ask, and delete a sync line."""
    require(request, Permission.DELETE_LINE)
    row = get_object_or_404(models.SyncLine, pk=record)
    if request.method == "POST":
        administration_for(request.user).remove_line(row.name)
        messages.success(request, _("The sync line %s was deleted.") % row.name)
        return HttpResponseRedirect(reverse("admin:outkey_syncline_changelist"))
    context = {"title": _("Delete %s") % row.name, "stored": row, "is_line": True}
    return page(request, "outkey/delete.html", context)


def stored_line(row: models.SyncLine | None) -> SyncLine | None:
    """Return the line of a row; None for a new one."""
    return installation().registry.line(row.name) if row else None


def form_page(
    request: HttpRequest,
    row: models.SyncLine | None,
    values: Mapping[str, str],
    error: OutkeyError | None = None,
    sample: Sample | None = None,
) -> HttpResponse:
    """Draw the form, with an error or a sample if there is one."""
    stored = stored_line(row)
    synchronizes = stored is not None and stored.sync is not None
    editable = may(request, Permission.CHANGE_LINE if row else Permission.ADD_LINE)
    may_run = may(request, Permission.RUN_LINE)
    runs: Sequence[ListedRun] = ()
    if row and may(request, Permission.VIEW_RUN):
        newest = models.Run.objects.select_related("line").filter(line=row)
        runs = [ListedRun.of(run) for run in newest.order_by("-id")[:RUNS_SIZE]]
    names = models.Configuration.objects.order_by("name").values_list("name", flat=True)
    context = {
        "title": row.name if row else _("New sync line"),
        "row": row,
        "kept": stored,
        "values": values,
        "error": error,
        "wrong": field_of_error(error),
        "sample": sample,
        "findings": findings_of(request, stored),
        "runs": runs,
        "bars": newest_bars(runs),
        "targets": targets(request),
        "configurations": names[:CONFIGURATIONS_SIZE],
        "editable": editable,
        "next_at": installation().next_runs([row.name]).get(row.name) if row else None,
        "may_run": synchronizes and may_run,
        "may_sample": (editable or synchronizes) and may_run,
    }
    return page(request, "outkey/line.html", context, status=422 if error else 200)


def findings_of(request: HttpRequest, stored: SyncLine | None) -> list[Finding]:
    """Return the findings of a stored line, if the user may see its records."""
    if stored is not None and stored.sync is not None:
        with suppress(ConfigError):
            runner = installation().sync_runner(records(user_of(request)))
            return runner.check(stored.name)
    return []


def targets(request: HttpRequest) -> list[tuple[Target, tuple[HostField, ...]]]:
    """Return the targets that are open to the user, with their fields."""
    return [(target, target.fields) for target in records(user_of(request)).targets()]


def sample_of(effects: Sequence[Effect]) -> Sample:
    """Return a table of what would be done; no value of a rejected record."""
    accepted = [
        effect for effect in effects if effect.outcome is not WriteOutcome.REFUSED
    ]
    columns = list(dict.fromkeys(name for effect in accepted for name in effect.values))
    rows = []
    for effect in effects:
        names = columns if effect.outcome is not WriteOutcome.REFUSED else []
        values = [text_of_cell(effect.values.get(name)) for name in names]
        reason = translate_text(rejection_text(effect.reason))
        rows.append(SampleRow(effect.outcome, values, effect.field, reason))
    return Sample(columns, rows)


def text_of_cell(value: object) -> str:
    """Return a value as a table of samples shows it."""
    text = "" if value is None else str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
