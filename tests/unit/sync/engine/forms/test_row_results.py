"""Rows of a form tried with a sample: results, reasons, repairs, fields to add."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from outkey.sync.core.line_form.line_form import LineForm
from outkey.sync.core.line_form.row_repairs import MAX_NEW_CHOICES, format_words
from outkey.sync.core.line_form.rows import ChildForm, MappingRow
from outkey.sync.core.line_form.sample import LineSample
from outkey.sync.core.line_form.unmapped_fields import unmapped_fields
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.engine.forms.row_results import FormEvaluator, FormResults, RowResult
from unit.sync.engine.pull.test_sync_run import fake_sync, stored

TABLE = "table:people"


def form(*rows: MappingRow, target: str = TABLE, keys: str = "") -> LineForm:
    texts = {"direction": "pull", "target": target, "keys": keys}
    return LineForm(texts, rows=rows)


def evaluate(
    line_form: LineForm, *records: dict[str, Any], number: int = 0
) -> FormResults:
    sample = LineSample(records)
    return fake_sync().runner.evaluate(line_form, sample, number)


def result(row: MappingRow, *values: object, **settings: str) -> RowResult:
    """Return what a row makes of the field x of some records."""
    records = [{"x": value} for value in values]
    (row_result,) = evaluate(form(row, **settings), *records).rows
    return row_result


def repaired(row: MappingRow, *values: object, **settings: str) -> RowResult:
    """Return the result after the first repair, put into the form."""
    line_form = form(row, **settings)
    records = [{"x": value} for value in values]
    before = evaluate(line_form, *records).rows[0]
    assert before.rejected
    changed = line_form.with_repair(before.repairs[0].changes, 0)
    after = evaluate(changed, *records).rows[0]
    assert after.rejected == 0
    return replace(after, repairs=before.repairs)


def sentences(row_result: RowResult) -> list[str]:
    return [str(repair.sentence) for repair in row_result.repairs]


# ── results ──────────────────────────────────────────────────────────────────────────


def test_a_row_shows_the_value_of_the_api_and_what_becomes_of_it() -> None:
    row_result = result(MappingRow("x", "born_on", "date"), "2026-11-17T23:30:00+02:00")
    assert row_result == RowResult("2026-11-17T23:30:00+02:00", "2026-11-17")


def test_any_record_of_the_sample_can_be_shown() -> None:
    records = [{"x": "a"}, {"x": "b"}]
    for number, value in ((0, "a"), (1, "b"), (-3, "a"), (99, "b")):
        results = evaluate(form(MappingRow("x", "y")), *records, number=number)
        assert results.rows[0].value == value


def test_an_empty_sample_has_no_values() -> None:
    results = evaluate(form(MappingRow("x", "y")))
    assert results.rows == (RowResult(),)
    assert results.unmapped == ()


def test_long_values_are_shortened() -> None:
    assert len(result(MappingRow("x", "y"), "z" * 500).value) == 80


def test_constants_and_templates_have_no_value_of_the_api() -> None:
    constant = MappingRow("", "y", "constant", options={"value": "7"})
    assert result(constant, 1) == RowResult("", "7")
    template = MappingRow("", "y", "template", options={"template": "<{x}>"})
    assert result(template, 1) == RowResult("", "<1>")


def test_each_row_is_judged_on_its_own() -> None:
    rows = (
        MappingRow("x", "a", "number"),
        MappingRow("x", "b", "magic"),
        MappingRow("x[", "c"),
        MappingRow("", "d"),
        MappingRow("x", "e", "date", options={"zone": "Nowhere"}),
        MappingRow("x", "f", "date", options={"format": "%d%d"}),
        MappingRow("x", "g", "lookup"),
        MappingRow("length(x)", "h"),
        MappingRow("x", "i"),
    )
    reasons = [
        str(row.reason or "")
        for row in evaluate(form(*rows), {"x": 1}, {"x": "text"}).rows
    ]
    assert [bool(reason) for reason in reasons] == [False] + [True] * 7 + [False]
    assert "Transform must be one of" in reasons[1]
    assert reasons[3:6] == [
        "the field of the API is missing",
        "unknown time zone",
        "the format cannot be read",
    ]


def test_a_row_tells_how_many_records_it_rejects() -> None:
    row_result = result(MappingRow("x", "n", "number"), 1, "a", "b")
    assert (row_result.result, row_result.reason, row_result.rejected) == ("1", None, 2)


def test_the_fields_of_a_model_decide() -> None:
    name = MappingRow("x", "name")
    too_long = result(name, "z" * 21, target="contact")
    assert (too_long.reason, too_long.repairs) == ("the value is too long", ())
    unknown = result(MappingRow("x", "nothing"), 1, target="contact")
    assert unknown.reason == "the host has no such field"
    assert result(MappingRow("x", "y"), 1, target="unknown").result == "1"
    empty_key = result(MappingRow("x", "number"), None, target="contact", keys="number")
    assert empty_key.reason == "the key field is empty"
    assert empty_key.repairs == ()


def test_a_lookup_is_tried_with_the_records_of_the_host() -> None:
    made = fake_sync()
    made.records.table("person")["7"] = {
        "login": "ada",
        "_archived": False,
        "_line": "",
    }
    row = MappingRow(
        "x", "owner", "lookup", options={"target": "person", "field": "login"}
    )
    sample = LineSample(({"x": "ada"}, {"x": "bob"}))
    line_form = form(row, target="contact")
    (found,) = made.runner.evaluate(line_form, sample).rows
    (missing,) = made.runner.evaluate(line_form, sample, 1).rows
    assert (found.result, missing.reason) == ("7", "there is no such record here")
    closed = replace(row, options={"target": "secret", "field": "login"})
    (refused,) = made.runner.evaluate(form(closed, target="contact"), sample).rows
    assert "not open" in str(refused.reason)


def test_a_row_that_is_not_filled_in_has_no_result() -> None:
    rows = evaluate(
        form(MappingRow(transform="lookup"), MappingRow("x", "y")), {"x": 1}
    )
    assert rows.rows == (RowResult(), RowResult("1", "1"))


def test_rows_of_children_are_tried_with_the_elements_of_their_list() -> None:
    rows = (MappingRow("$index", "position"), MappingRow("sku", "sku", "number"))
    child = ChildForm("lines", "table:lines", "id", "id, position", rows)
    wrong = ChildForm("lines[", "table:lines", rows=rows)
    line_form = replace(form(), children=(child, wrong))
    results = evaluate(line_form, {"lines": [{"sku": "a"}, {"sku": "b"}]})
    position, sku = results.children[0]
    assert (position.result, sku.rejected) == ("1", 2)
    assert sku.repairs[0].changes == {"transform": "text"}
    assert results.children[1] == (RowResult(), RowResult())
    assert evaluate(line_form).children[0] == (RowResult(), RowResult())
    assert evaluate(line_form, {"lines": 1}).children[0] == (RowResult(), RowResult())


# ── repairs ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("row", "values", "sentence", "shown"),
    [
        (
            MappingRow("x", "d", "date"),
            ["31.12.80", "01.02.81"],
            "Read it as DD.MM.YY",
            "1980-12-31",
        ),
        (
            MappingRow("x", "d", "datetime", options={"zone": "Europe/Berlin"}),
            ["12/31/2026 11:30 PM"],
            "Read it as MM/DD/YYYY hh:mm AM",
            "2026-12-31T22:30:00+00:00",
        ),
        (
            MappingRow("x", "d", "date", options={"format": "%d.%m.%Y"}),
            ["2026-12-31", None],
            "Read it as an ISO date",
            "2026-12-31",
        ),
        (
            MappingRow("x", "d", "datetime"),
            [1_700_000_000],
            "Read it as a Unix time in seconds",
            "2023-11-14T22:13:20+00:00",
        ),
        (
            MappingRow("x", "d", "datetime"),
            [1_700_000_000_000],
            "Read it as a Unix time in milliseconds",
            "2023-11-14T22:13:20+00:00",
        ),
        (
            MappingRow("x", "p", "decimal"),
            ["1.234,50", "7"],
            "Read the comma as the decimal mark",
            "1234.50",
        ),
        (
            MappingRow("x", "p", "decimal", options={"decimal_mark": ","}),
            ["1234.5"],
            "Read the point as the decimal mark",
            "1234.5",
        ),
        (MappingRow("x", "b", "number"), ["yes", "no"], "Choose Yes or no", "true"),
        (MappingRow("x", "n", "number"), ["12a", "b"], "Choose Text", "12a"),
        (
            MappingRow("x", "d", "number"),
            ["31.12.2026"],
            "Choose Date: Read it as DD.MM.YYYY.",
            "2026-12-31",
        ),
        (
            MappingRow("x", "b", "boolean"),
            ["ja", "nein"],
            "Choose Choice",
            "yes",
        ),
        (
            MappingRow("x", "s", "choice", options={"Open": "open"}),
            ["Open", "closed", 3],
            "Map closed → closed, 3 → 3",
            "open",
        ),
        (
            MappingRow("x", "o", "text"),
            [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}],
            "Use x.name",
            "Ann",
        ),
        (MappingRow("x", "l", "text"), [["a"]], "Choose As it is", '["a"]'),
        (
            MappingRow("x", "n", "number", required=True),
            [None, 3],
            "Accept records without a value",
            "–",
        ),
    ],
)
def test_a_repair_makes_a_row_accept_every_value(
    row: MappingRow, values: Sequence[object], sentence: str, shown: str
) -> None:
    after = repaired(row, *values)
    assert sentences(after)[0] == sentence
    assert after.result == shown


def test_a_repair_that_does_not_help_all_records_is_not_proposed() -> None:
    row = MappingRow("x", "d", "date")
    assert "Read it" not in " ".join(sentences(result(row, "31.12.80", "soon")))
    assert sentences(result(row, "31.12.80", "soon")) == ["Choose Text"]
    born = result(MappingRow("x", "born"), "31.12.80", "soon", target="contact")
    assert (born.rejected, born.repairs) == (2, ())


def test_a_repair_fits_the_field_of_a_model() -> None:
    as_is = result(MappingRow("x", "born"), "31.12.80", target="contact")
    assert sentences(as_is) == ["Read it as DD.MM.YY"]
    price = result(MappingRow("x", "price"), "1,50", target="contact")
    assert sentences(price) == ["Read the comma as the decimal mark"]
    wrong = result(MappingRow("x", "born", "text"), "31.12.80", target="contact")
    assert "does not make what the host's field takes" in str(wrong.reason)
    assert sentences(wrong) == ["Choose Date: Read it as DD.MM.YY."]


def test_a_missing_value_that_a_model_requires_can_have_a_default() -> None:
    row = MappingRow("x", "number")
    before = result(row, None, "7", target="contact")
    assert sentences(before) == ["Use unknown where it is missing"]
    assert before.repairs[0].changes == {"default": "unknown"}
    day = MappingRow("x", "day", "date", required=True)
    assert sentences(result(day, None)) == ["Accept records without a value"]


STATE = HostField(
    "state", "State", FieldKind.CHOICE, required=True, choices=("open", "in_work")
)


def with_choices(row: MappingRow, *values: object) -> RowResult:
    made = fake_sync()
    contact = made.records.targets()[0]
    fields = (*contact.fields, STATE)
    made.records.targets()[0] = replace(contact, fields=fields)
    sample = LineSample(tuple({"x": value} for value in values))
    return made.runner.evaluate(form(row, target="contact"), sample).rows[0]


def test_values_become_the_choices_of_a_model() -> None:
    row = MappingRow("x", "state")
    spelled = with_choices(row, "Open", "in work")
    assert spelled.reason == "the value is not one of the choices"
    assert sentences(spelled)[0] == "Map Open → open, in work → in_work"
    assert spelled.repairs[0].changes == {
        "transform": "choice",
        "values": "Open = open\nin work = in_work",
    }
    assert with_choices(row, "open").result == "open"
    assert with_choices(row, "Open", "lost").repairs == ()
    assert sentences(with_choices(row, None)) == ["Use open where it is missing"]


def test_many_unknown_choices_are_named_in_part_or_not_at_all() -> None:
    row = MappingRow("x", "s", "choice", options={"a": "b"})
    assert sentences(result(row, "p", "q", "r", "s"))[0] == (
        "Map p → p, q → q, r → r, …"
    )
    values = [f"v{number}" for number in range(MAX_NEW_CHOICES + 1)]
    assert sentences(result(row, *values))[0] == "Choose Text"
    odd = result(row, [1])
    assert sentences(odd) == ["Choose As it is"]


def test_a_format_is_shown_as_users_write_it() -> None:
    assert format_words("%d. %B %Y, %H:%M:%S %q") == "DD. Month YYYY, hh:mm:ss %q"


# ── fields to add ────────────────────────────────────────────────────────────────────


def test_the_fields_that_are_not_mapped_can_be_added_to_a_table() -> None:
    records = [
        {
            "id": 1,
            "fullName": None,
            "born": "31.12.1980",
            "tags": ["a"],
            "in": {"x": 2},
        },
        {"id": 2, "fullName": "Ann", "born": "01.01.1981", "tags": [], "in": {"x": 3}},
    ]
    fields = unmapped_fields([MappingRow("id", "id")], records)
    assert [(f.row.api, f.example, f.row.host, f.row.transform) for f in fields] == [
        ("fullName", "Ann", "full_name", "text"),
        ("born", "31.12.1980", "born", "date"),
        ("in.x", "2", "in_x", "number"),
        ("tags", '["a"]', "tags", "as_is"),
    ]
    assert fields[1].row.options == {"format": "%d.%m.%Y"}
    assert all(field.why for field in fields)
    assert all(field.has_same_name for field in fields)


def test_a_column_that_is_taken_gets_another_name() -> None:
    (field,) = unmapped_fields([MappingRow("other", "id")], [{"id": 1}])
    assert field.row.host == "id_2"
    assert not field.has_same_name


def test_fields_of_a_model_are_proposed_by_their_names() -> None:
    hosts = [
        HostField("born_on", "Born", FieldKind.DATE),
        HostField("email", "Mail", FieldKind.TEXT),
        HostField("number", "Number", FieldKind.TEXT),
        HostField("extra", "Extra", FieldKind.JSON),
    ]
    records = [
        {"bornOn": "2026-01-01", "mail": "a", "id": 1, "other": 2, "extra": [1]},
    ]
    fields = unmapped_fields([MappingRow("id", "number")], records, hosts)
    assert [(field.row.api, field.row.host) for field in fields] == [
        ("bornOn", "born_on"),
        ("mail", "email"),
        ("other", ""),
        ("extra", "extra"),
    ]
    equal = [field.row.host for field in fields if field.has_same_name]
    assert equal == ["born_on", "extra"]


def test_fields_without_a_value_have_no_example() -> None:
    (field,) = unmapped_fields([], [{"x": ""}, {"y": None}])
    assert (field.row.api, field.example) == ("x", "–")


def test_the_results_of_a_form_list_what_is_not_mapped() -> None:
    records = {"id": 1, "name": "Ann", "born": "2026-01-01"}
    results = evaluate(form(MappingRow("id", "number"), target="contact"), records)
    assert [(field.row.api, field.row.host) for field in results.unmapped] == [
        ("name", "name"),
        ("born", "born"),
    ]


# ── results that are not all ──────────────────────────────────────────────────


def test_the_time_zone_of_a_row_is_used() -> None:
    row = MappingRow("x", "at", "datetime", options={"zone": "Europe/Berlin"})
    assert result(row, "2026-11-17T06:00").result == str(
        datetime(2026, 11, 17, 5, tzinfo=UTC).isoformat()
    )


def test_a_script_is_not_run_for_results() -> None:
    line_form = form(MappingRow("x", "y"))
    scripted = replace(line_form, texts=line_form.texts | {"script": "def transform"})
    assert evaluate(line_form, {"x": 1}).notes == ()
    (note,) = evaluate(scripted, {"x": 1}).notes
    assert "script of the line was not run" in note


def test_rows_that_take_too_long_are_not_tried() -> None:
    made = fake_sync()
    sample = LineSample(({"x": 1},))
    evaluator = FormEvaluator(made.ports, form(MappingRow("x", "y")))
    made.world.clock.advance(60)
    (row,) = evaluator.results(sample).rows
    assert row.reason == "the preview took too long"


def test_a_push_has_no_results() -> None:
    pushing = LineForm({"direction": "push"}, rows=(MappingRow("a", "b"),))
    assert evaluate(pushing, {"a": 1}) == FormResults((), (), ())


def test_results_do_not_write_anything() -> None:
    made = fake_sync()
    stored(made, {"number": "1", "name": "Ann"})
    sample = LineSample(({"id": 1, "name": "Bob"},))
    rows = (MappingRow("id", "number"), MappingRow("name", "name"))
    made.runner.evaluate(form(*rows, target="contact"), sample)
    assert made.records.rows("contact") == [{"number": "1", "name": "Ann"}]
