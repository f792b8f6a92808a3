"""A page on its way through a pull: its records, their rows, and the effects."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.paging import Position
from outkey.sync.core.paging.response import Record
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import ParentCounts
from outkey.sync.engine.pull.children import ChildEffects, ParentRow
from outkey.sync.engine.pull.record_mapper import NO_PARENT, Row


class PageRows(NamedTuple):
    """The records of a page, their rows, and the parents of each list of the line."""

    records: Sequence[Record | Unmapped]
    rows: Sequence[Row | Unmapped]
    parents: Sequence[Sequence[ParentRow]] = ()  # none in a preview


class PageEffects(NamedTuple):
    """The effects of a page on the target, and those of the lists in its records."""

    effects: Sequence[Effect]
    children: ChildEffects
    outdated: int = 0  # how many rows were older than the host's records


class PageSaver(Protocol):
    """Stores what is known of the list that a page belongs to."""

    def add(self, written: PageEffects) -> None:
        """Take the effects of the page."""

    def store(self) -> None:
        """Store what was taken of this page and of those before it.

        In the transaction of the pages, after all of them were added. If that is
        repeated, they are added again.
        """


class SourcePage(NamedTuple):
    """The records of a page, and where the run continues after it."""

    records: Sequence[Record | Unmapped]  # Unmapped: it cannot be a record
    position: Position
    cursor: str
    is_suspicious: bool  # a secret may be in the records
    # Stores how a delivery ended, in the transaction that writes its records.
    conclude: Callable[[PageEffects], None] | None = None
    pages: int = 1  # 0: nothing was requested
    parent: Mapping[str, object] = NO_PARENT  # the fields of the records' parent
    parents: ParentCounts = ParentCounts()
    save: PageSaver | None = None
