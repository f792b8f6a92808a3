"""Home, audit and keys: what needs attention, what was sent, and what seals it."""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

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

from outkey.core.audit.events import Tag
from outkey.core.errors import OutkeyError
from outkey.core.findings.health import Status
from outkey.engine.managing.monitoring import open_notices
from outkey.hosts.django.models import AuditRecord, Configuration
from outkey.hosts.django.pages.access import desk_for, installation, may, require
from outkey.hosts.django.pages.configurations import Listed, page
from outkey.hosts.django.pages.posture import Panel
from outkey.hosts.django.registry import health_of

_HOUR_MS = 3_600_000
_HOURS = 24
_CHARTED = 100_000  # records; a chart of more would take longer than a page may
_ATTENTION = 12
_NOTICES = 20
# How the notices begin that say no more than a status does.
_REPEATED = {
    Status.REAUTHORIZATION_NEEDED: "S-person-needed",
    Status.PAUSED: "S-paused",
    Status.FAILING: "S-failing",
    Status.EXPIRED: "S-token-ends",
    Status.EXPIRING_SOON: "S-token-ends",
}
Facts = dict[str, object]
_PAGE = 50
_ROW = re.compile(r"[0-9]{1,18}")
# Outcomes of what outkey itself did not send, or did not follow.
_REFUSALS = frozenset(
    {
        "egress_denied",
        "redirect_blocked",
        "rate_limited",
        "secret_missing",
        "configuration",
    }
    | {
        "sealed",
        "secret_rebind_required",
        "inactive",
        "header_conflict",
        "audit_unavailable",
    }
    | {"paused"}
)


@dataclass(frozen=True)
class Bar:
    """One hour of the chart: heights in percent of the highest one."""

    hour: str
    ok: float
    failed: float
    refused: float
    total: int


def home_page(request: HttpRequest) -> HttpResponse:
    """Show what needs attention, and the attempts of the last day."""
    require(request, "view_configuration")
    here, now = installation(), time.time()
    sealed = here.keys.is_sealed()
    counts: Counter[Status] = Counter()
    attention: list[Listed] = []
    posture = Panel(now)
    for row in Configuration.objects.defer("settings").order_by("name").iterator():
        standing = health_of(row)
        status = standing.status(now=now, sealed=sealed)
        posture.look(row, standing)
        counts[status] += 1
        if status is not Status.WORKING:
            attention.append(Listed(row, standing, status))
    attention.sort(key=lambda found: (list(Status).index(found.status), found.row.name))
    repeated, notices = _told(attention)
    name = request.GET.get("configuration", "")
    context = {
        "title": _("API Sync"),
        "counts": [(status, counts[status]) for status in Status if counts[status]],
        "total": sum(counts.values()),
        "attention": [
            (one, repeated.get(one.row.name)) for one in attention[:_ATTENTION]
        ],
        "more": max(0, len(attention) - _ATTENTION),
        "notices": notices[:_NOTICES],
        "more_notices": max(0, len(notices) - _NOTICES),
        "posture": posture,
        "bars": list(chart(name)) if may(request, "view_auditrecord") else [],
        "configuration": name,
    }
    return page(request, "outkey/home.html", context)


def _told(attention: list[Listed]) -> tuple[dict[str, Facts], list[Facts]]:
    """Return the notices that only repeat a status, by name, and the others, newest first."""
    statuses = {found.row.name: found.status for found in attention}
    repeated: dict[str, Facts] = {}
    others: list[Facts] = []
    for notice in reversed(open_notices(installation().states)):
        kind, name, _about = notice.condition
        beginning = _REPEATED.get(statuses.get(name, Status.WORKING))
        if beginning and kind.startswith(beginning):
            repeated[name] = notice.facts()
        else:
            others.append(notice.facts())
    return repeated, others


