"""Lists inside the records of a sample become forms that are filled in."""

from outkey.sync.core.line_form.children import suggest_children
from outkey.sync.core.line_form.form_text import text_with_form
from outkey.sync.core.line_form.inputs import errors_in
from outkey.sync.core.line_form.line_form import LineForm
from outkey.sync.core.line_form.rows import ChildForm
from outkey.sync.core.paging.response import Record

ORDERS: list[Record] = [
    {
        "id": 1,
        "tags": ["a", "b"],
        "empty": [],
        "lines": [{"sku": "a", "n": 2}, {"sku": "b", "n": 2}],
        "address": {"phones": [{"text": "1"}, {"text": "1"}]},
    },
    {"id": 2, "lines": [{"sku": "a", "n": 1}], "address": None},
]


def mapped(child: ChildForm) -> list[tuple[str, str, bool]]:
    return [(row.api, row.host, row.required) for row in child.rows]


def test_a_list_gets_its_table_its_parent_and_a_key_that_is_unique_in_it() -> None:
    lines, phones = suggest_children(ORDERS, "table:orders", ["id"])
    assert (lines.list, lines.target) == ("lines", "table:order_lines")
    assert (lines.parent, lines.keys) == ("order_id", "order_id, sku")
    assert mapped(lines) == [("sku", "sku", True), ("n", "n", False)]
    # Nothing identifies a phone but its position.
    assert (phones.list, phones.target) == ("address.phones", "table:order_phones")
    assert phones.keys == "order_id, position"
    assert mapped(phones) == [("$index", "position", True), ("text", "text", False)]


def test_what_is_suggested_has_no_mistakes() -> None:
    children = tuple(suggest_children(ORDERS, "table:dwh.categories", ["id", "no"]))
    assert children[0].parent == "category_id, category_no"
    text = (
        'direction = "pull"\ntarget = "table:dwh.categories"\nkeys = ["id", "no"]\n'
        'fields = [{ api = "id", host = "id" }, { api = "no", host = "no" }]\n'
    )
    form = LineForm({"direction": "pull"}, children=children)
    assert errors_in(form, text_with_form(text, form)) == {}


def test_names_that_are_taken_by_the_parent_are_not_used_twice() -> None:
    records: list[Record] = [{"items": [{"order_id": 7, "no": 1}]}]
    (items,) = suggest_children(records, "table:orders", ["order_id"])
    assert items.parent == "order_id"
    assert [row.host for row in items.rows] == ["order_id_2", "no"]


def test_records_without_lists_of_objects_suggest_nothing() -> None:
    assert suggest_children([{"id": 1, "tags": ["a"]}], "", []) == []
    assert suggest_children([], "table:orders", ["id"]) == []
