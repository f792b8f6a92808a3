"""The pages of API Sync Configurations: list, form, test, preview, deletion."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import wraps
from uuid import UUID

from django.contrib import admin, messages
from django.core import signing
from django.db.models import F, Q, QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.adapters.tokens_memory import MemoryTokens
from outkey.core.access.permissions import HINT, changes_script, requirements
from outkey.core.config.configuration import Configuration, SecretState
from outkey.core.config.field_kinds import check_method
from outkey.core.config.fields import BY_PATH
from outkey.core.config.secret_values import refuse_unusable
from outkey.core.errors import (
    Cause,
    ConfigError,
    HostError,
    OutkeyError,
    ScriptFailed,
    UnknownConfiguration,
)
from outkey.core.findings.checks import WARN_DAYS, Finding
from outkey.core.findings.health import Health, Status
from outkey.core.request.assembly import Call
from outkey.core.text import Text
from outkey.engine.managing.changes import ConfigurationChange
from outkey.engine.managing.connection_test import Report
from outkey.engine.managing.fixes import difference
from outkey.engine.managing.test_setup import DraftPorts
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    desk_for,
    installation,
    may,
    offered_references,
    require,
)
from outkey.hosts.django.pages.forms import (
    ConfigurationForm,
    DraftSecrets,
    Entered,
    conditions_of,
)
from outkey.hosts.django.pages.sent_text import refuse_nul
from outkey.hosts.django.pages.token_panel import panel_for, redirect_url
from outkey.hosts.django.registry import health_of

PAGE = 50
# Tests wait for other people's servers; they must leave threads for the other pages.
_running = threading.BoundedSemaphore(12)
_FILTERS = ("environment", "network", "authentication_type")
FIX = "outkey.fix"  # what signatures under proposals are for
_OF_SCRIPTS = ("script_enabled", "script")  # what needs the permission edit_script


@dataclass(frozen=True)
class Listed:
    """One line of the list."""

    row: models.Configuration
    standing: Health
    status: Status


def list_page(request: HttpRequest) -> HttpResponse:
    """List configurations, fifty at a time; opens no secret."""
    require(request, "view_configuration")
    here, now = installation(), time.time()
    sealed = here.keys.is_sealed()
    chosen = {name: request.GET.get(name, "") for name in (*_FILTERS, "status", "q")}
    found = _filtered(chosen)
    after, before = request.GET.get("after", ""), request.GET.get("before", "")
    if before:
        rows = list(found.filter(name__lt=before).order_by("-name")[: PAGE + 1])[::-1]
        earlier, later = len(rows) > PAGE, True
        rows = rows[-PAGE:]
    else:
        rows = list(found.filter(name__gt=after).order_by("name")[: PAGE + 1])
        earlier, later = bool(after), len(rows) > PAGE
        rows = rows[:PAGE]
    listed = []
    for row in rows:
        standing = health_of(row)
        listed.append(Listed(row, standing, standing.status(now=now, sealed=sealed)))
    context = {
        "title": _("API Sync Configurations"),
        "listed": listed,
        "chosen": chosen,
        "filtered": any(chosen.values()),
        "filters": [BY_PATH[name] for name in _FILTERS],
        "statuses": [s for s in Status if s is not Status.SEALED],
        "previous": rows[0].name if rows and earlier else "",
        "next": rows[-1].name if rows and later else "",
        "may_add": may(request, "add_configuration"),
    }
    return page(request, "outkey/list.html", context)


def _filtered(chosen: dict[str, str]) -> QuerySet[models.Configuration]:
    found = models.Configuration.objects.defer("settings")
    for name in _FILTERS:
        if chosen[name]:
            found = found.filter(**{name: chosen[name]})
    if chosen["q"]:
        found = found.filter(
            Q(name__icontains=chosen["q"]) | Q(base_url__icontains=chosen["q"])
        )
    today = datetime.now(UTC).date()
    current = Q(tested_revision=F("revision"))
    # In the order of what needs attention first, as a status is chosen.
    conditions = {
        Status.NEEDS_SECRET: Q(needs_secret=True),
        Status.REAUTHORIZATION_NEEDED: (
            Q(needs_person=True) | (current & Q(cause=Cause.REAUTHORIZATION_NEEDED))
        ),
        Status.PAUSED: Q(paused_at__isnull=False),
        Status.EXPIRED: Q(expires_on__lt=today),
        Status.FAILING: current & ~Q(cause=""),
        Status.EXPIRING_SOON: Q(expires_on__lte=today + timedelta(days=WARN_DAYS)),
        Status.NEVER_TESTED: ~current,
    }
    if chosen["status"] not in {*conditions, Status.WORKING}:
        return found
    for status, condition in conditions.items():
        if status == chosen["status"]:
            return found.filter(condition)
        found = found.exclude(condition)
    return found


def edit_page(request: HttpRequest, record: UUID | None = None) -> HttpResponse:
    """Show and save one configuration."""
    stored = stored_at(record)
    permission = "change_configuration" if stored else "add_configuration"
    if request.method != "POST":
        require(request, "view_configuration" if stored else permission)
        return _form_page(request, _form(request, stored), stored)
    require(request, permission)
    form = _form(request, stored, request.POST)
    entered = form.entered()
    if entered is not None and _allowed(request, form, stored, entered):
        try:
            _keep(request, stored, entered)
        except ConfigError as error:
            form.refuse(error)
        except OutkeyError as error:
            form.refuse(ConfigError(error.message, hint=error.hint, field=error.field))
        else:
            name = entered.configuration.name
            messages.success(
                request, _("%s is saved. Test it as it is kept now.") % name
            )
            kept = installation().registry.get(entered.configuration.name)
            return HttpResponseRedirect(url_of("change", kept))
    return _form_page(request, form, stored, status=422)


def _form(
    request: HttpRequest, stored: Configuration | None, posted: QueryDict | None = None
) -> ConfigurationForm:
    locked = () if may(request, "edit_script") else _OF_SCRIPTS
    return ConfigurationForm(
        stored, posted, offered=offered_references(), locked=locked
    )


def delete_page(request: HttpRequest, record: UUID) -> HttpResponse:
    """Ask, and delete a configuration with its secrets and lines."""
    require(request, "delete_configuration")
    stored = stored_at(record)
    assert stored is not None  # noqa: S101 - a record was given
    if request.method == "POST":
        desk_for(request.user).remove(stored.name)
        messages.success(request, _("%s is deleted.") % stored.name)
        return HttpResponseRedirect(reverse("admin:outkey_configuration_changelist"))
    context = {
        "title": _("Delete %s") % stored.name,
        "stored": stored,
        "record": record,
    }
    return page(request, "outkey/delete.html", context)


@require_POST
def try_panel(request: HttpRequest, record: UUID | None = None) -> HttpResponseBase:
    """Test what is on the page, saved or not, and send each step when it is done."""
    require(request, "test_configuration")
    stored = stored_at(record)
    drafted = draft_on(request, stored)
    if isinstance(drafted, HttpResponse):
        return drafted
    pieces = _counted(_tested(request, stored, *drafted))
    return StreamingHttpResponse(pieces, content_type="text/html; charset=utf-8")


def _counted(pieces: Iterator[str]) -> Iterator[str]:
    # Here and not before: what never begins to be read would never be given back.
    try:
        with waiting():
            yield from pieces
    except ConfigError as busy:
        yield render_to_string("outkey/refused.html", {"errors": [busy]})


@contextmanager
def waiting(places: threading.BoundedSemaphore = _running) -> Iterator[None]:
    """Wait for somebody else's server, unless too many do so already."""
    if not places.acquire(blocking=False):
        raise ConfigError(
            _("many tests are running"), hint=_("Try again when they have ended.")
        )
    try:
        yield
    finally:
        places.release()


