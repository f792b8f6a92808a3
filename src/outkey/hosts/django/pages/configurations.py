"""The pages of API Sync Configurations: list, form and deletion."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from outkey.core.access.permissions import Permission
from outkey.core.config.configuration import Configuration
from outkey.core.config.fields import BY_PATH
from outkey.core.config.presets import Preset, PresetMethod
from outkey.core.errors import ConfigError, OutkeyError
from outkey.core.findings.checks import Finding
from outkey.core.findings.health import (
    Comparison,
    Criterion,
    Health,
    Status,
    status_rules,
)
from outkey.core.moments import day_of
from outkey.engine.managing.editing import Edit, Errors, add_error
from outkey.hosts.django import models
from outkey.hosts.django.listed_rows import ends_of_tokens, rows_with_key
from outkey.hosts.django.pages.access import (
    administration_for,
    editor_for,
    installation,
    may,
    require,
)
from outkey.hosts.django.pages.forms import ConfigurationForm, condition_as_json
from outkey.hosts.django.pages.import_reports import ShownReport, take_report
from outkey.hosts.django.pages.new import preset_draft
from outkey.hosts.django.pages.shell import (
    configuration_at,
    limited_concurrency,
    next_step,
    page,
    url_of,
)
from outkey.hosts.django.pages.token_panel import TOKEN_TABS, panel_for, redirect_url
from outkey.hosts.django.storage import health_of

PAGE_SIZE = 50
HISTORY_SIZE = 20
COLUMN_FILTERS = ("environment", "network", "authentication_type")
LOOKUPS = {
    Comparison.IS: "{}",
    Comparison.IS_NOT: "{}",  # negated
    Comparison.BEFORE: "{}__lt",
    Comparison.UNTIL: "{}__lte",
}


@dataclass(frozen=True)
class ListedConfiguration:
    """One line of a list of configurations."""

    row: models.Configuration
    health: Health
    status: Status
    has_key: bool = False  # a secret row is its only credential
    token_ends: float | None = None  # of a token that was fetched, as Unix time


def list_page(request: HttpRequest) -> HttpResponse:
    """List configurations, fifty at a time; opens no secret."""
    require(request, Permission.VIEW)
    now = time.time()
    sealed = installation().keys.is_sealed()
    names = (*COLUMN_FILTERS, "status", "q")
    choices = {name: request.GET.get(name, "") for name in names}
    rows, has_previous, has_next = read_page(
        filtered_rows(choices),
        after=request.GET.get("after", ""),
        before=request.GET.get("before", ""),
    )
    entries = []
    keyed = rows_with_key(rows)
    ends = ends_of_tokens(rows)
    for row in rows:
        health = health_of(row)
        status = health.status(now=now, sealed=sealed)
        entry = ListedConfiguration(
            row, health, status, has_key=row.pk in keyed, token_ends=ends.get(row.pk)
        )
        entries.append(entry)
    context = {
        "title": _("API Sync Configurations"),
        "listed": entries,
        "chosen": choices,
        "filtered": any(choices.values()),
        "filters": [BY_PATH[name] for name in COLUMN_FILTERS],
        "statuses": [status for status in Status if status is not Status.SEALED],
        "previous": rows[0].name if rows and has_previous else "",
        "next": rows[-1].name if rows and has_next else "",
        "may_add": may(request, Permission.ADD),
    }
    return page(request, "outkey/list.html", context)


def read_page(
    rows: QuerySet[models.Configuration], *, after: str, before: str
) -> tuple[list[models.Configuration], bool, bool]:
    """Return the rows of a page, and whether there are others before and after it."""
    if before:
        backwards = rows.filter(name__lt=before).order_by("-name")[: PAGE_SIZE + 1]
        shown = list(backwards)[::-1]
        return shown[-PAGE_SIZE:], len(shown) > PAGE_SIZE, True
    shown = list(rows.filter(name__gt=after).order_by("name")[: PAGE_SIZE + 1])
    return shown[:PAGE_SIZE], bool(after), len(shown) > PAGE_SIZE


def filtered_rows(choices: Mapping[str, str]) -> QuerySet[models.Configuration]:
    """Return the configurations that a user has chosen to see."""
    rows = models.Configuration.objects.defer("settings")
    for name in COLUMN_FILTERS:
        if choices[name]:
            rows = rows.filter(**{name: choices[name]})
    if choices["q"]:
        text = choices["q"]
        rows = rows.filter(Q(name__icontains=text) | Q(base_url__icontains=text))
    return filter_by_status(rows, choices["status"])


def filter_by_status(
    rows: QuerySet[models.Configuration], wanted: str
) -> QuerySet[models.Configuration]:
    """Return the rows with a status, by the rules of the core; all for no status."""
    rules = dict(status_rules(day_of(time.time())))
    del rules[Status.SEALED]  # a state of the installation, which no column has
    if wanted not in {*rules, Status.WORKING}:
        return rows
    for status, alternatives in rules.items():
        condition = Q()
        for criteria in alternatives:
            condition |= Q(*(query_of(criterion) for criterion in criteria))
        if status == wanted:
            return rows.filter(condition)
        rows = rows.exclude(condition)  # an earlier status is the one to show
    return rows


def query_of(criterion: Criterion) -> Q:
    """Return a criterion as a condition on the columns of a configuration."""
    if criterion.fact == "current":
        is_current = Q(tested_revision=F("revision"))
        return is_current if criterion.value else ~is_current
    lookup = LOOKUPS[criterion.comparison].format(criterion.fact)
    query = Q(**{lookup: criterion.value})
    return ~query if criterion.comparison is Comparison.IS_NOT else query


def add_page(request: HttpRequest) -> HttpResponse:
    """Show and save the form of a new configuration."""
    require(request, Permission.ADD)
    if request.method == "POST":
        return save(request, None)
    return form_page(request, None, preset=preset_draft(request))


def change_page(request: HttpRequest, record: UUID) -> HttpResponse:
    """Show and save the form of a stored configuration."""
    stored = configuration_at(record)
    if request.method == "POST":
        require(request, Permission.CHANGE)
        return save(request, stored)
    require(request, Permission.VIEW)
    return form_page(request, stored, imported=take_report(request, record))


def save(request: HttpRequest, stored: Configuration | None) -> HttpResponse:
    """Save a posted form, or show it again with its errors."""
    values = request.POST.dict()
    editor = editor_for(request)
    edit = editor.read(values, stored)
    if not isinstance(edit, Edit):
        return form_page(request, stored, posted=values, errors=edit)
    application = installation()
    try:
        application.save_edit(
            administration_for(request.user),
            edit,
            allowed=editor.allowed,
            limit=limited_concurrency,
        )
    except OutkeyError as error:
        errors: Errors = {}
        add_error(errors, error)
        return form_page(request, stored, posted=values, errors=errors)
    saved = application.registry.get(edit.configuration.name)
    messages.success(request, f"{_('%s was saved.') % saved.name} {next_step(saved)}")
    return HttpResponseRedirect(url_of("change", saved))


def rename_page(request: HttpRequest, record: UUID) -> HttpResponse:
    """Ask for another name, and rename a configuration."""
    require(request, Permission.CHANGE)
    stored = configuration_at(record)
    new_name = request.POST.get("name", stored.name).strip()
    error = None
    if request.method == "POST":
        try:
            administration_for(request.user).rename(stored.name, new_name, time.time())
        except ConfigError as problem:
            error = problem
        else:
            message = _("%(old)s was renamed to %(new)s.")
            messages.success(request, message % {"old": stored.name, "new": new_name})
            return HttpResponseRedirect(url_of("change", stored))
    context = {
        "title": _("Rename %s") % stored.name,
        "stored": stored,
        "record": record,
        "name": new_name,
        "error": error,
    }
    return page(request, "outkey/rename.html", context, status=422 if error else 200)


def delete_page(request: HttpRequest, record: UUID) -> HttpResponse:
    """Ask, and delete a configuration with its secrets and lines."""
    require(request, Permission.DELETE)
    stored = configuration_at(record)
    if request.method == "POST":
        administration_for(request.user).remove(stored.name)
        messages.success(request, _("%s was deleted.") % stored.name)
        return HttpResponseRedirect(reverse("admin:outkey_configuration_changelist"))
    context = {
        "title": _("Delete %s") % stored.name,
        "stored": stored,
        "record": record,
    }
    return page(request, "outkey/delete.html", context)


def form_page(
    request: HttpRequest,
    stored: Configuration | None,
    *,
    posted: Mapping[str, str] | None = None,
    errors: Errors | None = None,
    preset: tuple[Preset, PresetMethod, Configuration] | None = None,
    imported: ShownReport | None = None,
) -> HttpResponse:
    """Draw the form, with what was posted and its errors if it was not saved.

    That of a new configuration begins with a preset, if there is one. `imported` is the
    report of the import that made a stored one.
    """
    initial = preset[2] if preset else None
    form = ConfigurationForm(
        editor_for(request), stored, posted, errors, initial=initial
    )
    application = installation()
    findings: list[Finding] = []
    if stored is not None:
        findings = application.findings(stored)
    may_test = may(request, Permission.TEST)
    context = {
        "title": _("New API Sync Configuration"),
        "form": form,
        "tabs": form.tabs(findings),
        "top": form.findings_of_no_field(findings),
        "token_tabs": TOKEN_TABS,
        "redirect_when": condition_as_json(BY_PATH["oauth2.authorization_url"]),
        "editable": may(request, Permission.CHANGE if stored else Permission.ADD),
        "may_test": may_test,
        "may_run": may_test and may(request, Permission.EDIT_SCRIPT),
        "imported": imported,
    }
    if stored is not None:
        context |= stored_context(request, stored)
    if preset is not None:
        context |= {
            "preset": preset[0],
            "preset_method": preset[1],
            "to_enter": preset[1].secrets.items(),
        }
    status = 200 if posted is None else 422
    return page(request, "outkey/form.html", context, status=status)


def stored_context(request: HttpRequest, stored: Configuration) -> dict[str, object]:
    """Return what a form shows of a stored configuration besides its fields."""
    application = installation()
    record = UUID(stored.record)
    health = health_of(models.Configuration.objects.get(pk=record))
    records: list[dict[str, object]] = []
    if may(request, Permission.VIEW_AUDIT):
        records = application.audit_trail.history(stored, HISTORY_SIZE)
    return {
        "title": stored.name,
        "stored": stored,
        "record": record,
        "health": health,
        "status": health.status(now=time.time(), sealed=application.keys.is_sealed()),
        "token": panel_for(request, stored),
        "redirect_url": redirect_url(request, record),
        "records": records,
        "may_delete": may(request, Permission.DELETE),
        "to_enter": secrets_to_enter(stored),
    }


def secrets_to_enter(stored: Configuration) -> list[tuple[str, str]]:
    """Return the missing secrets of a preset's configuration, and where they are."""
    presets = installation().presets
    missing = stored.unset_secrets()
    if not missing or stored.preset not in presets.names():
        return []
    places: dict[str, str] = {}
    for method in presets.get(stored.preset).methods.values():
        places = {**method.secrets, **places}
    return [(name, places.get(name, "")) for name in missing]
