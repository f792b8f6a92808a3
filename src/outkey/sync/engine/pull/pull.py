"""Pulling: pages of a source become records of the host.

source    brings pages: those of an API (PageReader), or deliveries of a webhook
reader    makes rows of their records: screened, scripted and mapped
writer    writes rows: all of them (TargetWriter), those that are not outdated
(DeliveryWriter), or as the rule of a pair decides (PairWriter)
progress  stores each page with its checkpoint
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, suppress
from typing import Protocol

from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import Counts, Run
from outkey.sync.engine.pull.page_reader import PageReader
from outkey.sync.engine.pull.pages import PageEffects, PageRows, SourcePage
from outkey.sync.engine.pull.records_to_rows import RecordsToRows
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
    ) -> None:
        self.progress = progress
        self._source = source
        self._reader = reader
        self._writer = writer

    def sample(self, limit: int) -> Sequence[Effect]:
        """Request the first page; return the effects of its first records."""
        page = self._source.first_page()
        self.progress.limit_preview()
        records = self._reader.prepare(
            page.records[:limit], is_suspicious=page.is_suspicious
        )
        written = self._writer.write(self._reader.map(records))
        return self.progress.guard.mask(written.effects)

    def steps(self) -> Iterator[Run]:
        """Bring page after page, and store each with its checkpoint."""
        self._writer.begin()
        with closing(self._source.pages()) as pages:
            for page in pages:
                records = self._reader.prepare(
                    page.records, is_suspicious=page.is_suspicious
                )
                self.progress.refuse_more_records(len(records))
                written = self._store_page(page, self._reader.read(records))
                self.progress.report(written.effects, written.children)
                yield self.progress.run
        self._writer.finish()

    def complete(self) -> Run:
        """Store the run as done; remove what is missing upstream if it saw all."""
        return self.progress.complete(
            self._writer.remove_missing, self._writer.settle_conflicts
        )

    def _store_page(self, page: SourcePage, rows: PageRows) -> PageEffects:
        """Write a page with its checkpoint; again after a deadlock undid it."""
        tries = TRIES if page.conclude is None else 1
        for _ in range(tries - 1):
            with suppress(StorageBusy):
                return self._write_page(page, rows)
        return self._write_page(page, rows)

    def _write_page(self, page: SourcePage, rows: PageRows) -> PageEffects:
        # The end of the run waits for the disk. A power failure before that may lose
        # the last pages with their checkpoints: they are pulled again. A delivery that
        # has ended is not processed again.
        progress = self.progress
        is_delivery = page.conclude is not None
        with (
            progress.page_transaction(durable=is_delivery),
            self._writer.transaction(),
        ):
            written = self._writer.write(rows)
            saved = progress.save_page(
                page.position, written.effects, page.cursor, written.children
            )
            if page.conclude is not None:
                page.conclude(written)
        progress.run = saved
        return written


def pull_from_api(progress: RunInProgress) -> Pull:
    """Return the pull of a line that is in no pair."""
    source = PageReader(progress, reads_ahead=progress.ports.reads_ahead)
    target = TargetWriter(progress)
    return Pull(progress, source, RecordsToRows(progress, target), target)
