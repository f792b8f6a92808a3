"""Activity: changes, sent requests and sign-ins; from the audit."""

import csv
import io
import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from django.contrib import messages
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
)
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from outkey.administration.core.watching.audit_words import details_of, subject_of
from outkey.administration.engine.watching.activity import (
    Activity,
    ActivityFilter,
    Facts,
    RequestGroup,
    RunSpan,
    SentRequest,
    id_of,
)
from outkey.administration.engine.watching.audit_trail import (
    note_chain_check,
    recorded_at,
)
from outkey.foundation.core.errors import Cause, OutkeyError
from outkey.foundation.core.moments import iso_to_milliseconds
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    require,
)
from outkey.hosts.django.pages.installation.activity_rows import (
    listed_changes,
    listed_requests,
    run_spans,
)
from outkey.hosts.django.pages.lists import (
    PAGE_SIZE,
    ListFilter,
    pager_to,
    read_choices,
)
from outkey.hosts.django.pages.shell import (
    attachment,
    configuration_names,
    message_of,
    page,
)
from outkey.hosts.django.rows.row_ids import row_id
from outkey.sending.core.audit.chain import CHANGE, FAILURE, SIGN_IN
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.configuration.configuration import Configuration

EXPORT_ROWS = 100_000  # of one file; the export of the whole audit has no limit
CHANGES, REQUESTS, SIGN_INS = "changes", "requests", "sign-ins"
TABS = {
    CHANGES: gettext_lazy("Changes"),
    REQUESTS: gettext_lazy("Requests"),
    SIGN_INS: gettext_lazy("Sign-ins"),
}
KINDS = {CHANGES: CHANGE, SIGN_INS: SIGN_IN}
PERIODS = {
    "hour": (gettext_lazy("last hour"), 3600),
    "day": (gettext_lazy("last 24 hours"), 86_400),
    "week": (gettext_lazy("last 7 days"), 7 * 86_400),
    "month": (gettext_lazy("last 30 days"), 30 * 86_400),
}
OUTCOME_CHOICES = (
    ("ok", gettext_lazy("ok")),
    (FAILURE, gettext_lazy("every failure")),
)
TIMES = ("period", "from", "to")
FILTERS = {
    CHANGES: ("configuration", "actor", *TIMES),
    REQUESTS: ("configuration", "outcome", *TIMES),
    SIGN_INS: ("actor", *TIMES),
}


def activity_page(request: HttpRequest) -> HttpResponse:
    """List changes, requests or sign-ins, newest first, with filters."""
    require(request, Permission.VIEW_AUDIT)
    tab = _chosen_tab(request)
    chosen = _chosen_filters(request, tab)
    stored = find_stored(chosen.get("configuration", ""))
    activity = Activity(installation().audit_trail.rows)
    criteria = _filter_of(chosen, stored)
    before = row_id(request.GET.get("before", "")) or 0
    periods = [(name, text) for name, (text, _length) in PERIODS.items()]
    context: dict[str, object] = {
        "title": _("Activity"),
        "tab": tab,
        "tabs": [
            (name, text, urlencode({"tab": name, **_chosen_filters(request, name)}))
            for name, text in TABS.items()
        ],
        "chosen": chosen,
        "is_filtered": bool(chosen),
        "outcome": _outcome_filter(request),
        "period": ListFilter.read(request, "period", _("When"), periods, _("any time")),
        "configurations": configuration_names(),
        "verdict": request.session.pop("outkey_verdict", None),
    }
    if tab == REQUESTS:
        listed = activity.requests(criteria, PAGE_SIZE, run_spans, before=before)
        context["requests"] = listed_requests(request, listed.items, stored)
        older = listed.older
    else:
        records = activity.records(KINDS[tab], criteria, PAGE_SIZE, before=before)
        context["changes"] = listed_changes(request, records.records, stored)
        older = records.older
    context["pager"] = pager_to(request, _("Older"), before=older)
    return page(request, "outkey/activity.html", context)


def _outcome_filter(request: HttpRequest) -> ListFilter:
    """Return the filter by outcome; it has the one of a link that is not offered."""
    choices: list[tuple[str, object]] = list(OUTCOME_CHOICES)
    chosen = request.GET.get("outcome", "").strip()
    if chosen and chosen not in dict(choices):
        cause = Cause(chosen).label if chosen in set(Cause) else chosen
        choices.append((chosen, cause))
    every = _("every outcome")
    return ListFilter.read(request, "outcome", _("Outcome"), choices, every)


def _chosen_tab(request: HttpRequest) -> str:
    """Return the tab of a URL; one that names an outcome is about requests."""
    tab = request.GET.get("tab", "")
    if tab in TABS:
        return tab
    return REQUESTS if request.GET.get("outcome") else CHANGES


def _chosen_filters(request: HttpRequest, tab: str) -> dict[str, str]:
    """Return the entered filters that apply to a tab."""
    entered = read_choices(request, *FILTERS[tab])
    return {name: value for name, value in entered.items() if value}


def find_stored(name: str) -> Configuration | None:
    """Return the configuration that has this name now, for its former names."""
    return installation().registry.find([name]).get(name) if name else None


