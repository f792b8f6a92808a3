"""The TOML text of a synchronization: what a change leaves as it was written."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.toml.rows import match_rows
from outkey.foundation.core.toml.text import toml_key, toml_value
from outkey.sync.core.line import text as line_text
from outkey.sync.core.line.text import LineText, set_value

TEXT = """\
# Contacts of the CRM
direction = "pull"  # from the API
target = "table:people"
keys = ["id"]
unknown = 5

# pages
[pagination]
kind = "page"  # by number
size = 50

# the key
[[fields]]
api = "id"   # as text
host = "id"

# the birthday
[[fields]]
api = "born"
host = "born_on"
transform = "date"
options = { format = "%d.%m.%Y" }  # as in Germany

[[children]]
list = "lines"
target = "table:lines"

[[children.fields]]
api = "sku"  # article
host = "sku"
"""
IN_BRACKETS = """\
direction = "pull"
fields = [
    # the key
    { api = "id", host = "id" },  # unique
    { api = "born", host = "born_on" }, # a date
    # the last one
    { api = "name", host = "name" } # a text
]
"""


def changed(text: str, **values: object) -> str:
    """Return a text with other values at the top."""
    table = LineText(text).table()
    result = LineText(text).with_table(table | values)
    assert result.table() == table | values
    return str(result)


def with_values(text: LineText, changes: dict[str, object]) -> LineText:
    """Return a text with other values by dotted key; None removes one."""
    table = text.table()
    for path, value in changes.items():
        *outer, name = path.split(".")
        set_value(table, outer, name, value)
    return text.with_table(table)


def test_a_text_with_its_own_values_stays_as_it_is() -> None:
    for text in (TEXT, IN_BRACKETS, "", "# only a comment", TEXT.rstrip()):
        assert str(LineText(text).with_table(LineText(text).table())) == text


def test_the_table_of_a_text_can_be_changed_without_the_text() -> None:
    text = LineText(TEXT)
    text.table()["fields"][0]["host"] = "other"
    assert text.table()["fields"][0]["host"] == "id"


def test_a_changed_value_keeps_its_comment() -> None:
    assert changed(TEXT, direction="push") == TEXT.replace('"pull"', '"push"')


def test_a_new_value_stands_behind_the_others_of_its_table() -> None:
    text = with_values(LineText(TEXT), {"pagination.cursor": "next", "gone": "archive"})
    assert 'size = 50\ncursor = "next"\n' in str(text)
    assert 'unknown = 5\ngone = "archive"\n' in str(text)


def test_a_value_that_is_removed_takes_its_line_along() -> None:
    text = str(with_values(LineText(TEXT), {"pagination.size": None, "unknown": None}))
    assert text == TEXT.replace("size = 50\n", "").replace("unknown = 5\n", "")


def test_a_table_without_values_is_removed_with_its_comment() -> None:
    changes = {"pagination.size": None, "pagination.kind": None, "query.q": None}
    text = str(with_values(LineText(TEXT), changes))
    assert "pagination" not in text
    assert "# pages" not in text


def test_a_new_table_stands_before_the_rows() -> None:
    text = changed(TEXT, incremental={"parameter": "since", "field": "at"})
    assert '\n[incremental]\nparameter = "since"\nfield = "at"\n\n# the key' in text


def test_rows_that_stay_keep_their_comments_in_any_order() -> None:
    key, born = LineText(TEXT).table()["fields"]
    new = {"api": "name", "host": "name"}
    text = changed(TEXT, fields=[born | {"transform": "text"}, new, key])
    assert text.index("# the birthday") < text.index('"name"') < text.index("# the key")
    assert 'api = "id"   # as text' in text
    assert 'transform = "text"\noptions = { format = "%d.%m.%Y" }  # as in' in text


def test_a_row_that_is_removed_takes_its_comments_along() -> None:
    key, _ = LineText(TEXT).table()["fields"]
    text = changed(TEXT, fields=[key])
    assert "birthday" not in text
    assert "# the key" in text


def test_a_row_of_another_name_is_recognized_by_the_field_of_the_api() -> None:
    key, born = LineText(TEXT).table()["fields"]
    text = changed(TEXT, fields=[key, born | {"host": "birthday"}])
    assert '# the birthday\n[[fields]]\napi = "born"\nhost = "birthday"\n' in text


def test_an_option_of_a_row_is_changed_in_its_place() -> None:
    key, born = LineText(TEXT).table()["fields"]
    text = changed(TEXT, fields=[key, born | {"options": {"zone": "UTC"}}])
    assert 'options = { zone = "UTC" }  # as in Germany' in text
    bare = {name: value for name, value in born.items() if name != "options"}
    assert "as in Germany" not in changed(TEXT, fields=[key, bare])


def test_rows_inside_of_rows_keep_their_comments() -> None:
    (child,) = LineText(TEXT).table()["children"]
    child["fields"].insert(0, {"api": "$index", "host": "position"})
    text = changed(TEXT, children=[child])
    new = '\n[[children.fields]]\napi = "$index"\nhost = "position"\n'
    assert text.index(new) < text.index('api = "sku"  # article')


def test_all_rows_can_be_removed_and_added() -> None:
    table = LineText(TEXT).table()
    rows = table.pop("fields")
    without = LineText(TEXT).with_table(table)
    assert "# the key" not in str(without)
    assert str(without.with_table(table | {"fields": rows})).endswith(
        'options = { format = "%d.%m.%Y" }\n'
    )


@pytest.mark.parametrize("order", [(2, 0), (1,), (None, 2, 1, 0), (0, 1, 2, None)])
def test_rows_in_brackets_keep_their_comments(order: tuple[int | None, ...]) -> None:
    rows = LineText(IN_BRACKETS).table()["fields"]
    new = {"api": "mail", "host": "mail"}
    chosen = [new if number is None else rows[number] for number in order]
    text = changed(IN_BRACKETS, fields=chosen)
    comments = ("# the key", "# unique"), ("# a date",), ("# the last one", "# a text")
    for number, names in enumerate(comments):
        for name in names:
            assert (name in text) == (number in order)


def test_a_changed_row_in_brackets_keeps_its_comment() -> None:
    key, born, name = LineText(IN_BRACKETS).table()["fields"]
    text = changed(IN_BRACKETS, fields=[key, born | {"transform": "date"}, name])
    row = '{ api = "born", host = "born_on", transform = "date" }, # a date'
    assert text == IN_BRACKETS.replace(
        '{ api = "born", host = "born_on" }, # a date', row
    )


def test_rows_in_one_line_stay_in_one_line() -> None:
    text = 'fields = [{ api = "a", host = "a" },]'
    row = {"api": "b", "host": "b"}
    rows = LineText(text).table()["fields"]
    assert changed(text, fields=[*rows, row]) == (
        'fields = [{ api = "a", host = "a" }, { api = "b", host = "b" },]'
    )


def test_a_comment_in_brackets_always_ends_its_line() -> None:
    text = 'fields = [{ api = "a" }, # one\n{ api = "b" } # two\n]'
    first, second = LineText(text).table()["fields"]
    assert changed(text, fields=[second, first]) == (
        'fields = [\n{ api = "b" }, # two\n{ api = "a" } # one\n]'
    )
    both = 'fields = [{ api = "a" }, # one\n{ api = "b" }]'
    assert changed(both, fields=[first]) == 'fields = [{ api = "a" } # one\n]'


def test_a_table_in_a_list_in_brackets_may_have_lists_itself() -> None:
    text = 'fields = [{ api = "a", names = ["x", "y"] }, { api = "b" }]'
    first, second = LineText(text).table()["fields"]
    assert changed(text, fields=[second, first]) == (
        'fields = [ { api = "b" }, { api = "a", names = ["x", "y"] }]'
    )


def test_dotted_keys_and_headers_of_inner_tables_are_understood() -> None:
    dotted = LineText('pagination.kind = "page" # by number\n')
    text = str(with_values(dotted, {"pagination.size": 5}))
    assert text == 'pagination.kind = "page" # by number\npagination.size = 5\n'
    assert str(with_values(dotted, {"pagination.kind": None})) == ""
    inner = with_values(LineText("[a.b]\nx = 1"), {"a.c": 2})
    assert str(inner) == "[a.b]\nx = 1\n\n[a]\nc = 2\n"
    in_braces = with_values(LineText("a = { b = 1, c = 2 } # both"), {"a.b": None})
    assert str(in_braces) == "a = { c = 2 } # both"
    assert str(with_values(in_braces, {"a.d": 3})) == "a = { c = 2, d = 3 } # both"


def test_quoted_keys_and_strings_of_several_lines_are_understood() -> None:
    text = '"a b".\'c d\' = """\nx = 1 # no comment\n""" # a comment\n"q\\"" = 1\n'
    table = LineText(text).table()
    assert changed(text, **{'q"': 2}) == text.replace("= 1\n", "= 2\n", 2).replace(
        "x = 2", "x = 1"
    ).replace("x = 1 # no", "x = 1 # no")
    assert table["a b"]["c d"] == "x = 1 # no comment\n"


