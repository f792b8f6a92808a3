"""Which ids a connection may have."""

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sending.core.connections.ids import MAX_ID, check_connection_id


@pytest.mark.parametrize(
    "value",
    ["a", "7", "acme", "org:42", "ann@shop.example", "A.b_c-d:e@f+g~h", "x" * MAX_ID],
)
def test_an_id_stays_exactly_as_it_is(value: str) -> None:
    assert check_connection_id(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x" * (MAX_ID + 1),
        "-a",
        ".",
        "..",
        "~a",
        "@a",
        "a b",
        " a",
        "a\n",
        "a/b",
        "a\\b",
        "a%2fb",
        "a?b",
        "a#b",
        "a$b",
        "a\x00",
        "é",
        "a\u0430",  # a Cyrillic letter that looks like the Latin one
        "a\u202eb",
        "\u0661",  # a digit outside ASCII
        None,
        7,
        True,
        ["a"],
    ],
)
def test_no_other_value_is_an_id_and_none_is_repeated(value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        check_connection_id(value, "connection.x")
    assert caught.value.field == "connection.x"
    assert caught.value.message == "this is not an id of a connection"
    assert "120" in caught.value.hint


def test_the_field_is_named_connection_by_default() -> None:
    with pytest.raises(ConfigError) as caught:
        check_connection_id("")
    assert caught.value.field == "connection"
