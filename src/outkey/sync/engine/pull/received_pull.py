"""Records that a webhook received go the way of those that a pull has requested."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
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
from outkey.sync.core.run.run import Counts, Run
from outkey.sync.engine.pull.children import ChildEffects
from outkey.sync.engine.pull.pull import PageRows, Pull
from outkey.sync.engine.pull.record_mapper import Row, key_of
from outkey.sync.engine.runs.plan import Effect
from outkey.sync.engine.runs.run_in_progress import RunInProgress, is_refused
from outkey.sync.ports.sync import Key


class ReceivedOutcome(NamedTuple):
    """What became of the records of one delivery."""

    effects: Sequence[Effect]
    outdated: int  # how many of the records were out of order
    run: str
    has_rejected: bool  # whether the run lists rejected records or children


class ReceivedPage(NamedTuple):
    """The records of one delivery, and what stores how it ended.

    `conclude` is called in the transaction that writes the records.
    """

    records: Sequence[Record]
    conclude: Callable[[ReceivedOutcome], None]


class ReceivedPull(Pull):
    """A run whose pages are deliveries: nothing is requested, nothing is missing."""

    def __init__(
        self,
        progress: RunInProgress,
        pages: Iterable[ReceivedPage],
        marked_run: str = "",
    ) -> None:
        super().__init__(progress)
        self._received = pages
        self._marked_run = marked_run  # the run that has seen the received records
        mapping = version_mapping(self.sync)
        self._version_field = mapping.host if mapping else ""
        # Where records of the page are that have no version, and older ones.
        self._unversioned: set[int] = set()
        self._outdated: set[int] = set()

    def steps(self) -> Iterator[Run]:
        """Store delivery after delivery, each with its checkpoint."""
        for _, columns in self._targets():
            columns.begin(self.progress.note_change, self.progress.run.line)
        for records, conclude in self._received:
            self.progress.keep_working()
            screened = self._screen.reject_records(records, is_suspicious=True)
            page = self._read_page(self._run_script(screened))
            with self.progress.page_transaction(), self._target_transaction():
                effects = self._write(page.rows)
                children = self._write_children(page, effects)
                position = Position(pages=self.progress.run.pages + 1)
                saved = self.progress.save_page(
                    position, effects, self.progress.run.cursor, children
                )
                every_effect = (*effects, *(effect for _, effect in children.effects))
                conclude(
                    ReceivedOutcome(
                        effects,
                        len(self._outdated),
                        self.progress.run.id,
                        has_rejected=any(map(is_refused, every_effect)),
                    )
                )
            self.progress.run = saved
            yield self.progress.run
        for _, columns in self._targets():
            columns.finish(self.progress.note_change, dry_run=False)

    def remove_missing(self) -> Counts:
        """Remove nothing: a delivery says nothing about other records."""
        return Counts()

    def _map(self, records: Sequence[Record | Unmapped]) -> list[Row | Unmapped]:
        rows = super()._map(records)
        find = self._pages.find_incremental
        if find is not None and self._version_field:
            self._unversioned = {
                place
                for place, (record, row) in enumerate(zip(records, rows, strict=True))
                if not isinstance(record, Unmapped)
                and not isinstance(row, Unmapped)
                and find(record) in (None, "")
            }
        return rows

    def _write(self, mapped: Sequence[Row | Unmapped]) -> list[Effect]:
        """Write the rows that are not older than what the host has."""
        rows = self._compare_versions(mapped)
        current = [row for place, row in enumerate(rows) if place not in self._outdated]
        effects = iter(super()._write(current))
        return [
            Effect(WriteOutcome.UNCHANGED, key_text(key_of(self.sync.keys, row)), {})
            if place in self._outdated
            else next(effects)
            for place, row in enumerate(rows)
        ]

    def _compare_versions(
        self, mapped: Sequence[Row | Unmapped]
    ) -> list[Row | Unmapped]:
        """Note which rows are outdated, and return all as they are to be written.

        A row is outdated if the host's record is newer, or another row of the same
        record. One without a version is not, and leaves the stored version as it is.
        """
        self._outdated = set()
        rows = list(mapped)
        field = self._version_field
        received = self._received_rows(rows) if field else []
        if not received:
            return rows
        keys = [row.key for row in received]
        records = self.ports.records.matching(self.sync.target, self.sync.keys, keys)
        stored = {key: record.values.get(field) for key, record in records.items()}
        zone = self.ports.zone
        newest = {key: version_rank(value, zone) for key, value in stored.items()}
        for row in received:
            newest[row.key] = newer_rank(newest.get(row.key), row.rank)
        for row in received:
            if row.place in self._unversioned:
                version = stored.get(row.key)
                if version is not None:
                    rows[row.place] = {**row.values, field: version}
            elif is_less(row.rank, newest[row.key]):
                self._outdated.add(row.place)
        return rows

    def _received_rows(self, mapped: Sequence[Row | Unmapped]) -> "list[ReceivedRow]":
        """Return the rows of a page with their versions as the columns have them.

        A number is stored as text where a text came before.
        """
        rows = {
            place: row
            for place, row in enumerate(mapped)
            if not isinstance(row, Unmapped)
        }
        return [
            ReceivedRow(
                place,
                values,
                key=tuple(fitted[name] for name in self.sync.keys),
                rank=None
                if place in self._unversioned
                else version_rank(fitted.get(self._version_field)),
            )
            for (place, values), fitted in zip(
                rows.items(), self._fit(list(rows.values())), strict=True
            )
        ]

    def _write_children(
        self, page: PageRows, effects: Sequence[Effect]
    ) -> ChildEffects:
        """Write the children of the rows that are not older than what the host has."""
        parents = [
            [parent for parent in of_list if parent.place not in self._outdated]
            for of_list in page.parents
        ]
        return super()._write_children(page._replace(parents=parents), effects)

    def _upsert(self, rows: Sequence[Row]) -> Sequence[Written]:
        """Write rows as seen by the last ordinary run.

        That one may be continued: it must not miss what it has seen itself.
        """
        own = self.progress.run
        self.progress.run = replace(own, id=self._marked_run or own.id)
        try:
            return super()._upsert(rows)
        finally:
            self.progress.run = own


class ReceivedRow(NamedTuple):
    """A row of a delivery, and the place of its version among others."""

    place: int  # in the delivery
    values: Row
    key: Key
    rank: VersionRank | None