def _tested(
    request: HttpRequest,
    stored: Configuration | None,
    draft: Configuration,
    secrets: DraftSecrets,
) -> Iterator[str]:
    here, desk = installation(), desk_for(request.user)
    desk.note_test(draft.name, draft.script if changes_script(stored, draft) else "")
    tried = draft
    if draft != stored:
        # A draft must not use up the permits, nor fill the record, of what is kept; and a marker
        # that is matched against answers could be used to guess a secret that they echo.
        marker = stored.verification.expired_marker if stored else ""
        verification = replace(draft.verification, expired_marker=marker)
        tried = replace(draft, name=f"{draft.name} (draft)", verification=verification)
    drafted = None if draft == stored else DraftPorts(secrets, MemoryTokens(time.time))
    trial = here.connection_test(tried, drafted)
    for step in trial.steps():
        yield render_to_string("outkey/test_step.html", {"step": step})
    report = trial.report()
    here.audit.flush()  # so that the history shows how it ended
    if draft == stored:
        desk.keep_trial(stored, report, time.time())
    fixable = (
        stored if draft == stored and may(request, "change_configuration") else None
    )
    context = {"report": report, "draft": draft, "reasons": _reasons(report, fixable)}
    yield render_to_string("outkey/test_verdict.html", context)


def _reasons(
    report: Report, stored: Configuration | None
) -> Iterator[dict[str, object]]:
    """Give each reason with what outkey would change, and a signature under that."""
    for suspicion in report.suspicions:
        fix = suspicion.fix if stored else None
        shown: dict[str, object] = {"suspicion": suspicion}
        if fix and stored:
            seen = (stored.record, stored.version, stored.revision)
            proposal = (*seen, fix.label.to_json(), fix.changes, fix.tidied)
            shown |= {
                "difference": difference(stored, fix),
                "proposal": signing.dumps(proposal, salt=FIX),
                "record": UUID(stored.record),
            }
        yield shown


