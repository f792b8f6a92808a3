"""A sync line as a form: inputs and text, and all mistakes at once."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.line.line import Direction, Paging, Sync, Transform
from outkey.sync.core.line.section import parse_sync, render_sync
from outkey.sync.core.line.table import sync_errors
from outkey.sync.core.line.text import LineText
from outkey.sync.core.line_form.form_text import form_of, sample_sync, text_with_form
from outkey.sync.core.line_form.inputs import (
    errors_in,
    input_name,
    posted_names,
    read_posted,
)
from outkey.sync.core.line_form.line_form import LineForm
from outkey.sync.core.line_form.rows import (
    ChildForm,
    MappingRow,
    values_in,
    values_text,
)
from outkey.sync.core.line_form.schedule_choices import (
    ScheduleChoice,
    ScheduleKind,
    choice_of,
)

TEXT = """\
# Contacts of the CRM
direction = "pull"  # from the API
target = "table:people"
keys = ["id"]
query = { active = "true" }  # not the others
gone = "keep"
schedule = "0 6 * * *"  # in the morning
note = "unknown"

[pagination]
kind = "page"
position_parameter = "page"

[[fields]]
api = "id"  # as text
host = "id"
required = true

# the birthday
[[fields]]
api = "born"
host = "born_on"
transform = "date"
default = ""
options = { format = "%d.%m.%Y", remark = "kept" }

[[fields]]
api = "state"
host = "state"
transform = "choice"
options = { A = "active", "a=b" = " x " }

[[children]]
list = "lines"
target = "table:lines"
parent = "id_of_parent"
keys = ["id_of_parent", "sku"]
fields = [{ api = "sku", host = "sku" }]  # the article
"""
VALID = TEXT.replace('note = "unknown"\n', "")
PUSH = """\
direction = "push"
target = "shop.order"
remote_id = "data.id"
recreate = true
batch = 10
records_at = "items"

[create]
method = "POST"
path = "/orders"

[find]
path = "/orders?number={number}"
remote_id = "items[].id"

