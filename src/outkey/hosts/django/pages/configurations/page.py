"""The pages of one API Sync Configuration: form, renaming and deletion."""

import time
from collections.abc import Mapping
from uuid import UUID

from django.contrib import messages
from django.db.models import Max
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from outkey.administration.engine.editing.editing import Edit, Errors, add_error
from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.field_kinds import Tab
from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.permission import Permission
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    editor_for,
    installation,
    may,
    require,
    visible,
)
from outkey.hosts.django.pages.configurations.first_line import url_of_first_line
from outkey.hosts.django.pages.configurations.form import (
    ConfigurationForm,
    condition_as_json,
)
from outkey.hosts.django.pages.configurations.import_reports import (
    ShownReport,
    take_report,
)
from outkey.hosts.django.pages.configurations.new import (
    beginning_of,
    record_of,
    signed_record,
)
from outkey.hosts.django.pages.configurations.repetitions import take_repetition
from outkey.hosts.django.pages.configurations.rotation import rotation_panel
from outkey.hosts.django.pages.configurations.tested_drafts import (
    GoodTest,
    good_test_of,
)
from outkey.hosts.django.pages.configurations.token_panel import (
    CONSENT_URLS,
    TOKEN_TABS,
    panel_for,
    redirect_url,
    token_tab,
)
from outkey.hosts.django.pages.installation.activity_rows import history_of
from outkey.hosts.django.pages.shell import (
    UNTIL_TESTED,
    configuration_at,
    limited_concurrency,
    next_step,
    page,
    url_of,
)
from outkey.hosts.django.rows.storage import health_of
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.fields import BY_PATH, path_of_secret

DAY_SECONDS = 24 * 60 * 60
COUNTED_RECORDS = 100_000  # more would take longer than a page may


def add_page(request: HttpRequest) -> HttpResponse:
    """Show and save the form of a new configuration."""
    require(request, Permission.ADD)
    if request.method == "POST":
        return save(request, None)
    return form_page(request, None)


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
    administration = administration_for(request.user)
    good_test = good_test_of(request, edit)
    try:
        record = ""
        if stored is None and "record" in values:
            record = record_of(values["record"]).hex
        application.save_edit(
            administration,
            edit,
            allowed=editor.allowed,
            limit=limited_concurrency,
            record=record,
        )
    except OutkeyError as error:
        errors: Errors = {}
        add_error(errors, error, edit.configuration.values())
        return form_page(request, stored, posted=values, errors=errors)
    saved = administration.current(edit.configuration.name)
    if good_test:
        administration.save_good_test(saved, good_test.at, good_test.seen)
    done = _("%s was saved.") % saved.name
    message = f"{done} {_step_after_save(saved, good_test)}"
    messages.success(request, message, extra_tags=UNTIL_TESTED)
    # What is left to do for a consent is on that tab.
    place = ""
    if stored is None and saved.needs_consent:
        place = f"#{token_tab(saved).name.lower()}"
    return HttpResponseRedirect(url_of("change", saved) + place)


def _step_after_save(saved: Configuration, good_test: GoodTest | None) -> str:
    """Return the next step after a save, or that nothing is left to do."""
    if good_test:
        return _("The test of these values counts.")
    if saved.needs_consent and not saved.unset_secrets():
        return _("Press Connect, so that a user agrees at the provider.")
    return next_step(saved)


def history_panel(request: HttpRequest, record: UUID) -> HttpResponse:
    """Return the newest changes and requests of a configuration, for its tab."""
    require(request, Permission.VIEW, Permission.VIEW_AUDIT)
    stored = configuration_at(record)
    context = {
        "stored": stored,
        "may_view_audit": True,
        **history_of(request, stored),
    }
    return render(request, "outkey/records.html", context)


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
        "old_name": stored.name,
        "own_url": url_of("change", stored),
        "name": new_name,
        "error": error,
    }
    return page(request, "outkey/rename.html", context, status=422 if error else 200)


def delete_page(request: HttpRequest, record: UUID) -> HttpResponse:
    """Ask, and delete a configuration with its secrets and lines."""
    require(request, Permission.DELETE)
    stored = configuration_at(record)
    application = installation()
    administration = administration_for(request.user)
    error = None
    if request.method == "POST":
        try:
            administration.remove(stored.name, application.sync_settings)
        except ConfigError as problem:
            error = problem
        else:
            messages.success(request, _("%s was deleted.") % stored.name)
            url = reverse("admin:outkey_configuration_changelist")
            return HttpResponseRedirect(url)
    context = {
        "title": _("Delete %s") % stored.name,
        "stored": stored,
        "record": record,
        "dependents": application.dependents(administration, configuration=stored.name),
        "error": error,
    }
    return page(request, "outkey/delete.html", context, status=422 if error else 200)