@require_POST
def preview_panel(request: HttpRequest, record: UUID | None = None) -> HttpResponse:
    """Show the exact request of what is on the page, saved or not, secrets masked."""
    require(request, "view_configuration")
    stored = stored_at(record)
    drafted = draft_on(request, stored)
    if isinstance(drafted, HttpResponse):
        return drafted
    draft, secrets = drafted
    if changes_script(stored, draft):  # which runs the script, with the secret
        require(request, "test_configuration")
        desk_for(request.user).note_test(draft.name, draft.script)
    if draft != stored:
        draft = replace(
            draft, name=f"{draft.name} (draft)"
        )  # with processes of its own
    verification = draft.verification
    call = Call(
        draft, check_method(verification.test_method, field=""), verification.test_path
    )
    try:
        with waiting():
            shown = installation().preview(call, secrets)
    except OutkeyError as error:
        return render(request, "outkey/refused.html", {"errors": [error]})
    return render(
        request, "outkey/preview.html", {"shown": shown, "curl": shown.curl()}
    )


def draft_on(
    request: HttpRequest, stored: Configuration | None
) -> tuple[Configuration, DraftSecrets] | HttpResponse:
    """Return the configuration on the page; who may not change it gets the one that is kept."""
    kept = installation().secrets
    if not may(request, "change_configuration"):
        if stored is None:
            raise Http404
        return stored, DraftSecrets(stored, kept)
    form = _form(request, stored, request.POST)
    entered = form.entered()
    name = entered.configuration.name if entered else ""
    if stored is None and models.Configuration.objects.filter(name=name).exists():
        form.refuse(
            ConfigError(
                _("there is a configuration of that name already"), field="name"
            )
        )
    if entered is None or not _allowed(request, form, stored, entered):
        return render(request, "outkey/refused.html", {"errors": form.errors.values()})
    # What was typed now is meant for the address that is on the page now.
    states = dict(entered.configuration.secrets) | {
        name: SecretState(entered.configuration.binding_of(name))
        for name in entered.secrets
    }
    draft = entered.configuration
    if entered.secrets:
        draft = replace(draft, secrets=states)
    return draft, DraftSecrets(stored, kept, entered.secrets, entered.cleared)


