"""Accepted statuses are numbers and ranges, read by one parser."""

import pytest

from outkey.core.config.configuration import build
from outkey.core.config.statuses import accepts, parse_ranges
from outkey.core.errors import ConfigError


@pytest.mark.parametrize(
    ("statuses", "status", "expected"),
    [
        ("200-299", 200, True),
        ("200-299", 299, True),
        ("200-299", 300, False),
        ("200, 404", 404, True),
        ("200,404-405", 405, True),
        ("401", 400, False),
    ],
)
def test_accepted_statuses_are_numbers_and_ranges(
    statuses: str, status: int, *, expected: bool
) -> None:
    assert accepts(statuses, status) is expected


def test_statuses_become_ranges() -> None:
    assert parse_ranges("200-299, 404") == (range(200, 300), range(404, 405))


@pytest.mark.parametrize(
    ("statuses", "problem", "hint"),
    [
        ("299-200", "a range that ends before it begins", "lower status first"),
        ("200, 405-404", "a range that ends before it begins", "lower status first"),
        ("600", "statuses such as 200-299", ""),
        ("200-600", "statuses such as 200-299", ""),
        ("200-", "statuses such as 200-299", ""),
        ("200,", "statuses such as 200-299", ""),
        ("2\u0660\u0660", "statuses such as 200-299", ""),
        ("", "statuses such as 200-299", ""),
        (200, "statuses such as 200-299", ""),
    ],
)
def test_an_inverted_or_impossible_range_is_refused(
    statuses: object, problem: str, hint: str
) -> None:
    path = "verification.accepted_statuses"
    with pytest.raises(ConfigError, match=f"^Accepted statuses .*{problem}") as caught:
        build("acme", {"base_url": "https://api.acme.example", path: statuses})
    assert caught.value.field == path
    assert hint in caught.value.hint
