"""Home, audit and keys: what needs attention, what was sent, and what seals it."""

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from django.contrib import messages
from django.db.models import Count, F, IntegerField, Max
from django.db.models.functions import Cast
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.core.access.permissions import Permission
from outkey.core.audit.events import Tag
from outkey.core.errors import ConfigError, OutkeyError
from outkey.core.findings.health import Status
from outkey.core.findings.posture import Policy
from outkey.core.vault import voucher
from outkey.core.vault.versions import SecretLabel
from outkey.engine.managing.overview import (
    CHART_HOURS,
    ChartBar,
    Overview,
    build_overview,
    hourly_bars,
)
from outkey.hosts.django.models import (
    AuditRecord,
    Configuration,
    SecretValue,
)
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
)
from outkey.hosts.django.pages.configurations import ListedConfiguration
from outkey.hosts.django.pages.shell import message_of, page

HOUR_MS = 3_600_000
DAY = 86_400
CHART_RECORDS = 100_000  # a chart of more would take longer than a page may
ATTENTION_SIZE = 12
NOTICES_SIZE = 20
PAGE_SIZE = 50
ROW_NUMBER = re.compile(r"[0-9]{1,18}")


def home_page(request: HttpRequest) -> HttpResponse:
    """Show what needs attention, and the attempts of the last day."""
    require(request, Permission.VIEW)
    application = installation()
    now = time.time()
    policy, problem = read_policy()
    overview = build_overview(
        application.registry.summaries(),
        application.open_notices(),
        now=now,
        sealed=application.keys.is_sealed(),
        policy=policy,
        secret_ages=ages_of_old_secrets(now - policy.secret_days * DAY),
    )
    rows = rows_by_name(names_on_page(overview))
    attention = [
        (ListedConfiguration(rows[name], entry.summary.health, entry.status), entry)
        for entry in overview.attention[:ATTENTION_SIZE]
        if (name := entry.summary.name) in rows  # not deleted a moment ago
    ]
    counts = overview.counts
    name = request.GET.get("configuration", "")
    context = {
        "title": _("API Sync"),
        "counts": [(status, counts[status]) for status in Status if counts[status]],
        "attention": [(listed, entry.notice) for listed, entry in attention],
        "more": max(0, len(overview.attention) - ATTENTION_SIZE),
        "notices": overview.notices[:NOTICES_SIZE],
        "more_notices": max(0, len(overview.notices) - NOTICES_SIZE),
        "posture": posture_context(overview, rows, problem),
        "bars": attempt_bars(name) if may(request, Permission.VIEW_AUDIT) else [],
        "configuration": name,
    }
    return page(request, "outkey/home.html", context)


def read_policy() -> tuple[Policy, ConfigError | None]:
    """Return the operator's policy; the default one with the error it has."""
    try:
        return installation().policy(), None
    except ConfigError as error:
        return Policy(), error


def names_on_page(overview: Overview) -> Iterator[str]:
    """Yield the names of the configurations that the home page links to."""
    for entry in overview.attention[:ATTENTION_SIZE]:
        yield entry.summary.name
    for weakness in overview.weaknesses:
        yield from weakness.names


def rows_by_name(names: Iterable[str]) -> dict[str, Configuration]:
    """Return the rows of configurations, which links are made from."""
    rows = Configuration.objects.defer("settings").filter(name__in=set(names))
    return {row.name: row for row in rows}


def posture_context(
    overview: Overview, rows: Mapping[str, Configuration], problem: ConfigError | None
) -> dict[str, object]:
    """Return what the panel on posture shows."""
    weaknesses = [
        {
            "level": weakness.level,
            "message": weakness.message,
            "hint": weakness.hint,
            "rows": [rows[name] for name in weakness.names if name in rows],
            "more": weakness.more,
        }
        for weakness in overview.weaknesses
    ]
    return {"problem": problem, "counts": overview.levels, "weaknesses": weaknesses}


def ages_of_old_secrets(limit: float) -> dict[str, dict[str, float]]:
    """Return when secrets were set that are older than a moment, by configuration."""
    values = SecretValue.objects.filter(label=SecretLabel.CURRENT, set_at__lt=limit)
    values = values.exclude(field=voucher.VOUCHER_FIELD)
    ages: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for name, field, moment in values.values_list(
        "configuration__name", "field", "set_at"
    ):
        ages[name][field] = moment or 0
    return ages


