"""How a search text is read: words that must all occur, or the number of a run."""

import re

MOST_RESULTS = 8  # of each kind
MOST_WORDS = 6
RUN_NUMBER = re.compile(r"#?\s?([1-9][0-9]{0,17})")


def words_of(query: str) -> list[str]:
    """Return the words of a query, in lower case."""
    return query.casefold().split()[:MOST_WORDS]


def matches(text: str, words: list[str]) -> bool:
    """Whether a text has all words."""
    folded = text.casefold()
    return all(word in folded for word in words)


def run_number(query: str) -> int | None:
    """Return the number of a run such as #12 or 12; None for another text."""
    number = RUN_NUMBER.fullmatch(query.strip())
    return int(number[1]) if number else None
