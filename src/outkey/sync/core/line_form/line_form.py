"""A sync line as a form: its fields as texts, and its rows.

The TOML text stays the document: a form changes only what differs from it.
`line_inputs.py` names the inputs, reads what is posted, and finds all mistakes.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import Field, Kind, read_table
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.rows import match_rows
from outkey.sync.core.line.fields import CHILDREN_FIELDS, MAPPING_FIELDS, SYNC_FIELDS
from outkey.sync.core.line.line import FieldMapping, Sync, Transform
from outkey.sync.core.line.text import LineText, set_value
from outkey.sync.core.line_form.schedule_choices import ScheduleChoice, choice_of

TRUE = "true"
WHOLE_NUMBER = re.compile(r"-?\d{1,12}", re.ASCII)
TABLES = frozenset({Kind.TABLE, Kind.TABLES, Kind.TEXTS})
OPTION_NAMES: Mapping[Transform, tuple[str, ...]] = {
    Transform.AS_IS: ("format", "zone", "decimal_mark"),
    Transform.DECIMAL: ("decimal_mark",),
    Transform.DATE: ("format", "zone"),
    Transform.DATETIME: ("format", "zone"),
    Transform.LOOKUP: ("target", "field"),
    Transform.CONSTANT: ("value",),
    Transform.TEMPLATE: ("template",),
}
# What an option is, with an example: an example inside an input looks like a value.
OPTION_HELPS: Mapping[str, Text] = {
    "format": Text("For example %d.%m.%Y; empty: ISO dates such as 2026-02-01."),
    "zone": Text("For example Europe/Berlin; empty: UTC."),
    "target": Text("Where the record is searched, for example table:customers."),
    "field": Text("The field that has the value of the API, for example number."),
    "value": Text("Every record gets it, for example EUR."),
    "template": Text(
        "A text with fields of the API in braces, for example {{first_name}}"
        " {{last_name}}."
    ),
}
# The keys that decide what a sample requests, and where its records go.
SAMPLED = ("direction", "target", "query", "body", "records", "pagination", "script")
CHILD_INPUTS = ("list", "target", "parent", "keys")


def scalar_fields(fields: Sequence[Field] = SYNC_FIELDS) -> Iterator[Field]:
    """Yield the fields with one value, also those in tables."""
    for field in fields:
        if field.kind is Kind.TABLE:
            yield from scalar_fields(field.parts)
        elif field.kind not in TABLES and field.path != "schedule":
            yield field


# By the name of their input. The schedule is a choice of its own.
INPUTS: Mapping[str, Field] = {
    field.path.replace(".", "_"): field for field in scalar_fields()
}


@dataclass(frozen=True, slots=True)
class MappingRow:
    """One field mapping, as texts of a form."""

    api: str = ""
    host: str = ""
    transform: str = str(Transform.AS_IS)
    default: str = ""
    required: bool = False
    options: Mapping[str, str] = dataclass_field(default_factory=dict)

    @property
    def values(self) -> str:
        """The table of a choice, a line for each value."""
        is_choice = self.transform == Transform.CHOICE
        return values_text(self.options) if is_choice else ""

    def mapping(self) -> FieldMapping:
        """Return the row as a run maps it; ConfigError for an unknown transform."""
        transform = MAPPING_FIELDS[2].parse(self.transform)
        return FieldMapping(
            api=self.api,
            host=self.host,
            transform=Transform(str(transform)),
            default=self.default or None,
            required=self.required,
            options=self.options,
        )


@dataclass(frozen=True, slots=True)
class ChildForm:
    """A list inside a record, as texts of a form."""

    list: str = ""
    target: str = ""
    parent: str = ""  # names with commas between them
    keys: str = ""
    rows: tuple[MappingRow, ...] = ()


@dataclass(frozen=True, slots=True)
class LineForm:
    """What a form shows of a synchronization, or what a user entered.

    Without a direction the line only names one request. What a form does not have
    (`None`, or an input that is missing in `texts`) stays as the text has it.
    """

    texts: Mapping[str, str]  # by the name of the input
    schedule: ScheduleChoice | None = None
    query: tuple[tuple[str, str], ...] | None = None
    rows: tuple[MappingRow, ...] | None = None
    children: tuple[ChildForm, ...] | None = None

    @property
    def direction(self) -> str:
        """The direction, "" for a line that only names one request."""
        return self.texts.get("direction", "")


# ── the text and its form ────────────────────────────────────────────────────────────


def form_of(text: str) -> LineForm:
    """Return the form of a text, with defaults for what it does not name.

    ConfigError if the text is not TOML, or has something else where a form has rows.
    """
    table = LineText(text).table()
    return LineForm(
        texts={name: shown_text(field, table) for name, field in INPUTS.items()},
        schedule=choice_of(str(table.get("schedule", ""))),
        query=tuple(query_of(table)),
        rows=tuple(map(row_of, rows_at(table, "fields"))),
        children=tuple(map(child_of, rows_at(table, "children"))),
    )


def text_with_form(text: str, form: LineForm) -> str:
    """Return a text with the values of a form; comments and unknown keys stay.

    What the form has as the text has it is not touched. Values that are wrong are
    written as they were entered, so that reading the text refuses them.
    """
    before = form_of(text)
    direction = form.texts.get("direction", before.direction)
    if not direction:
        return ""
    line_text = LineText(text)
    table = line_text.table()
    for name, entered in form.texts.items():
        if name in INPUTS and entered != before.texts[name]:
            *outer, key = INPUTS[name].path.split(".")
            set_value(table, outer, key, written_value(INPUTS[name], entered))
    if form.schedule is not None and form.schedule != before.schedule:
        set_value(table, [], "schedule", written_schedule(form.schedule))
    if form.query is not None and form.query != before.query:
        set_value(table, [], "query", dict(form.query) or None)
    if form.rows is not None and form.rows != before.rows:
        rows = merged_rows(rows_at(table, "fields"), form.rows)
        set_value(table, [], "fields", rows or None)
    if form.children is not None and form.children != before.children:
        set_value(table, [], "children", merged_children(table, form.children) or None)
    return str(line_text.with_table(table))


def sample_sync(text: str) -> Sync | None:
    """Return what a sample needs of a text, which may not be complete yet.

    None for a line that only names one request. ConfigError for a mistake in the
    request, the records or the pages.
    """
    table = LineText(text).table()
    if not table.get("direction"):
        return None
    fields = [field for field in SYNC_FIELDS if field.key in SAMPLED]
    optional = [replace(field, required=False) for field in fields]
    part = {key: value for key, value in table.items() if key in SAMPLED}
    # The fields have the types of the attributes.
    return Sync(**read_table(optional, part))  # type: ignore[arg-type]


def shown_text(field: Field, table: Mapping[str, Any]) -> str:
    """Return the text of an input: the value of the table, or its default."""
    value: object = table
    for key in field.path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        value = field.default
    return value_text(value)


def value_text(value: object) -> str:
    """Return a value as an input has it."""
    match value:
        case None | False:
            return ""
        case True:
            return TRUE
        case list() | tuple():
            return ", ".join(map(str, value))
    return str(value)


def written_value(field: Field, entered: str) -> object:
    """Return what an input means in TOML; None for what is as by default."""
    text = entered if field.kind is Kind.LONG_TEXT else entered.strip()
    value: object = text
    match field.kind:
        case Kind.FLAG:
            value = text == TRUE
        case Kind.INTEGER if WHOLE_NUMBER.fullmatch(text):
            value = int(text)
        case Kind.LIST | Kind.NAMES:
            value = names_in(text)
    is_default = value_text(value) == value_text(field.default)
    return None if text == "" or (is_default and not field.is_always_written) else value


def names_in(text: str) -> list[str]:
    """Return the names of a text with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def written_schedule(choice: ScheduleChoice) -> str | None:
    """Return a schedule; what is wrong is written as it was entered."""
    try:
        return choice.schedule or None
    except ConfigError:
        return choice.cron or choice.time or None