def attempt_bars(configuration: str = "") -> list[ChartBar]:
    """Return the attempts of the last day by hour, among the newest records."""
    newest = AuditRecord.objects.aggregate(Max("id"))["id__max"] or 0
    this_hour = int(time.time() * 1000) // HOUR_MS
    first_hour = this_hour - CHART_HOURS + 1
    records = AuditRecord.objects.filter(
        id__gt=newest - CHART_RECORDS, at__gte=first_hour * HOUR_MS
    )
    records = records.exclude(outcome="")
    if configuration:
        records = records.filter(configuration=configuration)
    hour = Cast(F("at") / HOUR_MS, IntegerField())
    counts = records.values_list(hour, "outcome").annotate(Count("id"))
    return hourly_bars(counts, this_hour)


def audit_page(request: HttpRequest) -> HttpResponse:
    """List the audit, newest first, with filters and keyset paging."""
    require(request, Permission.VIEW_AUDIT)
    names = ("configuration", "outcome")
    choices = {name: request.GET.get(name, "").strip() for name in names}
    before = request.GET.get("before", "")
    columns = {name: value for name, value in choices.items() if value}
    last = int(before) if ROW_NUMBER.fullmatch(before) else 0
    rows = installation().audit_trail.rows.newest(PAGE_SIZE + 1, before=last, **columns)
    records = rows[:PAGE_SIZE]
    context = {
        "title": _("Audit"),
        "records": records,
        "chosen": choices,
        "older": records[-1]["id"] if len(rows) > PAGE_SIZE else None,
        "verdict": request.session.pop("outkey_verdict", None),
    }
    return page(request, "outkey/audit.html", context)


@require_POST
def audit_verify(request: HttpRequest) -> HttpResponse:
    """Check the chain and show the verdict."""
    require(request, Permission.VIEW_AUDIT)
    application = installation()
    try:
        verdict = application.audit_trail.verify()
    except OutkeyError as error:
        messages.error(request, message_of(error))
    else:
        request.session["outkey_verdict"] = asdict(verdict)
    return HttpResponseRedirect(reverse("admin:outkey_auditrecord_changelist"))


@require_POST
def audit_export(request: HttpRequest) -> HttpResponseBase:
    """Return all records as JSON Lines."""
    require(request, Permission.VIEW_AUDIT)
    administration_for(request.user).note(Tag.AUDIT_EXPORTED)
    lines = (row.body + b"\n" for row in installation().audit_trail.rows.read())
    response = StreamingHttpResponse(lines, content_type="application/jsonl")
    response["Content-Disposition"] = 'attachment; filename="audit.jsonl"'
    return response


def keys_page(request: HttpRequest) -> HttpResponse:
    """Show the keys and how many secrets each seals."""
    require(request, Permission.VIEW_KEYS)
    application = installation()
    keys = []
    problem = None
    try:
        uses = application.rotation.uses()
        keys = [(key, uses.get(key.name, 0)) for key in application.keys.fresh().keys]
    except OutkeyError as error:
        problem = error
    context = {
        "title": _("Keys"),
        "keys": keys,
        "problem": problem,
        "may_rotate": may(request, Permission.ROTATE_KEYS),
    }
    return page(request, "outkey/keys.html", context)


@require_POST
def keys_step(request: HttpRequest, step: str) -> HttpResponse:
    """Take one step of a rotation; every unsafe one is refused."""
    require(request, Permission.ROTATE_KEYS)
    try:
        message = take_step(request, step, request.POST.get("key", ""))
    except OutkeyError as error:
        messages.error(request, message_of(error))
    else:
        messages.success(request, message)
    return HttpResponseRedirect(reverse("admin:outkey_knownkey_changelist"))


def take_step(request: HttpRequest, step: str, name: str) -> str:
    """Take a step of a rotation, and return what to do next."""
    keys = installation().key_administration(administration_for(request.user))
    if step == "add":
        added = keys.add()
        return _("The key %s was added. Promote it when every process has it.") % added
    if step == "promote":
        keys.promote(name)
        return _("New secrets are encrypted with %s. Now rewrap the others.") % name
    if step == "retire":
        keys.retire(name)
        return _("The key %s was retired.") % name
    if step != "rewrap":
        raise Http404
    return _("%s secrets were rewrapped.") % sum(keys.rewrap())
