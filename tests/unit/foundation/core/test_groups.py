"""Many items in groups."""

from collections.abc import Collection

import pytest

from outkey.foundation.core.groups import groups_of


@pytest.mark.parametrize(
    ("items", "groups"),
    [
        ([], []),
        ([1], [[1]]),
        ([1, 2], [[1, 2]]),
        ([1, 2, 3], [[1, 2], [3]]),
        ({1: "a", 2: "b", 3: "c"}, [[1, 2], [3]]),
        ({1, 2, 3}.intersection({3}), [[3]]),
    ],
)
def test_every_item_is_in_one_group(
    items: Collection[int], groups: list[list[int]]
) -> None:
    assert list(groups_of(items, 2)) == groups
