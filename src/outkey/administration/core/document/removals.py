"""Removals: entries that applying a document deletes, as its section lacks them.

A section other than a configuration is replaced by what a document has of it. A key
that is stored and that the document does not name would be lost.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from outkey.sync.core.line.line import Direction, SyncLine
from outkey.sync.core.line.table import sync_table

NamedKeys = Mapping[str, frozenset[str]]  # by place
# A webhook has one of these, so that naming one replaces another.
CONSUMERS = frozenset({"line", "run", "handler"})


class Removal(NamedTuple):
    """The stored keys of one section that a document does not name."""

    place: str  # such as line.orders
    keys: tuple[str, ...]

    @property
    def is_of_line(self) -> bool:
        """Whether a line would lose them."""
        return self.place.startswith("line.")


def removals_of(
    place: str,
    stored: Mapping[str, object],
    made: Mapping[str, object],
    *,
    named_keys: NamedKeys,
) -> Iterator[Removal]:
    """Yield the stored entries of a section that a document neither names nor makes."""
    named = named_keys.get(place, frozenset())
    if CONSUMERS & named and place.startswith("webhook."):
        named |= CONSUMERS
    keys = tuple(key for key in stored if key not in named and key not in made)
    if keys:
        yield Removal(place, keys)


def line_table(line: SyncLine) -> dict[str, object]:
    """Return the keys of a line, without what is as by default.

    What creates, updates and deletes has methods and paths of its own.
    """
    sync = line.sync
    is_push = sync is not None and sync.direction is Direction.PUSH
    table: dict[str, object] = {}
    if sync is not None and sync.has_requests:
        return sync_table(sync)
    if line.method != ("POST" if is_push else "GET"):
        table["method"] = line.method
    if line.path != "/":
        table["path"] = line.path
    return table if sync is None else table | sync_table(sync)
