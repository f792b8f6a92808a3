"""The page of one run: its progress, what it changed, and what it rejected."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import BytesIO
from urllib.parse import urlencode

from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
)
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
    visible,
)
from outkey.hosts.django.pages.limits import may_be_opened
from outkey.hosts.django.pages.lines.data import attached_records, posted_format
from outkey.hosts.django.pages.lines.runs import (
    ListedRun,
    guard_stop,
    may_view_parents,
    may_view_records,
    notes_of,
    rows_of_runs,
    targets_of,
)
from outkey.hosts.django.pages.shell import page
from outkey.hosts.django.pages.webhooks.pages import url_of as webhook_url
from outkey.hosts.django.rows.row_ids import row_id
from outkey.hosts.django.rows.runs import REJECTED_COLUMNS, DjangoRunRows
from outkey.hosts.django.translation import translate_text
from outkey.sending.core.audit.actors import WEBHOOK_ACTOR
from outkey.sending.core.audit.events import Tag
from outkey.sync.core.mapping.records import FieldKind
from outkey.sync.core.mapping.targets import TABLE_PREFIX, FileFormat
from outkey.sync.core.run.reasons import rejection_text
from outkey.sync.core.run.remedies import RunHelp, help_after, page_remedy_of
from outkey.sync.core.run.run import (
    ChildCounts,
    ParentCounts,
    RejectionGroup,
    RunState,
    RunTrigger,
)

GROUPS_SIZE = 100
OPEN_GROUPS = 10  # whose records are on the page at once
REJECTED_SIZE = 50  # records of a group on a page
EXPORT_PART = 1000
LATE_SECONDS = 30
SOON_SECONDS = 60
REJECTED_NUMBER = "number"
DELIVERIES_SIZE = 20


@dataclass(frozen=True)
class ShownRejections:
    """Rejected records with the same reason and field, as the page shows them."""

    group: RejectionGroup
    reason: str
    records: Sequence[models.Quarantine]
    link: str  # the query that shows the records of this group
    first: int = 1  # the place of the first of these records in the group
    older: str = ""  # the query that shows the records after these
    is_open: bool = False

    @property
    def last(self) -> int:
        """The place of the last of these records in the group."""
        return self.first + len(self.records) - 1


def run_page(request: HttpRequest, record: int) -> HttpResponse:
    """Show one run; with `part=live` only what changes while it runs."""
    require(request, Permission.VIEW_RUN)
    rows = rows_of_runs().select_related("line__configuration")
    run = get_object_or_404(rows, pk=record)
    listed = ListedRun.of(run)
    context = {**_progress_of(listed), "run": run, "shown": listed}
    if request.GET.get("part") == "live":
        return render(request, "outkey/run_live.html", context)
    details = {
        "title": _("Run %s") % run.pk,
        "busy": "busy" in request.GET and listed.is_open,
        "may_run": may(request, Permission.RUN_LINE),
        "may_retry": may(
            request,
            Permission.RUN_WEBHOOK if run.is_received else Permission.RUN_LINE,
        ),
        "trigger": TRIGGER_TEXTS[listed.trigger],
        "webhook": _webhook_of(request, run),
        "deliveries": _rejected_deliveries(request, run),
        "repaired_by": listed.repaired_by,
        "retry_of": row_id(listed.checkpoint.get("retry_of")),
        "since": listed.checkpoint.get("since"),
        "notes": notes_of(
            listed.checkpoint, names_parents=may_view_parents(request, run.line)
        ),
        "remedy": translate_text(page_remedy_of(run.cause)),
        "help": _help_of(listed),
        "changed_fields": listed.counts.fields_by_frequency(),
        # Values of records, keys among them, are for users who may see the records.
        "sees_values": may_view_records(request, run.line),
        "groups": _groups_of_run(request, run),
        "targets": _shown_targets(request, run),
    }
    return page(request, "outkey/run.html", context | details)


def _shown_targets(request: HttpRequest, run: models.Run) -> list[tuple[str, str]]:
    """Return where a run's records go or come from, each with the URL of its rows.

    A table that is not there yet, or that the user may not see, has none.
    """
    stored: set[str] = set()
    if may(request, Permission.VIEW_DATA) and may_be_opened(request, "outkey_data"):
        with suppress(OutkeyError):  # another database; the run is shown all the same
            tables = installation().sync.tables().targets()
            stored = {table.name for table in tables}
    return [
        (target, _url_of_table(target) if target in stored else "")
        for target in targets_of(run.line.sync)
        if target
    ]


def _url_of_table(target: str) -> str:
    """Return the URL of the page with the rows of a table."""
    name = target.removeprefix(TABLE_PREFIX)
    return reverse("admin:outkey_data_table", args=[name])


def _progress_of(listed: ListedRun) -> dict[str, object]:
    """Return the part of the context that changes while a run is in progress."""
    run = listed.run
    now = installation().runs.now()
    is_running = run.state == RunState.RUNNING
    is_waiting = run.state == RunState.WAITING
    worked = listed.checkpoint.get("worked")
    rate = None
    if is_running and isinstance(worked, int | float) and worked >= 1:
        rate = round(listed.counts.total / worked)
    expected = listed.checkpoint.get("expected")
    # Of a line with parents it is how many of these there are.
    parents = listed.counts.parents
    reached = parents.total or listed.counts.total
    is_credible = isinstance(expected, int) and expected >= reached
    return {
        "reached": reached,
        "running": is_running,
        "expected": expected if is_credible else None,
        "waiting": is_waiting,
        "seconds": now - run.started_at if is_running else listed.seconds,
        "rate": rate,
        "follows": is_running or (is_waiting and run.until < now + SOON_SECONDS),
        "is_late": is_waiting and run.until < now - LATE_SECONDS,
        "children": _child_counts(listed.counts.children),
        "parents": _parent_counts(parents),
    }


TRIGGER_TEXTS = {
    RunTrigger.DELIVERY: gettext_lazy("deliveries of a webhook"),
    RunTrigger.RETRY: gettext_lazy("retry of rejected records"),
    RunTrigger.DRY_RUN: gettext_lazy("dry run"),
    RunTrigger.SCHEDULE: gettext_lazy("by its schedule"),
    RunTrigger.HAND: gettext_lazy("by hand"),
}


def _webhook_of(request: HttpRequest, run: models.Run) -> tuple[str, str]:
    """Return name and URL of the webhook whose deliveries a run has stored."""
    if not run.is_received:
        return "", ""
    name = run.actor.removeprefix(WEBHOOK_ACTOR)
    is_open = may(request, Permission.VIEW_WEBHOOK)
    is_stored = name in installation().webhooks.stored()
    return name, webhook_url(name) if is_open and is_stored else ""


def _rejected_deliveries(
    request: HttpRequest, run: models.Run
) -> list[tuple[str, str]]:
    """Return id and URL of the deliveries of which a run has rejected records."""
    name, url = _webhook_of(request, run)
    if not url or not may(request, Permission.VIEW_DELIVERY):
        return []
    deliveries = installation().webhooks.inbox().rejected_by(str(run.pk))
    return [
        (delivery.id, webhook_url(name, "webhook_delivery", id=delivery.id))
        for delivery in deliveries[:DELIVERIES_SIZE]
    ]


def _help_of(listed: ListedRun) -> RunHelp | None:
    """Return the help for an ended run; only the newest offers to allow a removal."""
    run = listed.run
    if listed.is_open:
        return None
    helping = help_after(run.cause)
    if helping is RunHelp.ALLOW_REMOVAL and guard_stop(run.line) != run:
        return RunHelp.OPEN_LINE
    return helping


def _child_counts(counts: ChildCounts) -> list[tuple[str, int]]:
    """Return the counts of children that are not 0, each with its name."""
    named = (
        (_("New"), counts.created),
        (_("Changed"), counts.updated),
        (_("Unchanged"), counts.unchanged),
        (_("Deleted"), counts.deleted),
        (_("Rejected"), counts.failed),
        (_("Records without the list"), counts.without_list),
    )
    return [(name, count) for name, count in named if count]


def _parent_counts(counts: ParentCounts) -> list[tuple[str, int]]:
    """Return the counts of parents that are not 0, each with its name."""
    named = (
        (_("Done"), counts.done),
        (_("Unchanged, skipped"), counts.skipped),
        (_("Without a list at the API"), counts.missing),
        (_("Rejected"), counts.failed),
    )
    return [(name, count) for name, count in named if count]


# ── what was rejected ───────────────────────────────────────────────────────────────


def _groups_of_run(request: HttpRequest, run: models.Run) -> list[ShownRejections]:
    """Return the rejections of a run, most frequent first, with some records of each.

    A query may choose one group and a place in it.
    """
    # Not through `Runs`, which would refuse a row that is only partly readable.
    groups = DjangoRunRows().rejection_groups(str(run.pk), GROUPS_SIZE)
    chosen = request.GET.get("reason"), request.GET.get("field")
    skip = row_id(request.GET.get("skip", "")) or 0
    listed = []
    for place, group in enumerate(groups):
        is_chosen = chosen == (group.reason, group.field)
        shown: list[models.Quarantine] = []
        first = skip if is_chosen else 0
        if is_chosen or place < OPEN_GROUPS:
            rows = run.left_out.filter(reason=group.reason, field=group.field)
            shown = list(rows.order_by("number", "id")[first:][: REJECTED_SIZE + 1])
        has_more = len(shown) > REJECTED_SIZE
        listed.append(
            ShownRejections(
                group,
                translate_text(rejection_text(group.reason)),
                shown[:REJECTED_SIZE],
                link=_group_query(group),
                first=first + 1,
                older=_group_query(group, first + REJECTED_SIZE) if has_more else "",
                is_open=is_chosen or len(groups) == 1,
            )
        )
    return listed


def _group_query(group: RejectionGroup, skip: int = 0) -> str:
    """Return the query of a page that shows the records of a group."""
    values: dict[str, object] = {"reason": group.reason, "field": group.field}
    if skip:
        values["skip"] = skip
    return f"?{urlencode(values)}#rejected"


@require_POST
def download(request: HttpRequest, record: int) -> HttpResponseBase:
    """Return the records that a run rejected as a file."""
    require(request, Permission.VIEW_RUN)
    run = get_object_or_404(visible(models.Run).select_related("line"), pk=record)
    if not may_view_records(request, run.line):
        raise Http404
    format_ = posted_format(request)
    about = f"run {run.pk}: rejected records"
    administration_for(request.user).note(Tag.DATA_EXPORTED, "", about)
    parts = _exported_rejections(run, format_)
    return attached_records(parts, format_, f"run-{run.pk}-rejected")


def _exported_rejections(run: models.Run, format_: FileFormat) -> Iterator[bytes]:
    """Yield the content of a file, a part at a time."""
    from outkey.sync.adapters.files.writers import open_writer

    buffer = BytesIO()
    kinds = dict.fromkeys(REJECTED_COLUMNS, FieldKind.TEXT)
    kinds[REJECTED_NUMBER] = FieldKind.NUMBER
    writer = open_writer(format_, buffer, kinds | {"explanation": FieldKind.TEXT})
    rows = DjangoRunRows()
    skip = 0
    while records := rows.rejected(str(run.pk), EXPORT_PART, skip=skip):
        skip += len(records)
        writer.write(
            asdict(rejected)
            | {"explanation": translate_text(rejection_text(rejected.reason))}
            for rejected in records
        )
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    writer.finish()
    yield buffer.getvalue()
