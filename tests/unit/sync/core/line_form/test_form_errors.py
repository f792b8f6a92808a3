"""Everything that is wrong with a line's form, and forms completed from a sample."""

from dataclasses import replace

import pytest

from outkey.sync.core.line.section import parse_sync
from outkey.sync.core.line_form.form_text import form_of, text_with_form
from outkey.sync.core.line_form.line_form import LineForm
from outkey.sync.core.line_form.rows import ChildForm, MappingRow, row_of_mapping
from outkey.sync.core.line_form.schedule_choices import ScheduleChoice, ScheduleKind
from unit.sync.core.suggest.test_sync_suggesting import Recorder
from unit.sync.engine.pull.test_sync_run import answer, fake_sync, people

ROWS = (MappingRow("id", "number"), MappingRow("name", "name"))
FORM = LineForm(
    {"direction": "pull", "target": "contact", "keys": "number", "records": "@"},
    rows=ROWS,
)


def names(form: LineForm) -> set[str]:
    return {*fake_sync().runner.form_errors(form)}


def test_a_form_that_the_host_can_run_has_no_errors() -> None:
    assert names(FORM) == set()
    assert names(replace(FORM, schedule=ScheduleChoice(ScheduleKind.DAILY))) == set()
    assert names(replace(FORM, schedule=ScheduleChoice())) == set()


def test_a_line_that_only_names_a_request_has_no_errors() -> None:
    assert names(replace(form_of(""), rows=(MappingRow("x[", "y"),))) == set()


def test_errors_of_the_text_and_of_the_host_are_reported_together() -> None:
    rows = (
        MappingRow("id", "number"),
        MappingRow("x", "nothing"),
        MappingRow("x", "born", "number"),
        MappingRow("x", "price", "magic"),
        MappingRow("x[", "name"),
        MappingRow("x", "owner", "lookup"),
    )
    child_rows = (
        MappingRow("$index", "position"),
        MappingRow("a", "day", "date", options={"zone": "Nowhere"}),
        MappingRow("a", "b", "choice"),
    )
    form = replace(
        FORM.with_texts(records="a[", pagination_size="x", keys="number, other"),
        rows=rows,
        children=(ChildForm("l[", "table:x", "p", "p", child_rows),),
        schedule=ScheduleChoice(ScheduleKind.DAILY, zone="Nowhere"),
    )
    assert names(form) == {
        "keys",
        "records",
        "pagination_size",
        "map-host-1",
        "map-transform-2",
        "map-transform-3",
        "map-api-4",
        "map-target-5",
        "child-0-list",
        "child-0-parent",
        "child-0-map-zone-1",
        "child-0-map-values-2",
        "schedule_zone",
    }


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        (ScheduleChoice(ScheduleKind.CRON, cron="0 0 31 2 *"), "schedule_cron"),
        (ScheduleChoice(ScheduleKind.CRON), "schedule_cron"),
        (ScheduleChoice(ScheduleKind.DAILY, time="x"), "schedule_time"),
    ],
)
def test_a_schedule_that_never_comes_is_an_error(
    choice: ScheduleChoice, name: str
) -> None:
    assert names(replace(FORM, schedule=choice)) == {name}


def test_the_names_that_a_push_sends_are_checked() -> None:
    push = FORM.with_texts(direction="push", records="a[")
    assert names(push) == set()
    wrong = (MappingRow("first name", "name"), MappingRow("x", "owner", "lookup"))
    assert names(replace(push, rows=wrong)) == {"map-api-0", "map-target-1"}


# ── what a sample suggests ───────────────────────────────────────────────────────────


def test_a_new_form_is_completed_from_a_sample() -> None:
    records = people(1, 2, born="31.12.80")
    api = Recorder(answer({"items": records, "page": 1, "total_pages": 9}))
    made = fake_sync(None, api, path="/contacts?page=1")
    sample = made.runner.sample("contacts")
    suggestion = sample.suggestion
    assert suggestion is not None
    rows = [row_of_mapping(field.mapping) for field in suggestion.fields]
    begun = form_of("").with_pages(suggestion)
    assert (begun.rows, begun.keys) == ((), [])
    form = begun.with_fields(rows, suggestion.key_paths)
    sync = parse_sync(text_with_form("", form))
    line = made.world.ports.configurations.line("contacts")
    assert sync == suggestion.completed_line(line).sync
    assert (sync.records, sync.keys, sync.target) == (
        "items",
        ("id",),
        "table:contacts",
    )


def test_what_a_user_entered_stays_beside_a_suggestion() -> None:
    api = Recorder(answer({"items": people(1, 2)}))
    suggestion = fake_sync(None, api).runner.suggest("contacts")
    form = FORM.with_pages(suggestion)
    assert (form.rows, form.texts["keys"], form.texts["target"]) == (
        ROWS,
        "number",
        "contact",
    )
    assert form.texts["records"] == "items"