def test_a_value_can_become_one_of_another_kind() -> None:
    assert changed("[a]\nb = 1\n", a="text") == 'a = "text"\n'
    assert changed('a = "text"\n', a={"b": 1}) == "a = { b = 1 }\n"
    assert changed("[[a]]\nb = 1\n", a=[]) == "a = []\n"


def test_the_last_line_gets_its_end_before_something_follows() -> None:
    assert changed("a = 1 # one", b=2) == "a = 1 # one\nb = 2\n"
    assert changed("[x]\ny = 1\n# end", t={"z": 1}) == (
        "[x]\ny = 1\n# end\n\n[t]\nz = 1\n"
    )
    assert str(with_values(LineText("[x]"), {"x.y": 1})) == "[x]\ny = 1\n"


def test_windows_line_ends_are_read() -> None:
    assert changed("a = 1\r\nb = 2\r\n", b=3) == "a = 1\nb = 3\n"


def test_a_mistake_is_reported_with_its_line() -> None:
    with pytest.raises(ConfigError, match="line 2") as refused:
        LineText("a = 1\nb = \n")
    assert refused.value.field == "sync"


def test_a_text_that_could_not_be_edited_is_written_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Comments are lost then, but never a value."""

    class Broken:
        def __init__(self, *_arguments: object) -> None:
            pass

        def apply(self, _table: object) -> None:
            pass

        def __str__(self) -> str:
            return "not = toml ="

    monkeypatch.setattr(line_text, "TomlEditor", Broken)
    text = LineText(TEXT)
    anew = with_values(text, {"keys": ["id", "born_on"]})
    assert anew.table() == text.table() | {"keys": ["id", "born_on"]}
    assert "#" not in str(anew)


def test_rows_are_matched_by_their_names_once_each() -> None:
    old = [{"host": "a"}, {"host": "b", "api": "x"}, {"list": "l"}, {}]
    new = [{"host": "c", "api": "x"}, {"host": "a"}, {"host": "a"}, {"list": "l"}, {}]
    assert match_rows(old, new) == [1, 0, None, 2, None]


SCALARS = st.sampled_from(
    ["text", "a\nb", 'it\'s "quoted" # no comment', 1, True, ["a", "b"], " ]} ", "\\"]
)
ROW = st.fixed_dictionaries(
    {"host": st.sampled_from("abcd"), "api": st.sampled_from("xyz")},
    optional={"a b": SCALARS, "options": st.dictionaries(st.just("zone"), SCALARS)},
)
TABLE = st.fixed_dictionaries(
    {},
    optional={
        "direction": SCALARS,
        "x y": SCALARS,
        "pagination": st.dictionaries(st.sampled_from("abc"), SCALARS, min_size=1),
        "fields": st.lists(ROW, min_size=1, max_size=4),
        "children": st.lists(
            st.fixed_dictionaries(
                {"list": st.sampled_from("lm")},
                optional={"fields": st.lists(ROW, min_size=1, max_size=3)},
            ),
            min_size=1,
            max_size=2,
        ),
    },
)


def written(table: dict[str, Any], pick: st.DataObject) -> str:
    """Return the TOML of a table in one of the ways that people write it."""

    def some(*options: str) -> str:
        return pick.draw(st.sampled_from(options))

    def pairs(inner: dict[str, Any]) -> str:
        return "".join(
            f"{some('', '# above', ' ')}\n{toml_key(name)} = {toml_value(value)}"
            f"{some('', '  # behind')}\n"
            for name, value in inner.items()
        )

    plain = ""
    headers = ""
    for name, value in table.items():
        key = toml_key(name)
        if isinstance(value, dict) and some("header", "braces") == "header":
            headers += f"\n# {key}\n[{key}]\n{pairs(value)}"
        elif value and isinstance(value, list) and isinstance(value[0], dict):
            way = some("headers", "lines", "line")
            if way == "headers":
                headers += "".join(f"# row\n[[{key}]]\n{pairs(row)}" for row in value)
            elif way == "lines":
                rows = "".join(f"\n # row\n {toml_value(row)}, # r" for row in value)
                plain += f"{key} = [{rows}\n]\n"
            else:
                plain += pairs({name: value})
        else:
            plain += pairs({name: value})
    return plain + headers


@given(st.data(), TABLE, TABLE)
def test_every_text_can_become_every_other_one(
    pick: st.DataObject, old: dict[str, Any], new: dict[str, Any]
) -> None:
    text = written(old, pick)
    assert LineText(text).table() == old
    editor = line_text.TomlEditor(text, deepcopy(old))
    editor.apply(deepcopy(new))
    assert LineText(str(editor)).table() == new
