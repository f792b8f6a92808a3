"""The TOML text of a line and its form.

The text stays the document: a form changes only what differs from it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import Field, Kind, read_table
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.rows import match_rows
from outkey.sync.core.line.fields import CHILDREN_FIELDS, MAPPING_FIELDS, SYNC_FIELDS
from outkey.sync.core.line.line import Sync, Transform
from outkey.sync.core.line.text import LineText, set_value
from outkey.sync.core.line_form.line_form import INPUTS, LineForm
from outkey.sync.core.line_form.rows import (
    CHILD_INPUTS,
    OPTION_NAMES,
    TRUE,
    ChildForm,
    MappingRow,
    filled,
    names_in,
    value_text,
)
from outkey.sync.core.line_form.schedule_choices import ScheduleChoice, choice_of

WHOLE_NUMBER = re.compile(r"-?\d{1,12}", re.ASCII)
# The keys that decide what a sample requests, and where its records go.
SAMPLED = (
    "direction",
    "target",
    "query",
    "body",
    "records",
    "response",
    "pagination",
    "script",
    "for_each",
    "incremental",
    "job",
)


def form_of(text: str) -> LineForm:
    """Return the form of a text, with defaults for what it does not name.

    ConfigError if the text is not TOML, or has something else where a form has rows.
    """
    return _form_of_table(LineText(text).table())


def _form_of_table(table: Mapping[str, Any]) -> LineForm:
    """Return the form of the values of a text."""
    return LineForm(
        texts={name: _shown_text(field, table) for name, field in INPUTS.items()},
        schedule=choice_of(str(table.get("schedule", ""))),
        query=tuple(_query_of(table)),
        rows=tuple(map(_row_of, rows_at(table, "fields"))),
        children=tuple(map(_child_of, rows_at(table, "children"))),
    )


def text_with_form(text: str, form: LineForm) -> str:
    """Return a text with the values of a form; comments and unknown keys stay.

    What the form has as the text has it is not touched. Values that are wrong are
    written as they were entered, so that reading the text refuses them.
    """
    line_text = LineText(text)
    table = table_with_form(line_text.table(), form)
    return str(line_text.with_table(table)) if table else ""


def table_with_form(old: Mapping[str, Any], form: LineForm) -> dict[str, Any]:
    """Return the values of a text with those of a form; none without a direction."""
    before = _form_of_table(old)
    if not form.texts.get("direction", before.direction):
        return {}
    table = deepcopy(dict(old))
    for name, posted in form.texts.items():
        entered = _entered(name, posted, before.texts.get(name, ""))
        if name in INPUTS and entered != before.texts[name]:
            *outer, key = INPUTS[name].path.split(".")
            set_value(table, outer, key, _written_value(INPUTS[name], entered))
    if form.schedule is not None and form.schedule != before.schedule:
        set_value(table, [], "schedule", _written_schedule(form.schedule))
    if form.query is not None and form.query != before.query:
        values = dict(before.query or ())
        query = {
            name: with_line_breaks(value, values.get(name, ""))
            for name, value in form.query
        }
        set_value(table, [], "query", query or None)
    if form.rows is not None and filled(form.rows) != before.rows:
        rows = _merged_rows(rows_at(table, "fields"), filled(form.rows))
        set_value(table, [], "fields", rows or None)
    if form.children is not None and form.children != before.children:
        children = [child for child in form.children if not child.is_blank]
        set_value(table, [], "children", _merged_children(table, children) or None)
    return table


def with_line_breaks(entered: str, before: str) -> str:
    """Return the text as it was if only its line breaks are missing.

    A browser removes them from an input of one line, as HTML demands.
    """
    return before if entered == before.replace("\n", "") else entered


def _entered(name: str, posted: str, before: str) -> str:
    """Return what a user has entered, without what the inputs alone have changed."""
    if name != "keys":
        return with_line_breaks(posted, before)
    # They are ticked in the rows, and their order counts for children.
    names = names_in(posted)
    earlier = [name for name in names_in(before) if name in names]
    return value_text([*earlier, *(name for name in names if name not in earlier)])


def sample_sync(text: str) -> Sync | None:
    """Return the settings for a sample of a text, which may be incomplete.

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


def _shown_text(field: Field, table: Mapping[str, Any]) -> str:
    """Return the text of an input: the value of the table, or its default."""
    value: object = table
    for key in field.path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        value = field.default
    return value_text(value)


def _written_value(field: Field, entered: str) -> object:
    """Return the value of an input in TOML; None for the default."""
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
    # A flag that is not ticked is posted as an empty text.
    is_empty = text == "" and field.kind is not Kind.FLAG
    return None if is_empty or (is_default and not field.is_always_written) else value


def _written_schedule(choice: ScheduleChoice) -> str | None:
    """Return a schedule; what is wrong is written as it was entered."""
    try:
        return choice.schedule or None
    except ConfigError:
        return choice.cron or choice.time or None


def _query_of(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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


def _row_of(table: Mapping[str, Any]) -> MappingRow:
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


def _child_of(table: Mapping[str, Any]) -> ChildForm:
    """Return the form of a list inside a record."""
    texts = {name: value_text(table.get(name)) for name in CHILD_INPUTS}
    return ChildForm(**texts, rows=tuple(map(_row_of, rows_at(table, "fields"))))


def _merged_rows(
    old: Sequence[Mapping[str, Any]], rows: Sequence[MappingRow]
) -> list[dict[str, Any]]:
    """Return the tables of mappings, with the unknown keys that the old ones had."""
    named = [{"host": row.host, "api": row.api} for row in rows]
    numbers = match_rows(old, named)
    return [
        _merged_row({} if number is None else old[number], row)
        for number, row in zip(numbers, rows, strict=True)
    ]


def _merged_row(old: Mapping[str, Any], row: MappingRow) -> dict[str, Any]:
    """Return the table of a mapping; what is as before is written as before."""
    before = _row_of(old)
    table = dict(old)
    for field in MAPPING_FIELDS[:4]:
        shown = getattr(before, field.key)
        entered = with_line_breaks(getattr(row, field.key), shown)
        if not old or entered != shown:
            set_value(table, [], field.key, _written_value(field, entered))
    table.setdefault("api", "")
    table.setdefault("host", "")
    if row.required != before.required:
        set_value(table, [], "required", row.required or None)
    if row.options != before.options or row.transform != before.transform:
        set_value(table, [], "options", _merged_options(before, row) or None)
    return table


def _merged_options(before: MappingRow, row: MappingRow) -> dict[str, str]:
    """Return the options of a row, and unknown ones if the transform is the same."""
    options = {
        name: with_line_breaks(value, before.options.get(name, ""))
        for name, value in row.options.items()
    }
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


def _merged_children(
    table: Mapping[str, Any], children: Sequence[ChildForm]
) -> list[dict[str, Any]]:
    """Return the tables of lists inside records, with their unknown keys."""
    old = rows_at(table, "children")
    named = [{"list": child.list, "target": child.target} for child in children]
    merged = []
    for number, child in zip(match_rows(old, named), children, strict=True):
        before = {} if number is None else old[number]
        inner = dict(before)
        shown = _child_of(before)
        for field in CHILDREN_FIELDS[:4]:
            text = getattr(shown, field.key)
            entered = with_line_breaks(getattr(child, field.key), text)
            if not before or entered != text:
                set_value(inner, [], field.key, _written_value(field, entered))
        rows_now = filled(child.rows)
        if rows_now != shown.rows:
            rows = _merged_rows(rows_at(before, "fields"), rows_now)
            set_value(inner, [], "fields", rows or None)
        merged.append(inner)
    return merged
