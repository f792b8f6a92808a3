"""The form on the page of a sync line: inputs, rows, target, schedule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.field_kinds import Field, Kind
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.hosts.django.pages.access import installation
from outkey.hosts.django.pages.lines.form import NEW_FILE, NEW_TABLE
from outkey.hosts.django.pages.shell import configuration_names
from outkey.hosts.django.translation import translate_text
from outkey.sync.core.line.fields import CHILDREN_FIELDS
from outkey.sync.core.line.job_checks import JOB_ID, ORDER_METHODS
from outkey.sync.core.line.line import Direction, Gone, Paging, SyncLine, Transform
from outkey.sync.core.line.push_checks import DELETING_METHODS
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.line_form.inputs import posted_names
from outkey.sync.core.line_form.line_form import INPUTS, LineForm
from outkey.sync.core.line_form.rows import (
    CHILD_INPUTS,
    OPTION_HELPS,
    OPTION_NAMES,
    ChildForm,
    MappingRow,
    value_text,
)
from outkey.sync.core.line_form.schedule_choices import (
    STEPS,
    ScheduleChoice,
    ScheduleKind,
    Weekday,
    next_times,
)
from outkey.sync.core.mapping.records import HostField, Target
from outkey.sync.core.mapping.targets import FILE_PREFIX, TABLE_PREFIX, target_words
from outkey.sync.engine.forms.row_results import FormResults

NEXT_TIMES = 3
METHODS = {
    Direction.PULL: ("GET", "POST"),
    Direction.PUSH: ("POST", "PUT", "PATCH"),
}
# How the inputs begin that are shown with the pages.
WITH_PAGES = ("pagination", "incremental", "records", "response", "query", "body")
# And those with the schedule, for every run.
WITH_RUNS = ("drift", "feed", "writes", "parallel", "max_")
ALL_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PUSH_METHODS = ("", "POST", "PUT", "PATCH", "DELETE")
# The inputs that the page shows for each kind of schedule; days have one each.
SCHEDULE_INPUTS: dict[ScheduleKind, tuple[str, ...]] = {
    ScheduleKind.BY_HAND: ("schedule_kind",),
    ScheduleKind.MINUTES: ("schedule_kind", "schedule_minutes", "schedule_zone"),
    ScheduleKind.HOURLY: ("schedule_kind", "schedule_minute", "schedule_zone"),
    ScheduleKind.DAILY: ("schedule_kind", "schedule_time", "schedule_zone"),
    ScheduleKind.WEEKLY: (
        "schedule_kind",
        "schedule_time",
        "schedule_day_",
        "schedule_zone",
    ),
    ScheduleKind.CRON: ("schedule_kind", "schedule_cron", "schedule_zone"),
}
# What users choose from, whatever the line is.
CHOICES: Mapping[str, object] = {
    "push_methods": PUSH_METHODS,
    "order_methods": ORDER_METHODS,
    "deleting_methods": DELETING_METHODS,
    "job_path": "/reports/{job.id}",
    "transforms": list(Transform),
    "gone_choices": list(Gone),
    "schedule_kinds": list(ScheduleKind),
    "schedule_steps": [str(step) for step in STEPS],
    "weekdays": list(Weekday),
}


@dataclass(frozen=True)
class ShownInput:
    """One input of the form."""

    name: str
    field: Field
    value: str
    error: OutkeyError | None = None

    @property
    def kind(self) -> str:
        """How it is drawn: as a choice, a flag, a number or a text."""
        kinds = {Kind.CHOICE: "choice", Kind.FLAG: "flag", Kind.INTEGER: "number"}
        if self.field.key == "body":
            return "lines"
        return kinds.get(self.field.kind, "text")

    @property
    def has_unknown_choice(self) -> bool:
        """Whether its text is none of the choices, and would be replaced by one."""
        return self.value not in {value for value, _ in self.field.choices}


@dataclass(frozen=True)
class ShownOption:
    """One option of a row's rule."""

    name: str  # of the input
    part: str
    value: str
    error: OutkeyError | None = None

    @property
    def choices(self) -> str:
        """The list of values to choose from, if there is one."""
        return {"zone": "zones", "target": "targets"}.get(self.part, "")

    @property
    def help(self) -> Text:
        """The meaning of the input, with an example."""
        return OPTION_HELPS.get(self.part, NO_TEXT)


