"""Records that are missing upstream: counted, reported, and removed within limits."""

from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import Unseen
from outkey.sync.core.paging.since import sends_since
from outkey.sync.core.run.guard import most_removals, refuse_mass_removal
from outkey.sync.engine.runs.run_in_progress import RunInProgress


class MissingRecords:
    """The records that a line brought, and its run has not seen."""

    def __init__(self, progress: RunInProgress) -> None:
        self._progress = progress
        self._sync = progress.sync
        self._run = progress.run

    def are_certain(self) -> bool:
        """Whether a record that this run has not seen is missing upstream."""
        if self._sync.gone is Gone.KEEP:
            return False
        if self._run.counts.parents.skipped:  # unchanged ones were not requested
            return False
        return not self._is_incremental and has_read_all(self._progress)

    @property
    def _is_incremental(self) -> bool:
        return bool(self._run.since) and sends_since(self._sync)

    def note_empty(self) -> None:
        """Report that nothing is removed although the API returned no record."""
        run = self._run
        is_full = not self._is_incremental and not run.retry_of and run.pages > 0
        if self._sync.gone is not Gone.KEEP and is_full and not run.counts.seen:
            self._progress.note_change(
                Text(
                    "the API returned no record, so nothing is removed here. If it has"
                    " none, run the line with --allow-removal"
                )
            )

    def note(self) -> None:
        """Report how many records a run would archive or delete.

        A dry run marks no record as seen, so it counts: of the records that the line
        wrote, at most those exist that it has found. More are missing if it has found
        records that were written otherwise.
        """
        sync = self._sync
        present = self._run.counts.updated + self._run.counts.unchanged
        if not present:  # a table may not be there yet
            return
        total = self._unseen().total
        missing = total - present
        if missing <= 0:
            return
        allowed = most_removals(total, sync.guard_percent)
        if missing > allowed and not self._progress.allows_removal:
            note = Text(
                "missing upstream: {count}; a run would remove none of them, since"
                " the guard permits {allowed}",
                count=missing,
                allowed=allowed,
            )
        elif sync.gone is Gone.DELETE:
            note = Text("missing upstream: {count} would be deleted", count=missing)
        else:
            note = Text("missing upstream: {count} would be archived", count=missing)
        self._progress.note_change(note)

    def refuse_too_many(self) -> None:
        """End the run if suspiciously many records would be removed.

        A user who wants to remove many allows it for one run, or raises the limit.
        """
        if not self._progress.allows_removal:
            unseen = self._unseen()
            refuse_mass_removal(unseen.missing, unseen.total, self._sync.guard_percent)

    def _unseen(self) -> Unseen:
        records = self._progress.ports.records
        return records.unseen(self._sync.target, self._run.line, self._run.id)


def has_read_all(progress: RunInProgress) -> bool:
    """Whether a run has read all that it requested.

    Not if some could not be read, or if a 404 was taken for the end, which may be a
    temporary fault. Nor if the API returned no record at all: it is more likely to
    hide its records than to have none, unless the user says so. Nor if nothing was
    requested.
    """
    run = progress.run
    if run.retry_of or progress.position().doubtful or not run.pages:
        return False
    if run.counts.failed:
        return False
    return run.counts.seen > 0 or progress.allows_removal
