"""The push of a line whose every run sends all records, each in its own request.

Nothing is known of the records at the API. So the key of a create is that of the run,
and any response without an error status is an acceptance, whatever it says.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import quote

from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.core.run.effects import Effect
from outkey.sync.engine.push.exchange import PushExchange
from outkey.sync.engine.push.ledger import PossiblePlans
from outkey.sync.engine.push.outgoing import OutgoingRecords, refused_record
from outkey.sync.engine.push.push import Push
from outkey.sync.engine.push.push_jobs import Group, Job, Plan, Settled
from outkey.sync.engine.push.responses import REDIRECT, Outcome, about_records
from outkey.sync.engine.runs.requests import ResponseOrError
from outkey.sync.engine.runs.run_in_progress import RunInProgress


def push_without_ledger(progress: RunInProgress) -> Push:
    """Return the push of a line that sends all records in every run."""
    singly = replace(progress.sync, batch=1)
    outgoing = OutgoingRecords(progress.ports, replace(progress.plan, sync=singly))
    exchange = PushExchange(
        progress,
        outgoing,
        partial(_add_run_keys, progress),
        partial(_read_status, progress),
    )
    return Push(progress, outgoing, exchange, NoLedger())


class NoLedger:
    """The ledger of a push that knows nothing of its records at the API."""

    def recover(self) -> None:
        """Do nothing."""

    def read(self, _records: Sequence[str]) -> dict[str, LedgerEntry]:
        """Return no entries."""
        return {}

    def after(self, _record: str, _limit: int) -> Sequence[LedgerEntry]:
        """Return no entries."""
        return ()

    def held_back(self, _records: Sequence[str]) -> set[str]:
        """Return nothing: no record waits for a user."""
        return set()

    def possible(self, plans: list[tuple[str, Plan]]) -> PossiblePlans:
        """Return all plans."""
        return PossiblePlans(plans)

    def store_announced(self, _jobs: Sequence[Job]) -> None:
        """Store nothing."""

    def store(self, _results: Sequence[Settled]) -> None:
        """Store nothing."""


def _add_run_keys(progress: RunInProgress, groups: Sequence[Group]) -> Sequence[Group]:
    """Return groups with keys that are made of the run and the record.

    They are the same after a kill: an API that supports the header creates no second
    record (draft-ietf-httpapi-idempotency-key-header).
    """
    run = progress.run.id
    return [
        [
            replace(job, entry=replace(job.entry, key=f"{run}-{quote(job.record, '')}"))
            for job in group
        ]
        for group in groups
    ]


def _read_status(
    progress: RunInProgress, group: Group, response: ResponseOrError
) -> dict[str, Outcome]:
    """Return the outcome of a record, by the status of the response alone."""
    (job,) = group
    response = about_records(response, progress.ports.runs.now)
    if isinstance(response, BaseException):
        return {job.record: response}
    effect = Effect(job.outcome, job.record, job.row)
    if response.status >= REDIRECT:
        effect = refused_record(job.record, "", f"status_{response.status}")
    return {job.record: Settled(effect)}