[[fields]]
api = "number"
host = "number"
"""


def posted(text: str, **changes: str) -> dict[str, str]:
    """Return what a browser posts for a text, with changes by name of the input."""
    names = {name.replace("__", "-"): value for name, value in changes.items()}
    return posted_names(form_of(text)) | names


def changed(text: str, **changes: str) -> str:
    return text_with_form(text, read_posted(posted(text, **changes)))


# ── the text and its form ────────────────────────────────────────────────────────────


def test_a_form_shows_values_and_defaults() -> None:
    form = form_of(TEXT)
    texts = form.texts
    assert (form.direction, texts["target"], texts["keys"]) == (
        "pull",
        "table:people",
        "id",
    )
    assert (texts["pagination_kind"], texts["pagination_size"]) == ("page", "100")
    assert (texts["records"], texts["guard_percent"], texts["recreate"]) == (
        "@",
        "10",
        "",
    )
    assert form.query == (("active", "true"),)
    assert form.schedule == choice_of("0 6 * * *")
    assert form.rows is not None
    assert form.children is not None
    assert form.rows[0] == MappingRow("id", "id", required=True)
    assert form.rows[1].options["format"] == "%d.%m.%Y"
    (child,) = form.children
    assert (child.list, child.parent, child.keys) == (
        "lines",
        "id_of_parent",
        "id_of_parent, sku",
    )
    assert child.rows == (MappingRow("sku", "sku"),)


def test_a_form_that_changes_nothing_leaves_the_text_alone() -> None:
    for text in (TEXT, VALID, PUSH, PUSH.rstrip()):
        assert text_with_form(text, form_of(text)) == text
        assert changed(text) == text


def test_a_change_touches_nothing_else() -> None:
    assert changed(TEXT, target="table:others") == TEXT.replace(":people", ":others")
    text = changed(TEXT, guard_percent="25", keys="id, born_on")
    assert text == TEXT.replace('["id"]', '["id", "born_on"]').replace(
        'note = "unknown"\n', 'note = "unknown"\nguard_percent = 25\n'
    )


def test_a_value_that_becomes_the_default_is_removed() -> None:
    assert "kind" not in changed(TEXT, pagination_kind="none")
    assert "gone" in changed(TEXT, gone="keep")
    archived = changed(TEXT, gone="archive")
    assert 'gone = "archive"' in archived
    assert "gone" not in changed(archived, gone="keep")
    assert "recreate" not in changed(PUSH, recreate="")


def test_what_was_not_posted_stays() -> None:
    inputs = {"direction": "pull", "target": "table:x"}
    form = read_posted(inputs)
    assert posted_names(form) == inputs
    nothing = read_posted({})
    assert text_with_form(TEXT, nothing) == TEXT
    assert errors_in(nothing, VALID) == errors_in(nothing) == {}
    assert (form.rows, form.query, form.children, form.schedule) == (None,) * 4
    assert text_with_form(TEXT, form) == TEXT.replace("table:people", "table:x")


def test_rows_keep_their_comments_and_unknown_options() -> None:
    text = changed(TEXT, map__format__1="%Y", map__host__0="number", keys="number")
    assert 'options = { remark = "kept", format = "%Y" }' in text
    assert 'api = "id"  # as text\nhost = "number"\nrequired = true' in text
    assert "# the birthday" in text


def test_an_empty_default_stays_until_it_is_changed() -> None:
    assert 'default = ""' in changed(TEXT, map__format__1="%Y")
    assert 'default = "1970"' in changed(TEXT, map__default__1="1970")


def test_another_transform_takes_its_own_options_only() -> None:
    text = changed(TEXT, map__transform__1="text")
    assert LineText(text).table()["fields"][1] == {
        "api": "born",
        "host": "born_on",
        "transform": "text",
        "default": "",
    }
    choice = changed(TEXT, map__transform__1="choice", map__values__1="x\ny = z")
    assert LineText(choice).table()["fields"][1]["options"] == {"x": "x", "y": "z"}


def test_rows_are_added_and_removed() -> None:
    new = {"map__api__7": "mail", "map__host__7": "email", "map__required__7": "on"}
    text = changed(TEXT, **new, map__api__0="", map__host__0="")
    rows = LineText(text).table()["fields"]
    assert [row["host"] for row in rows] == ["born_on", "state", "email"]
    assert rows[2] == {"api": "mail", "host": "email", "required": True}
    none = read_posted({"direction": "pull", "map-count": "0", "query-count": "0"})
    assert (none.rows, none.query) == ((), ())
    table = LineText(text_with_form(TEXT, none)).table()
    assert "fields" not in table
    assert "query" not in table


def test_a_constant_needs_no_field_of_the_api() -> None:
    new = {
        "map__host__3": "kind",
        "map__transform__3": "constant",
        "map__value__3": "7",
    }
    rows = LineText(changed(TEXT, **new)).table()["fields"]
    assert rows[3] == {
        "api": "",
        "host": "kind",
        "transform": "constant",
        "options": {"value": "7"},
    }


def test_parameters_are_rows() -> None:
    text = changed(TEXT, query__value__0="false", query__name__3="q", query__name__1="")
    assert 'query = { active = "false", q = "" }  # not the others' in text


def test_children_are_changed_added_and_removed() -> None:
    text = changed(TEXT, **{"child-0-target": "table:items", "child-0-map-host-0": "s"})
    assert 'fields = [{ api = "sku", host = "s" }]  # the article' in text
    assert LineText(text).table()["children"][0]["target"] == "table:items"
    new = {"child-4-list": "tags", "child-4-map-api-0": "@", "child-4-map-host-0": "t"}
    children = LineText(changed(TEXT, **new)).table()["children"]
    assert children[1] == {"list": "tags", "fields": [{"api": "@", "host": "t"}]}
    emptied = posted(TEXT) | dict.fromkeys(
        [name for name in posted(TEXT) if name.startswith("child-0")], ""
    )
    assert "children" not in text_with_form(TEXT, read_posted(emptied))
    none = LineForm({"direction": "pull"}, children=())
    assert "children" not in text_with_form(TEXT, none)
    assert read_posted({"child-count": "0"}).children == ()
    only_rows = read_posted({"child-0-map-host-0": "a"}).children
    assert only_rows == (ChildForm(rows=(MappingRow("", "a"),)),)
    bare = replace(form_of(TEXT), children=(ChildForm("lines", "t"),))
    assert LineText(text_with_form(TEXT, bare)).table()["children"] == [
        {"list": "lines", "target": "t"}
    ]


def test_a_schedule_is_a_choice() -> None:
    inputs = {
        "schedule_kind": "weekly",
        "schedule_time": "07:30",
        "schedule_day_mon": "on",
        "schedule_day_fri": "on",
        "schedule_zone": "Europe/Berlin",
    }
    text = changed(TEXT, **inputs)
    assert 'schedule = "CRON_TZ=Europe/Berlin 30 7 * * 1,5"  # in the morning' in text
    assert "schedule" not in changed(TEXT, schedule_kind="by_hand")
    assert read_posted({"schedule_kind": "sometimes"}).schedule is None


def test_a_line_that_only_names_a_request_has_a_form_too() -> None:
    form = form_of("")
    assert (form.direction, form.rows) == ("", ())
    assert text_with_form("", form) == ""
    assert text_with_form(TEXT, replace(form, texts={"direction": ""})) == ""
    assert errors_in(form) == {}
    begun = text_with_form("", replace(form, texts={"direction": "pull"}))
    assert begun == 'direction = "pull"\n'


def test_a_form_makes_the_same_line_as_its_text() -> None:
    for text in (VALID, PUSH):
        assert parse_sync(text_with_form("", form_of(text))) == parse_sync(
            text.replace('default = ""\n', "")
        )


def test_a_stored_line_has_a_form_without_a_text() -> None:
    sync = parse_sync(VALID)
    text = render_sync(sync)
    assert text_with_form(text, form_of(text)) == text
    assert parse_sync(changed(text, max_records="5")) == replace(sync, max_records=5)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("fields = 1", "fields"),
        ("children = [1]", "children"),
        ("query = 1", "query"),
        ("[[fields]]\noptions = 1", "fields"),
        ("pagination = ", "sync"),
    ],
)
def test_a_text_that_no_form_can_show_is_refused(text: str, field: str) -> None:
    with pytest.raises(ConfigError) as refused:
        form_of(text)
    assert refused.value.field == field
    assert errors_in(LineForm({"direction": "pull"}), text).keys() == {"sync"}


def test_odd_values_are_shown_as_they_are() -> None:
    form = form_of('pagination = 1\nkeys = "id"\nbatch = "many"\nwrites = true')
    assert (form.texts["pagination_size"], form.texts["keys"]) == ("100", "id")
    assert (form.texts["batch"], form.texts["writes"]) == ("many", "true")


# ── the table of a choice ────────────────────────────────────────────────────────────


def test_the_values_of_a_choice_are_lines() -> None:
    table = {"A": "active", "": "none", "a=b": " x ", 'say "hi"': "", "é": "é"}
    assert values_in(values_text(table)) == table
    assert values_text({"A": "active"}) == "A = active"


def test_lines_of_a_choice_may_be_short_or_odd() -> None:
    assert values_in('x\n\n y = \n"open = z\n= q') == {
        "x": "x",
        "y": "y",
        '"open': "z",
        "": "q",
    }


def test_a_row_shows_its_values_only_if_it_is_a_choice() -> None:
    rows = form_of(TEXT).rows
    assert rows is not None
    assert rows[1].values == ""
    assert rows[2].values == 'A = active\n"a=b" = " x "'


def test_a_row_is_a_mapping() -> None:
    mapping = MappingRow("a", "b", "date", "1970-01-01").mapping()
    assert (mapping.transform, mapping.default) == (Transform.DATE, "1970-01-01")
    assert MappingRow("a", "b").mapping().default is None
    with pytest.raises(ConfigError):
        MappingRow("a", "b", "magic").mapping()


# ── mistakes ─────────────────────────────────────────────────────────────────────────


def test_all_mistakes_are_reported_at_once_with_their_inputs() -> None:
    form = read_posted(
        posted(
            VALID,
            target="",
            pagination_size="many",
            full_every="7x",
            incremental_start="30d",
            incremental_window="0d",
            incremental_lookback="x",
            gone="hide",
            keys="id, nothing",
            schedule_kind="daily",
            schedule_time="99",
            map__host__0="",
            map__transform__1="magic",
            map__format__1="%d\x00",
            map__host__2="born_on",
            query__value__0="\x00",
            **{"child-0-keys": "other", "child-0-parent": "a"},
        )
    )
    errors = errors_in(form)
    assert errors.keys() == {
        "target",
        "pagination_size",
        "full_every",
        "incremental_start",
        "incremental_window",
        "incremental_lookback",
        "gone",
        "keys",
        "schedule_time",
        "map-host-0",
        "map-transform-1",
        "map-host-2",
        "query-value-0",
        "child-0-keys",
        "child-0-parent",
    }
    assert "whole number" in errors["pagination_size"].message


def test_a_form_without_mistakes_has_none() -> None:
    assert errors_in(form_of(VALID), VALID) == {}
    assert errors_in(form_of(PUSH)) == {}


def test_an_unknown_key_of_the_text_is_a_mistake_of_the_text() -> None:
    assert errors_in(form_of(TEXT)) == {}
    errors = errors_in(form_of(TEXT), TEXT)
    assert errors.keys() == {"sync"}
    assert errors["sync"].field == "note"


def test_tables_of_odd_shapes_have_mistakes_at_their_places() -> None:
    table = {
        "direction": "pull",
        "keys": [1],
        "pagination": 1,
        "fields": [1, {"host": "a", "options": 1}] + [{"host": "b"}] * 1000,
        "children": [2],
    }
    places = {error.field for error in sync_errors(table)}
    assert places >= {"keys[0]", "pagination", "fields[0]", "fields[1].options"}
    assert places >= {"fields", "fields[3].host", "target", "children[0]"}
    assert next(error.field for error in sync_errors({})) == "direction"


def test_an_empty_form_tells_what_it_needs() -> None:
    errors = errors_in(read_posted({"direction": "pull", "map-count": "0"}))
    assert errors.keys() == {"target", "keys", "map-host-0"}
    assert errors_in(read_posted({"direction": "sideways"})).keys() >= {"direction"}


def test_a_wrong_schedule_of_the_text_is_shown_at_the_choice() -> None:
    choice = ScheduleChoice(ScheduleKind.WEEKLY, days=(), time="")
    form = replace(form_of(VALID), schedule=choice)
    assert errors_in(form).keys() == {"schedule_time"}
    assert "schedule" not in LineText(text_with_form(VALID, form)).table()


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("target", "target"),
        ("keys[1]", "keys"),
        ("pagination.size", "pagination_size"),
        ("fields", "map-host-0"),
        ("fields[3].host", "map-host-3"),
        ("fields[3].options.format", "map-format-3"),
        ("fields[3].options.A", "map-values-3"),
        ("fields[3].options", "map-values-3"),
        ("fields[3].surprise", "map-host-3"),
        ("children[1].target", "child-1-target"),
        ("children[1].fields", "child-1-list"),
        ("children[1].keys[0]", "child-1-keys"),
        ("children[1].fields[2].api", "child-1-map-api-2"),
        ("query.active", "query-value-0"),
        ("query.other", "query-name-0"),
        ("query", "query-name-0"),
        ("schedule", "schedule_kind"),
        ("surprise", "sync"),
        ("", "sync"),
    ],
)
def test_places_in_the_text_have_inputs(place: str, name: str) -> None:
    assert input_name(place, form_of(TEXT)) == name


def test_a_parameter_without_a_form_is_the_first() -> None:
    assert input_name("query.active") == "query-name-0"


# ── samples ──────────────────────────────────────────────────────────────────────────


def test_a_sample_needs_no_complete_line() -> None:
    assert sample_sync("") is None
    assert sample_sync('direction = "pull"') == Sync()
    text = 'direction = "pull"\nrecords = "items"\nquery = { q = "1" }\nfields = 1'
    sync = sample_sync(text)
    assert sync is not None
    assert (sync.records, sync.query) == ("items", (("q", "1"),))
    push = sample_sync(PUSH)
    assert push is not None
    assert push.direction is Direction.PUSH
    paged = sample_sync(TEXT)
    assert paged is not None
    assert paged.pagination.kind is Paging.PAGE
    with pytest.raises(ConfigError) as refused:
        sample_sync('direction = "pull"\n[pagination]\nsize = 0')
    assert refused.value.field == "pagination.size"


LINES_TEXT = '''\
direction = "pull"
target = "table:people"
keys = ["sku", "order_id"]
records = """items[]
.part"""

[query]
query = """{
  orders
}"""

[[fields]]
api = """join('',
  [a, b])"""
host = "order_id"
transform = "datetime"
options = { format = """%Y
%m""" }

[[fields]]
api = "sku"
host = "sku"

[[children]]
list = """lines
[]"""
target = "table:lines"
parent = ["sku", "order_id"]
keys = ["sku", "order_id", "id"]
fields = [{ api = "id", host = "id" }]
'''


def test_a_browser_that_removes_line_breaks_changes_nothing() -> None:
    posted = posted_names(form_of(LINES_TEXT))
    posted["keys"] = "order_id, sku"  # as they are ticked in the rows
    shortened = {name: text.replace("\n", "") for name, text in posted.items()}
    assert text_with_form(LINES_TEXT, read_posted(shortened)) == LINES_TEXT


def test_a_key_that_is_ticked_comes_after_those_that_stay() -> None:
    form = LineForm({"keys": "order_id, id, sku"})
    keys = LineText(text_with_form(LINES_TEXT, form)).table()["keys"]
    assert keys == ["sku", "order_id", "id"]


def test_what_is_entered_of_a_job_is_written_in_its_tables() -> None:
    entered = {
        "job_order_path": "/reports",
        "job_poll_path": "/reports/{job.id}",
        "job_done": "done, ready",
        "job_poll_every_seconds": "5",
    }
    text = text_with_form('direction = "pull"\n', LineForm(entered))
    assert LineText(text).table()["job"] == {
        "order": {"path": "/reports"},
        "poll": {"path": "/reports/{job.id}"},
        "done": ["done", "ready"],
    }


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("job", "job_order_method"),
        ("job.order", "job_order_method"),
        ("for_each", "for_each_line"),
        ("unknown", "sync"),
    ],
)
def test_an_error_of_a_table_stands_at_its_first_input(place: str, name: str) -> None:
    assert input_name(place) == name


def test_a_sample_is_requested_for_a_window_of_time() -> None:
    incremental = '{ parameter = "from", start = "-1d", window = "1h" }'
    sync = sample_sync(f'direction = "pull"\nincremental = {incremental}\n')
    assert sync is not None
    assert sync.incremental.window == "1h"