@dataclass(frozen=True)
class ShownRow:
    """One field mapping of the form, with what it makes of the sample."""

    prefix: str
    number: int
    row: MappingRow
    is_key: bool
    is_first: bool
    is_last: bool
    fields: Sequence[HostField]  # of the target; none if any name will do
    errors: Mapping[str, OutkeyError]
    outcome: object = None

    @property
    def id(self) -> str:
        """The part of the names of its inputs that no other row has."""
        return f"{self.prefix}{self.number}"

    @property
    def host(self) -> HostField | None:
        """The field of the target, if that is known."""
        return next((f for f in self.fields if f.name == self.row.host), None)

    @property
    def has_unknown_host(self) -> bool:
        """Whether it names a field that the target does not have."""
        return bool(self.row.host) and self.host is None

    @property
    def needs_api(self) -> bool:
        """Whether its rule reads a field of the API."""
        return self.row.transform not in {Transform.CONSTANT, Transform.TEMPLATE}

    @property
    def options(self) -> Iterator[ShownOption]:
        """The options of its rule; of a value as it is only those that are set."""
        try:
            transform = Transform(self.row.transform)
        except ValueError:
            return
        for part in OPTION_NAMES.get(transform, ()):
            value = self.row.options.get(part, "")
            if transform is not Transform.AS_IS or value or part in self.errors:
                name = f"{self.prefix}map-{part}-{self.number}"
                yield ShownOption(name, part, value, self.errors.get(part))

    @property
    def is_choice(self) -> bool:
        """Whether its rule is a table of values."""
        return self.row.transform == Transform.CHOICE


@dataclass(frozen=True)
class ShownTarget:
    """The target of a form: one that is there, a new table, or a file."""

    chosen: str
    table: str = ""
    file: str = ""
    targets: Sequence[Target] = ()

    @classmethod
    def of(
        cls, target: str, targets: Sequence[Target], choice: str = ""
    ) -> "ShownTarget":
        """Return the choice that the name of a target is; `choice` if it has none."""
        names = {known.name for known in targets}
        if not target and choice in {NEW_TABLE, NEW_FILE}:
            return cls(choice, targets=targets)
        if target in names:
            return cls(target, targets=targets)
        if target.startswith(FILE_PREFIX):
            return cls(NEW_FILE, file=target.removeprefix(FILE_PREFIX), targets=targets)
        if target.startswith(TABLE_PREFIX):
            return cls(
                NEW_TABLE, table=target.removeprefix(TABLE_PREFIX), targets=targets
            )
        return cls(target, targets=targets)

    @property
    def choices(self) -> list[tuple[str, Text]]:
        """The targets to choose from, each with the words for it."""
        return [
            (known.name, target_words(known.name, known.label))
            for known in self.targets
        ]

    @property
    def fields(self) -> tuple[HostField, ...]:
        """The fields of a model; a table gets the columns that it lacks."""
        for target in self.targets:
            if target.name == self.chosen and not target.name.startswith(TABLE_PREFIX):
                return target.fields
        return ()

    @property
    def columns(self) -> list[str]:
        """The names of the fields that are there, to be suggested."""
        for target in self.targets:
            if target.name == self.chosen:
                return [known.name for known in target.fields]
        return []

    @property
    def is_unknown(self) -> bool:
        """Whether it is a model that is not open to the user."""
        names = {NEW_TABLE, NEW_FILE, *(known.name for known in self.targets)}
        return bool(self.chosen) and self.chosen not in names


@dataclass(frozen=True)
class ShownChild:
    """A list inside the records, with its rows."""

    number: int
    form: ChildForm
    inputs: Sequence[ShownInput]
    rows: Sequence[ShownRow]


