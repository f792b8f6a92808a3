"""Names and values of variables, and texts and paths that are filled with them."""

from decimal import Decimal

import pytest

from outkey.foundation.core.errors import ConfigError, VariableMissing
from outkey.sending.core.connections.variables import (
    MAX_NAME,
    MAX_VALUE,
    check_path_template,
    check_variable,
    check_variable_name,
    fill_segment_path,
    fill_text,
    refuse_undeclared,
    text_of,
)


@pytest.mark.parametrize("name", ["a", "instance_url", "realmId", "x1", "A" * MAX_NAME])
def test_a_name_is_a_word(name: str) -> None:
    assert check_variable_name(name, "connect.variables") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "1a",
        "_a",
        "a-b",
        "a.b",
        "a b",
        "a\n",
        "é",
        "{a}",
        "A" * (MAX_NAME + 1),
        None,
        7,
    ],
)
def test_nothing_else_is_a_name(name: object) -> None:
    with pytest.raises(ConfigError) as caught:
        check_variable_name(name, "connect.variables")
    assert caught.value.field == "connect.variables"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("eu1", "eu1"),
        ("x" * MAX_VALUE, "x" * MAX_VALUE),
        ("Müller & Söhne / 7", "Müller & Söhne / 7"),
        ("...", "..."),
        (" ", " "),
        ("{region}", "{region}"),
        (7, "7"),
        (-7, "-7"),
        (9130357, "9130357"),
        (9130357.0, "9130357"),  # as a reader returns it that makes each number a float
        (12345678901234567890, "12345678901234567890"),
        (1.5, "1.5"),
        (Decimal("1.50"), "1.50"),
        (True, "true"),
        (False, "false"),
    ],
)
def test_a_value_is_text_and_numbers_are_written_as_in_json(
    value: object, text: str
) -> None:
    assert check_variable("region", value) == text


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x" * (MAX_VALUE + 1),
        ".",
        "..",
        "a\nb",
        "a\r",
        "a\tb",
        "a\x00b",
        "a\x7fb",
        "a\x85b",
        "a\u2028b",
        "a\u202eb",
        "a\u2066b",
        "a\u200fb",
        "a\ud800b",
        None,
        ["secret-value"],
        {"a": "secret-value"},
        float("nan"),
        float("inf"),
        1e300,  # not the digits of the response any more
        Decimal("NaN"),
        pytest.param(10**5000, id="a number of 5,000 digits"),
    ],
)
def test_other_values_are_refused_by_the_name_of_the_variable_alone(
    value: object,
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_variable("region", value)
    error = caught.value
    assert error.field == "variables.region"
    assert error.message.startswith("the variable region is invalid: it ")
    assert "secret-value" not in error.message + error.hint
    assert (error.code, bool(error.hint)) == ("configuration", True)


def test_text_of_a_value_is_none_where_it_has_none() -> None:
    assert text_of([]) is None
    assert text_of("") == ""


def test_undeclared_names_are_refused_when_a_template_is_saved() -> None:
    refuse_undeclared("/v2/{company}/{ not one }/x", {"company"}, "test.path")
    with pytest.raises(ConfigError, match=r"\{tenant\} is not a variable") as caught:
        refuse_undeclared("/{company}/{tenant}", {"company"}, "test.path")
    assert caught.value.field == "test.path"
    assert caught.value.hint


def test_a_path_to_be_saved_has_variables_in_its_segments_only() -> None:
    path = "/v2/{company}/orders?since={since}"
    checked = check_path_template(path, {"company"}, "path", others={"since"})
    assert checked == path
    with pytest.raises(ConfigError, match="in the query") as caught:
        check_path_template("/orders?company={company}", {"company"}, "path")
    assert (caught.value.field, bool(caught.value.hint)) == ("path", True)
    with pytest.raises(ConfigError, match="is not a variable"):
        check_path_template(path, {"company"}, "path")


@pytest.mark.parametrize(
    ("path", "value", "filled"),
    [
        ("/v2/{x}/orders", "acme", "/v2/acme/orders"),
        ("v2/{x}", "acme", "v2/acme"),
        ("/v2/c-{x}.json", "7", "/v2/c-7.json"),
        ("/{x}{x}", "a", "/aa"),
        ("/{x}/b", "a/b", "/a%2Fb/b"),
        ("/{x}", "a?b#c", "/a%3Fb%23c"),
        ("/{x}", "100%", "/100%25"),
        ("/{x}", "a\\b", "/a%5Cb"),
        ("/{x}", "a b+c", "/a%20b%2Bc"),
        ("/{x}", "Müller", "/M%C3%BCller"),
        ("/{x}", "...", "/..."),
        ("/{x}", "a@b:c;d=e", "/a%40b%3Ac%3Bd%3De"),
        ("/{x}", "{y}", "/%7By%7D"),  # a value is not filled again
        ("/{x}/{y}", "a", "/a/{y}"),
        ("/{x}?x={x}", "a", "/a?x={x}"),
        ("/{x}#{x}", "a", "/a#{x}"),
        ("https://{x}.example/{x}?{x}", "a", "https://{x}.example/a?{x}"),
        ("//{x}/{x}", "a", "//{x}/a"),
        ("/plain", "a", "/plain"),
        ("", "a", ""),
    ],
)
def test_a_value_in_a_path_is_one_encoded_segment_or_part_of_one(
    path: str, value: str, filled: str
) -> None:
    assert fill_segment_path(path, {"x": value}, declared={"x"}) == filled


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/{x}{y}/a", {"x": ".", "y": "."}),
        ("/.{x}/a", {"x": "."}),
        ("/{x}./a", {"x": "."}),
        ("/%2e{x}/a", {"x": "."}),
        ("/{x}%2E", {"x": "."}),
        ("/{x}", {"x": ".."}),
        ("/{x}", {"x": "."}),
        ("/{x}", {"x": "a/../b"}),
        ("/{x}", {"x": "..\\b"}),
        ("/{x}", {"x": "%2e%2e"}),
        ("/{x}", {"x": "%252e."}),
        ("/{x}", {"x": " .. "}),
        ("/{x}", {"x": "..;a"}),
        ("/{x}", {"x": "\uff0e\uff0e"}),
    ],
)
def test_a_segment_that_leads_elsewhere_is_refused(
    path: str, values: dict[str, str]
) -> None:
    # A value of dots alone cannot be stored; the others may be, and meet in a segment.
    with pytest.raises(ConfigError) as caught:
        fill_segment_path(path, values, declared=set(values), field="test.path")
    assert "the variable x is invalid" in caught.value.message


