"""Records that a webhook received go the way of those that a pull has requested."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from outkey.core.sync.keys import key_text
from outkey.core.sync.mapping import Unmapped
from outkey.core.sync.records import WriteOutcome, Written
from outkey.core.sync.response import Record
from outkey.core.sync.run import Counts, Run
from outkey.engine.sync.plan import Effect, LinePlan, SyncPorts
from outkey.engine.sync.pull import Pull
from outkey.engine.sync.record_mapper import Row, key_of


class ReceivedPage(NamedTuple):
    """The records of one delivery, and what stores how it ended.

    `conclude` is called with the effects and how many of the records were out of order,
    in the transaction that writes the records.
    """

    records: Sequence[Record]
    conclude: Callable[[Sequence[Effect], int], None]


class ReceivedPull(Pull):
    """A run whose pages are deliveries: nothing is requested, nothing is missing."""

    def __init__(
        self, ports: SyncPorts, plan: LinePlan, pages: Iterable[ReceivedPage]
    ) -> None:
        super().__init__(ports, plan)
        self._received = pages
        self.marked_run = ""  # the run that has seen what is received
        self._version_field = version_field(plan)
        self._outdated = 0  # records of the page that are older than the host's

    def steps(self) -> Iterator[Run]:
        """Store delivery after delivery, each with its checkpoint."""
        for _, columns in self._targets():
            columns.begin(self.note_change, self.run.line)
        for records, conclude in self._received:
            self.keep_working()
            screened = self._screen.reject_records(records, is_suspicious=True)
            page = self._read_page(self._run_script(screened))
            with self.page_transaction(), self._target_transaction():
                self._outdated = 0
                effects = self._write(page.rows)
                children = self._write_children(page, effects)
                saved = self.save_page(
                    self.position(), effects, self.run.cursor, children
                )
                conclude(effects, self._outdated)
            self.run = saved
            yield self.run
        for _, columns in self._targets():
            columns.finish(self.note_change, dry_run=False)

    def remove_missing(self) -> Counts:
        """Remove nothing: a delivery says nothing about other records."""
        return Counts()

    def _write(self, mapped: Sequence[Row | Unmapped]) -> list[Effect]:
        """Write the rows that are not older than what the host has."""
        outdated = self._outdated_keys(mapped)
        self._outdated = len(outdated)
        current = [row for row in mapped if key_of(self.sync.keys, row) not in outdated]
        effects = iter(super()._write(current))
        return [
            Effect(WriteOutcome.UNCHANGED, key_text(key), {})
            if (key := key_of(self.sync.keys, row)) in outdated
            else next(effects)
            for row in mapped
        ]

    def _outdated_keys(self, mapped: Sequence[Row | Unmapped]) -> set[tuple[str, ...]]:
        """Return the keys of rows whose version is before that of the host's record."""
        field = self._version_field
        rows = [row for row in mapped if not isinstance(row, Unmapped)]
        if not field or not rows:
            return set()
        keys = self.sync.keys
        # As the columns have them: a number is stored as text where a text came before.
        fitted = self._fit(rows)
        values = [tuple(row[key] for key in keys) for row in fitted]
        stored = self.ports.records.matching(self.sync.target, keys, values)
        return {
            key_of(keys, row)
            for row, fit, key in zip(rows, fitted, values, strict=True)
            if key in stored and is_before(fit[field], stored[key].values.get(field))
        }

    def _upsert(self, rows: Sequence[Row]) -> Sequence[Written]:
        """Write rows as seen by the last ordinary run.

        That one may be continued: it must not miss what it has seen itself.
        """
        own = self.run
        self.run = replace(own, id=self.marked_run or own.id)
        try:
            return super()._upsert(rows)
        finally:
            self.run = own


def version_field(plan: LinePlan) -> str:
    """Return the host's field with the version or time of a record; "" for none.

    It is the field that the line's incremental field is mapped to.
    """
    path = plan.sync.incremental.field
    for mapping in plan.sync.mappings:
        if path and mapping.api == path:
            return mapping.host
    return ""


def is_before(new: object, stored: object) -> bool:
    """Whether a version is before another; not if they cannot be compared."""
    if new is None or stored is None:
        return False
    try:
        return bool(new < stored)  # type: ignore[operator]
    except TypeError:
        return False
