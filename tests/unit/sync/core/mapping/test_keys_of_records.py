"""The key of a record as text."""

import pytest

from outkey.sync.core.mapping.keys import MAX_KEY_LENGTH, key_text, key_texts


def test_a_key_is_written_as_its_values() -> None:
    assert key_text(["2027", "17"]) == "2027, 17"
    assert key_text([]) == ""
    assert key_text(["x" * MAX_KEY_LENGTH]) == "x" * MAX_KEY_LENGTH


def test_long_keys_are_cut_off_and_still_differ() -> None:
    first = key_text(["x" * 300, "a"])
    second = key_text(["x" * 300, "b"])
    assert len(first) == len(second) == MAX_KEY_LENGTH
    assert first.startswith("xxx")
    assert first != second


def test_keys_of_several_values_with_commas_stay_different() -> None:
    assert key_text(["a, b", "c"]) != key_text(["a", "b, c"])
    assert key_text(["a\\", "b"]) != key_text(["a", "\\b"])
    assert key_text(["Doe, Jane"]) == "Doe, Jane"


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [["7"], ["8"]],
        [["7", "a"], ["7", "b"]],
        [["a, b", "c"], ["a", "b, c"]],
        [["a\\", "b"], ["a", "\\b"]],
        [["Doe, Jane"], ["7"]],
        [["x" * 300, "a"], ["7", "b"]],
    ],
)
def test_many_keys_have_the_texts_of_each(keys: list[list[str]]) -> None:
    assert key_texts(keys) == [key_text(key) for key in keys]
