"""Pushing what changed: the ledger has what the API accepted of each record.

A record is created, updated or deleted at the API. Its entry is stored with the
checkpoint, after the response. Before a create is sent, its key and the digest of its
values are stored: whatever happens to the process, the same create is repeated.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from outkey.foundation.core.errors import OutkeyError, SyncFailed
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Response
from outkey.sync.core.line.line import Sync
from outkey.sync.core.line.templates import fill_body, is_too_long, value_at
from outkey.sync.core.mapping.mapping import (
    Unmapped,
    fill_path,
    map_outgoing,
    nest_values,
)
from outkey.sync.core.mapping.records import HostRecord, WriteOutcome
from outkey.sync.core.mapping.transforms import MappingContext
from outkey.sync.core.paging.paging import DELETIONS, Position, parameters
from outkey.sync.core.paging.response import read_json
from outkey.sync.core.push.ledger import (
    UNSURE,
    LedgerEntry,
    batch_key,
    count_of,
    creation_key,
    digest_of,
)
from outkey.sync.core.push.results import (
    has_error,
    has_long_id,
    list_at,
    remote_id_of,
    status_in,
)
from outkey.sync.core.run.guard import refuse_mass_removal, refuse_replaced_target
from outkey.sync.core.run.pauses import raise_for_cause
from outkey.sync.core.run.reasons import NO_REMOTE_ID, sync_failure
from outkey.sync.core.run.run import Run
from outkey.sync.engine.push.push import is_in_vain, refused_record
from outkey.sync.engine.push.push_jobs import (
    OUTCOMES,
    Action,
    Group,
    Job,
    Plan,
    PushRequests,
    Settled,
    StepProgress,
)
from outkey.sync.engine.push.requests import LineRequest, RequestBatch, ResponseOrError
from outkey.sync.engine.runs.plan import Effect
from outkey.sync.engine.runs.run_in_progress import RunInProgress, is_about_request

STEP = 1000  # records that are compared at a time
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


class LedgerPush:
    """A run that sends what the API does not have yet."""

    def __init__(self, progress: RunInProgress) -> None:
        ports = progress.ports
        plan = progress.plan
        self.progress = progress
        self.ports = ports
        self.plan = plan
        self.sync = plan.sync
        self._line = plan.line.name  # whose ledger it is
        self._sender = RequestBatch(ports.sender, plan, plan.sync.parallel)
        self._params = parameters(plan.sync, Position(), "")
        self._requests = PushRequests(plan.line, plan.sync)
        self._path_names = self._requests.path_names()
        self._template = json.loads(plan.sync.body) if plan.sync.body else None
        self._context = MappingContext(ports.zones)
        self._is_suspicious = False  # a secret may be in the response
        self._is_target_known = False  # whether it was compared with the ledger
        self._finders: dict[str, Callable[[object], object]] = {
            field: ports.finder.compile(path, field=field)
            for field, path in push_expressions(plan.sync).items()
        }

    def sample(self, limit: int) -> Sequence[Effect]:
        """Return what would be sent of the first records; nothing is."""
        records = self.ports.records.read(self.sync.target, "", limit)
        plans = [expected(plan) for _, plan in self._plan(records)]
        return self.progress.guard.mask(
            [plan.effect for plan in plans if isinstance(plan, Settled)]
        )

    def steps(self) -> Iterator[Run]:
        """Send what is new and changed, and then what is to be deleted."""
        with self._sender:
            if self.progress.position().phase != DELETIONS:
                yield from self._send_records()
            if self.sync.delete and not is_in_vain(self.progress.run):
                yield from self._send_deletions()

    def complete(self) -> Run:
        """Store the run as done."""
        return self.progress.complete()

    # ── what is to be done ───────────────────────────────────────────────────────────

    def _send_records(self) -> Iterator[Run]:
        target = self.sync.target
        while records := self.ports.records.read(
            target, self.progress.position().at, STEP
        ):
            plans = self._plan(records)
            if any(self._is_first_create(plan) for _, plan in plans):
                self._refuse_replaced_target()
            yield from self._work(plans)
            if is_in_vain(self.progress.run):
                return

    def _is_first_create(self, plan: Plan) -> bool:
        """Whether a record is created of which the ledger knows nothing."""
        return (
            isinstance(plan, Job)
            and self._requests.has_key(plan.action)
            and plan.entry == LedgerEntry(plan.record)
        )

    def _refuse_replaced_target(self) -> None:
        """Refuse, once, to create what the API may have by the ids of lost records."""
        if self._is_target_known or self.progress.allows_removal:
            return
        target = self.sync.target
        total = 0
        known = 0
        for entries in self._ledger():
            ids = [entry.record for entry in entries if entry.exists]
            total += len(ids)
            known += len(self.ports.records.by_id(target, ids)) if ids else 0
        refuse_replaced_target(
            target,
            total - known,
            total,
            percent=self.sync.guard_percent,
            has_more_new=self._has_more_new,
        )
        self._is_target_known = True

    def _has_more_new(self, known: int) -> bool:
        """Whether more records of the target than these are not in the ledger."""
        new = 0
        last = ""
        while records := self.ports.records.read(self.sync.target, last, STEP):
            self.progress.keep_working()
            ids = [record.id for record in records]
            new += len(ids) - len(self.ports.ledger.read(self._line, ids))
            if new > known:
                return True
            last = ids[-1]
        return False

    def _plan(self, records: Sequence[HostRecord]) -> list[tuple[str, Plan]]:
        """Return what is to be done with each record of a step."""
        ids = [record.id for record in records]
        entries = self.ports.ledger.read(self._line, ids)
        skipped = {*self.progress.position().ahead} | self.held_back(ids)
        if self.sync.delete:
            # An archived record is one to delete; if the response to its create was
            # lost, that is repeated to learn its id.
            uncertain = {record for record, entry in entries.items() if entry.key}
            active = self.ports.records.present(self.sync.target, ids)
            skipped |= {*ids} - {*active} - uncertain
        return [
            (
                record.id,
                record.id
                if record.id in skipped
                else self._plan_record(
                    record, entries.get(record.id, LedgerEntry(record.id))
                ),
            )
            for record in records
        ]

    def _plan_record(self, record: HostRecord, entry: LedgerEntry) -> Job | Settled:
        row = map_outgoing(self.sync.mappings, record.values, self._context)
        if isinstance(row, Unmapped):
            return Settled(refused_record(record.id, row.field, row.reason))
        if is_too_long(self.sync.body, row):
            return Settled(refused_record(record.id, "", "too_long"))
        digest = self._digest(record, row)
        action = self._requests.action_for(entry, digest)
        if action is None:
            return Settled(Effect(WriteOutcome.UNCHANGED, record.id, row))
        return Job(
            action,
            entry,
            OUTCOMES[action],
            digest=digest,
            row=row,
            values=record.values,
            is_repeated=bool(entry.key),
        )

    def _digest(self, record: HostRecord, row: Mapping[str, object]) -> str:
        names = self._path_names
        in_path = {name: value_at(record.values, name) for name in names}
        return digest_of(self._body(row), in_path)

    def digest_now(self, record: HostRecord) -> str:
        """Return the digest of a record as it is; UNSURE if it cannot be sent."""
        row = map_outgoing(self.sync.mappings, record.values, self._context)
        if isinstance(row, Unmapped) or is_too_long(self.sync.body, row):
            return UNSURE
        return self._digest(record, row)

    def held_back(self, _records: Sequence[str]) -> set[str]:
        """Return those of these records that are not sent or deleted now."""
        return set()

    def store_announced(self, jobs: Sequence[Job]) -> None:
        """Store that these are being created; the caller has begun a transaction."""
        self.ports.ledger.put(self._line, [job.entry for job in jobs])

    def store(self, results: Sequence[Settled]) -> None:
        """Store what became of records; the caller has begun a transaction."""
        entries = [result.entry for result in results if result.entry is not None]
        self.ports.ledger.put(self._line, entries)

    def _send_deletions(self) -> Iterator[Run]:
        """Delete at the API what the ledger has and the host no longer has."""
        missing = self._ids_to_delete()
        if not missing:
            return
        kept = self._ids_in_use(missing)
        position = self.progress.position()
        if position.phase != DELETIONS:
            position = replace(position, phase=DELETIONS, at="", ahead=())
        while entries := self.ports.ledger.after(self._line, position.at, STEP):
            plans = [
                (entry.record, self._plan_deletion(entry, kept, position.ahead))
                for entry in self._missing_in_host(entries)
            ]
            is_limited = len(plans) > self.progress.records_left()
            yield from self._work(plans, position)
            if is_in_vain(self.progress.run):
                return
            # What the limit has left is refused by the next step.
            at = self.progress.position().at if is_limited else entries[-1].record
            position = replace(position, pages=self.progress.run.pages, at=at, ahead=())

    def _plan_deletion(
        self, entry: LedgerEntry, kept: set[str], ahead: Sequence[str]
    ) -> Plan:
        if entry.record in ahead:
            return entry.record
        if entry.remote_id in kept:  # it is that of another record
            unchanged = Effect(WriteOutcome.UNCHANGED, entry.record)
            return Settled(unchanged, entry.delete())
        return Job(Action.DELETE, entry, WriteOutcome.DELETED)

    def _ids_to_delete(self) -> set[str]:
        """Return the remote ids to delete; SyncFailed if they are too many."""
        total = 0
        count = 0
        missing: set[str] = set()
        for entries in self._ledger():
            total += sum(entry.exists for entry in entries)
            gone = self._missing_in_host(entries)
            count += len(gone)
            missing.update(entry.remote_id for entry in gone)
        if not self.progress.allows_removal:
            refuse_mass_removal(count, total, self.sync.guard_percent)
        return missing

    def _ids_in_use(self, missing: set[str]) -> set[str]:
        """Return those of the remote ids that records of the host still have."""
        kept: set[str] = set()
        for entries in self._ledger():
            shared = [entry for entry in entries if entry.remote_id in missing]
            gone = {entry.record for entry in self._missing_in_host(shared)}
            kept |= {
                entry.remote_id
                for entry in shared
                if entry.exists and entry.record not in gone
            }
        return kept - {""}

    def _ledger(self) -> Iterator[Sequence[LedgerEntry]]:
        last = ""
        while entries := self.ports.ledger.after(self._line, last, STEP):
            self.progress.keep_working()
            yield entries
            last = entries[-1].record

    def _missing_in_host(self, entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
        """Return the entries of records that the API has and the host has not."""
        existing = [entry for entry in entries if entry.exists]
        ids = [entry.record for entry in existing]
        present = self.ports.records.present(self.sync.target, ids) if ids else ()
        kept = {*present} | (self.held_back(ids) if ids else set())
        gone = [entry for entry in existing if entry.record not in kept]
        return self.to_retry(gone)

    def to_retry(self, entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
        """Return the entries that this run works on; of a retry, the rejected ones."""
        retried = self.progress.run.retry_of
        if not retried or self.progress.run.line != self._line:
            return list(entries)
        ids = [entry.record for entry in entries]
        rejected = self.ports.runs.still_rejected(retried, ids)
        return [entry for entry in entries if entry.record in rejected]

    # ── one step ─────────────────────────────────────────────────────────────────────

    def _work(
        self, plans: list[tuple[str, Plan]], position: Position | None = None
    ) -> Iterator[Run]:
        """Do what a step has to do, with a checkpoint after each group of requests."""
        position = position or self.progress.position()
        self.progress.keep_working()
        if plans:
            self.progress.refuse_more_records(1)
        plans = plans[: self.progress.records_left()]
        if self.progress.run.dry_run:
            plans = [(record, expected(plan)) for record, plan in plans]
        progress = StepProgress(replace(position, pages=position.pages + 1), plans)
        jobs = [plan for _, plan in plans if isinstance(plan, Job)]
        groups = self._requests.groups(jobs)
        while groups and not is_in_vain(self.progress.run):
            width = self._sender.width
            results = self._send(groups[:width])
            groups = groups[width:]
            settled = {
                record: result
                for record, result in results.items()
                if isinstance(result, Settled)
            }
            self._save(progress, settled)
            for result in results.values():
                if isinstance(result, BaseException):
                    raise result
            if groups:
                yield self.progress.run  # a slow API takes long for the others
        if not groups:
            self._save(progress, {})
        yield self.progress.run

    def _save(self, progress: StepProgress, settled: Mapping[str, Settled]) -> None:
        """Store entries and checkpoint; without a response the disk may take time."""
        results = progress.advance(settled)
        if not results and progress.position.at == self.progress.position().at:
            return
        effects = [result.effect for result in results]
        with self.progress.page_transaction(durable=bool(settled)):
            self.store(results)
            saved = self.progress.save_page(progress.position, effects)
        self.progress.run = saved
        self.progress.report(effects)

    # ── requests ─────────────────────────────────────────────────────────────────────

    def _send(self, groups: Sequence[Group]) -> dict[str, Settled | BaseException]:
        """Send groups, and whatever follows from their responses, up to an error.

        What is not sent then has no result.
        """
        results: dict[str, Settled | BaseException] = {}
        while groups:
            following: list[Group] = []
            for some in groups_of(groups, self._sender.width):
                self.progress.keep_working()
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
        """Send one request for each group; return what became of each record."""
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
        responses = self._sender.send(requests) if requests else ()
        for group, response in zip(announced, responses, strict=True):
            outcomes |= self._read(group, response)
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
            with self.progress.page_transaction(durable=False):
                self.store_announced(changed)
                saved = self.ports.runs.save(self.progress.run)
            self.progress.run = saved
        return announced

    def _with_key(self, group: Group) -> Group:
        if not self._requests.has_key(group[0].action):
            return group
        keys = [
            creation_key(self.plan.configuration.record, self.plan.line.name, job.entry)
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
            request["json"] = list_at(self.sync.records_at, elements)
        elif job.action in {Action.CREATE, Action.UPDATE}:
            request["json"] = self._element(job)
        if self._requests.has_key(job.action):
            request["headers"] = {"Idempotency-Key": job.entry.key}
        return request

    def _element(self, job: Job) -> object:
        """Return a record as a request has it; to delete it, its id at the API."""
        if job.action is Action.DELETE:
            return job.entry.remote_id
        return self._body(job.row, job.entry.remote_id)

    def _body(self, row: Mapping[str, object], remote_id: str = "") -> object:
        if self._template is None:
            return nest_values(self.sync.mappings, row)
        return fill_body(self._template, {"remote_id": remote_id or None, **row})

    # ── responses ────────────────────────────────────────────────────────────────────

    def _read(self, group: Group, response: ResponseOrError) -> dict[str, Outcome]:
        """Return what a response says about each record of its request."""
        response = self._about_records(response)
        if isinstance(response, BaseException):
            return dict.fromkeys((job.record for job in group), response)
        job = group[0]
        if response.status >= REDIRECT:
            return self._refused_group(group, response.status)
        document = document_of(response)
        if job.action in {Action.CREATE, Action.FIND}:  # an id of it is stored
            self._is_suspicious = self.progress.guard.look_at(response, document)
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

    def _about_records(self, response: ResponseOrError) -> ResponseOrError:
        """Return a response, or an error if it is not about the records."""
        if isinstance(response, BaseException) or is_about_request(response):
            return response
        try:
            raise_for_cause(response, self.ports.runs.now)
        except OutkeyError as error:
            return error
        return response

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
        """Return what became of a record, by the result in a successful response."""
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
                        path=self.sync.remote_id,
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
        """Return what follows from an error status that is about a record."""
        if job.action is Action.DELETE and status in NO_RECORD:
            return accepted(job, job.entry.delete())
        if job.action is Action.FIND:
            return self._rejected(job, f"status_{job.refusal}")
        may_find = self._requests[Action.FIND] and Action.FIND not in job.done
        if job.action is Action.CREATE and status in CONFLICTS and may_find:
            return job.then(Action.FIND, job.entry, refusal=status)
        may_create = (
            self.sync.recreate
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
        is_secret = self._is_suspicious and self.progress.guard.is_in(remote_id)
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


def accepted(job: Job, entry: LedgerEntry) -> Settled:
    """Return what became of a record that the API has accepted."""
    return Settled(Effect(job.outcome, job.record, job.row), entry)


def expected(plan: Plan) -> Plan:
    """Return what would become of a record, without a change of its entry."""
    if isinstance(plan, Job):
        return Settled(Effect(plan.outcome, plan.record, plan.row))
    return Settled(plan.effect) if isinstance(plan, Settled) else plan


def document_of(response: Response) -> object:
    """Return the JSON of a response, or None."""
    with suppress(SyncFailed):
        return read_json(response.body)
    return None