def test_dots_of_two_values_are_refused_where_each_alone_is_none() -> None:
    values = {"x": ".a", "y": "b."}
    filled = fill_segment_path("/{x}{y}", values, declared=set(values))
    assert filled == "/.ab."
    with pytest.raises(ConfigError, match="elsewhere") as caught:
        fill_segment_path("/a/.{x}", {"x": ".;v=1"}, declared={"x"}, field="test.path")
    assert caught.value.field == "test.path"


def test_a_name_without_a_value_is_named() -> None:
    with pytest.raises(VariableMissing, match="the variable company") as caught:
        fill_segment_path("/{company}", {}, declared={"company"})
    assert (caught.value.code, caught.value.field) == (
        "variable_missing",
        "variables.company",
    )
    with pytest.raises(VariableMissing, match="the variable company"):
        fill_text("c={company}", {})


def test_the_value_of_a_row_is_filled_as_it_is() -> None:
    assert fill_text("tenant={x}; {x}", {"x": "a b&c%"}) == "tenant=a b&c%; a b&c%"
    assert fill_text("no variable", {}) == "no variable"
    assert fill_text('{"a": 1}', {}) == '{"a": 1}'
    assert fill_text("{x}", {"x": "{y}"}) == "{y}"


def test_what_is_stored_is_checked_again_when_it_is_sent() -> None:
    with pytest.raises(ConfigError, match="control character"):
        fill_text("tenant={x}", {"x": "a\r\nX-Admin: 1"})
    with pytest.raises(ConfigError, match="control character"):
        fill_segment_path("/{x}", {"x": "a\x00"}, declared={"x"})
