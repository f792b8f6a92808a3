"""The pages of runs: asked for, watched while a worker does them, cancelled and repeated."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from time import time

from django.contrib import messages
from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.http import require_POST

from outkey.core.errors import Cause, ConfigError, LineBusy
from outkey.core.sync.line import Direction, Sync, Transform
from outkey.core.sync.remedies import cause_of, remedy_of
from outkey.core.sync.run import Counts, RunState
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import desk_for, installation, require
from outkey.hosts.django.pages.configurations import page
from outkey.hosts.django.pages.overview import Bar
from outkey.hosts.django.runs import DjangoRuns
from outkey.hosts.django.templatetags.outkey import moment
from outkey.hosts.django.translation import translate_text
from outkey.hosts.django.wiring import records

_PAGE = 50
_CHARTED = 24  # runs; the chart has room for as many
_LEFT_OUT = 50
_LATE_SECONDS = 30
_SOON_SECONDS = 60
_MINUTES = 600  # seconds; a moment that near is told with its own
_OPEN = (RunState.RUNNING, RunState.WAITING)
_ROW = re.compile(r"[0-9]{1,18}")
# Why a record was left out, and why a run ended; what is not here is said with its own word.
_WORDS = {
    "missing": gettext_lazy("a value is missing"),
    "key_missing": gettext_lazy("what tells it apart is missing"),
    "duplicate_key": gettext_lazy("another record on the same page has this key"),
    "ambiguous": gettext_lazy("several records here have this key"),
    "taken": gettext_lazy("another record has this value already"),
    "invalid": gettext_lazy("the value is not valid"),
    "unknown_choice": gettext_lazy("the value is none of the choices"),
    "too_long": gettext_lazy("the value is too long"),
    "out_of_range": gettext_lazy("the number is out of range"),
    "unstorable_character": gettext_lazy("a character cannot be stored"),
    "no_text": gettext_lazy("the value is no text"),
    "no_whole_number": gettext_lazy("the value is no whole number"),
    "no_number": gettext_lazy("the value is no number"),
    "no_date": gettext_lazy("the value is no date"),
    "no_yes_or_no": gettext_lazy("the value is neither yes nor no"),
    "not_found": gettext_lazy("there is no such record here"),
    "not_for_a_path": gettext_lazy("the value cannot stand in a path"),
    "refused_by_database": gettext_lazy("the database refused it"),
    "too_deep": gettext_lazy("it is nested too deeply"),
    "too_many_fields": gettext_lazy("it has too many fields"),
    "secret_in_record": gettext_lazy("it repeats a secret that was sent to the API"),
    "script_error": gettext_lazy("the script failed"),
    "script_timeout": gettext_lazy("the script took too long"),
    "script_result": gettext_lazy("the script returned no record"),
    "script_set_aside": gettext_lazy("the script had failed to answer too often"),
    "too_large_for_script": gettext_lazy("it is too large for a script"),
    "killed": gettext_lazy(
        "its process ended in the middle; the next run goes on there"
    ),
    "stopping": gettext_lazy("its worker was stopped; another one goes on there"),
    "not_json": gettext_lazy("the answer is not JSON"),
    "not_a_list": gettext_lazy("where the records should be is no list"),
    "not_objects": gettext_lazy("where the records should be are other values"),
    "page_repeated": gettext_lazy("the API gives the same page again and again"),
    "cursor_loop": gettext_lazy("the cursor leads in circles"),
    "bad_cursor": gettext_lazy("the cursor is not usable"),
    "foreign_next": gettext_lazy("the next page is at another address"),
    "too_many_pages": gettext_lazy("there are too many pages"),
    "gap": gettext_lazy("a page is missing, and one behind it is not"),
    "too_many_values": gettext_lazy("the response has too many values"),
    "run_limit": gettext_lazy("it reached the limit of records or minutes for one run"),
    "too_many_records": gettext_lazy("there are too many records"),
    "secret_in_cursor": gettext_lazy(
        "the API hands back a secret as the place to go on from"
    ),
    "internal_error": gettext_lazy(
        "a fault that is not the API's; tell whoever maintains outkey"
    ),
    "all_refused": gettext_lazy("not one of the records could be sent"),
    "expression": gettext_lazy("an expression of the line does not fit the answer"),
}
_STATES: dict[str, tuple[str, object]] = {  # the colour of each, and its word
    RunState.WAITING: ("", gettext_lazy("waiting")),
    RunState.RUNNING: ("ok-notice", gettext_lazy("running")),
    RunState.DONE: ("ok-success", gettext_lazy("done")),
    RunState.FAILED: ("ok-error", gettext_lazy("failed")),
    RunState.CANCELLED: ("ok-warning", gettext_lazy("cancelled")),
}


@dataclass(frozen=True)
class Shown:
    """A run as the pages show it, whatever its row holds."""

    run: models.Run
    counts: Counts

    @property
    def chip(self) -> tuple[str, object]:
        """Return the colour and the words of its state: what was left out is no success."""
        state, left_out = self.run.state, self.counts.failed
        if state != RunState.DONE or not left_out:
            return _STATES.get(state, ("", state))
        if self.took_nothing:
            return "ok-error", _("done, all left out")
        return "ok-warning", _("done, %s left out") % left_out

    @property
    def took_nothing(self) -> bool:
        """Whether there were records, and each of them was left out."""
        return 0 < self.counts.failed == _total(self.counts)

    @property
    def cause(self) -> str:
        """Return in words why it ended; what an answer can mean has its words in the core."""
        cause = self.run.cause
        if cause in set(Cause):
            return pgettext("outkey", cause.replace("_", " "))
        told = cause_of(cause)
        return translate_text(told) if told else words(cause)

    @property
    def remedy(self) -> str:
        """Return what helps, as a test of the configuration would say it."""
        return translate_text(remedy_of(self.run.cause))


def shown(run: models.Run) -> Shown:
    """Read the counts of a run; what is none counts nothing, whoever wrote it there."""
    kept = run.counts if isinstance(run.counts, dict) else {}
    numbers = {one.name: kept.get(one.name) for one in fields(Counts)}
    counts = Counts(
        **{name: n for name, n in numbers.items() if isinstance(n, int) and n > 0}
    )
    return Shown(run, counts)


def words(reason: str) -> str:
    """Return in words why a record was left out."""
    return str(_WORDS.get(reason) or reason.replace("_", " "))


def person(request: HttpRequest) -> PermissionsMixin:
    """Return whoever looks, within whose permissions records are read and written."""
    if not isinstance(request.user, PermissionsMixin):
        raise PermissionDenied
    return request.user


def refuse_forbidden(
    request: HttpRequest, sync: Sync, *, dry_run: bool = False
) -> None:
    """Refuse a line that does to records what the person who saves or runs it may not do."""
    writes = sync.direction is Direction.PULL and not dry_run
    known = records(person(request))
    known.demand(sync.target, *(("view", "add", "change") if writes else ("view",)))
    for number, mapping in enumerate(sync.mappings):
        looked_up = mapping.options.get("target", "")
        if mapping.transform is Transform.LOOKUP and looked_up:
            try:
                known.demand(looked_up, "view")
            except ConfigError as error:
                place = f"fields[{number}].options.target"
                raise ConfigError(error.message, hint=error.hint, field=place) from None


def list_page(request: HttpRequest) -> HttpResponse:
    """List runs, newest first, with a chart of them."""
    require(request, "view_run")
    line, state, before = (
        request.GET.get(n, "").strip() for n in ("line", "state", "before")
    )
    found = models.Run.objects.select_related("line").order_by("-id")
    if line:
        found = found.filter(line__name=line)
    if state in _STATES:
        found = found.filter(state=state)
    if _ROW.fullmatch(before):
        found = found.filter(pk__lt=int(before))
    rows = [shown(run) for run in found[: _PAGE + 1]]
    names = models.SyncLine.objects.filter(sync__isnull=False).order_by("name")
    context = {
        "title": _("Runs"),
        "runs": rows[:_PAGE],
        "bars": bars(rows),
        "chosen": {"line": line, "state": state},
        "states": [(name, word) for name, (_colour, word) in _STATES.items()],
        "lines": names.values_list("name", flat=True)[:1000],
        "older": rows[_PAGE - 1].run.pk if len(rows) > _PAGE else None,
    }
    return page(request, "outkey/runs.html", context)


def run_page(request: HttpRequest, record: int) -> HttpResponse:
    """Show one run: how far it is, what it did, and what it left out and why."""
    require(request, "view_run")
    run = get_object_or_404(
        models.Run.objects.select_related("line__configuration"), pk=record
    )
    left_out, told = DjangoRuns().left_out(str(run.pk), _LEFT_OUT), shown(run)
    running, waiting = run.state == RunState.RUNNING, run.state == RunState.WAITING
    context = {
        "title": _("Run %s") % run.pk,
        "run": run,
        "shown": told,
        "running": running,
        "waiting": waiting,
        "busy": "busy" in request.GET and (running or waiting),
        "again": _again(run.until),
        "follows": running or (waiting and run.until < time() + _SOON_SECONDS),
        "is_late": waiting and run.until < time() - _LATE_SECONDS,
        "ended": run.state in {RunState.FAILED, RunState.CANCELLED} and not run.dry_run,
        # Of a record that was left out, no value: not even what tells it apart.
        "left_out": [
            (item.number, item.field, words(item.reason)) for item in left_out
        ],
        "more": max(0, told.counts.failed - _LEFT_OUT),
    }
    return page(request, "outkey/run.html", context)


@require_POST
def start(request: HttpRequest, record: int) -> HttpResponse:
    """Ask for a run of a line as it is kept, and show the page of the run."""
    require(request, "run_syncline")
    row, dry_run = get_object_or_404(models.SyncLine, pk=record), "dry" in request.POST
    here = installation()
    sync = here.registry.line(row.name).sync
    if sync is not None:  # a worker knows nobody whose permissions count
        refuse_forbidden(request, sync, dry_run=dry_run)
    asking = here.planner(records=records(person(request)))
    try:
        asked = asking.ask(row.name, desk_for(request.user).actor, dry_run=dry_run)
    except LineBusy:
        found = models.Run.objects.filter(line=row, dry_run=dry_run, state__in=_OPEN)
        busy = found.order_by("state").first()
        if busy is None:
            raise
        # A message would be gone with the first time that the page looks again.
        return HttpResponseRedirect(
            reverse("admin:outkey_run_change", args=[busy.pk]) + "?busy=1"
        )
    return HttpResponseRedirect(reverse("admin:outkey_run_change", args=[asked.id]))


@require_POST
def cancel(request: HttpRequest, record: int) -> HttpResponse:
    """End a run that waits, or let one stop at its next page."""
    require(request, "run_syncline")
    run = get_object_or_404(models.Run, pk=record)
    DjangoRuns().cancel(str(run.pk))
    messages.success(request, _("The run is cancelled; what it has written stays."))
    return HttpResponseRedirect(reverse("admin:outkey_run_change", args=[run.pk]))


def bars(runs: Sequence[Shown]) -> list[Bar]:
    """Return a bar for each of the newest runs, oldest first: what it brought and left out."""
    charted = [(one.run, one.counts) for one in runs[:_CHARTED]]
    highest = max((_total(counts) for _run, counts in charted), default=0) or 1
    return [
        Bar(
            f"#{run.pk}",
            **dict.fromkeys(("ok", "failed"), 0.0)
            | {_kind(run): (_total(counts) - counts.failed) * 100 / highest},
            refused=counts.failed * 100 / highest,
            total=_total(counts),
        )
        for run, counts in reversed(charted)
    ]


def _kind(run: models.Run) -> str:
    return "failed" if run.state == RunState.FAILED else "ok"


def _total(counts: Counts) -> int:
    return (
        counts.created
        + counts.updated
        + counts.unchanged
        + counts.archived
        + counts.failed
    )


def _again(until: float) -> str:
    """Return when a run is tried again, with the seconds if that is a matter of minutes."""
    if abs(until - time()) > _MINUTES:
        return moment(until)
    return datetime.fromtimestamp(until, UTC).strftime("%H:%M:%S UTC")
