"""The pages of sync lines: each names a call of a configuration, or synchronizes."""

import threading
from contextlib import suppress
from dataclasses import dataclass

from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.permission import Permission
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    offered_url,
    require,
    user_of,
    visible,
)
from outkey.hosts.django.pages.lines.runs import ListedRun, ordinary_runs
from outkey.hosts.django.pages.lists import PAGE_SIZE, pager_to, split_page
from outkey.hosts.django.pages.shell import page
from outkey.hosts.django.rows.storage import line_of
from outkey.hosts.django.wiring import records
from outkey.sync.core.line.line import Direction, SyncLine

# Each holds a page of records in memory, up to 50 MB.
running_samples = threading.BoundedSemaphore(4)


@dataclass(frozen=True)
class ListedLine:
    """One row of the list: a line, when it runs next, and its last run but dry runs."""

    row: models.SyncLine
    schedule: str
    next_at: float | None
    is_paused: bool
    last: ListedRun | None
    is_changed: bool  # without outkey, so that it does not run

    @property
    def synchronizes(self) -> bool:
        """Whether it has runs: others only name a request."""
        return isinstance(self.row.sync, dict)

    @property
    def ends(self) -> tuple[str, str]:
        """Where its records come from, and where they go; whatever its row holds."""
        if not isinstance(self.row.sync, dict):
            return self.row.configuration.name, ""
        target = str(self.row.sync.get("target", ""))
        if self.row.sync.get("direction") == Direction.PUSH:
            return target, self.row.configuration.name
        return self.row.configuration.name, target

    @property
    def last_words(self) -> str:
        """The counts of the last run, as "250 new, 3 rejected"."""
        if self.last is None:
            return ""
        counts = self.last.counts
        parts = (
            (counts.created, _("%s new")),
            (counts.updated, _("%s changed")),
            (counts.unchanged, _("%s unchanged")),
            (counts.archived, _("%s archived")),
            (counts.deleted, _("%s deleted")),
            (counts.failed, _("%s rejected")),
        )
        words = [text % count for count, text in parts if count]
        return ", ".join(words) or _("no records")

    @property
    def chip(self) -> tuple[str, str]:
        """The colour and text of its state."""
        if self.is_changed:
            return "ok-error", _("changed outside of outkey")
        if self.is_paused:
            return "ok-warning", _("paused")
        if not self.synchronizes:
            return "", _("request only")
        if self.schedule:
            return "ok-success", _("on")
        return "", _("by hand")


def list_page(request: HttpRequest) -> HttpResponse:
    """List sync lines with their last runs, fifty at a time."""
    require(request, Permission.VIEW_LINE)
    last_run = ordinary_runs().filter(line=OuterRef("pk"))
    lines = (
        visible(models.SyncLine)
        .select_related("configuration")
        .filter(name__gt=request.GET.get("after", ""))
        .annotate(last=Subquery(last_run.values("id")[:1]))
        .order_by("name")
    )
    rows, after = split_page(list(lines[: PAGE_SIZE + 1]), lambda row: row.name)
    runs = visible(models.Run).in_bulk([row.last for row in rows if row.last])
    names = [row.name for row in rows]
    next_runs = installation().next_runs(names)
    paused = installation().runs.paused_lines()
    changed = installation().registry.changed_lines(names)
    entries = [
        ListedLine(
            row=row,
            schedule=line_of(row).timed().schedule,
            next_at=next_runs.get(row.name),
            is_paused=row.name in paused,
            last=ListedRun.of(runs[row.last]) if row.last in runs else None,
            is_changed=row.name in changed,
        )
        for row in rows
    ]
    context = {
        "title": _("Sync Lines"),
        "rows": entries,
        "may_run": may(request, Permission.RUN_LINE),
        "add_url": offered_url(request, Permission.ADD_LINE, "syncline_add"),
        "pager": pager_to(request, _("Next"), after=after),
    }
    return page(request, "outkey/lines.html", context)


def delete_page(request: HttpRequest, record: int) -> HttpResponse:
    """Ask, and delete a sync line."""
    require(request, Permission.DELETE_LINE)
    row = get_object_or_404(visible(models.SyncLine), pk=record)
    application = installation()
    administration = administration_for(request.user)
    error = None
    if request.method == "POST":
        try:
            pairs = application.lines.remove(administration, row.name)
        except ConfigError as problem:
            error = problem
        else:
            messages.success(request, _("The sync line %s was deleted.") % row.name)
            for pair in pairs:
                messages.success(request, _("Its pair %s was deleted too.") % pair)
            return HttpResponseRedirect(reverse("admin:outkey_syncline_changelist"))
    context = {
        "title": _("Delete %s") % row.name,
        "stored": row,
        "is_line": True,
        "dependents": application.dependents(administration, line=row.name),
        "error": error,
    }
    return page(request, "outkey/delete.html", context, status=422 if error else 200)


