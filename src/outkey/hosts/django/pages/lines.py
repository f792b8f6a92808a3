"""The pages of sync lines: a named call of a configuration each, or the records that it brings."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.adapters.calendar_cronsim import CronCalendar
from outkey.core.config.configuration import SyncLine
from outkey.core.config.document import checked_line
from outkey.core.config.export import render_table
from outkey.core.config.toml import parse_toml
from outkey.core.errors import ConfigError, OutkeyError, UnknownConfiguration
from outkey.core.findings.checks import Finding
from outkey.core.sync.line import Sync
from outkey.core.sync.run import HostField, Outcome, Target
from outkey.core.sync.table import read_sync, sync_table
from outkey.engine.sync import Effect, SyncRunner
from outkey.engine.sync.unsaved_lines import UnsavedLine
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import desk_for, installation, may, require
from outkey.hosts.django.pages.configurations import page, waiting
from outkey.hosts.django.pages.runs import (
    Shown,
    bars,
    person,
    refuse_forbidden,
    shown,
    words,
)
from outkey.hosts.django.wiring import records

_PAGE = 50
_RUNS = 10
_LONGEST_VALUE = 80
_LONGEST_TOML = 128 * 1024  # room for a script of the greatest length
# Each holds a page of records in memory, up to 50 MB.
_previews = threading.BoundedSemaphore(4)
_INPUTS = ("name", "configuration", "method", "path")
Values = dict[str, str]


@dataclass(frozen=True)
class Listed:
    """One row of the list: a line, when its schedule comes next, and its last run."""

    row: models.SyncLine
    schedule: str
    next_at: float | None
    last: Shown | None


@dataclass(frozen=True)
class Sampled:
    """What would become of one record: its values, or why it would be left out."""

    outcome: Outcome
    values: Sequence[str]
    field: str
    reason: str


@dataclass(frozen=True)
class Sample:
    """What would become of the first records: the host's fields, and a row for each record."""

    columns: Sequence[str]
    rows: Sequence[Sampled]


def list_page(request: HttpRequest) -> HttpResponse:
    """List sync lines with their last runs, fifty at a time."""
    require(request, "view_syncline")
    after = request.GET.get("after", "")
    found = models.SyncLine.objects.select_related("configuration").filter(
        name__gt=after
    )
    last = (
        models.Run.objects.filter(line=OuterRef("pk")).order_by("-id").values("id")[:1]
    )
    rows = list(found.annotate(last=Subquery(last)).order_by("name")[: _PAGE + 1])
    runs = models.Run.objects.in_bulk([row.last for row in rows if row.last])
    context = {
        "title": _("Sync Lines"),
        "rows": [
            Listed(
                row,
                *_timetable(row),
                shown(runs[row.last]) if row.last in runs else None,
            )
            for row in rows[:_PAGE]
        ],
        "next": rows[_PAGE - 1].name if len(rows) > _PAGE else "",
    }
    return page(request, "outkey/lines.html", context)


def edit_page(request: HttpRequest, record: int | None = None) -> HttpResponse:
    """Show and save one sync line."""
    row = get_object_or_404(models.SyncLine, pk=record) if record else None
    values, error = _stored(row), None
    if "sample" in request.POST:
        return sample_page(request, record)
    if request.method == "POST":
        require(request, "change_syncline" if row else "add_syncline")
        values = _posted(request, row)
        try:
            if row is None:
                _refuse_taken(values["name"])
            line = _line(values)
            _refuse_rewritten(request, row, line)
            if line.sync is not None:
                refuse_forbidden(request, line.sync)
                _runner(request, line).refuse_faults(line.name)
            desk_for(request.user).keep_line(line)
        except ConfigError as refused:
            error = refused
        else:
            messages.success(request, _("The sync line %s is saved.") % line.name)
            return HttpResponseRedirect(reverse("admin:outkey_syncline_changelist"))
    require(request, "view_syncline" if row else "add_syncline")
    return _form_page(request, row, values, error)


@require_POST
def sample_page(request: HttpRequest, record: int | None = None) -> HttpResponse:
    """Fetch one page and show what would become of it; what is on the page need not be saved."""
    require(request, "view_syncline" if record else "add_syncline", "run_syncline")
    row = get_object_or_404(models.SyncLine, pk=record) if record else None
    posted = row is None or may(request, "change_syncline")
    values = _posted(request, row) if posted else _stored(row)
    try:
        if row is None:
            _refuse_taken(values["name"])
        line = _line(values)
        _refuse_rewritten(request, row, line)
        with waiting(), waiting(_previews):
            effects = _runner(request, line).preview(line.name)
    except OutkeyError as error:
        return _form_page(request, row, values, error)
    return _form_page(request, row, values, sample=_sample(effects))


def delete_page(request: HttpRequest, record: int) -> HttpResponse:
    """Ask, and delete a sync line."""
    require(request, "delete_syncline")
    row = get_object_or_404(models.SyncLine, pk=record)
    if request.method == "POST":
        desk_for(request.user).remove_line(row.name)
        messages.success(request, _("The sync line %s is deleted.") % row.name)
        return HttpResponseRedirect(reverse("admin:outkey_syncline_changelist"))
    context = {"title": _("Delete %s") % row.name, "stored": row, "is_line": True}
    return page(request, "outkey/delete.html", context)


def _stored(row: models.SyncLine | None) -> Values:
    """Return what the page shows of a line that is kept, or of a new one."""
    if row is None:
        return {
            "name": "",
            "configuration": "",
            "method": "GET",
            "path": "/",
            "sync": "",
        }
    shown = {name: str(getattr(row, name)) for name in _INPUTS}
    return shown | {"sync": _toml(read_sync(row.sync)) if row.sync else ""}


