"""The pages of sync lines: one named call of a configuration each."""

from dataclasses import replace

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from outkey.core.document import checked_line
from outkey.core.errors import ConfigError
from outkey.hosts.django import models
from outkey.hosts.django.pages.configurations import page
from outkey.hosts.django.pages.installed import desk_for, require

_PAGE = 50
_FIELDS = ("name", "configuration", "method", "path")


def list_page(request: HttpRequest) -> HttpResponse:
    """List sync lines, fifty at a time."""
    require(request, "view_syncline")
    after = request.GET.get("after", "")
    found = models.SyncLine.objects.select_related("configuration").filter(name__gt=after)
    rows = list(found.order_by("name")[: _PAGE + 1])
    context = {
        "title": _("Sync Lines"),
        "rows": rows[:_PAGE],
        "next": rows[_PAGE - 1].name if len(rows) > _PAGE else "",
    }
    return page(request, "outkey/lines.html", context)


def edit_page(request: HttpRequest, record: int | None = None) -> HttpResponse:
    """Show and save one sync line."""
    row = get_object_or_404(models.SyncLine, pk=record) if record else None
    values = {"name": "", "configuration": "", "method": "GET", "path": "/"}
    if row is not None:
        values = {name: str(getattr(row, name)) for name in _FIELDS}
    error = None
    if request.method == "POST":
        require(request, "change_syncline" if row else "add_syncline")
        given = {name: request.POST.get(name, "").strip() for name in _FIELDS}
        values = given | ({"name": row.name} if row else {})
        try:
            if row is None:
                _refuse_taken(values["name"])
            line, desk = checked_line(**values), desk_for(request.user)
            if row is not None:  # what makes it a synchronization is not on this page
                line = replace(line, sync=desk.registry.line(row.name).sync)
            desk.keep_line(line)
        except ConfigError as refused:
            error = refused
        else:
            messages.success(request, _("%s is saved.") % values["name"])
            return HttpResponseRedirect(reverse("admin:outkey_syncline_changelist"))
    require(request, "view_syncline" if row else "add_syncline")
    context = {
        "title": row.name if row else _("New sync line"),
        "row": row,
        "values": values,
        "error": error,
        "configurations": models.Configuration.objects.order_by("name").values_list(
            "name", flat=True
        )[:1000],
    }
    return page(request, "outkey/line.html", context, status=422 if error else 200)


def delete_page(request: HttpRequest, record: int) -> HttpResponse:
    """Ask, and delete a sync line."""
    require(request, "delete_syncline")
    row = get_object_or_404(models.SyncLine, pk=record)
    if request.method == "POST":
        desk_for(request.user).remove_line(row.name)
        messages.success(request, _("%s is deleted.") % row.name)
        return HttpResponseRedirect(reverse("admin:outkey_syncline_changelist"))
    return page(request, "outkey/delete.html", {"title": _("Delete %s") % row.name, "stored": row})


def _refuse_taken(name: str) -> None:
    if models.SyncLine.objects.filter(name=name).exists():
        raise ConfigError(_("there is a sync line of that name already"), field="name")
