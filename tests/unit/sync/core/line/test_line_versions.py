"""Versions of a sync line compared, field by field."""

import pytest

from outkey.foundation.core.fields.changes import FieldChange
from outkey.sync.core.line.versions import LineComparison, compare_lines
from outkey.sync.core.line_form.change_words import ChangeInWords

TEXT = """\
direction = "pull"
target = "table:people"

[pagination]
kind = "page"
size = 50

[[fields]]
api = "id"
host = "id"

[[fields]]
api = "born"
host = "born_on"
transform = "date"

[[children]]
list = "lines"
target = "table:lines"
fields = [{ api = "sku", host = "sku" }]
"""


def compare(new: str, old: str = TEXT, **request: str) -> LineComparison:
    return compare_lines(
        {"path": "/a", "sync": old}, {"path": "/a", "sync": new} | request
    )


def changes(comparison: LineComparison) -> list[tuple[str, str, str]]:
    return [(change.path, change.old, change.new) for change in comparison.changes]


def test_equal_texts_have_no_changes_whatever_their_comments() -> None:
    comparison = compare(f"# a comment\n{TEXT}")
    assert comparison.changes == ()
    assert comparison.summary() == "nothing changed"


@pytest.mark.parametrize(
    ("before", "after", "path", "summary"),
    [
        (
            'transform = "date"',
            'transform = "text"',
            "fields.born_on.transform",
            "Field born_on, Rule: Date → Text",
        ),
        (
            'host = "id"\n',
            'host = "id"\ntransform = "text"\n',
            "fields.id.transform",
            "Field id, Rule: As it is → Text",
        ),
        ("size = 50", "size = 20", "pagination.size", "Page size: 50 → 20"),
        ("size = 50\n", "", "pagination.size", "Page size removed"),
        (
            'target = "table:people"',
            'target = "table:people"\ngone = "archive"',
            "gone",
            "Missing upstream: Keep them → Archive them",
        ),
        (
            'host = "born_on"',
            'host = "birthday"',
            "fields.birthday.host",
            "Field birthday, Field of the target: born_on → birthday",
        ),
        (
            '{ api = "sku", host = "sku" }',
            '{ api = "sku", host = "sku", required = true }',
            "children.lines.fields.sku.required",
            "List lines, Field sku, Required: yes",
        ),
    ],
)
def test_one_change_is_told_in_one_sentence(
    before: str, after: str, path: str, summary: str
) -> None:
    comparison = compare(TEXT.replace(before, after))
    assert [change.path for change in comparison.changes] == [path]
    assert comparison.summary() == summary


def test_a_change_of_the_request_is_told_too() -> None:
    comparison = compare(TEXT, path="/b", method="GET")
    assert changes(comparison) == [("path", "/a", "/b"), ("method", "", "GET")]
    assert comparison.summary() == "2 fields changed"


def test_rows_are_added_and_removed() -> None:
    shorter = TEXT.replace(
        '[[fields]]\napi = "born"\nhost = "born_on"\ntransform = "date"\n\n', ""
    )
    assert changes(compare(shorter)) == [("fields.born_on", "born date", "")]
    assert changes(compare(TEXT, shorter)) == [("fields.born_on", "", "born date")]
    bare = '[[fields]]\ndefault = "x"\n'
    assert changes(compare(bare, "")) == [("fields.0", "", "…")]


def test_another_order_of_rows_is_a_change() -> None:
    rows = '[[fields]]\nhost = "a"\n[[fields]]\nhost = "b"\n'
    turned = '[[fields]]\nhost = "b"\n[[fields]]\nhost = "a"\n'
    assert changes(compare(turned, rows)) == [("fields", '["a", "b"]', '["b", "a"]')]


def test_a_line_that_gets_its_synchronization_has_all_of_it_as_changes() -> None:
    comparison = compare(TEXT, "")
    assert comparison.summary() == "7 fields changed"
    assert all(not change.old for change in comparison.changes)
    assert [change.path for change in compare("", TEXT).changes] == [
        change.path for change in comparison.changes
    ]


def test_values_of_another_shape_are_compared_as_a_whole() -> None:
    assert changes(compare("fields = 1", 'fields = [{ host = "a" }]')) == [
        ("fields", '[{"host": "a"}]', "1")
    ]
    assert changes(compare("fields = []", 'fields = [{ host = "a" }]')) == [
        ("fields.a", "…", "")
    ]
    assert changes(compare("keys = []", 'keys = ["a"]')) == [("keys", '["a"]', "[]")]


def test_a_text_that_is_not_toml_is_compared_as_a_whole() -> None:
    comparison = compare("direction = ")
    (change,) = comparison.changes
    assert change.path == "sync"
    assert len(comparison.summary()) < 100
    assert compare("x = ", "x = ").changes == ()


def test_long_values_are_shortened_in_a_sentence() -> None:
    change = FieldChange("path", "/a" * 40, "/b" * 40)
    assert len(ChangeInWords.of(change).sentence()) < 80


@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        (
            "schedule",
            "",
            "CRON_TZ=Europe/Berlin 0 6 * * *",
            ("Schedule", "by hand", "daily at 06:00, Europe/Berlin"),
        ),
        ("gone", "", "archive", ("Missing upstream", "Keep them", "Archive them")),
        ("keys", '["id"]', '["id", "no"]', ("Keys", "id", "id, no")),
        ("keys", "[1]", '["cut', ("Keys", "[1]", '["cut')),
        ("query.active", "", "1", ("Query parameter active", "", "1")),
        ("recreate", "", "true", ("Create again", "", "yes")),
        ("fields", '["a"]', '["b"]', ("Order of the fields", "a", "b")),
        ("fields.a.b", "x y date", "", ("Field a.b", "x y, Date", "")),
        ("fields.day.options.format", "", "%d", ("Field day, Format", "", "%d")),
        ("fields.kind.options.A", "", "b", ("Field kind, A", "", "b")),
        ("children.lines", "", "table:lines", ("List lines", "", "table:lines")),
        (
            "children.a.b.fields.sku.transform",
            "",
            "text",
            ("List a.b, Field sku, Rule", "As it is", "Text"),
        ),
        (
            "children.lines.keys",
            '["a"]',
            "",
            ("List lines, Keys of children", "a", ""),
        ),
        ("unknown.key", "1", "2", ("unknown.key", "1", "2")),
    ],
)
def test_a_change_is_shown_in_the_words_of_the_form(
    path: str, old: str, new: str, words: tuple[str, str, str]
) -> None:
    assert ChangeInWords.of(FieldChange(path, old, new)) == words


def test_a_table_that_is_new_or_gone_is_compared_by_its_keys() -> None:
    pages = '[pagination]\nkind = "page"\nsize = 20\n'
    added = [("pagination.kind", "", "page"), ("pagination.size", "", "20")]
    assert changes(compare(pages, "")) == added
    removed = [("pagination.kind", "page", ""), ("pagination.size", "20", "")]
    assert changes(compare("", pages)) == removed
    assert changes(compare("query = {}", "")) == [("query", "", "{}")]
