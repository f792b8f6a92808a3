"""What is known of the list of each parent, and what shows that it has changed."""

import pytest

from outkey.sync.core.run.parents import ParentState, mark_of


@pytest.mark.parametrize(
    ("state", "is_done"),
    [
        (ParentState("7", turn="2"), True),
        (ParentState("7", turn="1"), False),
        (ParentState("7", turn="2", checkpoint={"page": 3}), False),
    ],
)
def test_a_list_is_done_once_its_turn_has_completed_it(
    state: ParentState, *, is_done: bool
) -> None:
    assert state.is_done_by("2") is is_done


def test_another_row_or_another_line_has_another_mark() -> None:
    mark = mark_of("line", {"id": 7, "name": "Ada"})
    assert mark == mark_of("line", {"name": "Ada", "id": 7})
    assert mark != mark_of("other", {"id": 7, "name": "Ada"})
    assert mark != mark_of("line", {"id": 7, "name": "Bob"})
