"""Pulling: pages of a source become records of the host.

source    brings pages: those of an API (PageReader), of a list for each parent
(ParentReader), or deliveries of a webhook
reader    makes rows of their records: screened, scripted and mapped
writer    writes rows: all of them (TargetWriter), those that are not outdated
(DeliveryWriter), or as the rule of a pair decides (PairWriter)
groups    are pages that are written together (PageGrouping)
progress  stores each group of pages with its checkpoint
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, suppress
from typing import Protocol

from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import Counts, Run
from outkey.sync.engine.pull.page_groups import PageGroup, PageGrouping, ReadPage
from outkey.sync.engine.pull.page_reader import PageReader
from outkey.sync.engine.pull.pages import PageEffects, PageRows, SourcePage
from outkey.sync.engine.pull.parent_reader import ParentReader
from outkey.sync.engine.pull.records_to_rows import RecordsToRows
from outkey.sync.engine.pull.shape_watch import ShapeWatch
from outkey.sync.engine.pull.target_writer import TargetWriter
from outkey.sync.engine.runs.run_in_progress import RunInProgress
from outkey.sync.ports.sync import StorageBusy

TRIES = 3  # to write a page


class PageSource(Protocol):
    """Brings the pages of a pull."""

    def first_page(self) -> SourcePage:
        """Return one page, of which a preview shows some records."""

    def pages(self) -> Generator[SourcePage]:
        """Yield the pages from the position of the run to the end."""

    def is_ready(self, seconds: float) -> bool:
        """Whether the next page can be read within some seconds."""


class PageWriter(Protocol):
    """Writes the rows of a pull."""

    def begin(self) -> None:
        """Prepare the target, before the first page."""

    def transaction(self) -> AbstractContextManager[None]:
        """Write everything of a page, or nothing."""

    def write(self, page: PageRows) -> PageEffects:
        """Write the rows of a page, or compare them in a dry run."""

    def finish(self) -> None:
        """Complete the target, after the last page."""

    def settle_conflicts(self) -> bool:
        """Return whether the next run has to read the records of conflicts again."""

    def remove_missing(self) -> Counts:
        """Archive or delete missing records after a complete run; a dry run reports."""


class Pull:
    """A run that brings records of a source into the host."""

    def __init__(
        self,
        progress: RunInProgress,
        source: PageSource,
        reader: RecordsToRows,
        writer: PageWriter,
        watch: ShapeWatch | None = None,
    ) -> None:
        self.progress = progress
        self._watch = watch
        self._source = source
        self._reader = reader
        self._writer = writer
        self._grouping = PageGrouping(progress, source.is_ready)

    def sample(self, limit: int) -> Sequence[Effect]:
        """Request the first page; return the effects of its first records."""
        page = self._source.first_page()
        self.progress.limit_preview()
        records = self._reader.prepare(
            page.records[:limit], is_suspicious=page.is_suspicious
        )
        written = self._writer.write(self._reader.map(records, page.parent))
        return self.progress.guard.mask(written.effects)

    def steps(self) -> Iterator[Run]:
        """Bring page after page, and store them with their checkpoint."""
        self._writer.begin()
        with closing(self._watched_pages()) as pages:
            for group in self._grouping.groups(map(self._read, pages)):
                self.progress.refuse_more_records(group.count)
                written = self._store(group)
                self.progress.report(written.effects, written.children)
                yield self.progress.run
        if self._watch is not None:
            self._watch.compare_total()
        self._writer.finish()

    def complete(self) -> Run:
        """Store the run as done; remove what is missing upstream if it saw all."""
        run = self.progress.complete(
            self._writer.remove_missing, self._writer.settle_conflicts
        )
        if self._watch is not None:
            self._watch.record(run)
        return run

    def _watched_pages(self) -> Generator[SourcePage]:
        """Yield the pages of the source, each after it was compared with earlier ones.

        A page that has changed too much ends the run here, before it is written.
        """
        with closing(self._source.pages()) as pages:
            if self._watch is None:
                yield from pages
                return
            with self._watch.following():
                for page in pages:
                    self._watch.compare(page)
                    yield page

    def _read(self, page: SourcePage) -> ReadPage:
        """Return a page with the rows of its records."""
        records = self._reader.prepare(page.records, is_suspicious=page.is_suspicious)
        return ReadPage(page, self._reader.read(records, page.parent), len(records))

    def _store(self, group: PageGroup) -> PageEffects:
        """Write pages with their checkpoint; again after a deadlock undid it."""
        tries = TRIES if group.last.conclude is None else 1
        for _ in range(tries - 1):
            with suppress(StorageBusy):
                return self._write(group)
        return self._write(group)

    def _write(self, group: PageGroup) -> PageEffects:
        # The end of the run waits for the disk. A power failure before that may lose
        # the last pages with their checkpoints: they are pulled again. A delivery that
        # has ended is not processed again.
        progress = self.progress
        is_delivery = group.last.conclude is not None
        with (
            progress.page_transaction(durable=is_delivery),
            self._writer.transaction(),
        ):
            written = self._writer.write(group.rows)
            saved = progress.save_page(
                group.last.position,
                written.effects,
                group.last.cursor,
                written.children,
                pages=progress.run.pages + group.pages,
                parents=group.parents,
            )
            group.conclude(written)
        progress.run = saved
        return written


def pull_from_api(progress: RunInProgress) -> Pull:
    """Return the pull of a line that is in no pair."""
    kind = ParentReader if progress.sync.for_each else PageReader
    source = kind(progress, reads_ahead=progress.ports.reads_ahead)
    target = TargetWriter(progress)
    reader = RecordsToRows(progress, target)
    return Pull(progress, source, reader, target, ShapeWatch(progress))
