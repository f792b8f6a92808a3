"""Small pages of a quick API, which are written together.

A transaction costs as much as the writing of many records. But what is not written is
requested again after a kill: so nothing waits for an API that is slow.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.ports.clock import Clock
from outkey.sync.core.line.line import Sync, Transform, Writes
from outkey.sync.core.run.run import ParentCounts
from outkey.sync.engine.pull.children import ChildEffects
from outkey.sync.engine.pull.pages import PageEffects, PageRows, SourcePage
from outkey.sync.engine.pull.record_mapper import keys_of
from outkey.sync.engine.runs.run_in_progress import RunInProgress

USUAL_PAGE = 100  # records; such a page is written alone
MOST_PAGES = 24  # of a group
LONGEST_SECONDS = 0.25  # for which a page waits until it is written
READY_SECONDS = 0.02  # in which the next page comes, or what there is gets written


class ReadPage(NamedTuple):
    """A page with the rows of its records."""

    page: SourcePage
    rows: PageRows
    taken: int  # records of the page, of which a retry writes some


@dataclass(slots=True)
class PageGroup:
    """Pages that are written in one transaction, with the last one's checkpoint."""

    members: list[ReadPage]
    keys: set[tuple[str, ...]] = field(default_factory=set)  # of the rows

    @property
    def last(self) -> SourcePage:
        """The page whose position is stored."""
        return self.members[-1].page

    @property
    def count(self) -> int:
        """How many records the run takes with these pages."""
        return sum(member.taken for member in self.members)

    @property
    def pages(self) -> int:
        """How many pages were requested."""
        return sum(member.page.pages for member in self.members)

    @property
    def parents(self) -> ParentCounts:
        """What these pages complete of the parents of a run."""
        return sum((member.page.parents for member in self.members), ParentCounts())

    @property
    def rows(self) -> PageRows:
        """The rows of all pages."""
        if len(self.members) == 1:
            return self.members[0].rows
        return PageRows(
            [record for member in self.members for record in member.rows.records],
            [row for member in self.members for row in member.rows.rows],
        )

    def conclude(self, written: PageEffects) -> None:
        """Store, in the transaction of the pages, what belongs to each of them."""
        if self.last.conclude is not None:
            self.last.conclude(written)
        savers = [member.page.save for member in self.members if member.page.save]
        for member, own in zip(self.members, self._divided(written), strict=True):
            if member.page.save is not None:
                member.page.save.add(own)
        if savers:
            savers[-1].store()

    def _divided(self, written: PageEffects) -> Iterator[PageEffects]:
        """Yield the effects of each page; of several pages none has children."""
        if len(self.members) == 1:
            yield written
            return
        effects = iter(written.effects)
        for member in self.members:
            own = [next(effects) for _ in member.rows.rows]
            yield PageEffects(own, ChildEffects())


class PageGrouping:
    """Decides which pages of a run are written together."""

    def __init__(
        self, progress: RunInProgress, is_ready: Callable[[float], bool]
    ) -> None:
        self._progress = progress
        self._is_ready = is_ready
        self._sync = progress.sync
        self._clock: Clock = progress.ports.clock
        self._is_used = progress.ports.writes_together and fits_groups(progress.sync)

    def groups(self, pages: Iterator[ReadPage]) -> Generator[PageGroup]:
        """Yield the pages in groups; those before an error too."""
        group = PageGroup([])
        began_at = self._clock.monotonic()
        while True:
            try:
                read = next(pages, None)
            except OutkeyError:
                if group.members:
                    yield group
                raise
            if read is None:
                break
            keys = self._keys_of(read)
            if group.members and not self._has_room(group, read, keys):
                yield group
                group = PageGroup([])
            if not group.members:
                began_at = self._clock.monotonic()
            group.members.append(read)
            group.keys |= keys
            waited = self._clock.monotonic() - began_at
            if (
                self._is_closed(read)
                or read.taken >= USUAL_PAGE
                or len(group.members) >= MOST_PAGES
                or waited > LONGEST_SECONDS
                or not self._is_ready(READY_SECONDS)
            ):
                yield group
                group = PageGroup([])
        if group.members:
            yield group

    def _keys_of(self, read: ReadPage) -> set[tuple[str, ...]]:
        """Return the keys of a page, if it can be written with others."""
        if not self._is_used:
            return set()
        rows = [row for row in read.rows.rows if isinstance(row, dict)]
        return {*keys_of(self._sync.keys, rows)}

    def _has_room(
        self, group: PageGroup, read: ReadPage, keys: set[tuple[str, ...]]
    ) -> bool:
        """Whether a page can be written with those of a group.

        A key that comes twice within a page is rejected, but that of an earlier page is
        written again. A page that the run may not take must not take others with it.
        """
        count = group.count + read.taken
        is_small = read.taken < USUAL_PAGE and count <= self._progress.records_left()
        # What may show a secret is judged by the last response.
        is_plain = not read.page.is_suspicious and read.page.conclude is None
        return is_small and is_plain and group.keys.isdisjoint(keys)

    def _is_closed(self, read: ReadPage) -> bool:
        """Whether no later page may be written together with this one.

        After a window, whose end is stored where all of its records were accepted. The
        list of a parent has its own state, which is stored with its pages.
        """
        page = read.page
        is_window_over = (
            self._progress.has_windows and page.cursor != self._progress.run.cursor
        )
        return (
            not self._is_used
            or page.is_suspicious
            or page.conclude is not None
            or is_window_over
        )


def fits_groups(sync: Sync) -> bool:
    """Whether the mapping of a page needs nothing that the one before has written.

    Nor are pages of children, or of models with code of their own, written together:
    these are not small.
    """
    is_looked_up = any(
        mapping.transform is Transform.LOOKUP for mapping in sync.mappings
    )
    return sync.writes is Writes.BULK and not sync.children and not is_looked_up
