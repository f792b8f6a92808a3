"""How many records an API says it has."""

from decimal import Decimal

import pytest

from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.paging.totals import total_of
from unit.sync.engine.pull.test_sync_run import Api, answer, fake_sync, people

NO_HEADERS = ResponseHeaders(())


@pytest.mark.parametrize(
    ("document", "total"),
    [
        ({"items": [], "total": 250}, 250),
        ({"meta": {"totalCount": 7, "page": 1}}, 7),
        ({"total_results": Decimal(12)}, 12),
        ({"count": 100, "paging": {"total": 300}}, 300),
        ({"total": True}, 0),
        ({"total": "250"}, 0),
        ({"total": -1}, 0),
        ({"total": 10**15}, 0),
        ({"other": {"deeper": {"total": 5}}}, 0),
        ([{"total": 5}], 0),
        ({str(number): {} for number in range(1000)} | {"total": 5}, 0),
    ],
)
def test_a_response_may_state_a_total(document: object, total: int) -> None:
    assert total_of(document, NO_HEADERS) == total


@pytest.mark.parametrize(
    ("value", "total"), [("42", 42), ("many", 0), ("9" * 40, 0), ("", 0)]
)
def test_a_header_may_state_a_total(value: str, total: int) -> None:
    assert total_of([], ResponseHeaders((("X-Total-Count", value),))) == total


def test_a_run_stores_the_total_that_the_api_states() -> None:
    api = Api(people(1, 2, 3))
    made = fake_sync(responses=api)
    assert made.run().expected == 0
    page = answer(people(1, 2), ("X-Total-Count", "3"))
    api.odd = {len(api.asked) + 1: page}
    assert made.run().expected == 3
