"""The provider's items of an order, a list for each."""

import pytest

from outkey.spar import Spar
from spar.test_ranges import get


@pytest.mark.parametrize(
    ("query", "status", "positions"),
    [
        ("orders/7/items", 200, [1, 2, 3]),
        ("orders/7/items?count=5&per_page=2&page=2", 200, [3, 4]),
        ("orders/0/items", 200, None),
        ("parts/7/items", 404, None),
    ],
)
def test_each_order_has_a_list_of_items(
    query: str, status: int, positions: list[int] | None
) -> None:
    with Spar() as spar:
        found, page = get(spar, query)
    assert found == status
    if positions is not None:
        assert [item["position"] for item in page["items"]] == positions  # type: ignore[attr-defined]
