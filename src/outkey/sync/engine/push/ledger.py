"""The ledger of a push: it stores what the API has of the records that were sent."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.engine.push.push_jobs import Job, Plan, Settled
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.engine.runs.run_in_progress import RunInProgress


class PossiblePlans(NamedTuple):
    """The plans of a step that can be done, and an error that is raised after them."""

    plans: list[tuple[str, Plan]]
    error: BaseException | None = None


class PushLedger(Protocol):
    """Stores what the API has of a line's records, in the caller's transaction."""

    def recover(self) -> None:
        """Store what a killed run did not store; a dry run stores nothing."""

    def read(self, records: Sequence[str]) -> dict[str, LedgerEntry]:
        """Return the entries of these records, by record."""

    def after(self, record: str, limit: int) -> Sequence[LedgerEntry]:
        """Return the next entries after a record ("": the first ones), by record."""

    def held_back(self, records: Sequence[str]) -> set[str]:
        """Return those of these records that are not sent or deleted now."""

    def possible(self, plans: list[tuple[str, Plan]]) -> PossiblePlans:
        """Return the plans of a step without those that cannot be done."""

    def store_announced(self, jobs: Sequence[Job]) -> None:
        """Store that these are being created."""

    def store(self, results: Sequence[Settled]) -> None:
        """Store the new entries of records."""


def entries_to_retry(
    progress: RunInProgress, entries: Sequence[LedgerEntry]
) -> list[LedgerEntry]:
    """Return the entries that a run works on; of a retry, the rejected ones."""
    ids = ids_to_retry(progress, [entry.record for entry in entries])
    return [entry for entry in entries if entry.record in ids]


def ids_to_retry(progress: RunInProgress, ids: Sequence[str]) -> Collection[str]:
    """Return the ids of records that a run works on; of a retry, the rejected ones."""
    run = progress.run
    # The run may be that of a pull, which lends it to the push of its pair.
    if not run.retry_of or run.line != progress.plan.line.name:
        return {*ids}
    return progress.ports.runs.still_rejected(run.retry_of, ids)


class LineLedger:
    """The ledger of a line that is in no pair."""

    def __init__(self, ports: SyncPorts, line: str) -> None:
        self._rows = ports.ledger
        self._line = line

    def recover(self) -> None:
        """Do nothing: every entry is stored with the checkpoint of its run."""

    def read(self, records: Sequence[str]) -> dict[str, LedgerEntry]:
        """Return the entries of these records, by record."""
        return self._rows.read(self._line, records)

    def after(self, record: str, limit: int) -> Sequence[LedgerEntry]:
        """Return the next entries after a record ("": the first ones), by record."""
        return self._rows.after(self._line, record, limit)

    def held_back(self, _records: Sequence[str]) -> set[str]:
        """Return nothing: only records of a pair wait for a user."""
        return set()

    def possible(self, plans: list[tuple[str, Plan]]) -> PossiblePlans:
        """Return all plans."""
        return PossiblePlans(plans)

    def store_announced(self, jobs: Sequence[Job]) -> None:
        """Store that these are being created."""
        self._rows.put(self._line, [job.entry for job in jobs])

    def store(self, results: Sequence[Settled]) -> None:
        """Store the new entries of records."""
        entries = [result.entry for result in results if result.entry is not None]
        self._rows.put(self._line, entries)
