"""Reading the responses to a push: each record is accepted, rejected or sent again."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from outkey.foundation.core.errors import OutkeyError, SyncFailed
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Response
from outkey.sync.core.line.line import Sync
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.paging.response import read_json
from outkey.sync.core.push.ledger import UNSURE, LedgerEntry
from outkey.sync.core.push.results import (
    has_error,
    has_long_id,
    remote_id_of,
    status_in,
)
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.pauses import raise_for_cause
from outkey.sync.core.run.reasons import NO_REMOTE_ID, sync_failure
from outkey.sync.engine.push.outgoing import refused_record
from outkey.sync.engine.push.push_jobs import (
    Action,
    Group,
    Job,
    PushRequests,
    Settled,
)
from outkey.sync.engine.runs.requests import ResponseOrError
from outkey.sync.engine.runs.run_in_progress import RunInProgress, is_about_request

NO_RECORD = frozenset({404, 410})
# What servers return for a record that is there already, for a known key with other
# values, and for a key in progress.
CONFLICTS = frozenset({400, 409, 422})
REDIRECT = 300

Outcome = Settled | Job | BaseException  # a job: what is sent next for the record


def push_expressions(sync: Sync) -> dict[str, str]:
    """Return the paths into responses that a push has, by field."""
    by_field = {
        "remote_id": sync.remote_id,
        "find.remote_id": sync.find.remote_id,
        "results_at": sync.results_at,
    }
    return {field: path for field, path in by_field.items() if path}


class PushResponses:
    """Reads responses: which records were accepted, and what is sent next."""

    def __init__(self, progress: RunInProgress, requests: PushRequests) -> None:
        self._sync = progress.sync
        self._guard = progress.guard
        self._now = progress.ports.runs.now
        self._requests = requests
        self._is_suspicious = False  # a secret may be in the response
        self._finders: dict[str, Callable[[object], object]] = {
            field: progress.ports.finder.compile(path, field=field)
            for field, path in push_expressions(progress.sync).items()
        }

    def read(self, group: Group, response: ResponseOrError) -> dict[str, Outcome]:
        """Return the outcome of each record of a request."""
        response = about_records(response, self._now)
        if isinstance(response, BaseException):
            return dict.fromkeys((job.record for job in group), response)
        job = group[0]
        if response.status >= REDIRECT:
            return self._refused_group(group, response.status)
        document = document_of(response)
        if job.action in {Action.CREATE, Action.FIND}:  # an id of it is stored
            self._is_suspicious = self._guard.look_at(response, document)
        if not self._requests.takes_list(job.action):
            return {job.record: self._settle(job, document)}
        results = [document] * len(group)
        if "results_at" in self._finders:
            found = self._find("results_at", document)
            if not isinstance(found, list) or len(found) != len(group):
                failure = sync_failure("bad_results")
                return dict.fromkeys((job.record for job in group), failure)
            results = found
        return {
            job.record: self._settle(job, result)
            for job, result in zip(group, results, strict=True)
        }

    def _refused_group(self, group: Group, status: int) -> dict[str, Outcome]:
        """Return the same records one by one, if a batch was refused as a whole.

        Not if an earlier batch with other values had no response: it may be accepted,
        and only its key was refused.
        """
        is_clear = all(job.entry.sent in {"", job.digest} for job in group)
        if len(group) > 1 and is_clear:
            return {job.record: job for job in group}
        return {job.record: self._refused(job, status) for job in group}

    def _settle(self, job: Job, result: object) -> Outcome:
        """Return the outcome of a record, by the result in a successful response."""
        if self._requests.takes_list(job.action) and (status := status_in(result)):
            return self._refused(job, status)
        if job.action is Action.FIND:
            return self._adopted(job, result)
        if has_error(result):
            return self._rejected(job, "error_in_response")
        if job.action is Action.DELETE:
            return accepted(job, job.entry.delete())
        if job.action is Action.UPDATE:
            return accepted(job, job.entry.update(job.digest))
        return self._created(job, result)

    def _created(self, job: Job, result: object) -> Outcome:
        remote_id = ""
        if "remote_id" in self._finders:
            remote_id = self._remote_id("remote_id", result)
            if not remote_id:
                if has_long_id(self._find_id("remote_id", result)):
                    # It is repeated with the same key: no second one is created.
                    refused = refused_record(job.record, "remote_id", "long_remote_id")
                    return Settled(refused, job.entry)
                # More creates would have none either, and would be repeated too.
                return sync_failure(
                    NO_REMOTE_ID,
                    Text(
                        "the response to the create of record {record} has no ID where"
                        " remote_id expects it: {path}",
                        record=job.record,
                        path=self._sync.remote_id,
                    ),
                )
        entry = job.entry.accept(job.digest, remote_id)
        can_update = self._requests[Action.UPDATE] and not self._requests.has_single
        if entry.digest != job.digest and can_update:
            return job.then(Action.UPDATE, entry)
        return accepted(job, entry)

    def _adopted(self, job: Job, result: object) -> Outcome:
        """Return the update of a record that the API has already."""
        remote_id = self._remote_id("find.remote_id", result)
        if not remote_id:
            return self._rejected(job, f"status_{job.refusal}")
        entry = job.entry.accept(UNSURE, remote_id)
        if not self._requests[Action.UPDATE]:
            return accepted(replace(job, outcome=WriteOutcome.UNCHANGED), entry)
        return job.then(Action.UPDATE, entry, outcome=WriteOutcome.UPDATED)

    def _refused(self, job: Job, status: int) -> Outcome:
        """Return the outcome of a record that was refused with an error status."""
        if job.action is Action.DELETE and status in NO_RECORD:
            return accepted(job, job.entry.delete())
        if job.action is Action.FIND:
            return self._rejected(job, f"status_{job.refusal}")
        may_find = self._requests[Action.FIND] and Action.FIND not in job.done
        if job.action is Action.CREATE and status in CONFLICTS and may_find:
            return job.then(Action.FIND, job.entry, refusal=status)
        may_create = (
            self._sync.recreate
            and self._requests[Action.CREATE]
            and Action.CREATE not in job.done
        )
        if job.action is Action.UPDATE and status in NO_RECORD and may_create:
            entry = LedgerEntry(job.record, creations=job.entry.creations)
            return job.then(Action.CREATE, entry, outcome=WriteOutcome.CREATED)
        return self._rejected(job, f"status_{status}")

    def _rejected(self, job: Job, reason: str) -> Settled:
        """Return the rejection of a record, which the next run tries again.

        A create that was refused gets another key then: a server may repeat its
        response for this one. Not if the API may have the record.
        """
        entry = job.entry
        is_create = job.action in {Action.CREATE, Action.FIND}
        if is_create and entry.key and not job.is_repeated:
            entry = replace(entry, creations=entry.creations + 1, key="", sent="")
        is_new = entry == LedgerEntry(job.record)
        effect = refused_record(job.record, "", reason)
        return Settled(effect, None if is_new else entry)

    def _remote_id(self, field: str, result: object) -> str:
        """Return the id of a record in a response; "" for none, or for a secret."""
        remote_id = remote_id_of(self._find_id(field, result))
        is_secret = self._is_suspicious and self._guard.is_in(remote_id)
        return "" if is_secret else remote_id

    def _find_id(self, field: str, result: object) -> object:
        found = self._find(field, result)
        if isinstance(found, list) and len(found) == 1:
            return found[0]
        return found

    def _find(self, field: str, document: object) -> object:
        with suppress(SyncFailed):  # the expression does not fit the response
            return self._finders[field](document)
        return None


def about_records(
    response: ResponseOrError, now: Callable[[], float]
) -> ResponseOrError:
    """Return a response, or an error if it is not about the records."""
    if isinstance(response, BaseException) or is_about_request(response):
        return response
    try:
        raise_for_cause(response, now)
    except OutkeyError as error:
        return error
    return response


def accepted(job: Job, entry: LedgerEntry) -> Settled:
    """Return the result of a record that the API has accepted."""
    return Settled(Effect(job.outcome, job.record, job.row), entry, job.values)


def document_of(response: Response) -> object:
    """Return the JSON of a response, or None."""
    with suppress(SyncFailed):
        return read_json(response.body)
    return None