def rename_page(request: HttpRequest, record: int) -> HttpResponse:
    """Ask for another name, and rename a sync line."""
    require(request, Permission.CHANGE_LINE)
    row = get_object_or_404(visible(models.SyncLine), pk=record)
    own_url = reverse("admin:outkey_syncline_change", args=[row.pk])
    new_name = request.POST.get("name", row.name).strip()
    error = None
    if request.method == "POST":
        administration = administration_for(request.user)
        try:
            installation().lines.rename(administration, row.name, new_name)
        except ConfigError as problem:
            error = problem
        else:
            message = _("%(old)s was renamed to %(new)s.")
            messages.success(request, message % {"old": row.name, "new": new_name})
            return HttpResponseRedirect(own_url)
    context = {
        "title": _("Rename %s") % row.name,
        "old_name": row.name,
        "own_url": own_url,
        "name": new_name,
        "error": error,
    }
    status = 422 if error else 200
    return page(request, "outkey/line_rename.html", context, status=status)


@dataclass
class ResetInput:
    """One input of the page that resets a line."""

    name: str
    label: str
    help: str
    value: str
    error: ConfigError | None = None


def reset_page(request: HttpRequest, record: int) -> HttpResponse:
    """Ask where the next run of a sync line begins, and reset the line."""
    require(request, Permission.RUN_LINE)
    row = get_object_or_404(visible(models.SyncLine), pk=record)
    own_url = reverse("admin:outkey_syncline_change", args=[row.pk])
    since = request.POST.get("since", "").strip()
    parent = request.POST.get("parent", "").strip()
    error = None
    if request.method == "POST":
        administration = administration_for(request.user)
        try:
            installation().lines.reset(
                administration,
                row.name,
                since,
                parent,
                rights=records(user_of(request)),
            )
        except ConfigError as problem:
            error = problem
        else:
            message = _("The sync line %s was reset.") % row.name
            if parent:
                of_parent = _(
                    "The sync line %(line)s was reset for the parent %(key)s."
                )
                message = of_parent % {"line": row.name, "key": parent}
            messages.success(request, message)
            return HttpResponseRedirect(own_url)
    context = {
        "title": _("Reset %s") % row.name,
        "old_name": row.name,
        "own_url": own_url,
        "inputs": _reset_inputs(row, since, parent, error),
    }
    status = 422 if error else 200
    return page(request, "outkey/line_reset.html", context, status=status)


def _reset_inputs(
    row: models.SyncLine, since: str, parent: str, error: ConfigError | None
) -> list[ResetInput]:
    """Return the inputs of the page; a line without parents has none for one."""
    begin = ResetInput(
        "since",
        _("The next run begins at"),
        _("Such as 2026-01-01T00:00:00Z, or -30d. Empty: as a first run."),
        since,
    )
    only = ResetInput(
        "parent",
        _("Only the list of this parent"),
        _("The key or the ID of its record, or its value. Empty: the lists of all."),
        parent,
    )
    stored = stored_line(row)
    has_parents = bool(stored and stored.sync and stored.sync.for_each)
    inputs = [begin, only] if has_parents else [begin]
    is_of_line = error is not None and error.field in {"since", "line"}
    faulty = inputs[0] if is_of_line else inputs[-1]
    faulty.error = error
    return inputs


@require_POST
def pause(request: HttpRequest, record: int) -> HttpResponse:
    """Pause a sync line, or resume a paused one."""
    require(request, Permission.RUN_LINE)
    row = get_object_or_404(visible(models.SyncLine), pk=record)
    administration = administration_for(request.user)
    if "resume" in request.POST:
        installation().lines.resume(administration, row.name)
        messages.success(request, _("The sync line %s was resumed.") % row.name)
    else:
        installation().lines.pause(administration, row.name)
        messages.success(request, _("The sync line %s was paused.") % row.name)
    if "list" in request.POST:
        return HttpResponseRedirect(reverse("admin:outkey_syncline_changelist"))
    return HttpResponseRedirect(reverse("admin:outkey_syncline_change", args=[row.pk]))


@require_POST
def accept_shape(request: HttpRequest, record: int) -> HttpResponse:
    """Take the shape of the last run as that of the records of a sync line."""
    require(request, Permission.CHANGE_LINE)
    row = get_object_or_404(visible(models.SyncLine), pk=record)
    administration = administration_for(request.user)
    installation().lines.accept_shape(administration, row.name)
    messages.success(request, _("The new shape of %s was accepted.") % row.name)
    return HttpResponseRedirect(reverse("admin:outkey_syncline_change", args=[row.pk]))


def listed_line(row: models.SyncLine) -> ListedLine:
    """Return one line as the list has it."""
    application = installation()
    last = ordinary_runs().filter(line=row).first()
    return ListedLine(
        row=row,
        schedule=line_of(row).timed().schedule,
        next_at=application.next_runs([row.name]).get(row.name),
        is_paused=row.name in application.runs.paused_lines(),
        last=ListedRun.of(last) if last else None,
        is_changed=row.name in application.registry.changed_lines([row.name]),
    )


def stored_line(row: models.SyncLine | None) -> SyncLine | None:
    """Return the line of a row; None for a new one."""
    return installation().registry.shown_line(row.name) if row else None


def pairs_with(line: str) -> list[str]:
    """Return the names of the pairs that a line is in; their rules hold for it."""
    pairs = installation().sync_settings.pairs().values()
    return [pair.name for pair in pairs if line in {pair.pull, pair.push}]


def findings_of(request: HttpRequest, stored: SyncLine | None) -> list[Finding]:
    """Return the findings of a stored line, if the user may see its records."""
    if stored is not None and stored.sync is not None:
        with suppress(ConfigError):
            runner = installation().sync.runner(records(user_of(request)))
            return runner.check(stored.name)
    return []
