"""The provider's lists that demand a range of time, and refuse one that is too long."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from outkey.spar import Spar


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def get(spar: Spar, query: str) -> tuple[int, dict[str, object]]:
    connection = HTTPConnection(spar.url.removeprefix("http://"), timeout=10)
    headers = {"Authorization": "Bearer spar-token"}
    connection.request("GET", f"/records/{query}", headers=headers)
    response = connection.getresponse()
    document: dict[str, object] = json.loads(response.read())
    connection.close()
    return response.status, document


def test_only_the_records_of_the_range_are_returned(spar: Spar) -> None:
    query = "days=14&updated_from=2026-01-02T00:00Z&updated_to=2026-01-03T01:00%2B01:00"
    status, page = get(spar, f"contacts?count=56&{query}")
    assert (status, page["total"]) == (200, 2)
    query = "days=7&updated_from=2026-02-01&updated_to=2026-02-02T12:00:00Z"
    _, page = get(spar, f"orders?count=3&{query}")
    assert page["total"] == 2


@pytest.mark.parametrize(
    "query",
    [
        "",
        "&updated_from=2026-01-01",
        "&updated_from=2026-01-01&updated_to=soon",
        "&updated_from=2026-01-01&updated_to=2026-01-09",
    ],
)
def test_a_range_that_is_missing_or_too_long_is_refused(spar: Spar, query: str) -> None:
    status, error = get(spar, f"contacts?days=7{query}")
    assert (status, [*error]) == (400, ["error"])