def _posted(request: HttpRequest, row: models.SyncLine | None) -> Values:
    """Return what is on the page; a line that is kept stays what it is called."""
    stored = _stored(row)
    given = {name: request.POST.get(name, stored[name]).strip() for name in stored}
    return given | ({"name": row.name} if row else {})


def _line(values: Values) -> SyncLine:
    """Read what is on the page; what is wrong is a ConfigError with its field."""
    line = checked_line(**{name: values[name] for name in _INPUTS})
    text = values["sync"].replace("\r\n", "\n")
    return replace(line, sync=_sync(text) if text else None)


def _sync(text: str) -> Sync:
    table = parse_toml(text, longest=_LONGEST_TOML, field="TOML")
    for name in _INPUTS:
        if name in table:
            told = _("%s has a field of its own on this page") % name
            raise ConfigError(told, hint=_("Leave it out here."), field="TOML")
    if "direction" not in table:
        message = _("a line that synchronizes must say pull or push")
        raise ConfigError(message, field="direction")
    return read_sync(table)


def _toml(sync: Sync) -> str:
    """Write what `_sync` reads: as in a TOML document, without the line's name."""
    said: dict[str, Any] = sync_table(sync)
    rows = said.pop("fields")
    parts = {
        name: said.pop(name) for name in ("pagination", "incremental") if name in said
    }
    tables = [("line", said), *parts.items(), *(("[fields]", row) for row in rows)]
    written = [render_table(name, table) for name, table in tables]
    return "\n\n".join(written).partition("\n")[2]


def _runner(request: HttpRequest, line: SyncLine) -> SyncRunner:
    """Return what checks and previews the line on the page, within a user's rights."""
    application = installation()
    lines = UnsavedLine(line, application.registry)
    return application.sync_runner(records(person(request)), lines)


def _findings(request: HttpRequest, line: SyncLine) -> list[Finding]:
    if line.sync is None:
        return []
    return _runner(request, line).check(line.name)


def _refuse_taken(name: str) -> None:
    if models.SyncLine.objects.filter(name=name).exists():
        raise ConfigError(_("there is a sync line of that name already"), field="name")


def _refuse_rewritten(
    request: HttpRequest, row: models.SyncLine | None, line: SyncLine
) -> None:
    """Refuse another script than the one that is kept to whoever may not write scripts."""
    kept = read_sync(row.sync).script if row and row.sync else ""
    if (line.sync.script if line.sync else "") != kept and not may(
        request, "edit_script"
    ):
        raise ConfigError(
            _("you may not write scripts, or switch them on or off"), field="script"
        )


def _form_page(
    request: HttpRequest,
    row: models.SyncLine | None,
    values: Values,
    error: OutkeyError | None = None,
    sample: Sample | None = None,
) -> HttpResponse:
    kept = installation().registry.line(row.name) if row else None
    findings: list[Finding] = []
    if kept:
        with suppress(ConfigError):  # without the permission to see the records
            findings = _findings(request, kept)
    runs: Sequence[Shown] = ()
    if row and may(request, "view_run"):
        found = models.Run.objects.select_related("line").filter(line=row)
        runs = [shown(run) for run in found.order_by("-id")[:_RUNS]]
    editable = may(request, "change_syncline" if row else "add_syncline")
    names = models.Configuration.objects.order_by("name").values_list("name", flat=True)
    context = {
        "title": row.name if row else _("New sync line"),
        "row": row,
        "kept": kept,
        "values": values,
        "error": error,
        "wrong": _place(error),
        "sample": sample,
        "findings": findings,
        "runs": runs,
        "bars": bars(runs),
        "targets": list(_targets(request)),
        "configurations": names[:1000],
        "editable": editable,
        "next_at": _timetable(row)[1] if row else None,
        "may_run": bool(kept and kept.sync) and may(request, "run_syncline"),
        "may_sample": (
            (editable or bool(kept and kept.sync)) and may(request, "run_syncline")
        ),
    }
    return page(request, "outkey/line.html", context, status=422 if error else 200)


def _place(error: OutkeyError | None) -> str:
    """Return the field of the page that an error belongs to; none for one of no field."""
    if isinstance(error, UnknownConfiguration):
        return "configuration"
    if error is None or not error.field:
        return ""
    return error.field if error.field in _INPUTS else "sync"


def _timetable(row: models.SyncLine) -> tuple[str, float | None]:
    """Return the schedule of a line, and when it comes next; a fault of it is told elsewhere."""
    schedule = row.sync.get("schedule") if isinstance(row.sync, dict) else ""
    if not isinstance(schedule, str) or not schedule:
        return "", None
    try:
        return schedule, CronCalendar().next_after(schedule, time.time())
    except ConfigError:
        return schedule, None


def _targets(request: HttpRequest) -> Iterator[tuple[Target, list[HostField]]]:
    known = records(person(request))
    return ((target, known.describe(target.name)) for target in known.targets())


def _sample(effects: Sequence[Effect]) -> Sample:
    """Make a table of what would become of records; of one that is left out, no value."""
    kept = [effect for effect in effects if effect.outcome is not Outcome.REFUSED]
    columns = list(dict.fromkeys(name for effect in kept for name in effect.values))
    rows = []
    for effect in effects:
        shown = columns if effect.outcome is not Outcome.REFUSED else []
        values = [_shown(effect.values.get(name)) for name in shown]
        rows.append(Sampled(effect.outcome, values, effect.field, words(effect.reason)))
    return Sample(columns, rows)


def _shown(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
