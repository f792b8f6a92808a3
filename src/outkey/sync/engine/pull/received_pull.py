"""Records that a webhook received go the way of those that a pull has requested."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple

from outkey.sync.core.mapping.keys import key_text
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.mapping.records import WriteOutcome, Written
from outkey.sync.core.mapping.versions import (
    VersionRank,
    is_less,
    newer_rank,
    version_mapping,
    version_rank,
)
from outkey.sync.core.paging.paging import Position
from outkey.sync.core.paging.response import Record
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import Counts
from outkey.sync.engine.pull.pages import PageEffects, PageRows, SourcePage
from outkey.sync.engine.pull.pull import Pull
from outkey.sync.engine.pull.record_mapper import Row, key_of, write_rows
from outkey.sync.engine.pull.records_to_rows import RecordsToRows
from outkey.sync.engine.pull.target_writer import TargetWriter
from outkey.sync.engine.runs.run_in_progress import RunInProgress, is_refused
from outkey.sync.ports.sync import Key


class ReceivedOutcome(NamedTuple):
    """The effects of one delivery."""

    effects: Sequence[Effect]
    outdated: int  # how many of the records were out of order
    run: str
    has_rejected: bool  # whether the run lists rejected records or children


Conclude = Callable[[ReceivedOutcome], None]


class ReceivedPage(NamedTuple):
    """The records of one delivery, and what stores how it ended.

    `conclude` is called in the transaction that writes the records.
    """

    records: Sequence[Record]
    conclude: Conclude


def pull_of_deliveries(
    progress: RunInProgress, pages: Iterable[ReceivedPage], marked_run: str = ""
) -> Pull:
    """Return a pull whose pages are deliveries: nothing is requested or missing.

    Records are marked as seen by the last ordinary run, `marked_run`. That one may be
    continued: it must not miss what it has seen itself.
    """
    target = TargetWriter(progress)
    reader = RecordsToRows(progress, target)
    writer = DeliveryWriter(progress, target, marked_run)
    return Pull(progress, Deliveries(progress, pages), reader, writer)


class Deliveries:
    """The source of a pull whose pages are deliveries."""

    def __init__(self, progress: RunInProgress, pages: Iterable[ReceivedPage]) -> None:
        self._progress = progress
        self._pages = pages

    def first_page(self) -> SourcePage:
        """Return the records of the first delivery."""
        return next(self.pages())

    def is_ready(self, seconds: float) -> bool:  # noqa: ARG002 - of every source
        """Return False: each delivery is stored at once."""
        return False

    def pages(self) -> Generator[SourcePage]:
        """Yield delivery after delivery; any of them may repeat a secret."""
        for records, conclude in self._pages:
            self._progress.keep_working()
            run = self._progress.run
            yield SourcePage(
                records,
                Position(pages=run.pages + 1),
                run.cursor,
                is_suspicious=True,
                conclude=partial(self._conclude, conclude),
            )

    def _conclude(self, conclude: Conclude, page: PageEffects) -> None:
        every_effect = (*page.effects, *(effect for _, effect in page.children.effects))
        conclude(
            ReceivedOutcome(
                page.effects,
                page.outdated,
                self._progress.run.id,
                has_rejected=any(map(is_refused, every_effect)),
            )
        )


class ReceivedRow(NamedTuple):
    """A row of a delivery, and the place of its version among others."""

    place: int  # in the delivery
    values: Row
    key: Key
    has_version: bool
    rank: VersionRank | None  # of its version, if that can be compared


class DeliveryWriter:
    """Writes the rows that are not older than what the host has."""

    def __init__(
        self, progress: RunInProgress, target: TargetWriter, marked_run: str
    ) -> None:
        self._progress = progress
        self._ports = progress.ports
        self._sync = progress.sync
        self._target = target
        self._marked_run = marked_run
        mapping = version_mapping(self._sync)
        self._version_field = mapping.host if mapping else ""
        self._find_version = (
            self._ports.finder.compile(mapping.api, field="incremental.field")
            if mapping
            else None
        )

    def begin(self) -> None:
        """Make the table; what others have dropped of it is not received again."""
        for _, columns in self._target.targets():
            columns.begin(self._progress.note_change, self._progress.run.line)

    def transaction(self) -> AbstractContextManager[None]:
        """Write parents and children together, or nothing."""
        return self._target.transaction()

    def write(self, page: PageRows) -> PageEffects:
        """Write the rows of a delivery that are not outdated, and their lists."""
        rows, outdated = self._compare_versions(page)
        current = [row for place, row in enumerate(rows) if place not in outdated]
        written = iter(write_rows(self._sync.keys, current, self._upsert))
        effects = [
            Effect(WriteOutcome.UNCHANGED, key_text(key_of(self._sync.keys, row)), {})
            if place in outdated
            else next(written)
            for place, row in enumerate(rows)
        ]
        parents = [
            [parent for parent in of_list if parent.place not in outdated]
            for of_list in page.parents
        ]
        children = self._target.write_children(parents, effects)
        return PageEffects(effects, children, len(outdated))

    def finish(self) -> None:
        """Make the columns that had no value."""
        for _, columns in self._target.targets():
            columns.finish(self._progress.note_change, dry_run=False)

    def settle_conflicts(self) -> bool:
        """Return False: a line of a pair takes no deliveries."""
        return False

    def remove_missing(self) -> Counts:
        """Remove nothing: a delivery says nothing about other records."""
        return Counts()

    def _upsert(self, rows: Sequence[Row]) -> Sequence[Written]:
        return self._target.upsert(self._target.fit(rows), self._marked_run)

    def _compare_versions(
        self, page: PageRows
    ) -> tuple[list[Row | Unmapped], set[int]]:
        """Return the rows as they are to be written, and the places of outdated ones.

        A row is outdated if the host's record is newer, or another row of the same
        record. One without a version is not, and leaves the stored version as it is.
        """
        rows = list(page.rows)
        outdated: set[int] = set()
        field = self._version_field
        received = self._received_rows(page)
        if not received:
            return rows, outdated
        keys = [row.key for row in received]
        records = self._ports.records.matching(self._sync.target, self._sync.keys, keys)
        stored = {key: record.values.get(field) for key, record in records.items()}
        zone = self._ports.zone
        newest = {key: version_rank(value, zone) for key, value in stored.items()}
        for row in received:
            newest[row.key] = newer_rank(newest.get(row.key), row.rank)
        for row in received:
            version = stored.get(row.key)
            if not row.has_version and version is not None:
                rows[row.place] = {**row.values, field: version}
            if is_less(row.rank, newest[row.key]):
                outdated.add(row.place)
        return rows, outdated

    def _received_rows(self, page: PageRows) -> list[ReceivedRow]:
        """Return the rows of a page with their versions as the columns have them.

        A number is stored as text where a text came before.
        """
        find = self._find_version
        if find is None:
            return []
        mapped = {
            place: row
            for place, row in enumerate(page.rows)
            if not isinstance(row, Unmapped)
        }
        received: list[ReceivedRow] = []
        fitted_rows = self._target.fit(list(mapped.values()))
        for (place, values), fitted in zip(mapped.items(), fitted_rows, strict=True):
            has_version = find(page.records[place]) not in (None, "")
            rank = version_rank(fitted.get(self._version_field))
            received.append(
                ReceivedRow(
                    place,
                    values,
                    key=tuple(fitted[name] for name in self._sync.keys),
                    has_version=has_version,
                    rank=rank if has_version else None,
                )
            )
        return received
