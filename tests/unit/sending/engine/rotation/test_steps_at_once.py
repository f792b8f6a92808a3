"""Two users at once: one step happens, and the other one is refused."""

import pytest

from outkey.foundation.core.errors import EditConflict, RotationPending
from outkey.sending.engine.rotation.rotations import one_step


def test_a_step_that_came_second_is_refused_as_one_of_a_rotation() -> None:
    with pytest.raises(RotationPending, match="another step"), one_step():
        raise EditConflict
