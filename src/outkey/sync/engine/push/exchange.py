"""Sending the jobs of a push, and whatever follows from their responses."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from outkey.foundation.core.groups import groups_of
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.paging import Position, parameters
from outkey.sync.core.paging.request_values import NO_VALUES
from outkey.sync.core.push.ledger import batch_key, count_of, creation_key
from outkey.sync.core.push.results import list_at
from outkey.sync.engine.push.ledger import PushLedger
from outkey.sync.engine.push.outgoing import OutgoingRecords, refused_record
from outkey.sync.engine.push.push_jobs import (
    Action,
    Group,
    Job,
    PushRequests,
    Settled,
)
from outkey.sync.engine.push.responses import Outcome, PushResponses
from outkey.sync.engine.runs.requests import LineRequest, RequestBatch, ResponseOrError
from outkey.sync.engine.runs.run_in_progress import RunInProgress

# Returns groups with the keys of their creates, by which the API knows a repetition.
AddKeys = Callable[[Sequence[Group]], Sequence[Group]]
# Returns the outcome of each record of a request.
ReadResponse = Callable[[Group, ResponseOrError], dict[str, Outcome]]


def exchange_with_ledger(
    progress: RunInProgress, outgoing: OutgoingRecords, ledger: PushLedger
) -> "PushExchange":
    """Return an exchange that announces creates, and reads ids and results."""
    requests = outgoing.requests
    keys = AnnouncedKeys(progress, requests, ledger)
    responses = PushResponses(progress, requests)
    return PushExchange(progress, outgoing, keys.add, responses.read)


class PushExchange:
    """Sends groups of jobs: creates with their keys, up to what settles each record."""

    def __init__(
        self,
        progress: RunInProgress,
        outgoing: OutgoingRecords,
        add_keys: AddKeys,
        read_response: ReadResponse,
    ) -> None:
        self._progress = progress
        self._plan = progress.plan
        self._outgoing = outgoing
        self._add_keys = add_keys
        self._requests = outgoing.requests
        self._read_response = read_response
        self.batch = RequestBatch(
            progress.ports.sender, progress.plan, progress.sync.parallel
        )
        self._params = parameters(progress.sync, Position(), NO_VALUES)

    def send(self, groups: Sequence[Group]) -> dict[str, Settled | BaseException]:
        """Send groups, and whatever follows from their responses, up to an error.

        What is not sent then has no result.
        """
        results: dict[str, Settled | BaseException] = {}
        while groups:
            following: list[Group] = []
            for some in groups_of(groups, self.batch.width):
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
            path = self._outgoing.path(group[0])
            if isinstance(path, Unmapped):
                job = group[0]
                refusal = refused_record(job.record, path.field, path.reason)
                outcomes[job.record] = Settled(refusal)
            else:
                sendable.append((path, group))
        groups = self._add_keys([group for _, group in sendable])
        requests = [
            self._request(path, group)
            for (path, _), group in zip(sendable, groups, strict=True)
        ]
        responses = self.batch.send(requests) if requests else ()
        for group, response in zip(groups, responses, strict=True):
            outcomes |= self._read_response(group, response)
        return outcomes

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


class AnnouncedKeys:
    """The ledger has the key of a create before it is sent."""

    def __init__(
        self, progress: RunInProgress, requests: PushRequests, ledger: PushLedger
    ) -> None:
        self._progress = progress
        self._plan = progress.plan
        self._requests = requests
        self._ledger = ledger

    def add(self, groups: Sequence[Group]) -> Sequence[Group]:
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
