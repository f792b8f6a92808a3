"""The versions of a sync line: compared with the line as it is, and restored."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from outkey.administration.engine.editing.line_editing import LineEdit, restored_line
from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
    rights_of,
    user_of,
    visible,
)
from outkey.hosts.django.pages.lines.form import number_in
from outkey.hosts.django.pages.shell import page
from outkey.hosts.django.wiring import records
from outkey.sync.core.line.history import compared_values
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.versions import compare_lines
from outkey.sync.core.line_form.change_words import ChangeInWords
from outkey.sync.engine.forms.unsaved_lines import WithLine


def version_page(request: HttpRequest, record: int, number: int) -> HttpResponse:
    """Compare a version with the line as it is saved, and restore it."""
    require(request, Permission.VIEW_LINE)
    row = get_object_or_404(visible(models.SyncLine), pk=record)
    application = installation()
    versions = application.registry.line_versions(row.name)
    version = next((known for known in versions if known.number == number), None)
    if version is None:
        raise Http404
    stored = application.registry.line(row.name)
    restored = restored_line(version, stored, application.registry)
    errors: list[OutkeyError] = []
    if request.method == "POST":
        require(request, Permission.CHANGE_LINE)
        try:
            # The version that the page was compared with: another may be saved since.
            _restore(request, stored, restored, seen=number_in(request, "version"))
        except ConfigError as error:
            errors = [error]
        else:
            messages.success(request, _("Version %s was restored.") % number)
            url = reverse("admin:outkey_syncline_change", args=[row.pk])
            return HttpResponseRedirect(url)
    context = {
        "title": _("Version %(number)s of %(name)s")
        % {"number": number, "name": row.name},
        "row": row,
        "version": version,
        "newest": versions[0].number,
        "errors": errors,
        "is_current": version.number == versions[0].number,
        "differences": line_differences(restored, stored),
        "may_restore": version.number != versions[0].number
        and may(request, Permission.CHANGE_LINE),
    }
    status = 422 if errors else 200
    return page(request, "outkey/line_version.html", context, status=status)


def _restore(
    request: HttpRequest, stored: SyncLine, restored: SyncLine, *, seen: int | None
) -> None:
    """Save a line as it was, if the user may do with it what it does."""
    application = installation()
    user = user_of(request)
    LineEdit(stored, restored).save(
        administration_for(request.user),
        allowed=rights_of(request),
        runner=application.sync.runner(
            records(user), WithLine(application.registry, restored)
        ),
        rights=records(user),
        seen=seen,
    )


def line_differences(old: SyncLine, new: SyncLine) -> list[ChangeInWords]:
    """Return the fields in which two lines differ."""
    changes = compare_lines(compared_values(old), compared_values(new)).changes
    return [ChangeInWords.of(change) for change in changes]