def _filter_of(
    chosen: Mapping[str, str], stored: Configuration | None
) -> ActivityFilter:
    """Return the criteria that a user chose; dates are days in the user's time zone."""
    _text, length = PERIODS.get(chosen.get("period", ""), ("", None))
    since = time.time() - length if length else _day_start(chosen.get("from", ""))
    return ActivityFilter(
        configuration=chosen.get("configuration", ""),
        former_names=stored.former_names if stored else (),
        actor=chosen.get("actor", ""),
        outcome=chosen.get("outcome", ""),
        since=since,
        until=None if length else _day_start(chosen.get("to", ""), days=1),
    )


def _day_start(text: str, days: int = 0) -> float | None:
    """Return when a day begins, some days after a date; None for invalid text."""
    try:
        day = parse_date(text)
        if day is None:
            return None
        naive = datetime(day.year, day.month, day.day) + timedelta(days=days)  # noqa: DTZ001 - the zone follows
        return timezone.make_aware(naive).timestamp()
    except (ValueError, OverflowError):
        return None


@require_POST
def verify_chain(request: HttpRequest) -> HttpResponse:
    """Check the chain and show the verdict."""
    require(request, Permission.VIEW_AUDIT)
    application = installation()
    try:
        verdict = application.audit_trail.verify()
    except OutkeyError as error:
        messages.error(request, message_of(error))
    else:
        note_chain_check(application.states, verdict, time.time())
        application.audit_trail.note_verified(verdict)
        request.session["outkey_verdict"] = verdict.facts()
    return HttpResponseRedirect(reverse("admin:outkey_auditrecord_changelist"))


@require_POST
def export(request: HttpRequest) -> HttpResponseBase:
    """Return the listed records as CSV or JSON, or the whole audit as JSON Lines."""
    require(request, Permission.VIEW_AUDIT)
    administration_for(request.user).note(Tag.AUDIT_EXPORTED)
    format_ = request.POST.get("format", "")
    if format_ not in {"csv", "json"}:
        lines = (row.body + b"\n" for row in installation().audit_trail.rows.read())
        return attachment(lines, "application/jsonl", "audit.jsonl")
    tab = _chosen_tab(request)
    chosen = _chosen_filters(request, tab)
    stored = find_stored(chosen.get("configuration", ""))
    rows = exported_rows(tab, _filter_of(chosen, stored))
    if format_ == "json":
        return attachment(_json_parts(rows), "application/json", f"{tab}.json")
    return attachment(_csv_parts(rows), "text/csv; charset=utf-8", f"{tab}.csv")


def exported_rows(tab: str, criteria: ActivityFilter) -> Iterator[dict[str, object]]:
    """Yield the listed rows, page after page, up to a limit."""
    activity = Activity(installation().audit_trail.rows)
    count = 0
    before = 0
    while count < EXPORT_ROWS:
        if tab == REQUESTS:
            listed = activity.requests(criteria, PAGE_SIZE, _no_runs, before=before)
            rows = [_request_row(item) for item in listed.items]
            before = listed.older
        else:
            records = activity.records(KINDS[tab], criteria, PAGE_SIZE, before=before)
            rows = [_change_row(facts) for facts in records.records]
            before = records.older
        yield from rows[: EXPORT_ROWS - count]
        count += len(rows)
        if not before:
            return


def _no_runs(_lines: Collection[str], _first: float, _last: float) -> list[RunSpan]:
    """Return none, so that every request is exported by itself."""
    return []


def _request_row(item: SentRequest | RequestGroup) -> dict[str, object]:
    """Return a request as a row of a file."""
    sent = item.requests[0] if isinstance(item, RequestGroup) else item
    return {
        "id": sent.id,
        "at": iso_to_milliseconds(sent.at),
        "configuration": sent.configuration,
        "line": sent.line,
        "method": sent.method,
        "target": sent.target,
        "status": sent.status,
        "outcome": sent.outcome,
        "duration_ms": sent.duration_ms,
        "retry": sent.retry,
        "purpose": sent.purpose,
    }


def _change_row(facts: Facts) -> dict[str, object]:
    """Return a change or a sign-in as a row of a file."""
    details = [
        f"{detail.label}: {detail.old} → {detail.new}"
        if detail.old or detail.new
        else detail.label
        for detail in details_of(facts)
    ]
    return {
        "id": id_of(facts),
        "at": iso_to_milliseconds(recorded_at(facts)),
        "actor": str(facts.get("actor", "")),
        "event": str(facts.get("tag", "")),
        "effect": str(facts.get("effect", "")),
        "configuration": str(facts.get("configuration", "")),
        "subject": subject_of(facts),
        "changes": "; ".join(details),
    }


def _json_parts(rows: Iterable[dict[str, object]]) -> Iterator[bytes]:
    """Yield a JSON array, a row at a time."""
    separator = b"["
    for row in rows:
        yield separator + json.dumps(row, ensure_ascii=False).encode()
        separator = b",\n"
    yield b"[]\n" if separator == b"[" else b"]\n"


def _csv_parts(rows: Iterable[dict[str, object]]) -> Iterator[bytes]:
    """Yield CSV with a header, a row at a time; no cell is a formula."""
    from outkey.sync.adapters.files.writers import csv_cell

    buffer = io.StringIO()
    writer = csv.writer(buffer)
    is_first = True
    for row in rows:
        if is_first:
            writer.writerow(row)
            is_first = False
        writer.writerow([csv_cell(value) for value in row.values()])
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
