"""The page of one sync line: read, map, missing upstream, when, check.

Every button and every change posts the whole form. `edit_page` draws the page,
`check_page` the parts of it that change (`static/outkey/line.js`). Nothing of a sample
is stored: the page has it as a text and posts it back.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from zoneinfo import available_timezones

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.administration.engine.editing.line_editing import (
    LineEdit,
    entered_line_values,
    line_values,
    request_errors,
)
from outkey.foundation.core.errors import ConfigError, EditConflict, OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
    user_of,
    visible,
)
from outkey.hosts.django.pages.lines.check import ShownCheck, shown_check
from outkey.hosts.django.pages.lines.form import (
    CALL_INPUTS,
    FORM_VIEW,
    TEXT_VIEW,
    EditedLine,
    number_in,
    number_of,
    place_of,
)
from outkey.hosts.django.pages.lines.list_page import (
    findings_of,
    listed_line,
    pairs_with,
    running_samples,
    stored_line,
)
from outkey.hosts.django.pages.lines.runs import (
    ListedRun,
    guard_note,
    newest_chart,
    request_run_of,
    rows_of_runs,
)
from outkey.hosts.django.pages.lines.shown import (
    CHOICES,
    ShownTarget,
    has_part,
    map_part,
    read_part,
    shown_inputs,
    when_part,
)
from outkey.hosts.django.pages.lines.versions import line_differences
from outkey.hosts.django.pages.shell import limited_concurrency, page
from outkey.hosts.django.translation import translate_text
from outkey.hosts.django.wiring import records
from outkey.sync.core.line.history import LineVersion
from outkey.sync.core.line.line import Direction, SyncLine
from outkey.sync.core.line.parent_checks import brings_parents
from outkey.sync.core.line.section import read_request
from outkey.sync.core.line_form.change_words import ChangeInWords
from outkey.sync.core.line_form.children import suggest_children
from outkey.sync.core.line_form.form_text import sample_sync
from outkey.sync.core.line_form.inputs import posted_names
from outkey.sync.core.line_form.line_form import LineForm
from outkey.sync.core.line_form.rows import ChildForm
from outkey.sync.core.line_form.sample import LineSample
from outkey.sync.core.line_form.schedule_choices import choice_of
from outkey.sync.core.mapping.records import Target
from outkey.sync.engine.forms.row_results import FormResults
from outkey.sync.engine.forms.unsaved_lines import WithLine
from outkey.sync.engine.record_rights import refuse_forbidden, refuse_hidden_parents
from outkey.sync.engine.runs.runner import SyncRunner

RUNS_SIZE = 10
VERSIONS_SIZE = 5
MOST_NOTED = 20_000  # characters
NEW_NAME = "new line"  # of a sample before the line has a name
REPAIR = re.compile(r"(?:child-(\d{1,4})-)?repair-(\d{1,4})-(\d{1,2})", re.ASCII)
FIELD = re.compile(r"field-(\d{1,4})", re.ASCII)
FOUND_LIST = re.compile(r"list-(\d{1,4})", re.ASCII)
# Only these send a request or look at records.
SENDING_STEPS = frozenset({"sample", "check"})


@dataclass(frozen=True)
class ShownConflict:
    """The version that another user has saved meanwhile, beside the entered one."""

    number: int
    actor: str
    at: float
    differences: Sequence[ChangeInWords]


@dataclass
class PageState:
    """The content of a page besides the line itself."""

    errors: dict[str, OutkeyError] = field(default_factory=dict)  # by input
    error: OutkeyError | None = None  # of no input
    sync_error: OutkeyError | None = None  # of the text
    sample_error: OutkeyError | None = None
    check_error: OutkeyError | None = None
    check: ShownCheck | None = None
    is_refused: bool = False  # a save, because of what is marked
    is_marked: bool = False  # a check failed because of what is marked
    conflict: ShownConflict | None = None
    sample: LineSample | None = None
    record: int = 1  # of the sample
    key_paths: tuple[str, ...] = ()  # found in the sample
    # Where a sample has its records and pages, and how many records its page has.
    found: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()  # about the sample, as the user reads them
    announcement: str = ""  # for screen readers
    status: int = 200


class LinePage:
    """One request for the page of a line."""

    def __init__(self, request: HttpRequest, record: int | None) -> None:
        self.request = request
        self.row = (
            get_object_or_404(visible(models.SyncLine), pk=record) if record else None
        )
        self.stored = stored_line(self.row)
        self.versions = self._stored_versions()
        self.is_posted = request.method == "POST"
        self.edited = self._read_edited()
        self.state = PageState()
        self._read_sample()

    def _stored_versions(self) -> list[LineVersion]:
        if self.row is None:
            return []
        return installation().registry.line_versions(self.row.name)

    @property
    def newest(self) -> int:
        """The number of the newest version; 0 without any."""
        return self.versions[0].number if self.versions else 0

    @property
    def may_edit(self) -> bool:
        """Whether the user may save the line."""
        return may(
            self.request, Permission.CHANGE_LINE if self.row else Permission.ADD_LINE
        )

    def _read_edited(self) -> EditedLine:
        """Return the content of the page: stored, or posted."""
        if not self.is_posted or not self.may_edit:
            view = self.request.GET.get("view", FORM_VIEW)
            values = line_values(self.stored)
            if self.stored is None:
                values["sync"] = f'direction = "{Direction.PULL}"\n'
                values["configuration"] = self.request.GET.get("configuration", "")
            return EditedLine.of_text(values, view, self.newest)
        values = entered_line_values(self.request.POST.dict(), self.stored)
        version = number_in(self.request, "version")
        if version is None:
            version = self.newest
        return EditedLine.posted(self.request, values, version)

    def _read_sample(self) -> None:
        """Read the sample that the page posts back, and where its user is in it."""
        text = self.request.POST.get("sample", "")
        if text.startswith("{"):
            try:
                self.state.sample = LineSample.read(text)
            except ConfigError as error:
                self.state.sample_error = error
        self.state.found = {
            name: self.request.POST.get(f"found_{name}", "")
            for name in ("records", "paging", "count", "assumed")
        }
        notes = self.request.POST.get("notes", "").replace("\r\n", "\n")
        self.state.notes = tuple(filter(None, notes[:MOST_NOTED].split("\n")))
        paths = self.request.POST.get("key_paths", "").replace("\r\n", "\n")
        self.state.key_paths = tuple(filter(None, paths.split("\n")))
        self._show_record(number_in(self.request, "record") or 1)

    def _show_record(self, number: int) -> None:
        count = len(self.state.sample.records) if self.state.sample else 0
        self.state.record = max(1, min(number, count))

    # ── saving ───────────────────────────────────────────────────────────────────────

    def save(self) -> HttpResponse | None:
        """Save the page; None if it was refused, and the page shows the reason."""
        registry = installation().registry
        try:
            edit = LineEdit.read(self.edited.values, self.stored, registry)
        except ConfigError as error:
            self._refuse_save(error)
            return None
        seen = number_in(self.request, "overwrite")
        if seen is None and "version" in self.request.POST:
            seen = self.edited.version
        try:
            edit.save(
                administration_for(self.request.user),
                allowed=partial(may, self.request),
                runner=self._runner(edit.line),
                rights=records(user_of(self.request)),
                seen=seen,
            )
        except EditConflict:
            self._show_conflict(edit.line)
            return None
        except ConfigError as error:
            self._refuse_save(error)
            return None
        return self._after_save(edit.line)

    def _after_save(self, line: SyncLine) -> HttpResponse:
        messages.success(self.request, _("The sync line %s was saved.") % line.name)
        row = visible(models.SyncLine).get(name=line.name)
        if self.request.POST.get("then") == "dry" and line.sync is not None:
            require(self.request, Permission.RUN_LINE)
            return request_run_of(self.request, line.name, dry_run=True)
        url = reverse("admin:outkey_syncline_change", args=[row.pk])
        is_text = self.request.POST.get("view") == TEXT_VIEW
        view = f"&view={TEXT_VIEW}" if is_text else ""
        return HttpResponseRedirect(f"{url}?saved=1{view}")

    def _refuse_save(self, error: OutkeyError) -> None:
        self._refuse(error)
        self.state.is_refused = self.state.error is None

    def _refuse(self, error: OutkeyError) -> None:
        """Show an error at its input, and all others that the form has."""
        state = self.state
        state.status = 422
        place = str(error.field or "")
        registry = installation().registry
        errors = request_errors(self.edited.values, self.stored, registry)
        state.errors = {**errors}
        if self.edited.view == TEXT_VIEW and place and place not in CALL_INPUTS:
            state.sync_error = error
            return
        if self.edited.view == FORM_VIEW:
            state.errors = {**errors, **self._form_errors()}
        place = place_of(error, self.edited.form)
        if place.startswith("schedule") and _has_schedule_error(state.errors):
            return  # it says the same about the whole expression
        if place:
            state.errors.setdefault(place, error)
        elif not state.errors:
            state.error = error

    def _show_conflict(self, line: SyncLine) -> None:
        self.state.status = 409
        self.versions = self._stored_versions()
        stored = stored_line(self.row)
        if stored is None or not self.versions:
            raise EditConflict
        newest = self.versions[0]
        self.state.conflict = ShownConflict(
            number=newest.number,
            actor=newest.actor,
            at=newest.at,
            differences=line_differences(stored, line),
        )

    # ── buttons ──────────────────────────────────────────────────────────────────────

    def take_step(self, step: str) -> None:
        """Do what a button asks for; what is unknown changes nothing."""
        edited = self.edited
        state = self.state
        if step == "view-toml":
            edited.view = TEXT_VIEW
        elif step == "view-form":
            self.edited = EditedLine.of_text(edited.values, FORM_VIEW, edited.version)
            state.sync_error = self.edited.error
        elif step == "sample":
            self._fetch_sample()
        elif step == "check":
            self._check()
        elif step == "record-next":
            self._show_record(state.record + 1)
        elif step == "record-previous":
            self._show_record(state.record - 1)
        else:
            form = self._form_after(step)
            if form != edited.form:
                edited.change(form)

    def _form_after(self, step: str) -> LineForm:
        """Return the form after a button that changes it."""
        form = self.edited.form
        with suppress(IndexError):  # the sample or the rows are others by now
            if step in {"accept", "equal"} or FIELD.fullmatch(step):
                return self._with_accepted(step)
            if match := REPAIR.fullmatch(step):
                child = None if match[1] is None else int(match[1])
                return self._with_repair(child, int(match[2]), int(match[3]))
            if match := FOUND_LIST.fullmatch(step):
                return form.with_child(self._found_lists()[int(match[1])])
        return form if self.edited.error else form.apply(step)

    def _with_accepted(self, step: str) -> LineForm:
        results = self.results()
        if results is None:
            return self.edited.form
        fields = [unmapped for unmapped in results.unmapped if unmapped.row.host]
        if step == "equal":
            fields = [unmapped for unmapped in fields if unmapped.has_same_name]
        elif match := FIELD.fullmatch(step):
            number = int(match[1])
            fields = list(results.unmapped[number : number + 1])
        self.state.announcement = _("Fields mapped: %s.") % len(fields)
        rows = [unmapped.row for unmapped in fields]
        return self.edited.form.with_fields(rows, self.state.key_paths)

    def _with_repair(self, child: int | None, row: int, number: int) -> LineForm:
        results = self.results()
        if results is None:
            return self.edited.form
        rows = results.rows if child is None else results.children[child]
        repair = rows[row].repairs[number]
        self.state.announcement = translate_text(repair.sentence)
        return self.edited.form.with_repair(repair.changes, row, child)

    def _found_lists(self) -> list[ChildForm]:
        """Return the lists of the sample that the form does not have yet."""
        form = self.edited.form
        if self.state.sample is None or form.direction != Direction.PULL:
            return []
        known = {child.list for child in form.children or ()}
        target = form.texts.get("target", "")
        found = suggest_children(self.state.sample.records, target, form.keys)
        return [child for child in found if child.list not in known]

    def _fetch_sample(self) -> None:
        """Request one page with what is on the page, and take over what it shows."""
        state = self.state
        try:
            line = self._sampled_line()
            with limited_concurrency(), limited_concurrency(running_samples):
                sample = installation().lines.sample(
                    line, self._actor, self._runner(line)
                )
        except OutkeyError as error:
            place = place_of(error, self.edited.form)
            if place in CALL_INPUTS:
                state.errors[place] = error
            else:
                state.sample_error = error
            state.status = 422
            state.announcement = _("The sample could not be fetched.")
            return
        state.sample = sample
        self._show_record(1)
        suggestion = sample.suggestion
        if suggestion is not None:
            self.edited.change(self.edited.form.with_pages(suggestion))
            state.key_paths = suggestion.key_paths
            state.found = {
                "records": suggestion.records,
                "paging": str(suggestion.pagination.kind),
                "count": str(suggestion.count),
                "assumed": "true" if suggestion.is_paging_assumed else "",
            }
            state.notes = [translate_text(note) for note in suggestion.sentences()]
        state.announcement = _("Records in the sample: %s.") % len(sample.records)

    def _sampled_line(self) -> SyncLine:
        """Return the settings for a sample of the line, which may be incomplete."""
        values = self.edited.values
        request = {name: values[name] for name in CALL_INPUTS if name != "name"}
        name = values["name"] or NEW_NAME
        line = read_request(name, request, sample_sync(values["sync"]))
        LineEdit(self.stored, line).refuse_script(partial(may, self.request))
        # Who edits lines may read any path of the API; others only what they may view.
        # A request for a parent has values of its record.
        if line.sync is not None:
            rights = records(user_of(self.request))
            lines = installation().registry
            if self.may_edit:
                refuse_hidden_parents(rights, line.sync, lines)
            else:
                refuse_forbidden(rights, line.sync, lines, dry_run=True)
        return line

    def _check(self) -> None:
        """Show what a run of the form, saved or not, would do."""
        state = self.state
        try:
            values = {
                **self.edited.values,
                "name": self.edited.values["name"] or NEW_NAME,
            }
            registry = installation().registry
            edit = LineEdit.read(values, self.stored, registry)
            edit.refuse_script(partial(may, self.request))
            # It shows records, those that are stored among them, as a dry run does.
            if edit.line.sync is not None:
                rights = records(user_of(self.request))
                refuse_forbidden(rights, edit.line.sync, registry, dry_run=True)
            with limited_concurrency(), limited_concurrency(running_samples):
                effects = installation().lines.preview(
                    edit.line, self._actor, self._runner(edit.line)
                )
        except OutkeyError as error:
            self._refuse(error)
            state.is_marked = bool(state.errors or state.sync_error)
            state.error = None
            state.check_error = None if state.is_marked else error
            state.announcement = _("The check failed.")
            return
        state.check = shown_check(effects)
        state.announcement = state.check.words

    @property
    def _actor(self) -> str:
        return administration_for(self.request.user).actor

    def _runner(self, line: SyncLine) -> SyncRunner:
        application = installation()
        unsaved = WithLine(application.registry, line)
        return application.sync.runner(records(user_of(self.request)), unsaved)

    def results(self) -> FormResults | None:
        """Return the results of the form for the record that is shown."""
        if self.state.sample is None or self.edited.form.direction != Direction.PULL:
            return None
        rights = records(user_of(self.request))
        runner = installation().sync.runner(rights)
        try:
            return runner.evaluate(
                self.edited.form,
                self.state.sample,
                self.state.record - 1,
                demand_view=lambda target: rights.demand(target, "view"),
            )
        except OutkeyError as error:  # it took too long, or records cannot be viewed
            self.state.sample_error = error
            return None

    # ── drawing ──────────────────────────────────────────────────────────────────────

    def context(self) -> dict[str, object]:
        """Return the template values of the parts of the page that change."""
        edited = self.edited
        state = self.state
        form = edited.form
        choice = self.request.POST.get("target_choice", "")
        targets = _open_targets(self.request)
        target = ShownTarget.of(form.texts.get("target", ""), targets, choice)
        results = self.results() if edited.view == FORM_VIEW else None
        errors = self._shown_errors()
        return {
            "row": self.row,
            "edited": edited,
            "state": state,
            "title": self.row.name if self.row else _("New sync line"),
            "editable": self.may_edit,
            "may_sample": may(self.request, Permission.RUN_LINE),
            "may_script": may(self.request, Permission.EDIT_SCRIPT),
            "is_pull": form.direction == Direction.PULL,
            "is_push": form.direction == Direction.PUSH,
            "is_ready": self._is_ready(),
            "inputs": shown_inputs(form, errors),
            "errors": errors,
            "sync_error": state.sync_error or edited.error,
            "key_paths": "\n".join(state.key_paths),
            "noted": "\n".join(state.notes),
            "record_count": len(state.sample.records) if state.sample else 0,
            "cut_count": self._cut_count(),
            "found_lists": self._found_lists(),
            **CHOICES,
            **read_part(form, edited.values, errors, self._pulls()),
            **map_part(form, target, errors, results),
            **when_part(form.schedule, errors),
        }

    def _pulls(self) -> list[SyncLine]:
        """Return the other lines whose records can be the parents of this one."""
        own = self.row.name if self.row else ""
        return [
            line
            for line in installation().registry.lines()
            if line.name != own and line.sync is not None and brings_parents(line.sync)
        ]

    def _cut_count(self) -> int:
        """Return how many records the page of the sample has, if not all are shown."""
        sample = self.state.sample
        count = number_of(self.state.found.get("count", "")) or 0
        return count if sample and count > len(sample.records) else 0

    def whole_page(self) -> HttpResponse:
        """Return the whole page."""
        context = self.context() | self._frame()
        status = self.state.status
        return page(self.request, "outkey/line.html", context, status=status)

    def _frame(self) -> dict[str, object]:
        """Return the template values of the rest: runs, versions, findings."""
        request = self.request
        row = self.row
        runs: Sequence[ListedRun] = ()
        if row and may(request, Permission.VIEW_RUN):
            newest = rows_of_runs().filter(line=row)
            runs = [ListedRun.of(run) for run in newest.order_by("-id")[:RUNS_SIZE]]
        listed = listed_line(row) if row else None
        shown_versions = self.versions
        if "versions" not in request.GET:
            shown_versions = self.versions[:VERSIONS_SIZE]
        sync = self.stored.sync if self.stored else None
        return {
            "stored": self.stored,
            "schedule_words": choice_of(sync.schedule).words()
            if sync is not None and sync.schedule
            else "",
            "listed": listed,
            "may_run": listed is not None
            and listed.synchronizes
            and may(request, Permission.RUN_LINE),
            "is_paused": listed is not None and listed.is_paused,
            "findings": findings_of(request, self.stored),
            "drift": installation().lines.drift(row.name) if row else (),
            "pairs": pairs_with(row.name) if row else (),
            "runs": runs,
            "run_chart": newest_chart(runs),
            "guard_note": guard_note(row) if row else "",
            "versions": shown_versions,
            "more_versions": len(shown_versions) < len(self.versions),
            "is_unsaved": self.is_posted and self.may_edit,
            "is_saved": "saved" in request.GET,
            "zones": sorted(available_timezones()),
            "known_targets": _open_targets(request),
        }

    def _is_ready(self) -> bool:
        """Whether there is something to map: a new line asks for a sample first.

        After a refused save there is: what is marked must be seen.
        """
        edited = self.edited
        return bool(
            self.row
            or self.state.sample
            or self.state.is_refused
            or edited.form.rows
            or has_part(edited.form, "job_")  # there is no sample of a job
            or edited.view == TEXT_VIEW
            or edited.form.direction == Direction.PUSH
        )

    def _shown_errors(self) -> dict[str, OutkeyError]:
        """Return the errors by input: all after a save, else those of what is entered.

        What is still empty is no mistake before the user saves.
        """
        errors = dict(self.state.errors)
        if self.is_posted and self.edited.view == FORM_VIEW:
            entered = posted_names(self.edited.form)
            for name, error in self._form_errors().items():
                if entered.get(name):
                    errors.setdefault(name, error)
        return errors

    def _form_errors(self) -> dict[str, OutkeyError]:
        """Return everything that is wrong with the form, by input."""
        runner = installation().sync.runner(records(user_of(self.request)))
        return {**runner.form_errors(self.edited.form, self.edited.values["sync"])}


def edit_page(request: HttpRequest, record: int | None = None) -> HttpResponse:
    """Show and save one sync line."""
    step = request.POST.get("do", "")
    if request.POST.get("sample") == "1":  # as programs have asked for a preview
        step = "check"
    line_page = _page_after(request, record, step)
    if request.method == "POST" and not step:
        require(request, Permission.CHANGE_LINE if record else Permission.ADD_LINE)
        response = line_page.save()
        if response is not None:
            return response
    return line_page.whole_page()


@require_POST
def check_page(request: HttpRequest, record: int | None = None) -> HttpResponse:
    """Return the parts of the page after a change or a button, saved or not."""
    line_page = _page_after(request, record, request.POST.get("do", ""))
    context = line_page.context()
    status = line_page.state.status
    return page(request, "outkey/line_parts.html", context, status=status)


@require_POST
def sample_page(request: HttpRequest, record: int) -> HttpResponse:
    """Show what a run of the form, saved or not, would do with the first records."""
    return _page_after(request, record, "check").whole_page()


def _page_after(request: HttpRequest, record: int | None, step: str) -> LinePage:
    """Return the page of a line after a button, or respond with 403."""
    require(request, Permission.VIEW_LINE if record else Permission.ADD_LINE)
    if step in SENDING_STEPS:
        require(request, Permission.RUN_LINE)
    line_page = LinePage(request, record)
    line_page.take_step(step)
    return line_page


def _has_schedule_error(errors: Mapping[str, OutkeyError]) -> bool:
    """Whether an input of the schedule is wrong."""
    return any(name.startswith("schedule") for name in errors)


def _open_targets(request: HttpRequest) -> list[Target]:
    """Return the models that are open to the user, and the tables if they see them."""
    if installation().reach.is_limited:
        return []  # a table has to be named: the others may be those of other owners
    targets = [*records(user_of(request)).targets()]
    if may(request, Permission.VIEW_DATA):
        with suppress(OutkeyError):
            targets += installation().sync.tables().targets()
    return targets
