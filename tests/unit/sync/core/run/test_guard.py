"""How many records a run may remove."""

import pytest

from outkey.foundation.core.errors import SyncFailed
from outkey.sync.core.run.guard import refuse_mass_removal, refuse_replaced_target


@pytest.mark.parametrize(
    ("missing", "total", "percent", "is_refused"),
    [
        (0, 0, 10, False),
        (10, 100, 10, False),
        (11, 100, 10, True),
        (1, 3, 10, False),
        (2, 3, 10, True),
        (1, 1, 10, False),
        (0, 5, 0, False),
        (1, 5, 0, True),
        (5, 5, 99, True),
        (5, 5, 100, False),
    ],
)
def test_a_percentage_and_at_least_one_record_may_go(
    missing: int, total: int, percent: int, *, is_refused: bool
) -> None:
    if not is_refused:
        refuse_mass_removal(missing, total, percent)
        return
    with pytest.raises(SyncFailed) as caught:
        refuse_mass_removal(missing, total, percent)
    assert caught.value.reason == "guard"


@pytest.mark.parametrize(
    ("missing", "total", "new", "percent", "is_refused"),
    [
        (100, 100, 1, 10, True),
        (100, 100, 0, 10, False),
        (11, 100, 90, 10, True),
        (11, 100, 89, 10, False),
        (10, 100, 500, 10, False),
        (90, 100, 10, 10, False),
        (0, 0, 500, 10, False),
        (1, 1, 1, 10, False),
        (2, 2, 1, 10, True),
        (1, 1, 1, 0, True),
        (100, 100, 100, 100, False),
    ],
)
def test_a_target_is_replaced_if_it_lost_many_records_and_most_are_new(
    missing: int, total: int, new: int, percent: int, *, is_refused: bool
) -> None:
    def refuse() -> None:
        refuse_replaced_target(
            "table:t",
            missing,
            total,
            percent=percent,
            has_more_new=lambda known: new > known,
        )

    if not is_refused:
        refuse()
        return
    with pytest.raises(SyncFailed, match=f"{missing} of the {total} .* table:t") as end:
        refuse()
    assert end.value.reason == "target_replaced"
