"""Splitting many items into groups, and counting by key."""

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def groups_of(items: Collection[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yield items in groups of a size, as many as one statement or request can hold."""
    listed = items if isinstance(items, Sequence) else list(items)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]


def add_one(counts: dict[str, int], key: str) -> None:
    """Count one more for a key."""
    counts[key] = counts.get(key, 0) + 1