def query_of(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of every request."""
    query = table.get("query", {})
    if not isinstance(query, dict):
        raise ConfigError(Text("must be a table"), field="query")
    for name, value in query.items():
        yield name, value_text(value)


def rows_at(table: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of tables, or raise ConfigError if it is something else."""
    rows = table.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigError(Text("must be a list of tables"), field=key)
    return rows


def row_of(table: Mapping[str, Any]) -> MappingRow:
    """Return the row of a field mapping."""
    options = table.get("options", {})
    if not isinstance(options, dict):
        raise ConfigError(Text("must be a table"), field="fields")
    return MappingRow(
        api=value_text(table.get("api")),
        host=value_text(table.get("host")),
        transform=value_text(table.get("transform", Transform.AS_IS)),
        default=value_text(table.get("default")),
        required=bool(table.get("required")),
        options={name: value_text(value) for name, value in options.items()},
    )


def row_of_mapping(mapping: FieldMapping) -> MappingRow:
    """Return the row of a field mapping."""
    return MappingRow(
        api=mapping.api,
        host=mapping.host,
        transform=str(mapping.transform),
        default=mapping.default or "",
        required=mapping.required,
        options=mapping.options,
    )


def child_of(table: Mapping[str, Any]) -> ChildForm:
    """Return the form of a list inside a record."""
    texts = {name: value_text(table.get(name)) for name in CHILD_INPUTS}
    return ChildForm(**texts, rows=tuple(map(row_of, rows_at(table, "fields"))))


def merged_rows(
    old: Sequence[Mapping[str, Any]], rows: Sequence[MappingRow]
) -> list[dict[str, Any]]:
    """Return the tables of mappings, with the unknown keys that the old ones had."""
    named = [{"host": row.host, "api": row.api} for row in rows]
    numbers = match_rows(old, named)
    return [
        merged_row({} if number is None else old[number], row)
        for number, row in zip(numbers, rows, strict=True)
    ]


def merged_row(old: Mapping[str, Any], row: MappingRow) -> dict[str, Any]:
    """Return the table of a mapping; what is as before is written as before."""
    before = row_of(old)
    table = dict(old)
    for field in MAPPING_FIELDS[:4]:
        entered = getattr(row, field.key)
        if not old or entered != getattr(before, field.key):
            set_value(table, [], field.key, written_value(field, entered))
    table.setdefault("api", "")
    table.setdefault("host", "")
    if row.required != before.required:
        set_value(table, [], "required", row.required or None)
    if row.options != before.options or row.transform != before.transform:
        set_value(table, [], "options", merged_options(before, row) or None)
    return table


def merged_options(before: MappingRow, row: MappingRow) -> dict[str, str]:
    """Return the options of a row, and unknown ones if the transform is the same."""
    options = dict(row.options)
    known_transforms = {*Transform} - {Transform.CHOICE}
    if row.transform == before.transform and row.transform in known_transforms:
        form_names = OPTION_NAMES.get(Transform(row.transform), ())
        unknown = {
            name: value
            for name, value in before.options.items()
            if name not in form_names
        }
        return unknown | options
    return options


def merged_children(
    table: Mapping[str, Any], children: Sequence[ChildForm]
) -> list[dict[str, Any]]:
    """Return the tables of lists inside records, with their unknown keys."""
    old = rows_at(table, "children")
    named = [{"list": child.list, "target": child.target} for child in children]
    merged = []
    for number, child in zip(match_rows(old, named), children, strict=True):
        before = {} if number is None else old[number]
        inner = dict(before)
        shown = child_of(before)
        for field in CHILDREN_FIELDS[:4]:
            entered = getattr(child, field.key)
            if not before or entered != getattr(shown, field.key):
                set_value(inner, [], field.key, written_value(field, entered))
        if child.rows != shown.rows:
            rows = merged_rows(rows_at(before, "fields"), child.rows)
            set_value(inner, [], "fields", rows or None)
        merged.append(inner)
    return merged


# ── choices, a line for each value ───────────────────────────────────────────────────


def values_text(options: Mapping[str, str]) -> str:
    """Return the table of a choice: `A = active`, a line for each."""
    return "\n".join(
        f"{listed_value(theirs)} = {listed_value(ours)}"
        for theirs, ours in options.items()
    )


def listed_value(value: str) -> str:
    """Return a value of a choice, in quotes where it could be taken for another."""
    is_plain = (
        value == value.strip() and value.isprintable() and '"' not in value
    ) and "=" not in value
    return value if is_plain and value else json.dumps(value, ensure_ascii=False)


def values_in(text: str) -> dict[str, str]:
    """Return the table of a choice from its lines; a line without = maps to itself."""
    values = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        theirs, rest = first_value(line)
        ours, _ = first_value(rest.strip()) if rest.strip() else (theirs, "")
        values[theirs] = ours
    return values


def first_value(text: str) -> tuple[str, str]:
    """Return the value before an equals sign, and what is behind that."""
    if text.startswith('"'):
        try:
            value, end = json.JSONDecoder().raw_decode(text)
            return str(value), text[end:].strip().removeprefix("=")
        except ValueError:
            pass
    value, _, rest = text.partition("=")
    return value.strip(), rest
