"""The buttons of a line's form: rows and lists that are added, moved and removed."""

from dataclasses import replace

import pytest

from outkey.sync.core.line_form.form_text import form_of, text_with_form
from outkey.sync.core.line_form.inputs import errors_in, posted_names, read_posted
from outkey.sync.core.line_form.line_form import MOST_ROWS, NEW_SCRIPT, LineForm
from outkey.sync.core.line_form.rows import ChildForm, MappingRow
from outkey.sync.core.line_form.schedule_choices import ScheduleChoice, ScheduleKind
from unit.sync.engine.pull.test_sync_run import fake_sync

TEXT = """\
direction = "pull"
target = "table:orders"
keys = ["id"]

# the key
[[fields]]
api = "id"
host = "id"

[[fields]]
api = "name"
host = "name"

[[children]]
list = "lines"
target = "table:lines"
parent = "order_id"
keys = ["order_id", "sku"]

[[children.fields]]
api = "sku"
host = "sku"

[[children.fields]]
api = "n"
host = "n"
"""
FORM = form_of(TEXT)


def hosts(form: LineForm, child: int | None = None) -> list[str]:
    return [row.host for row in form.rows_of(child)]


@pytest.mark.parametrize(
    ("step", "order"),
    [
        ("up-1", ["name", "id"]),
        ("up-0", ["id", "name"]),
        ("down-0", ["name", "id"]),
        ("down-1", ["id", "name"]),
        ("remove-0", ["name"]),
        ("remove-2", ["id", "name"]),
    ],
)
def test_rows_are_moved_and_removed(step: str, order: list[str]) -> None:
    form = FORM.apply(step)
    assert hosts(form) == order
    assert hosts(form_of(text_with_form(TEXT, form))) == order


def test_rows_of_a_list_are_moved_and_removed_alone() -> None:
    moved = FORM.apply("child-0-down-0")
    assert (hosts(moved, 0), hosts(moved)) == (["n", "sku"], ["id", "name"])
    assert hosts(FORM.apply("child-0-remove-1"), 0) == ["sku"]
    assert FORM.apply("child-1-remove-0") == FORM.apply("child-7-add") == FORM
    assert hosts(FORM, 7) == []


@pytest.mark.parametrize("step", ["", "up", "up-x", "add-magic", "child-x-add"])
def test_an_unknown_button_changes_nothing(step: str) -> None:
    assert FORM.apply(step) is FORM


def test_a_new_row_is_in_the_text_once_it_is_filled_in() -> None:
    form = FORM.apply("add-constant").apply("up-2")
    _, new, _ = form.rows_of()
    assert new == MappingRow(transform="constant")
    assert new.is_blank
    assert text_with_form(TEXT, form) == TEXT
    posted = posted_names(form) | {"map-host-1": "country", "map-value-1": "DE"}
    filled = form_of(text_with_form(TEXT, read_posted(posted)))
    assert hosts(filled) == ["id", "country", "name"]


def test_a_new_row_stays_where_it_is_until_it_is_filled_in() -> None:
    entered = read_posted(posted_names(FORM.apply("add-date").apply("up-2")))
    text = text_with_form(TEXT, entered)
    assert text == TEXT
    form = form_of(text).with_entered(entered)
    assert hosts(form) == ["id", "", "name"]
    assert form.rows_of()[1].transform == "date"


def test_mistakes_are_at_the_rows_that_have_them_whatever_is_empty_above() -> None:
    rows = (MappingRow(), MappingRow("id", "id"), MappingRow("x", "day", "magic"))
    form = replace(FORM, rows=rows, children=())
    assert errors_in(form).keys() == {"map-transform-2"}
    broken = (MappingRow(), MappingRow("id", "id"), MappingRow("x[", "day"))
    errors = fake_sync().runner.form_errors(replace(form, rows=broken))
    assert errors.keys() == {"map-api-2"}


def test_what_a_user_entered_stays_beside_the_form_of_the_text() -> None:
    wrong = ScheduleChoice(ScheduleKind.DAILY, time="noon")
    entered = LineForm({"target": " table:x "}, schedule=wrong)
    form = FORM.with_entered(entered)
    assert (form.texts["target"], form.schedule) == (" table:x ", wrong)
    assert (form.rows, form.keys) == (FORM.rows, ["id"])


def test_a_list_is_added_empty_and_removed() -> None:
    form = FORM.apply("child")
    assert (form.children or ())[1:] == (ChildForm(),)
    assert form.has_new_list
    assert text_with_form(TEXT, form) == TEXT
    assert not FORM.has_new_list
    assert FORM.apply("child-0-delete").children == ()
    assert FORM.apply("child-1-delete") == FORM


def test_a_list_gets_an_empty_row() -> None:
    form = FORM.apply("child-0-add")
    assert hosts(form, 0) == ["sku", "n", ""]
    assert text_with_form(TEXT, form) == TEXT


def test_a_script_begins_with_one_that_changes_nothing() -> None:
    assert FORM.apply("script").texts["script"] == NEW_SCRIPT


# ── what a sample shows ──────────────────────────────────────────────────────────────


def test_fields_of_a_sample_are_added_and_those_of_the_key_are_the_key() -> None:
    fields = [MappingRow("no", "number"), MappingRow("mail", "mail"), MappingRow("x")]
    form = form_of('direction = "pull"').with_fields(fields, ["no", "x"])
    assert (hosts(form), form.keys) == (["number", "mail", ""], ["number"])
    assert [row.required for row in form.rows_of()] == [True, False, False]
    with_keys = FORM.with_fields(fields[:1], ["no"])
    assert with_keys.keys == ["id"]
    assert not with_keys.rows_of()[2].required


def test_a_form_has_room_for_so_many_rows() -> None:
    fields = [MappingRow(f"f{number}", f"f{number}") for number in range(MOST_ROWS)]
    full = FORM.with_fields(fields, [])
    assert full.row_count == MOST_ROWS
    assert full.with_fields(fields, []) == full
    child = ChildForm("tags", "table:tags", rows=tuple(fields))
    assert (full.with_child(child).children or ())[1].rows == ()
    assert FORM.with_child(child).row_count == MOST_ROWS


def test_a_repair_changes_inputs_of_one_row() -> None:
    dated = FORM.with_repair({"transform": "date", "format": "%d.%m.%y"}, 1)
    assert dated.rows_of()[1] == MappingRow(
        "name", "name", "date", options={"format": "%d.%m.%y"}
    )
    chosen = dated.with_repair({"transform": "choice", "values": "a = b"}, 1)
    assert chosen.rows_of()[1].options == {"a": "b"}
    of_list = FORM.with_repair({"api": "n.value"}, 1, 0)
    assert of_list.rows_of(0)[1].api == "n.value"
    with pytest.raises(IndexError):
        FORM.with_repair({}, 7)


def test_a_repair_leaves_an_option_that_the_form_does_not_show() -> None:
    options = '{ format = "%d.%m.%Y", remark = "kept" }'
    text = TEXT.replace(
        'host = "name"', f'host = "name"\ntransform = "date"\noptions = {options}'
    )
    posted = posted_names(form_of(text))
    del posted["map-remark-1"]  # no page has an input for it
    form = form_of(text).with_entered(read_posted(posted))
    repaired = text_with_form(text, form.with_repair({"format": "%d.%m.%y"}, 1))
    assert 'options = { remark = "kept", format = "%d.%m.%y" }' in repaired
