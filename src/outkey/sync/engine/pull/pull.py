"""Pulling: pages of an API become records of the host."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import NamedTuple

from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Gone, Writes
from outkey.sync.core.mapping.keys import key_text
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.mapping.records import Written
from outkey.sync.core.mapping.shape import shape_of
from outkey.sync.core.paging.paging import Position
from outkey.sync.core.paging.response import (
    MAX_FIELDS,
    MAX_FIELDS_WITH_CHILDREN,
    Record,
    greater_value,
)
from outkey.sync.core.run.guard import refuse_mass_removal_of_children
from outkey.sync.core.run.run import ChildCounts, Counts, Run
from outkey.sync.engine.pull.children import ChildEffects, ChildTarget, ParentRow
from outkey.sync.engine.pull.missing_records import MissingRecords
from outkey.sync.engine.pull.page_reader import PageReader
from outkey.sync.engine.pull.record_mapper import RecordMapper, Row, key_of, write_rows
from outkey.sync.engine.pull.record_screen import RecordScreen
from outkey.sync.engine.pull.target_columns import TargetColumns
from outkey.sync.engine.runs.plan import Effect
from outkey.sync.engine.runs.run_in_progress import RunInProgress
from outkey.sync.ports.sync import StorageBusy

PREVIEW_VALUES = 200_000
ORPHANS_BATCH = 500  # parents
SCRIPT_BATCH = 64  # records; a script has 250 ms for each, and the lease a minute
TRIES = 3  # to write a page


class PageRows(NamedTuple):
    """The rows of a page, and for each list of the line the parents among them."""

    rows: Sequence[Row | Unmapped]
    parents: Sequence[Sequence[ParentRow]]


class Pull:
    """A run that brings records of the API into the host."""

    def __init__(self, progress: RunInProgress) -> None:
        ports = progress.ports
        plan = progress.plan
        self.progress = progress
        self.ports = ports
        self.plan = plan
        self.sync = plan.sync
        self._pages = PageReader(ports, plan, progress.guard)
        self._target_columns = TargetColumns(
            ports.records,
            plan.sync.target,
            lambda: shape_of(plan.sync),
            plan.sync.mappings,
        )
        most_fields = MAX_FIELDS_WITH_CHILDREN if plan.sync.children else MAX_FIELDS
        self._screen = RecordScreen(
            plan.sync,
            progress.guard,
            keep_working=progress.keep_working,
            most_fields=most_fields,
        )
        self._mapper = RecordMapper(
            ports,
            plan.sync.mappings,
            field_of=self._target_columns.field_for,
            keep_working=progress.keep_working,
            most_fields=most_fields,
        )
        self._children = [
            ChildTarget(
                ports,
                plan.sync,
                number,
                keep_working=progress.keep_working,
                screen=self._screen.reject_rows,
            )
            for number in range(len(plan.sync.children))
        ]
        # How many children each target had before this run deleted any.
        self._child_totals: dict[str, int] = {}

    def sample(self, limit: int) -> Sequence[Effect]:
        """Request the first page; return what would become of its first records."""
        self._pages.max_values = PREVIEW_VALUES
        with self._pages.batch:
            records, _ = self._pages.fetch_page(
                self.progress.position(), self.progress.run.since
            )
        self.progress.limit_preview()
        screened = self._reject_secrets(records[:limit])
        rows = self._map(self._run_script(screened))
        return self.progress.guard.mask(self._write(rows))

    def steps(self) -> Iterator[Run]:
        """Request page after page, and store each with its checkpoint."""
        self._begin_target()
        position = self.progress.position()
        with self._pages.batch:
            while not position.ended:
                self.progress.keep_working()
                records, position = self._pages.fetch_page(
                    position, self.progress.run.since
                )
                self.progress.expected = max(
                    self.progress.expected, self._pages.stated_total
                )
                cursor = self._greatest_cursor(records)
                self.progress.guard.refuse_secret(
                    "" if self._pages.is_numbered else position.value, cursor
                )
                screened = self._run_script(self._reject_secrets(records))
                self.progress.refuse_more_records(len(screened))
                page = self._read_page(screened)
                saved, effects, children = self._store_page(page, position, cursor)
                self.progress.run = saved
                self.progress.report(effects, children)
                yield self.progress.run
        self._finish_target()

    def _store_page(
        self, page: PageRows, position: Position, cursor: str
    ) -> tuple[Run, Sequence[Effect], ChildEffects]:
        """Write a page with its checkpoint; again after a deadlock undid it."""
        for _ in range(TRIES - 1):
            with suppress(StorageBusy):
                return self._write_page(page, position, cursor)
        return self._write_page(page, position, cursor)

    def _write_page(
        self, page: PageRows, position: Position, cursor: str
    ) -> tuple[Run, Sequence[Effect], ChildEffects]:
        # The end of the run waits for the disk. A power failure before that may lose
        # the last pages with their checkpoints: they are pulled again.
        with self.progress.page_transaction(durable=False), self._target_transaction():
            effects = self._write(page.rows)
            children = self._write_children(page, effects)
            saved = self.progress.save_page(position, effects, cursor, children)
        return saved, effects, children

    def _begin_target(self) -> None:
        """Make the table or the file of the line; a dry run makes nothing.

        If somebody has dropped the table or a column, everything is read again.
        """
        if self.progress.run.dry_run:
            return
        is_partial = False
        for target, columns in self._targets():
            if not self.progress.run.position:
                self.ports.records.begin(target, self.progress.run.id)
            is_partial |= columns.begin(
                self.progress.note_change, self.progress.run.line
            )
        if is_partial:
            self.progress.start_over()

    def _finish_target(self) -> None:
        """Make what no value told the type of; a file is replaced now."""
        for kind in self._children:
            if kind.finds_no_list:
                self.progress.note_change(
                    Text(
                        "children {list}: no record has a list there, so all children"
                        " stay as they are",
                        list=kind.children.list,
                    )
                )
        for target, columns in self._targets():
            columns.finish(self.progress.note_change, dry_run=self.progress.run.dry_run)
            if self.progress.run.dry_run or self.progress.run.retry_of:
                continue
            for note in self.ports.records.complete(
                target,
                self.progress.run.id,
                is_doubtful=self.progress.position().doubtful,
                may_lose=self.progress.allows_removal,
            ):
                self.progress.note_change(note)

    def _targets(self) -> Iterator[tuple[str, TargetColumns]]:
        """Yield the targets of the line and of its children, with their columns."""
        yield self.sync.target, self._target_columns
        for kind in self._children:
            yield kind.children.target, kind.columns

    def _greatest_cursor(self, records: Sequence[Record]) -> str:
        cursor = self.progress.run.cursor
        # A retry leaves the next run where it is: it does not write all that it reads.
        if self._pages.find_incremental is not None and not self.progress.run.retry_of:
            for record in records:
                self.progress.keep_working()
                value = self._pages.find_incremental(record)
                self.progress.guard.refuse_echo(value)
                cursor = greater_value(cursor, value)
        return cursor

    # ── what becomes of the records of a page ────────────────────────────────────────

    def _reject_secrets(self, records: Sequence[Record]) -> Sequence[Record | Unmapped]:
        is_suspicious = self._pages.is_suspicious
        return self._screen.reject_records(records, is_suspicious=is_suspicious)

    def _run_script(
        self, records: Sequence[Record | Unmapped]
    ) -> Sequence[Record | Unmapped]:
        """Return what the line's script makes of the records."""
        if not self.sync.script:
            return records
        inputs = [record for record in records if not isinstance(record, Unmapped)]
        outputs = iter(self._script_outputs(inputs))
        results = [
            record if isinstance(record, Unmapped) else next(outputs)
            for record in records
        ]
        return [record for record in results if record is not None]

    def _script_outputs(
        self, records: Sequence[Record]
    ) -> list[Record | Unmapped | None]:
        """Return what the script makes of each record, some at a time."""
        scripts = self.ports.scripts
        name = self.plan.line.name
        outputs: list[Record | Unmapped | None] = []
        for batch in groups_of(records, SCRIPT_BATCH):
            self.progress.keep_working()
            outputs += scripts.transform(name, self.sync.script, batch)
        return outputs

    def _read_page(self, records: Sequence[Record | Unmapped]) -> PageRows:
        """Return the rows of a page, with those of the lists in its records.

        Of a retry only those of records that the earlier run rejected.
        """
        rows = self._map(records)
        if self.progress.run.retry_of:
            keys = [key_text(key_of(self.sync.keys, row)) for row in rows]
            rejected = self.ports.runs.still_rejected(self.progress.run.retry_of, keys)
            chosen = [place for place, key in enumerate(keys) if key in rejected]
            records = [records[place] for place in chosen]
            rows = [rows[place] for place in chosen]
        return PageRows(rows, [kind.read(records, rows) for kind in self._children])

    def _map(self, records: Sequence[Record | Unmapped]) -> list[Row | Unmapped]:
        """Return the host's values of each record, or why it has none."""
        return self._screen.reject_rows(self._mapper.map(records))

    def _write(self, mapped: Sequence[Row | Unmapped]) -> list[Effect]:
        """Write the rows of a page, or compare them in a dry run."""
        return write_rows(
            self.sync.keys, mapped, lambda rows: self._upsert(self._fit(rows))
        )

    def _fit(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return rows as the columns of the target have them, which may be new."""
        return self._target_columns.fit(
            rows, self.progress.note_change, dry_run=self.progress.run.dry_run
        )

    def _upsert(self, rows: Sequence[Row]) -> Sequence[Written]:
        return self.ports.records.upsert(
            self.sync.target,
            self.sync.keys,
            rows,
            self.progress.run.id,
            dry_run=self.progress.run.dry_run,
            saves=self.sync.writes is Writes.MODEL,
        )

    def _write_children(
        self, page: PageRows, effects: Sequence[Effect]
    ) -> ChildEffects:
        children = ChildEffects()
        for kind, parents in zip(self._children, page.parents, strict=True):
            children.add(
                kind.write(
                    parents, effects, self.progress.run, self.progress.note_change
                )
            )
        if not self.progress.allows_removal:
            self._refuse_mass_removal(children)
        return children

    def _refuse_mass_removal(self, children: ChildEffects) -> None:
        """End the run, and take its page back, if too many children were deleted."""
        for target, count in children.deleted.items():
            removed = self.progress.run.removed.get(target, 0) + count
            if target not in self._child_totals:
                unseen = self.ports.records.unseen(
                    target, self.progress.run.line, self.progress.run.id
                )
                self._child_totals[target] = unseen.total + removed
            refuse_mass_removal_of_children(
                target, removed, self._child_totals[target], self.sync.guard_percent
            )

    def _target_transaction(self) -> AbstractContextManager[None]:
        """Write parents and children together, or nothing."""
        if not self._children:
            return nullcontext()
        targets = {children.target for children in self.sync.children}
        return self.ports.records.transaction({self.sync.target, *targets})

    # ── the end of a run ─────────────────────────────────────────────────────────────

    def complete(self) -> Run:
        """Store the run as done; remove what is missing upstream if it saw all."""
        return self.progress.complete(self.remove_missing, self.has_open_conflicts)

    def has_open_conflicts(self) -> bool:
        """Whether records of a pair wait for a user."""
        return False

    def remove_missing(self) -> Counts:
        """Archive or delete missing records after a complete run; a dry run reports."""
        missing = MissingRecords(self.progress)
        if not missing.are_certain():
            missing.note_empty()
            return Counts()
        if self.progress.run.dry_run:
            missing.note()
            return Counts()
        with self._target_transaction():
            missing.refuse_too_many()
            # Children first: a link to their parent may protect it.
            is_delete = self.sync.gone is Gone.DELETE
            orphans = self.delete_orphans() if is_delete else 0
            count = self.retire()
        if is_delete:
            return Counts(deleted=count, children=ChildCounts(deleted=orphans))
        return Counts(archived=count)

    def retire(self) -> int:
        """Archive or delete what is missing upstream; return how many."""
        run = self.progress.run
        return self.ports.records.retire(
            self.sync.target, run.line, run.id, self.sync.gone
        )

    def delete_orphans(self) -> int:
        """Delete the children of what is missing upstream; return how many.

        The guard has permitted to delete their parents.
        """
        count = 0
        after = ""
        while parents := self.ports.records.missing(
            self.sync.target,
            self.progress.run.line,
            self.progress.run.id,
            after,
            ORPHANS_BATCH,
        ):
            values = [dict(parent.values) for parent in parents]
            count += sum(kind.delete_all_of(values) for kind in self._children)
            after = parents[-1].id
        return count