def form_page(
    request: HttpRequest,
    stored: Configuration | None,
    *,
    posted: Mapping[str, str] | None = None,
    errors: Errors | None = None,
    imported: ShownReport | None = None,
) -> HttpResponse:
    """Draw the form, with what was posted and its errors if it was not saved.

    That of a new configuration begins with what its URL describes. `imported` is the
    report of the import that made a stored one.
    """
    beginning = beginning_of(request) if stored is None else None
    initial = beginning.initial if beginning else None
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
        "first": form.first_fields(),
        "test_path": form.test_path(findings),
        "top": form.findings_of_no_field(findings),
        "token_tabs": TOKEN_TABS,
        "redirect_when": condition_as_json(*map(BY_PATH.__getitem__, CONSENT_URLS)),
        "redirect_tab": (token_tab(stored) if stored else Tab.OAUTH2).name,
        "editable": may(request, Permission.CHANGE if stored else Permission.ADD),
        "may_test": may_test,
        "may_run": may_test and may(request, Permission.EDIT_SCRIPT),
        "imported": imported,
    }
    if stored is not None:
        context |= _stored_context(request, stored)
    else:
        given = (posted or request.GET).get("record", "")
        signed = signed_record(given)
        context |= {
            "signed_record": signed,
            "redirect_url": redirect_url(request, record_of(signed)),
        }
    if beginning is not None:
        context |= {
            "beginning": beginning,
            "preset": beginning.preset,
            "preset_method": beginning.preset_method,
        }
    if beginning is not None and beginning.preset_method is not None:
        context["to_enter"] = [
            (name, path_of_secret(name, beginning.initial.values), place)
            for name, place in beginning.preset_method.secrets.items()
        ]
    status = 200 if posted is None else 422
    return page(request, "outkey/form.html", context, status=status)


def _stored_context(request: HttpRequest, stored: Configuration) -> dict[str, object]:
    """Return the context of a form of a stored configuration besides its fields."""
    application = installation()
    record = UUID(stored.record)
    health = health_of(visible(models.Configuration).get(pk=record))
    may_view_audit = may(request, Permission.VIEW_AUDIT)
    return {
        **(history_of(request, stored) if may_view_audit else {}),
        "title": stored.name,
        "stored": stored,
        "record": record,
        "health": health,
        "status": health.status(now=time.time(), sealed=application.keys.is_sealed()),
        "good_requests": good_requests(stored) if health.accepted else 0,
        "token": panel_for(request, stored),
        "rotation": rotation_panel(request, stored),
        "redirect_url": redirect_url(request, record),
        "may_add": may(request, Permission.ADD),
        "may_view_audit": may_view_audit,
        "repeated": take_repetition(request, stored),
        "may_delete": may(request, Permission.DELETE),
        "to_enter": _secrets_to_enter(stored),
        "line_url": url_of_first_line(request, stored, health),
    }


def good_requests(stored: Configuration) -> int:
    """Return how many requests succeeded in the last day, among the newest records.

    For a limited user it is 0: the records have the name, which may have been that of
    another owner's configuration before.
    """
    if installation().reach.is_limited:
        return 0
    newest = models.AuditRecord.objects.aggregate(Max("id"))["id__max"] or 0
    since = (time.time() - DAY_SECONDS) * 1000
    return models.AuditRecord.objects.filter(
        configuration=stored.name,
        id__gt=newest - COUNTED_RECORDS,
        at__gte=int(since),
        outcome="ok",
    ).count()


def _secrets_to_enter(stored: Configuration) -> list[tuple[str, str, str]]:
    """Return the missing secrets of a preset's configuration.

    Each is a name, the path of its field, and where a user finds it.
    """
    presets = installation().presets
    missing = stored.unset_secrets()
    if not missing or stored.preset not in presets.names():
        return []
    places: dict[str, str] = {}
    for method in presets.get(stored.preset).methods.values():
        places = {**method.secrets, **places}
    settings = stored.values()
    return [
        (name, path_of_secret(name, settings), places.get(name, "")) for name in missing
    ]