def _shown_rows(
    form: LineForm,
    fields: Sequence[HostField],
    errors: Mapping[str, OutkeyError],
    outcomes: Sequence[object],
    child: int | None = None,
) -> list[ShownRow]:
    """Return the rows of the form, or of a list inside the records."""
    prefix = "" if child is None else f"child-{child}-"
    rows = form.rows_of(child)
    return [
        ShownRow(
            prefix=prefix,
            number=number,
            row=row,
            is_key=child is None and bool(row.host) and row.host in form.keys,
            is_first=number == 0,
            is_last=number == len(rows) - 1,
            fields=fields,
            errors={} if row.is_blank else _input_errors(errors, prefix, number),
            outcome=None
            if row.is_blank or number >= len(outcomes)
            else outcomes[number],
        )
        for number, row in enumerate(rows)
    ]


def _shown_children(
    form: LineForm,
    targets: Sequence[Target],
    errors: Mapping[str, OutkeyError],
    outcomes: Sequence[Sequence[object]],
) -> list[ShownChild]:
    """Return the lists inside the records."""
    known_fields = {known.key: known for known in CHILDREN_FIELDS}
    children = []
    for number, child in enumerate(form.children or ()):
        inputs = [
            ShownInput(
                name=name,
                field=known_fields[name],
                value=getattr(child, name),
                error=errors.get(f"child-{number}-{name}"),
            )
            for name in CHILD_INPUTS
        ]
        fields = ShownTarget.of(child.target, targets).fields
        of_child = outcomes[number] if number < len(outcomes) else ()
        rows = _shown_rows(form, fields, errors, of_child, number)
        children.append(ShownChild(number, child, inputs, rows))
    return children


def _input_errors(
    errors: Mapping[str, OutkeyError], prefix: str, number: int
) -> dict[str, OutkeyError]:
    """Return the errors of one row by the part of its inputs' names."""
    start = f"{prefix}map-"
    end = f"-{number}"
    return {
        name.removeprefix(start).removesuffix(end): error
        for name, error in errors.items()
        if name.startswith(start) and name.endswith(end)
    }


def shown_inputs(
    form: LineForm, errors: Mapping[str, OutkeyError]
) -> dict[str, ShownInput]:
    """Return the inputs with one value, by name."""
    return {
        name: ShownInput(name, known, form.texts.get(name, ""), errors.get(name))
        for name, known in INPUTS.items()
    }


# ── the parts of the page ────────────────────────────────────────────────────────────


def read_part(
    form: LineForm,
    call: Mapping[str, str],
    errors: Mapping[str, OutkeyError],
    pulls: Sequence[SyncLine],
) -> dict[str, object]:
    """Return the template values of the first part: request, records, pages."""
    texts = form.texts
    method = call["method"]
    return {
        "read_title": _title_of(form.direction),
        "configurations": configuration_names(),
        "methods": _methods_for(form.direction, method),
        "has_requests": any(
            texts.get(f"{name}_path") for name in ("create", "update", "delete")
        ),
        "records_words": _records_words(texts.get("records", "")),
        "paging_words": _paging_words(texts),
        "wrong_pages": any(name.startswith(WITH_PAGES) for name in errors),
        "query": [*(form.query or ()), ("", "")],
        **_parents_and_job(form, call["path"], errors),
        "parent_lines": [line.name for line in pulls],
        "parent_fields": _parent_fields(texts, pulls),
    }


def _parents_and_job(
    form: LineForm, path: str, errors: Mapping[str, OutkeyError]
) -> dict[str, object]:
    """Return which of the parts about parents and a job are used, or must be seen."""
    texts = form.texts
    values = (path, texts.get("body", ""), *(value for _, value in form.query or ()))
    names = {name for value in values for name in placeholders(value)}
    has_parents = has_part(form, "for_each_")
    has_job = has_part(form, "job_")
    needs_parents = (
        any(name.startswith("parent.") for name in names) and not has_parents
    )
    needs_job = JOB_ID in names and not has_job
    return {
        "has_parents": has_parents,
        "has_job": has_job,
        "parents_needed": needs_parents or _is_wrong(errors, "for_each_"),
        "job_needed": needs_job or _is_wrong(errors, "job_"),
    }


def has_part(form: LineForm, start: str) -> bool:
    """Whether an input whose name begins so has another text than its default."""
    return any(
        form.texts.get(name, "") not in {"", value_text(known.default)}
        for name, known in INPUTS.items()
        if name.startswith(start)
    )


