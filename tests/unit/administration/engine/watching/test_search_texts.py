"""How a search text is read."""

import pytest

from outkey.administration.engine.watching.search import matches, run_number, words_of


def test_all_words_must_occur_in_any_case_and_order() -> None:
    assert matches("Shop production", words_of("PROD shop"))
    assert not matches("Shop test", words_of("shop prod"))


def test_a_long_text_is_cut_and_an_empty_one_has_no_words() -> None:
    assert len(words_of("a " * 50)) == 6
    assert words_of("  ") == []


@pytest.mark.parametrize(
    ("query", "number"),
    [("#12", 12), ("12", 12), (" # 7 ", 7), ("#0", None), ("#x", None), ("12a", None)],
)
def test_a_number_names_a_run(query: str, number: int | None) -> None:
    assert run_number(query) == number
