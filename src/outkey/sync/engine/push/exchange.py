"""Sending the jobs of a push, and whatever follows from their responses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from outkey.foundation.core.groups import groups_of
from outkey.sync.core.mapping.mapping import Unmapped, fill_path
from outkey.sync.core.paging.paging import Position, parameters
from outkey.sync.core.push.ledger import batch_key, count_of, creation_key
from outkey.sync.core.push.results import list_at
from outkey.sync.engine.push.ledger import PushLedger
from outkey.sync.engine.push.outgoing import OutgoingRecords, refused_record
from outkey.sync.engine.push.push_jobs import Action, Group, Job, Settled
from outkey.sync.engine.push.requests import LineRequest, RequestBatch
from outkey.sync.engine.push.responses import Outcome, PushResponses
from outkey.sync.engine.runs.run_in_progress import RunInProgress


class PushExchange:
    """Sends groups of jobs; the ledger has the key of a create before it is sent."""

    def __init__(
        self, progress: RunInProgress, outgoing: OutgoingRecords, ledger: PushLedger
    ) -> None:
        self._progress = progress
        self._plan = progress.plan
        self._outgoing = outgoing
        self._ledger = ledger
        self._requests = outgoing.requests
        self._responses = PushResponses(progress, outgoing.requests)
        self._batch = RequestBatch(
            progress.ports.sender, progress.plan, progress.sync.parallel
        )
        self._params = parameters(progress.sync, Position(), "")

    def __enter__(self) -> Self:
        self._batch.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._batch.__exit__(*exc_info)

    @property
    def width(self) -> int:
        """How many groups may be sent at once."""
        return self._batch.width

    def send(self, groups: Sequence[Group]) -> dict[str, Settled | BaseException]:
        """Send groups, and whatever follows from their responses, up to an error.

        What is not sent then has no result.
        """
        results: dict[str, Settled | BaseException] = {}
        while groups:
            following: list[Group] = []
            for some in groups_of(groups, self.width):
                self._progress.keep_working()
                outcomes = self._exchange(some)
                following += [
                    [job] for job in outcomes.values() if isinstance(job, Job)
                ]
                results |= {
                    record: outcome
                    for record, outcome in outcomes.items()
                    if not isinstance(outcome, Job)
                }
                if any(isinstance(part, BaseException) for part in outcomes.values()):
                    return results
            groups = following
        return results

    def _exchange(self, groups: Sequence[Group]) -> dict[str, Outcome]:
        """Send one request for each group; return the outcome of each record."""
        outcomes: dict[str, Outcome] = {}
        sendable = []
        for group in groups:
            path = self._path(group)
            if isinstance(path, Unmapped):
                job = group[0]
                refusal = refused_record(job.record, path.field, path.reason)
                outcomes[job.record] = Settled(refusal)
            else:
                sendable.append((path, group))
        announced = self._announce([group for _, group in sendable])
        requests = [
            self._request(path, group)
            for (path, _), group in zip(sendable, announced, strict=True)
        ]
        responses = self._batch.send(requests) if requests else ()
        for group, response in zip(announced, responses, strict=True):
            outcomes |= self._responses.read(group, response)
        return outcomes

    def _path(self, group: Group) -> str | Unmapped:
        """Return the path of a request; that of a list has no names."""
        job = group[0]
        return fill_path(self._requests[job.action].path, self._path_values(job))

    def _path_values(self, job: Job) -> Mapping[str, object]:
        if self._requests.has_single:
            return job.values
        return {**job.values, "remote_id": job.entry.remote_id or None}

    def _announce(self, groups: Sequence[Group]) -> list[Group]:
        """Store the keys of creates before they are sent."""
        announced = [self._with_key(group) for group in groups]
        changed = [
            after
            for group, keyed in zip(groups, announced, strict=True)
            for before, after in zip(group, keyed, strict=True)
            if before.entry != after.entry
        ]
        if changed:
            # Not on the disk at once: a kill loses nothing that was committed.
            with self._progress.page_transaction(durable=False):
                self._ledger.store_announced(changed)
                saved = self._progress.ports.runs.save(self._progress.run)
            self._progress.run = saved
        return announced

    def _with_key(self, group: Group) -> Group:
        if not self._requests.has_key(group[0].action):
            return group
        keys = [
            creation_key(
                self._plan.configuration.record, self._plan.line.name, job.entry
            )
            for job in group
        ]
        known = {job.entry.key for job in group}
        if len(known) == 1 and count_of(*known) == len(group) and known != {""}:
            (key,) = known
        else:
            key = keys[0] if len(keys) == 1 else batch_key(keys)
        return [
            replace(job, entry=job.entry.announce(key, job.digest)) for job in group
        ]

    def _request(self, path: str, group: Group) -> LineRequest:
        job = group[0]
        method = self._requests[job.action].method
        request = LineRequest(path=path, method=method, params=self._params)
        if self._requests.takes_list(job.action):
            elements = [self._element(job) for job in group]
            request["json"] = list_at(self._plan.sync.records_at, elements)
        elif job.action in {Action.CREATE, Action.UPDATE}:
            request["json"] = self._element(job)
        if self._requests.has_key(job.action):
            request["headers"] = {"Idempotency-Key": job.entry.key}
        return request

    def _element(self, job: Job) -> object:
        """Return a record as a request has it; to delete it, its id at the API."""
        if job.action is Action.DELETE:
            return job.entry.remote_id
        return self._outgoing.body(job.row, job.entry.remote_id)
