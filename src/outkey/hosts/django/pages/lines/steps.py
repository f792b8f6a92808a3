"""What the buttons of the page of a sync line do: each changes the form."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from outkey.hosts.django.pages.lines.form import MOST_ROWS, EditedLine, row_count
from outkey.sync.core.line.line import Transform
from outkey.sync.core.line_form.inputs import posted_mapping, row_inputs
from outkey.sync.core.line_form.line_form import ChildForm, MappingRow
from outkey.sync.core.line_form.row_repairs import Repair
from outkey.sync.core.line_form.suggestion import form_with_suggestion
from outkey.sync.core.mapping.unmapped_fields import UnmappedField
from outkey.sync.core.suggest.suggest import Suggestion

ROW_STEP = re.compile(r"(?:child-(\d{1,4})-)?(up|down|remove)-(\d{1,4})", re.ASCII)
CHILD_STEP = re.compile(r"child-(\d{1,4})-(add|delete)", re.ASCII)
NEW_SCRIPT = "def transform(record):\n    return record\n"


def change_form(edited: EditedLine, step: str) -> None:
    """Do what a button asks for; what is unknown changes nothing."""
    if match := ROW_STEP.fullmatch(step):
        child, action, number = match.groups()
        if child is None:
            edited.change_rows(changed_rows(edited.rows, action, int(number)))
        else:
            change_child_rows(edited, int(child), action, int(number))
    elif match := CHILD_STEP.fullmatch(step):
        change_children(edited, int(match[1]), match[2])
    elif step.startswith("add-") and step.removeprefix("add-") in set(Transform):
        row = MappingRow(transform=step.removeprefix("add-"))
        edited.change_rows([*edited.rows, row])
    elif step == "child":
        edited.new_child = True
    elif step == "script":
        edited.change_texts(script=NEW_SCRIPT)


def changed_rows(
    rows: Sequence[MappingRow], action: str, number: int
) -> list[MappingRow]:
    """Return rows after one was moved or removed."""
    changed = list(rows)
    if number >= len(changed):
        return changed
    row = changed.pop(number)
    if action == "up":
        changed.insert(max(0, number - 1), row)
    elif action == "down":
        changed.insert(number + 1, row)
    return changed


def change_child_rows(edited: EditedLine, child: int, action: str, number: int) -> None:
    """Move or remove a row of a list inside the records."""
    children = [*(edited.form.children or ())]
    if child < len(children):
        rows = changed_rows(children[child].rows, action, number)
        children[child] = replace(children[child], rows=tuple(rows))
        edited.change(children=tuple(children))


def change_children(edited: EditedLine, number: int, action: str) -> None:
    """Remove a list inside the records, or offer one more row of it."""
    children: list[ChildForm] = [*(edited.form.children or ())]
    if action == "add":
        edited.longer_child = number
    elif number < len(children):
        del children[number]
        edited.change(children=tuple(children))


def add_child(edited: EditedLine, child: ChildForm) -> None:
    """Add a list inside the records, with as many of its rows as there is room for."""
    room = max(0, MOST_ROWS - row_count(edited))
    children = edited.form.children or ()
    shorter = replace(child, rows=child.rows[:room])
    edited.change(children=(*children, shorter))


def accept_fields(
    edited: EditedLine, fields: Iterable[UnmappedField], key_paths: Sequence[str]
) -> None:
    """Add rows for fields of the sample, and make those of the key the key.

    `key_paths` are the paths of the fields that identify a record.
    """
    rows = [*edited.rows]
    keys = edited.keys
    has_keys = bool(keys)
    room = MOST_ROWS - row_count(edited)
    for field in islice(fields, max(0, room)):
        is_key = field.row.api in key_paths and bool(field.row.host) and not has_keys
        rows.append(replace(field.row, required=True) if is_key else field.row)
        if is_key:
            keys.append(field.row.host)
    edited.change_rows(rows)
    edited.change_texts(keys=", ".join(keys))


def use_found_pages(edited: EditedLine, suggestion: Suggestion) -> None:
    """Take over where a sample has its records and pages, and a target if none is set.

    Keys and rows are added when the user accepts them.
    """
    completed = form_with_suggestion(edited.form, suggestion)
    keys = edited.form.texts.get("keys", "")
    edited.change(texts={**completed.texts, "keys": keys})


def key_paths_of(suggestion: Suggestion) -> list[str]:
    """Return the paths of the fields that identify a record."""
    keys = {*suggestion.keys}
    return [
        field.mapping.api for field in suggestion.fields if field.mapping.host in keys
    ]


def repair_row(
    edited: EditedLine, child: int | None, number: int, repair: Repair
) -> None:
    """Change a row, among those that are filled in, as a repair says."""
    rows = [*(edited.form.rows or ())]
    if child is not None:
        rows = [*(edited.form.children or ())[child].rows]
    before = rows[number]
    inputs = {
        name.removeprefix("map-").removesuffix("-0"): text
        for name, text in row_inputs([before]).items()
    }
    for name, text in repair.changes.items():
        inputs[name.partition("map-")[2].rpartition("-")[0] or name] = text
    rows[number] = posted_mapping(inputs)
    if child is None:
        shown = edited.rows.index(before)
        changed = [*edited.rows]
        changed[shown] = rows[number]
        edited.change_rows(changed)
    else:
        children = [*(edited.form.children or ())]
        children[child] = replace(children[child], rows=tuple(rows))
        edited.change(children=tuple(children))