def _is_wrong(errors: Mapping[str, OutkeyError], start: str) -> bool:
    return any(name.startswith(start) for name in errors)


def _parent_fields(texts: Mapping[str, str], pulls: Sequence[SyncLine]) -> list[str]:
    """Return the fields of the parents that a path can have."""
    if texts.get("for_each_values"):
        return ["value"]
    name = texts.get("for_each_line", "").strip()
    parents = next((line.sync for line in pulls if line.name == name), None)
    return [mapping.host for mapping in parents.mappings] if parents else []


def map_part(
    form: LineForm,
    target: ShownTarget,
    errors: Mapping[str, OutkeyError],
    results: FormResults | None,
) -> dict[str, object]:
    """Return the template values of the second part: rows with results."""
    if results is None:
        results = FormResults((), (), ())
    unmapped = results.unmapped
    return {
        "target": target,
        "target_label": _target_label(target),
        "shown_rows": _shown_rows(form, target.fields, errors, results.rows),
        "children": _shown_children(form, target.targets, errors, results.children),
        "unmapped": unmapped,
        "suggestions": [known for known in unmapped if known.row.host],
        "equal_names": [known for known in unmapped if known.has_same_name],
        "api_fields": [known.row.api for known in unmapped],
    }


def when_part(
    schedule: ScheduleChoice | None, errors: Mapping[str, OutkeyError]
) -> dict[str, object]:
    """Return the template values of the part about the schedule and limits."""
    return {
        "wrong_runs": any(name.startswith(WITH_RUNS) for name in errors),
        "schedule": schedule,
        "next_times": _shown_times(schedule) if schedule else (),
        "schedule_hidden": _hidden_schedule(schedule) if schedule else (),
    }


def _shown_times(choice: ScheduleChoice) -> list[str]:
    """Return when a schedule runs next, in its own time zone."""
    application = installation()
    try:
        moments = next_times(
            choice.schedule,
            application.runs.now(),
            NEXT_TIMES,
            application.sync_ports().calendar.next_after,
        )
        zone = ZoneInfo(choice.zone or "UTC")
    except (ConfigError, ValueError, OSError):
        return []
    return [
        date_format(datetime.fromtimestamp(moment, zone), _("D j N Y H:i"))
        for moment in moments
    ]


def _title_of(direction: str) -> str:
    """Return the title of the first part."""
    if direction == Direction.PUSH:
        return _("Send")
    return _("Read") if direction == Direction.PULL else _("Request")


def _hidden_schedule(choice: ScheduleChoice) -> list[tuple[str, str]]:
    """Return the inputs that the kind of schedule does not show, as hidden ones."""
    shown = SCHEDULE_INPUTS[choice.kind]
    posted = posted_names(LineForm({}, schedule=choice))
    return [
        (name, value)
        for name, value in posted.items()
        if name.startswith("schedule_")
        and name not in shown
        and not ("schedule_day_" in shown and name.startswith("schedule_day_"))
    ]


def _methods_for(direction: str, method: str) -> list[str]:
    """Return the methods to choose from, also the one that is set."""
    is_known = direction in set(Direction)
    methods = METHODS[Direction(direction)] if is_known else ALL_METHODS
    return [*methods, *([method] if method not in methods else [])]


def _target_label(target: ShownTarget) -> str:
    """Return the name of a target as the head of a column."""
    if target.chosen.startswith(TABLE_PREFIX):
        return target.chosen.removeprefix(TABLE_PREFIX)
    for known in target.targets:
        if known.name == target.chosen:
            return known.label[:1].upper() + known.label[1:]
    return target.table or target.file or target.chosen or _("Target")


def _records_words(expression: str) -> str:
    """Return where the records are in a response."""
    return _("the whole response") if expression in {"", "@"} else expression


def _paging_words(texts: Mapping[str, str]) -> str:
    """Return how pages are requested."""
    kind = texts.get("pagination_kind", "")
    if kind not in set(Paging):
        return kind
    words = translate_text(Paging(kind).label)
    if kind in {Paging.PAGE, Paging.OFFSET}:
        return f"{words}, {texts.get('pagination_size', '')}"
    return words
