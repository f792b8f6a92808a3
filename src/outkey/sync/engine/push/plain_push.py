"""Pushing without a ledger: every run sends all records, each in its own request.

Nothing is known of the records at the API. So the key of a create is that of the run,
and any response without an error status is an acceptance, whatever it says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import quote

from outkey.foundation.core.errors import OutkeyError
from outkey.sync.core.mapping.mapping import Unmapped, fill_path
from outkey.sync.core.mapping.records import HostRecord, WriteOutcome
from outkey.sync.core.paging.paging import Position, parameters
from outkey.sync.core.run.pauses import raise_for_cause
from outkey.sync.core.run.run import Run
from outkey.sync.engine.push.outgoing import OutgoingRecords, refused_record
from outkey.sync.engine.push.requests import LineRequest, RequestBatch, ResponseOrError
from outkey.sync.engine.runs.plan import Effect
from outkey.sync.engine.runs.run_in_progress import RunInProgress, is_about_request

BATCH = 100  # records that are read at a time
DRY_BATCH = 1000  # of a dry run, which sends nothing: one checkpoint for all of them


class PreparedRecord(NamedTuple):
    """A record that can be sent, and the effect of sending it."""

    request: LineRequest
    effect: Effect


class PlainPush:
    """A run that sends all records of the host to the API."""

    def __init__(self, progress: RunInProgress) -> None:
        self.progress = progress
        self._ports = progress.ports
        self._plan = progress.plan
        self._sync = progress.sync
        self._batch = RequestBatch(
            self._ports.sender, progress.plan, self._sync.parallel
        )
        self._outgoing = OutgoingRecords(progress.ports, progress.plan)
        self._params = parameters(self._sync, Position(), "")  # only pulls have pages

    def sample(self, limit: int) -> Sequence[Effect]:
        """Return the effects of sending the first records; nothing is sent."""
        records = self._ports.records.read(self._sync.target, "", limit)
        return self.progress.guard.mask(
            [expected_effect(self._prepare(record)) for record in records]
        )

    def steps(self) -> Iterator[Run]:
        """Send record after record, or some at a time, each time with a checkpoint."""
        position = self.progress.position()
        with self._batch:
            batch = DRY_BATCH if self.progress.run.dry_run else BATCH
            while records := self._ports.records.read(
                self._sync.target, position.at, batch
            ):
                position = replace(position, pages=position.pages + 1)
                unsent = [rec for rec in records if rec.id not in position.ahead]
                while unsent:
                    self.progress.keep_working()
                    self.progress.refuse_more_records(1)
                    width = min(self._width(), self.progress.records_left())
                    position = self._send(position, unsent[:width])
                    unsent = unsent[width:]
                    if unsent:
                        yield self.progress.run  # a slow API takes long for the others
                passed = {record.id for record in records}
                ahead = tuple(rec for rec in position.ahead if rec not in passed)
                position = replace(position, at=records[-1].id, ahead=ahead)
                yield self.progress.run
                if rejects_everything(self.progress.run):
                    return

    def complete(self) -> Run:
        """Store the run as done."""
        return self.progress.complete()

    def _width(self) -> int:
        """Return how many records share a step and its checkpoint."""
        return DRY_BATCH if self.progress.run.dry_run else self._batch.width

    def _send(self, position: Position, records: Sequence[HostRecord]) -> Position:
        """Send records, store what became of them, and return the position after them.

        An error that is not about a record ends the run there. The checkpoint lists
        those after it that were sent, so that the next run does not send them again.
        """
        results = self._results([self._prepare(record) for record in records])
        effects = [result for result in results if isinstance(result, Effect)]
        errors = [result for result in results if isinstance(result, BaseException)]
        count = results.index(errors[0]) if errors else len(results)
        position = replace(
            position,
            at=effects[count - 1].key if count else position.at,
            ahead=position.ahead + tuple(effect.key for effect in effects[count:]),
        )
        if effects:
            with self.progress.page_transaction():
                saved = self.progress.save_page(position, effects)
            self.progress.run = saved
            self.progress.report(effects)
        if errors:
            raise errors[0]
        return position

    def _results(
        self, prepared: Sequence[Effect | PreparedRecord]
    ) -> Sequence[Effect | BaseException]:
        """Send what is prepared; return the effect or the error of each record."""
        if self.progress.run.dry_run:
            return [expected_effect(record) for record in prepared]
        requests = [
            record.request for record in prepared if isinstance(record, PreparedRecord)
        ]
        responses = iter(self._batch.send(requests) if requests else ())
        return [
            self._actual_effect(record.effect, next(responses))
            if isinstance(record, PreparedRecord)
            else record
            for record in prepared
        ]

    def _actual_effect(
        self, effect: Effect, response: ResponseOrError
    ) -> Effect | BaseException:
        """Return the effect on a record, or an error that is not about the record."""
        if isinstance(response, BaseException):
            return response
        if not is_about_request(response):
            try:
                raise_for_cause(response, self._ports.runs.now)
            except OutkeyError as error:
                return error
        if response.status >= 300:
            return refused_record(effect.key, "", f"status_{response.status}")
        return effect

    def _prepare(self, record: HostRecord) -> Effect | PreparedRecord:
        """Return the request for a record, or why there is none."""
        line = self._plan.line
        path = fill_path(line.path, record.values)
        if isinstance(path, Unmapped):
            return refused_record(record.id, path.field, path.reason)
        row = self._outgoing.row(record)
        if isinstance(row, Unmapped):
            return refused_record(record.id, row.field, row.reason)
        body = self._outgoing.body(row)
        request = LineRequest(path=path, params=self._params, json=body)
        outcome = WriteOutcome.UPDATED
        if line.method == "POST":
            outcome = WriteOutcome.CREATED
            # The same after a kill: an API that supports the header creates no second
            # record (draft-ietf-httpapi-idempotency-key-header).
            key = f"{self.progress.run.id}-{quote(record.id, safe='')}"
            request["headers"] = {"Idempotency-Key": key}
        return PreparedRecord(request, Effect(outcome, record.id, row))


def rejects_everything(run: Run) -> bool:
    """Whether every record so far was rejected, and at least a batch of them."""
    return run.counts.is_all_rejected and run.counts.failed >= BATCH


def expected_effect(prepared: Effect | PreparedRecord) -> Effect:
    """Return the effect that sending a record would have."""
    return prepared.effect if isinstance(prepared, PreparedRecord) else prepared
