"""Writing the rows of a pull into its target, and what is missing upstream."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Gone, Writes
from outkey.sync.core.mapping.records import Written
from outkey.sync.core.mapping.shape import shape_of
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.guard import refuse_mass_removal_of_children
from outkey.sync.core.run.run import ChildCounts, Counts
from outkey.sync.engine.pull.children import ChildEffects, ChildTarget, ParentRow
from outkey.sync.engine.pull.missing_records import MissingRecords
from outkey.sync.engine.pull.pages import PageEffects, PageRows
from outkey.sync.engine.pull.record_mapper import Row, write_rows
from outkey.sync.engine.pull.record_screen import RecordScreen
from outkey.sync.engine.pull.target_columns import TargetColumns
from outkey.sync.engine.runs.run_in_progress import RunInProgress

ORPHANS_BATCH = 500  # parents


class TargetWriter:
    """Writes rows into the target of a line, and their lists into those of children.

    With `is_locking`, records that are compared are locked until they are written.
    """

    def __init__(self, progress: RunInProgress, *, is_locking: bool = False) -> None:
        self._progress = progress
        self._records = progress.ports.records
        self._sync = progress.sync
        self._is_locking = is_locking
        self.screen = RecordScreen(progress)
        self.columns = TargetColumns(
            self._records,
            self._sync.target,
            lambda: shape_of(progress.sync),
            self._sync.mappings,
        )
        self.children = [
            ChildTarget(
                progress.ports,
                self._sync,
                number,
                keep_working=progress.keep_working,
                screen=self.screen.reject_rows,
            )
            for number in range(len(self._sync.children))
        ]
        # How many children each target had before this run deleted any.
        self._child_totals: dict[str, int] = {}

    def begin(self) -> None:
        """Make the table or the file of the line; a dry run makes nothing.

        If the table or a column was dropped, everything is read again.
        """
        progress = self._progress
        if progress.run.dry_run:
            return
        is_partial = False
        for target, columns in self.targets():
            if not progress.run.position:
                self._records.begin(target, progress.run.id)
            is_partial |= columns.begin(progress.note_change, progress.run.line)
        if is_partial:
            progress.start_over()

    def finish(self) -> None:
        """Make the columns that had no value; a file is replaced now."""
        progress = self._progress
        run = progress.run
        for kind in self.children:
            if kind.finds_no_list:
                progress.note_change(
                    Text(
                        "children {list}: no record has a list there, so all children"
                        " stay as they are",
                        list=kind.children.list,
                    )
                )
        for target, columns in self.targets():
            columns.finish(progress.note_change, dry_run=run.dry_run)
            if not run.is_ordinary:
                continue
            for note in self._records.complete(
                target,
                run.id,
                is_doubtful=progress.position().doubtful,
                may_lose=progress.allows_removal,
            ):
                progress.note_change(note)

    def targets(self) -> Iterator[tuple[str, TargetColumns]]:
        """Yield the targets of the line and of its children, with their columns."""
        yield self._sync.target, self.columns
        for kind in self.children:
            yield kind.children.target, kind.columns

    # ── the rows of a page ───────────────────────────────────────────────────────────

    def transaction(self) -> AbstractContextManager[None]:
        """Write parents and children together, or nothing."""
        if not self.children and not self._is_locking:
            return nullcontext()
        return self._records.transaction({target for target, _ in self.targets()})

    def write(self, page: PageRows) -> PageEffects:
        """Write the rows of a page, or compare them in a dry run."""
        effects = write_rows(
            self._sync.keys, page.rows, lambda rows: self.upsert(self.fit(rows))
        )
        return PageEffects(effects, self.write_children(page.parents, effects))

    def fit(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return rows as the columns of the target have them, which may be new."""
        progress = self._progress
        return self.columns.fit(
            rows, progress.note_change, dry_run=progress.run.dry_run
        )

    def upsert(self, rows: Sequence[Row], seen_by: str = "") -> Sequence[Written]:
        """Write rows, and mark them as seen by this run or another one."""
        run = self._progress.run
        return self._records.upsert(
            self._sync.target,
            self._sync.keys,
            rows,
            seen_by or run.id,
            dry_run=run.dry_run,
            saves=self._sync.writes is Writes.MODEL,
        )

    def write_children(
        self, parents: Sequence[Sequence[ParentRow]], effects: Sequence[Effect]
    ) -> ChildEffects:
        """Write the lists of parents, whose effects are those of the page by place."""
        progress = self._progress
        children = ChildEffects()
        # A preview has read no lists.
        for kind, of_list in zip(self.children, parents, strict=bool(parents)):
            children.add(
                kind.write(of_list, effects, progress.run, progress.note_change)
            )
        if not progress.allows_removal:
            self._refuse_mass_removal(children)
        return children

    def _refuse_mass_removal(self, children: ChildEffects) -> None:
        """End the run, and take its page back, if too many children were deleted."""
        run = self._progress.run
        for target, count in children.deleted.items():
            removed = run.removed.get(target, 0) + count
            if target not in self._child_totals:
                unseen = self._records.unseen(target, run.line, run.id)
                self._child_totals[target] = unseen.total + removed
            refuse_mass_removal_of_children(
                target, removed, self._child_totals[target], self._sync.guard_percent
            )

    # ── the end of a run ─────────────────────────────────────────────────────────────

    def settle_conflicts(self) -> bool:
        """Return False: only records of a pair have conflicts."""
        return False

    def remove_missing(self) -> Counts:
        """Archive or delete missing records after a complete run; a dry run reports."""
        return self.remove_missing_by(self.retire)

    def remove_missing_by(self, retire: Callable[[], int]) -> Counts:
        """Remove missing records as `retire` does, which returns how many."""
        missing = MissingRecords(self._progress)
        if not missing.are_certain():
            missing.note_empty()
            return Counts()
        if self._progress.run.dry_run:
            missing.note()
            return Counts()
        with self.transaction():
            missing.refuse_too_many()
            # Children first: a link to their parent may protect it.
            is_delete = self._sync.gone is Gone.DELETE
            orphans = self._delete_orphans() if is_delete else 0
            count = retire()
        if is_delete:
            return Counts(deleted=count, children=ChildCounts(deleted=orphans))
        return Counts(archived=count)

    def retire(self) -> int:
        """Archive or delete the missing records; return how many."""
        run = self._progress.run
        return self._records.retire(
            self._sync.target, run.line, run.id, self._sync.gone
        )

    def _delete_orphans(self) -> int:
        """Delete the children of missing records; return how many.

        The guard has permitted to delete their parents.
        """
        run = self._progress.run
        count = 0
        after = ""
        while parents := self._records.missing(
            self._sync.target, run.line, run.id, after, ORPHANS_BATCH
        ):
            values = [dict(parent.values) for parent in parents]
            count += sum(kind.delete_all_of(values) for kind in self.children)
            after = parents[-1].id
        return count
