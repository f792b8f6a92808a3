"""Accepted statuses are numbers and ranges, read by one parser."""

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.statuses import accepts, parse_ranges
from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.sending.core.configuration.configuration import build
from outkey.testing import configuration

PATH = "verification.accepted_statuses"


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
    "statuses",
    [
        "600",
        "200-600",
        "200-",
        "200,",
        "2\u0660\u0660",
        "",
        200,
    ],
)
def test_what_is_not_a_status_is_refused(statuses: object) -> None:
    with pytest.raises(ConfigError, match=r"^Accepted statuses .*200-299") as caught:
        build("acme", {"base_url": "https://api.acme.example", PATH: statuses})
    assert caught.value.field == PATH


@pytest.mark.parametrize("statuses", ["299-200", "200, 405-404"])
def test_an_inverted_range_is_refused_when_it_is_saved_and_read_when_it_is_stored(
    statuses: str,
) -> None:
    stored = configuration(
        authentication_type="bearer", verification__accepted_statuses=statuses
    )
    assert not accepts(statuses, 404)
    with pytest.raises(ConfigError, match="ends before it begins") as caught:
        refuse_unsavable(stored)
    assert caught.value.field == PATH
    assert "lower status first" in caught.value.hint