def chart(configuration: str = "") -> Iterator[Bar]:
    """Count the attempts of the last day by hour and outcome, among the newest records."""
    newest = AuditRecord.objects.aggregate(Max("id"))["id__max"] or 0
    this_hour = int(time.time() * 1000) // _HOUR_MS
    first = this_hour - _HOURS + 1
    records = AuditRecord.objects.filter(
        id__gt=newest - _CHARTED, at__gte=first * _HOUR_MS
    )
    records = records.exclude(outcome="")
    if configuration:
        records = records.filter(configuration=configuration)
    hours: defaultdict[int, Counter[str]] = defaultdict(Counter)
    hour = Cast(F("at") / _HOUR_MS, IntegerField())
    for at, outcome, count in records.values_list(hour, "outcome").annotate(
        Count("id")
    ):
        kind = (
            "ok" if outcome == "ok" else "refused" if outcome in _REFUSALS else "failed"
        )
        hours[int(at)][kind] += count
    highest = max((sum(found.values()) for found in hours.values()), default=0) or 1
    for number in range(first, this_hour + 1):
        found = hours[number]
        label = datetime.fromtimestamp(number * 3600, UTC).strftime("%H:00")
        kinds = ("ok", "failed", "refused")
        ok, failed, refused = (found[kind] * 100 / highest for kind in kinds)
        yield Bar(label, ok, failed, refused, sum(found.values()))


def audit_page(request: HttpRequest) -> HttpResponse:
    """List the audit, newest first, with filters and keyset paging."""
    require(request, "view_auditrecord")
    chosen = {
        name: request.GET.get(name, "").strip() for name in ("configuration", "outcome")
    }
    before = request.GET.get("before", "")
    columns = {name: value for name, value in chosen.items() if value}
    last = int(before) if _ROW.fullmatch(before) else 0
    records = installation().audit_rows.newest(_PAGE + 1, before=last, **columns)
    shown = records[:_PAGE]
    context = {
        "title": _("Audit"),
        "records": shown,
        "chosen": chosen,
        "older": shown[-1]["id"] if len(records) > _PAGE else None,
        "verdict": request.session.pop("outkey_verdict", None),
    }
    return page(request, "outkey/audit.html", context)


@require_POST
def audit_verify(request: HttpRequest) -> HttpResponse:
    """Check the chain and show the verdict."""
    require(request, "view_auditrecord")
    here = installation()
    try:
        found = here.verify_audit()
    except OutkeyError as error:
        messages.error(request, f"{error.message} {error.hint or ''}")
    else:
        request.session["outkey_verdict"] = asdict(found)
    return HttpResponseRedirect(reverse("admin:outkey_auditrecord_changelist"))


@require_POST
def audit_export(request: HttpRequest) -> HttpResponseBase:
    """Hand out all records as JSON Lines."""
    require(request, "view_auditrecord")
    desk_for(request.user).note(Tag.AUDIT_EXPORTED)
    lines = (row.body + b"\n" for row in installation().audit_rows.read())
    response = StreamingHttpResponse(lines, content_type="application/jsonl")
    response["Content-Disposition"] = 'attachment; filename="audit.jsonl"'
    return response


def keys_page(request: HttpRequest) -> HttpResponse:
    """Show the keys and how many secrets each seals."""
    require(request, "view_knownkey")
    here = installation()
    keys, problem = [], None
    try:
        uses = here.registry.key_uses()
        keys = [(key, uses.get(key.name, 0)) for key in here.keys.fresh().keys]
    except OutkeyError as error:
        problem = error
    rotates = may(request, "rotate_keys")
    context = {
        "title": _("Keys"),
        "keys": keys,
        "problem": problem,
        "may_rotate": rotates,
    }
    return page(request, "outkey/keys.html", context)


@require_POST
def keys_step(request: HttpRequest, step: str) -> HttpResponse:
    """Take one step of a rotation; every unsafe one is refused."""
    require(request, "rotate_keys")
    try:
        message = _take(request, step, request.POST.get("key", ""))
    except OutkeyError as error:
        messages.error(request, f"{error.message} {error.hint or ''}")
    else:
        messages.success(request, message)
    return HttpResponseRedirect(reverse("admin:outkey_knownkey_changelist"))


def _take(request: HttpRequest, step: str, name: str) -> str:
    here, desk = installation(), desk_for(request.user)
    if step == "add":
        added = here.rotation.add(lambda key: desk.note(Tag.KEY_ADDED, key=key))
        return _("The key %s is added. Promote it when every process has it.") % added
    if step == "promote":
        here.rotation.promote(name, lambda key: desk.note(Tag.KEY_PROMOTED, key=key))
        return _("New secrets are sealed with %s. Now rewrap the others.") % name
    if step == "retire":
        here.rotation.retire(name, lambda key: desk.note(Tag.KEY_RETIRED, key=key))
        return _("The key %s is retired.") % name
    if step != "rewrap":
        raise Http404
    desk.note(Tag.KEY_REWRAPPED, key=here.keys.ring().primary.name)
    return _("%s secrets were rewrapped.") % sum(here.secrets.rewrap())
