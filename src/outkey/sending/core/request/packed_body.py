"""A large body in memory: in compressed parts, which are read one after another.

An export of a hundred megabytes is text that repeats itself, and is read twice: all of
it before anything of it is written. On a disk it would be in plain text.
"""

import zlib
from collections.abc import Iterable, Iterator

BLOCK = 64 * 1024
QUICKLY = 1  # the level of zlib: ten times as quick as reading the rows


class PackedBody:
    """A body that can be read again from its start."""

    __slots__ = ("_blocks",)

    def __init__(self, parts: Iterable[bytes]) -> None:
        """Read all parts; what they raise is raised."""
        self._blocks = [zlib.compress(block, QUICKLY) for block in _blocks_of(parts)]

    def __iter__(self) -> Iterator[bytes]:
        return map(zlib.decompress, self._blocks)


def _blocks_of(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield parts together, since small ones would not become smaller."""
    block = bytearray()
    for part in parts:
        block += part
        if len(block) >= BLOCK:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)
