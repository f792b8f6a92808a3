"""The inputs of a line's form: how they are named, posted, read and refused.

Each field of `sync/core/line/fields.py` that has one value is an input named after
its path: `target`, `pagination_size`, `create_path`. Rows have numbers:

    map-host-0, map-api-0, map-transform-0, map-format-0    a field mapping
    child-0-list, child-0-map-host-1                        a list inside a record
    query-name-0, query-value-0                             a parameter
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.line.table import sync_errors
from outkey.sync.core.line.text import LineText
from outkey.sync.core.line_form.form_text import table_with_form
from outkey.sync.core.line_form.line_form import INPUTS, LineForm
from outkey.sync.core.line_form.rows import (
    CHILD_INPUTS,
    OPTION_NAMES,
    TRUE,
    ChildForm,
    MappingRow,
    filled,
)
from outkey.sync.core.line_form.schedule_choices import (
    ScheduleChoice,
    ScheduleKind,
    Weekday,
)

ROW_NAME = re.compile(r"(child-(\d{1,4})-)?(map|query)-([a-z_]+)-(\d{1,4})", re.ASCII)
CHILD_NAME = re.compile(r"child-(\d{1,4})-([a-z]+)", re.ASCII)
PLACE = re.compile(r"^(?:children\[(\d+)\]\.)?(?:fields\[(\d+)\]\.)?(.*)", re.DOTALL)
FIRST_INPUTS = {"schedule": "schedule_kind", "fields": "map-host-0"}
ROW_INPUTS = ("api", "host", "transform", "default", "required")
SYNC_INPUT = "sync"  # the text itself, for mistakes that have no input


# ── what a browser posts ─────────────────────────────────────────────────────────────


def read_posted(posted: Mapping[str, str]) -> LineForm:
    """Return the form that was posted.

    An input that was not posted stays as the text has it. Rows are posted as a whole if
    any of them is, or if `map-count`, `query-count` or `child-count` is. A flag is
    `true`, or empty. Parameters, lists and the rows of lists are ignored if they have
    no text; a field mapping stays until its user removes it.
    """
    values = {name: value.replace("\r\n", "\n") for name, value in posted.items()}
    rows = posted_rows(values)
    return LineForm(
        texts={name: values[name] for name in INPUTS if name in values},
        schedule=_posted_schedule(values),
        query=(
            tuple(_posted_query(rows.get(("", "query"), {})))
            if ("", "query") in rows or "query-count" in values
            else None
        ),
        rows=(
            _posted_mappings(rows.get(("", "map"), {}))
            if ("", "map") in rows or "map-count" in values
            else None
        ),
        children=_posted_children(values, rows),
    )


Rows = dict[int, dict[str, str]]


def posted_rows(values: Mapping[str, str]) -> dict[tuple[str, str], Rows]:
    """Return the inputs of rows, by their child and list, and by number."""
    rows: dict[tuple[str, str], Rows] = {}
    for name, value in values.items():
        if match := ROW_NAME.fullmatch(name):
            _, child, kind, part, number = match.groups()
            of_list = rows.setdefault((child or "", kind), {})
            of_list.setdefault(int(number), {})[part] = value
    return rows


def _posted_mappings(rows: Rows) -> tuple[MappingRow, ...]:
    """Return the field mappings that were posted, in the order of their numbers."""
    return tuple(MappingRow.of_inputs(inputs) for _, inputs in sorted(rows.items()))


def _posted_query(rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield the parameters that were posted."""
    for _, inputs in sorted(rows.items()):
        name = inputs.get("name", "").strip()
        value = inputs.get("value", "")
        if name or value:
            yield name, value


def _posted_children(
    values: Mapping[str, str], rows: Mapping[tuple[str, str], Rows]
) -> tuple[ChildForm, ...] | None:
    """Return the lists inside records that were posted; None if there was no input."""
    inputs: dict[str, dict[str, str]] = {child: {} for child, _ in rows if child}
    for name, value in values.items():
        if match := CHILD_NAME.fullmatch(name):
            inputs.setdefault(match[1], {})[match[2]] = value
    if not inputs and "child-count" not in values:
        return None
    children = []
    for child in sorted(inputs, key=int):
        texts = {name: inputs[child].get(name, "").strip() for name in CHILD_INPUTS}
        mappings = filled(_posted_mappings(rows.get((child, "map"), {})))
        children.append(ChildForm(**texts, rows=mappings))
    return tuple(child for child in children if not child.is_blank)


