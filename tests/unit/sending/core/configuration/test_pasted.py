"""What was copied along with a secret is recognized, and removed completely."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.sending.core.configuration.pasted import (
    FAULTS,
    PASTED_JSON,
    QUOTES,
    fault_of,
    tidy,
)

PIECES = st.sampled_from(
    [
        "abc",
        "Bearer ",
        "token:",
        "X-API-Key: ",
        "access_token=",
        "{",
        " ",
        *QUOTES,
        *"\t\r\n\x07\u00a0\u00ad\u180e\u200b\u2028\u2066\u3000\ufeff",
    ]
)
PASTED = st.lists(PIECES | st.characters(), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        ("abc", "abc"),
        ("  abc\n", "abc"),
        ('"abc"', "abc"),
        ("\u201cabc\u201d", "abc"),
        ("Bearer abc", "abc"),
        ("Bearer Bearer abc", "abc"),
        ("Authorization: Bearer abc", "abc"),
        ("'token abc'", "abc"),
        ("ab\u200bc\ufeff", "abc"),
        ("bearerabc", "bearerabc"),
        ("Bearer", "Bearer"),
        ("Bearer:abc", "abc"),
        ("access_token=abc", "abc"),
        ("X-API-Key: abc", "abc"),
        ("Bearer\tabc", "abc"),
        ("Bearer\u00a0abc", "abc"),
        ('"Bearer "Bearer abc', '"Bearer "Bearer abc'),
        ('Bearer "Bearer abc"', "abc"),
        ("abc\u2066def", "abcdef"),
        ("open\u00a0sesame", "open sesame"),
        ("abc\u180edef", "abcdef"),
        ("abc\x07def", "abcdef"),
        ("abc\u2028d", "abcd"),
        ("\u3000abc\u00a0", "abc"),
        ("abc\r\ndef", "abcdef"),
        ('{"access_token": "abc"}', '{"access_token": "abc"}'),
        ("two  blanks", "two  blanks"),
    ],
)
def test_what_came_along_when_it_was_pasted_is_removed(
    pasted: str, expected: str
) -> None:
    assert tidy(pasted) == expected


@given(PASTED)
def test_a_tidy_value_has_no_fault_that_could_be_removed(text: str) -> None:
    assert fault_of(tidy(text)) in {"", PASTED_JSON}


@given(PASTED)
def test_a_value_without_a_fault_is_not_changed(text: str) -> None:
    assert (tidy(text) == text) is (fault_of(text) in {"", PASTED_JSON})


@given(PASTED)
def test_every_fault_is_one_that_a_diagnosis_knows(text: str) -> None:
    assert fault_of(text) in {"", *FAULTS}
