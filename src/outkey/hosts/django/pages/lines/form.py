"""The form of a sync line as the page draws it: inputs, rows, schedule and target."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.field_kinds import Field, Kind
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sync.core.line.fields import CHILDREN_FIELDS
from outkey.sync.core.line.line import Direction, Transform
from outkey.sync.core.line_form.form_text import form_of, text_with_form
from outkey.sync.core.line_form.inputs import (
    SYNC_INPUT,
    input_name,
    posted_rows,
    read_posted,
)
from outkey.sync.core.line_form.line_form import INPUTS, MOST_ROWS, LineForm
from outkey.sync.core.line_form.rows import (
    CHILD_INPUTS,
    OPTION_HELPS,
    OPTION_NAMES,
    ChildForm,
    MappingRow,
)
from outkey.sync.core.line_form.schedule_choices import ScheduleKind
from outkey.sync.core.mapping.records import HostField, Target
from outkey.sync.core.mapping.targets import FILE_PREFIX, TABLE_PREFIX, target_words
from outkey.sync.core.suggest.suggest import default_target

FORM_VIEW = "form"
TEXT_VIEW = "toml"
NEW_TABLE = "+table"
NEW_FILE = "+file"
CALL_INPUTS = ("name", "configuration", "method", "path")
METHODS = {
    Direction.PULL: ("GET", "POST"),
    Direction.PUSH: ("POST", "PUT", "PATCH"),
}
ALL_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PUSH_METHODS = ("", "POST", "PUT", "PATCH", "DELETE")


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
        return kinds.get(self.field.kind, "text")


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
        """What it is, with an example."""
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


@dataclass
class EditedLine:
    """What is on the page: the request, the text, and the form of that text.

    The text is the document. A form that was posted has changed it already.
    """

    values: dict[str, str]  # name, configuration, method, path, sync
    view: str
    form: LineForm
    version: int
    error: OutkeyError | None = None  # of a text that has no form

    @classmethod
    def of_text(
        cls, values: Mapping[str, str], view: str, version: int
    ) -> "EditedLine":
        """Return a line from its text; one that has no form is shown as text."""
        try:
            form = form_of(values["sync"])
        except ConfigError as error:
            return cls(dict(values), TEXT_VIEW, form_of(""), version, error)
        if form.schedule is not None and form.schedule.kind is ScheduleKind.BY_HAND:
            # Whoever chooses a time next means the clock on the wall.
            zone = timezone.get_current_timezone_name()
            form = replace(form, schedule=replace(form.schedule, zone=zone))
        if form.row_count > MOST_ROWS:
            message = Text(
                "a line with more than {count} fields has no form", count=MOST_ROWS
            )
            return cls(dict(values), TEXT_VIEW, form, version, ConfigError(message))
        return cls(dict(values), view, form, version)

    @classmethod
    def posted(
        cls, request: HttpRequest, values: Mapping[str, str], version: int
    ) -> "EditedLine":
        """Return what was posted: the text, with what the form has changed of it."""
        posted = {name: str(value) for name, value in request.POST.items()}
        if posted.get("view", TEXT_VIEW) != FORM_VIEW:
            return cls.of_text(values, TEXT_VIEW, version)
        entered = read_posted(with_target(with_keys(posted)))
        try:
            text = text_with_form(values["sync"], entered)
        except ConfigError as error:
            return cls(dict(values), TEXT_VIEW, form_of(""), version, error)
        edited = cls.of_text({**values, "sync": text}, FORM_VIEW, version)
        edited.form = edited.form.with_entered(entered)
        return edited

    def change(self, form: LineForm) -> None:
        """Change the form, and the text with it."""
        self.form = form
        self.values["sync"] = text_with_form(self.values["sync"], form)


@dataclass(frozen=True)
class ShownChildInput:
    """One input of a list inside the records."""

    part: str
    label: str
    help: str
    value: str
    error: OutkeyError | None


@dataclass(frozen=True)
class ShownChild:
    """A list inside the records, with its rows."""

    number: int
    form: ChildForm
    inputs: Sequence[ShownChildInput]
    rows: Sequence[ShownRow]


def shown_rows(
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
            errors={} if row.is_blank else input_errors(errors, prefix, number),
            outcome=None
            if row.is_blank or number >= len(outcomes)
            else outcomes[number],
        )
        for number, row in enumerate(rows)
    ]


def shown_children(
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
            ShownChildInput(
                part=part,
                label=known_fields[part].label,
                help=known_fields[part].help,
                value=getattr(child, part),
                error=errors.get(f"child-{number}-{part}"),
            )
            for part in CHILD_INPUTS
        ]
        fields = ShownTarget.of(child.target, targets).fields
        of_child = outcomes[number] if number < len(outcomes) else ()
        rows = shown_rows(form, fields, errors, of_child, number)
        children.append(ShownChild(number, child, inputs, rows))
    return children


def with_keys(posted: Mapping[str, str]) -> dict[str, str]:
    """Return what was posted with the keys that are ticked in the rows."""
    if "map-count" not in posted:
        return dict(posted)
    rows = posted_rows(posted).get(("", "map"), {})
    keys = [row.get("host", "") for _, row in sorted(rows.items()) if row.get("key")]
    return {**posted, "keys": ", ".join(filter(None, keys))}


def with_target(posted: Mapping[str, str]) -> dict[str, str]:
    """Return what was posted with the name of the target that is chosen."""
    chosen = posted.get("target_choice")
    if chosen is None:
        return dict(posted)
    target = chosen
    if chosen == NEW_TABLE and "target_table" not in posted:
        target = default_target(posted.get("name", ""))
    elif chosen == NEW_TABLE:
        name = posted.get("target_table", "").strip()
        target = TABLE_PREFIX + name if name else ""
    elif chosen == NEW_FILE:
        name = posted.get("target_file", "").strip()
        target = FILE_PREFIX + name if name else ""
    return {**posted, "target": target}


def input_errors(
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


def place_of(error: OutkeyError, form: LineForm) -> str:
    """Return the name of the input that an error belongs to; "" for none."""
    place = str(error.field or "")
    if place in CALL_INPUTS:
        return place
    if not place:
        return ""
    name = input_name(place, form)
    return "" if name == SYNC_INPUT else name


def title_of(direction: str) -> str:
    """Return the title of the first part."""
    if direction == Direction.PUSH:
        return _("Send")
    return _("Read") if direction == Direction.PULL else _("Request")
