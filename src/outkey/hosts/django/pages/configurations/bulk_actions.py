"""Actions on many configurations: test, switch off and on, export."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.contrib import messages
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
)
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.administration.core.document.export import render as render_document
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.watching.attention import TESTABLE
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
    visible,
)
from outkey.hosts.django.pages.bulk import (
    MOST_SELECTED,
    BulkAction,
    act_on_each,
    report_result,
)
from outkey.hosts.django.pages.configurations.trials import status_context
from outkey.hosts.django.pages.shell import (
    configuration_at,
    limited_concurrency,
    message_of,
    page,
    url_of,
)
from outkey.hosts.django.rows.statuses import status_conditions, status_rank
from outkey.hosts.django.translation import translate_text
from outkey.sending.core.audit.events import Tag
from outkey.sending.engine.connection_test import SAFE

TESTS_AT_ONCE = 50
TEST = "test"
PAUSE = "pause"
RESUME = "resume"
EXPORT = "export"


def bulk_actions() -> tuple[BulkAction, ...]:
    """Return the actions on selected configurations."""
    return (
        BulkAction(TEST, _("Test"), Permission.TEST),
        BulkAction(
            PAUSE,
            _("Switch off"),
            Permission.CHANGE,
            _("Nothing is sent with a configuration that is switched off."),
        ),
        BulkAction(
            RESUME,
            _("Switch on"),
            Permission.CHANGE,
            _("Programs and sync lines send with them again."),
        ),
        BulkAction(EXPORT, _("Export"), Permission.VIEW),
    )


@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """Do something with the selected configurations, after asking where it changes."""
    require(request, Permission.VIEW)
    name = request.POST.get("action", "")
    action = {action.name: action for action in bulk_actions()}.get(name)
    if action is None:
        raise Http404
    require(request, action.permission)
    rows = _selected_rows(request)
    if not rows:
        messages.warning(request, _("Select at least one configuration."))
        return _back_to_list(request)
    if name == TEST:
        return test_page(request, [row.name for row in rows], len(rows))
    if name == EXPORT:
        return export(request, [row.name for row in rows])
    if "confirmed" not in request.POST:
        context = {
            "title": action.label,
            "action": action,
            "rows": rows,
            "query": request.POST.get("query", ""),
        }
        return page(request, "outkey/bulk_confirm.html", context)
    result = act_on_each(
        [row.name for row in rows],
        lambda row: _set_active(request, row, is_active=name == RESUME),
    )
    report_result(request, result)
    return _back_to_list(request)


def _selected_rows(request: HttpRequest) -> list[models.Configuration]:
    """Return the selected configurations; an invalid id is ignored."""
    records = []
    for text in request.POST.getlist("selected")[:MOST_SELECTED]:
        try:
            records.append(UUID(text))
        except ValueError:
            continue
    rows = visible(models.Configuration).defer("settings").filter(pk__in=records)
    return list(rows.order_by("name"))


def _back_to_list(request: HttpRequest) -> HttpResponseRedirect:
    """Return to the list with the filters and the page that it had."""
    query = request.POST.get("query", "")
    url = reverse("admin:outkey_configuration_changelist")
    return HttpResponseRedirect(f"{url}?{query}" if query else url)


def _set_active(request: HttpRequest, name: str, *, is_active: bool) -> None:
    """Switch a configuration on or off; one that is already is left as it is."""
    stored = installation().registry.get(name)
    if stored.active != is_active:
        change = ConfigurationChange(stored, replace(stored, active=is_active))
        administration_for(request.user).save(change)


def export(request: HttpRequest, names: Sequence[str]) -> HttpResponse:
    """Return configurations with their lines as TOML, without secrets."""
    registry = installation().registry
    configurations = [registry.get(name) for name in names]
    lines = []
    if may(request, Permission.VIEW_LINE):
        lines = [line for line in registry.lines() if line.configuration in set(names)]
    administration = administration_for(request.user)
    for name in names:
        administration.note(Tag.CONFIGURATION_EXPORTED, name)
    response = HttpResponse(
        render_document(configurations, lines), content_type="application/toml"
    )
    response["Content-Disposition"] = 'attachment; filename="outkey.toml"'
    return response


# ── tests ───────────────────────────────────────────────────────────────────────────


@require_POST
def test_all(request: HttpRequest) -> HttpResponse:
    """Test the configurations that failed or were never tested, some at a time."""
    require(request, Permission.TEST)
    conditions = status_conditions()
    ranked = visible(models.Configuration).annotate(rank=status_rank())
    ranks = [rank for rank, status in enumerate(conditions) if status in TESTABLE]
    rows = ranked.filter(active=True, rank__in=ranks).order_by("rank", "name")
    names = list(rows.values_list("name", flat=True)[:TESTS_AT_ONCE])
    count = rows.count()
    if not names:
        messages.success(request, _("No configuration needs a test."))
        return HttpResponseRedirect(reverse("admin:outkey_home"))
    return test_page(request, names, count)


def test_page(request: HttpRequest, names: Sequence[str], count: int) -> HttpResponse:
    """Show the configurations to test; the page tests one after the other."""
    rows = visible(models.Configuration).defer("settings").filter(name__in=names)
    by_name = {row.name: row for row in rows}
    shown = [by_name[name] for name in names[:TESTS_AT_ONCE] if name in by_name]
    context = {
        "title": _("Connection tests: %s") % len(shown),
        "rows": shown,
        "more": max(0, count - len(shown)),
    }
    return page(request, "outkey/bulk_test.html", context)


@require_POST
def check(request: HttpRequest, record: UUID) -> HttpResponse:
    """Test a stored configuration; show its result, or return it as part of a page."""
    require(request, Permission.TEST)
    stored = configuration_at(record)
    is_part = "part" in request.POST
    context: dict[str, object] = {}
    if is_part and stored.verification.test_method not in SAFE:
        reason = Text(
            "Not tested: its test sends {method}. Test it on its own page.",
            method=stored.verification.test_method,
        )
        context["problem"] = translate_text(reason)
    else:
        try:
            with limited_concurrency():
                administration = administration_for(request.user)
                report = administration.test(installation().sender, stored.name)
        except OutkeyError as error:
            context["problem"] = message_of(error)
        else:
            context["report"] = report
    context |= status_context(request, stored)
    if is_part:
        return render(request, "outkey/check_result.html", context)
    if "problem" in context:
        messages.error(request, f"{stored.name}: {context['problem']}")
    elif report.ok:
        messages.success(request, _("%s works.") % stored.name)
        return HttpResponseRedirect(reverse("admin:outkey_home"))
    else:
        text = _("%(name)s: the test failed, %(cause)s. Test it here for the reasons.")
        cause = translate_text(report.cause_word.replace("_", " "))
        messages.error(request, text % {"name": stored.name, "cause": cause})
    return HttpResponseRedirect(url_of("change", stored))