def _allowed(
    request: HttpRequest,
    form: ConfigurationForm,
    stored: Configuration | None,
    entered: Entered,
) -> bool:
    """Note at its field whatever the user lacks a permission for, or cannot be used."""
    touched = (*entered.secrets, *entered.references, *entered.cleared)
    for needed in requirements(stored, entered.configuration, touched):
        if not may(request, needed.permission):
            form.refuse(ConfigError(needed.message, hint=HINT, field=needed.field))
    for field, secret in entered.secrets.items():
        try:
            refuse_unusable(field, secret)
        except ConfigError as error:
            form.refuse(error)
    return not form.errors


def _keep(request: HttpRequest, stored: Configuration | None, entered: Entered) -> None:
    desk, made = desk_for(request.user), entered.configuration
    if made.script and (stored is None or stored.script != made.script):
        with waiting():
            _prove(made)
    change = ConfigurationChange(stored, made, entered.secrets, tuple(entered.cleared))
    desk.save(change)


def _prove(made: Configuration) -> None:
    """Refuse a script whose own examples give something else, at its field."""
    try:
        installation().prove_examples([made])
    except OutkeyError as error:
        hint = error.hint
        if hint == ScriptFailed.default_hint:
            hint = Text(
                "This happened in an example of GOLDEN, before the script was saved."
            )
        raise ConfigError(error.message, hint=hint, field="script") from None


def _form_page(
    request: HttpRequest,
    form: ConfigurationForm,
    stored: Configuration | None,
    status: int = 200,
) -> HttpResponse:
    here = installation()
    findings: list[Finding] = []
    records: list[dict[str, object]] = []
    if stored is not None:
        findings = here.findings(stored)
        if may(request, "view_auditrecord"):
            records = here.audit_rows.newest(20, configuration=stored.name)
    standing = status_now = None
    if stored is not None:
        standing = health_of(models.Configuration.objects.get(pk=UUID(stored.record)))
        status_now = standing.status(now=time.time(), sealed=here.keys.is_sealed())
    context = {
        "status": status_now,
        "standing": standing,
        "title": stored.name if stored else _("New API Sync Configuration"),
        "form": form,
        "tabs": form.tabs(findings),
        "top": form.elsewhere(findings),
        "stored": stored,
        "token": panel_for(request, stored),
        "redirect_url": redirect_url(request, UUID(stored.record)) if stored else "",
        "redirect_when": conditions_of(BY_PATH["oauth2.authorization_url"]),
        "record": UUID(stored.record) if stored else None,
        "records": records,
        "editable": may(
            request, "change_configuration" if stored else "add_configuration"
        ),
        "may_test": may(request, "test_configuration"),
        "may_run": may(request, "edit_script") and may(request, "test_configuration"),
        "may_delete": bool(stored) and may(request, "delete_configuration"),
    }
    return page(request, "outkey/form.html", context, status=status)


def stored_at(record: UUID | None) -> Configuration | None:
    """Return the configuration of a page; a new one has none yet."""
    if record is None:
        return None
    row = models.Configuration.objects.filter(pk=record).first()
    if row is None:
        raise Http404
    try:
        return installation().registry.get(row.name)
    except UnknownConfiguration:
        raise Http404 from None


def url_of(view: str, configuration: Configuration) -> str:
    """Return where a page of a configuration is."""
    return reverse(
        f"admin:outkey_configuration_{view}", args=[UUID(configuration.record)]
    )


def page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, object],
    status: int = 200,
) -> HttpResponse:
    """Render a page inside the admin site."""
    known = {"sealed": installation().keys.is_sealed()}
    everything = {**admin.site.each_context(request), **known, **context}
    return render(request, template, everything, status=status)


def told(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Show what outkey refuses or cannot do as a page, and not as a failure of the server."""

    @wraps(view)
    def shown(
        request: HttpRequest, *args: object, **kwargs: object
    ) -> HttpResponseBase:
        try:
            refuse_nul(request)
            return view(request, *args, **kwargs)
        except OutkeyError as error:
            status = 503 if isinstance(error, HostError) else 422
            context = {"title": _("This could not be done"), "errors": [error]}
            return page(request, "outkey/problem.html", context, status=status)

    return shown