def _posted_schedule(values: Mapping[str, str]) -> ScheduleChoice | None:
    """Return the schedule that was posted, if it was."""
    kind = values.get("schedule_kind")
    if kind not in set(ScheduleKind):
        return None
    default = ScheduleChoice()
    return ScheduleChoice(
        kind=ScheduleKind(kind),
        minutes=values.get("schedule_minutes", default.minutes).strip(),
        minute=values.get("schedule_minute", default.minute).strip(),
        time=values.get("schedule_time", default.time).strip(),
        days=tuple(day for day in Weekday if values.get(f"schedule_day_{day}")),
        zone=values.get("schedule_zone", default.zone).strip(),
        cron=values.get("schedule_cron", "").strip(),
    )


def posted_names(form: LineForm) -> dict[str, str]:
    """Return the inputs of a form with their values, as a browser posts them."""
    posted = dict(form.texts)
    if form.schedule is not None:
        choice = form.schedule
        posted |= {
            "schedule_kind": str(choice.kind),
            "schedule_minutes": choice.minutes,
            "schedule_minute": choice.minute,
            "schedule_time": choice.time,
            "schedule_zone": choice.zone,
            "schedule_cron": choice.cron,
        }
        posted |= {f"schedule_day_{day}": TRUE for day in choice.days}
    for number, (name, value) in enumerate(form.query or ()):
        posted |= {f"query-name-{number}": name, f"query-value-{number}": value}
    posted |= _row_inputs(form.rows or ())
    for number, child in enumerate(form.children or ()):
        prefix = f"child-{number}-"
        posted |= {prefix + name: getattr(child, name) for name in CHILD_INPUTS}
        posted |= _row_inputs(child.rows, prefix)
    counts = {"map": form.rows, "query": form.query, "child": form.children}
    return posted | {
        f"{kind}-count": str(len(rows))
        for kind, rows in counts.items()
        if rows is not None
    }


def _row_inputs(rows: Sequence[MappingRow], prefix: str = "") -> dict[str, str]:
    """Return the inputs of field mappings."""
    return {
        f"{prefix}map-{part}-{number}": text
        for number, row in enumerate(rows)
        for part, text in row.inputs().items()
    }


# ── mistakes ─────────────────────────────────────────────────────────────────────────


def errors_in(form: LineForm, text: str = "") -> dict[str, ConfigError]:
    """Return everything that is wrong with a form, by the name of the input.

    With that of the text where the form has no input. Of several mistakes of one input
    there is the first.
    """
    errors: dict[str, ConfigError] = {}
    try:
        table = table_with_form(LineText(text).table(), form)
    except ConfigError as unreadable:  # the text is not TOML, or has no form
        return {SYNC_INPUT: unreadable}
    if not table:  # a line that only names one request
        return errors
    if wrong_schedule := schedule_error(form.schedule):
        errors[wrong_schedule.field or SYNC_INPUT] = wrong_schedule
        table.pop("schedule", None)
    for error in sync_errors(table):
        errors.setdefault(input_name(error.field or "", form), error)
    return errors


def schedule_error(choice: ScheduleChoice | None) -> ConfigError | None:
    """Return the error in a schedule; None if it is valid."""
    try:
        _ = choice.schedule if choice else ""
    except ConfigError as error:
        return error
    return None


def input_name(place: str, form: LineForm | None = None) -> str:
    """Return the input for a place in the text, such as `fields[2].options.format`.

    The form tells the number of a parameter, and that of a row, which is another one
    in the text if rows above are not filled in.
    """
    ((child, row, rest),) = PLACE.findall(place)
    prefix = f"child-{child}-" if child else ""
    if row:
        rows = form.rows_of(int(child) if child else None) if form else ()
        numbers = [number for number, known in enumerate(rows) if not known.is_blank]
        number = numbers[int(row)] if int(row) < len(numbers) else row
        return f"{prefix}map-{row_input(rest)}-{number}"
    if child:
        name = rest.partition("[")[0]
        return f"{prefix}{name}" if name in CHILD_INPUTS else f"{prefix}list"
    if rest.startswith("query"):
        names = [name for name, _ in form.query or ()] if form else []
        name = rest.removeprefix("query.")
        return f"query-value-{names.index(name)}" if name in names else "query-name-0"
    name = str(rest).partition("[")[0].replace(".", "_")
    if name in FIRST_INPUTS or name in INPUTS:
        return FIRST_INPUTS.get(name, name)
    # A table as a whole, such as job: its first input.
    inputs = (known for known in INPUTS if known.startswith(f"{name}_"))
    return next(inputs, SYNC_INPUT)


def row_input(rest: str) -> str:
    """Return the input of a row for the rest of a place, such as options.format."""
    key, _, option = rest.partition(".")
    if key != "options":
        return key if key in ROW_INPUTS else "host"
    known = {name for names in OPTION_NAMES.values() for name in names}
    return option if option in known else "values"
