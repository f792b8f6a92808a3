"""Bodies in compressed parts."""

from collections.abc import Iterator

import pytest

from outkey.foundation.core.errors import ConnectionFailed
from outkey.sending.core.request.packed_body import BLOCK, PackedBody


@pytest.mark.parametrize(
    "parts",
    [[], [b""], [b"a"], [b"a" * 10] * BLOCK, [b"a" * BLOCK * 3, b"", b"b"]],
)
def test_a_packed_body_is_read_again_as_it_arrived(parts: list[bytes]) -> None:
    body = PackedBody(parts)
    assert b"".join(body) == b"".join(parts)
    assert b"".join(body) == b"".join(parts)


def test_a_body_of_many_small_parts_that_repeat_takes_a_tenth_of_its_size() -> None:
    row = b"7,Customer 7,7.07,2026-01-07T00:00:00Z,DE\r\n"
    packed = sum(map(len, PackedBody([row] * 100_000)._blocks))
    assert packed < len(row) * 10_000


def test_a_body_that_breaks_off_is_not_packed() -> None:
    def parts() -> Iterator[bytes]:
        yield b"a"
        raise ConnectionFailed

    with pytest.raises(ConnectionFailed):
        PackedBody(parts())
