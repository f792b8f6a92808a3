"""The push of a pair: what it sends is what both sides agree on then."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from outkey.foundation.core.errors import BadResponse, OutkeyError
from outkey.sync.core.mapping.keys import key_text
from outkey.sync.core.mapping.records import HostRecord, WriteOutcome
from outkey.sync.core.pairs.pairs import PairAgreement, pair_fields, plain_values
from outkey.sync.core.push.ledger import UNSURE, LedgerEntry
from outkey.sync.core.run.reasons import REJECTED_BY_PULL
from outkey.sync.engine.pairs.changes import PairChanges
from outkey.sync.engine.pull.record_mapper import key_of
from outkey.sync.engine.push.exchange import PushExchange, exchange_with_ledger
from outkey.sync.engine.push.ledger import LineLedger, PossiblePlans, entries_to_retry
from outkey.sync.engine.push.outgoing import OutgoingRecords, refused_record
from outkey.sync.engine.push.push import STEP, Push
from outkey.sync.engine.push.push_jobs import Group, Job, Plan, Settled
from outkey.sync.engine.runs.line_plan import PairPlan
from outkey.sync.engine.runs.run_in_progress import RunInProgress, is_refused

SENT = frozenset({WriteOutcome.CREATED, WriteOutcome.UPDATED})
MOST_ERRORS = 3  # of repeated creates in a run: then more would hardly succeed
SERVER_ERROR = 500


def push_of_pair(progress: RunInProgress, pair: PairPlan) -> Push:
    """Return the push of a line that is in a pair."""
    ledger = PairLedger(progress, pair)
    outgoing = OutgoingRecords(progress.ports, progress.plan)
    exchange = exchange_with_ledger(progress, outgoing, ledger)
    creates = RepeatedCreates(progress, pair, outgoing, exchange, ledger)
    repeat = partial(creates.repeat, _is_server_error)
    return Push(progress, outgoing, exchange, ledger, repeat)


def repeat_creates(progress: RunInProgress, pair: PairPlan) -> None:
    """Repeat the creates of a push that have no response, as a part of another run.

    That run does not depend on them: after some errors the rest stay as they are.
    """
    ledger = PairLedger(progress, pair)
    outgoing = OutgoingRecords(progress.ports, progress.plan)
    exchange = exchange_with_ledger(progress, outgoing, ledger)
    creates = RepeatedCreates(progress, pair, outgoing, exchange, ledger)
    with exchange.batch:
        creates.repeat(_is_of_outkey)


class PairLedger:
    """Stores entries with agreements, and holds back what waits for a user."""

    def __init__(self, progress: RunInProgress, pair: PairPlan) -> None:
        self._ports = progress.ports
        self._line = pair.push.line.name
        self._pull_line = pair.pull.line.name
        self._entries = LineLedger(progress.ports, self._line)
        self._agreements = pair.agreements
        self._changes = PairChanges(progress.ports, pair)
        self._keys = pair.pull.sync.keys
        self._fields = pair_fields(pair.pull.sync, pair.push.sync)
        # The creates that were repeated in vain, by record and digest: not once more.
        self._repetitions: dict[tuple[str, str], Settled | BaseException] = {}
        self._pulls: Sequence[str] | None = None

    def recover(self) -> None:
        """Store what a killed pull has written and could not store any more."""
        self._changes.recover()

    def read(self, records: Sequence[str]) -> dict[str, LedgerEntry]:
        """Return the entries of these records, by record."""
        return self._entries.read(records)

    def after(self, record: str, limit: int) -> Sequence[LedgerEntry]:
        """Return the next entries after a record ("": the first ones), by record."""
        return self._entries.after(record, limit)

    def held_back(self, records: Sequence[str]) -> set[str]:
        """Return the records that wait for a user."""
        agreements = self._agreements.read(self._line, records)
        return {record for record, known in agreements.items() if known.is_open}

    # ── what cannot be sent now ──────────────────────────────────────────────────────

    def possible(self, plans: list[tuple[str, Plan]]) -> PossiblePlans:
        """Return a step without what this run or the last pull could not do.

        What comes after a create that failed is left out: the run ends with its error.
        """
        jobs = {record: plan for record, plan in plans if isinstance(plan, Job)}
        rejected = self._rejected_by_pull([*jobs.values()])
        possible: list[tuple[str, Plan]] = []
        for record, plan in plans:
            job = jobs.get(record)
            result = self._repetitions.get((record, job.digest)) if job else None
            if isinstance(result, BaseException):
                return PossiblePlans(possible, result)
            if record in rejected:
                result = Settled(refused_record(record, "", REJECTED_BY_PULL))
            possible.append((record, result or plan))
        return PossiblePlans(possible)

    def keep_failures(
        self, jobs: Sequence[Job], results: Mapping[str, Settled | BaseException]
    ) -> None:
        """Remember the repeated creates that failed."""
        for job in jobs:
            result = results.get(job.record)
            if isinstance(result, BaseException):
                self._repetitions[job.record, job.digest] = result
            elif result and is_refused(result.effect):
                self._repetitions[job.record, job.digest] = Settled(result.effect)

    def _rejected_by_pull(self, jobs: Sequence[Job]) -> set[str]:
        """Return the records whose version at the API the last pull rejected.

        It was not compared with ours, and would be overwritten.
        """
        runs = self._rejecting_runs() if jobs else ()
        if not runs:
            return set()
        agreements = self._agreements.read(self._line, [job.record for job in jobs])
        keys = {
            job.record: {job.entry.remote_id, self._key(job.values)} for job in jobs
        }
        for record, agreement in agreements.items():
            keys[record].add(agreement.key)
        texts = {text for of_record in keys.values() for text in of_record}
        rejected: set[str] = set()
        for run in runs:
            rejected |= self._ports.runs.still_rejected(run, texts)
        return {record for record, of_record in keys.items() if of_record & rejected}

    def _rejecting_runs(self) -> Sequence[str]:
        """Return the pulls that rejected records, since and with the last complete one.

        None begins while the push runs.
        """
        if self._pulls is None:
            self._pulls = self._ports.runs.rejecting_runs(self._pull_line)
        return self._pulls

    # ── what was sent ────────────────────────────────────────────────────────────────

    def store_announced(self, jobs: Sequence[Job]) -> None:
        """Store creates, and their values: the API may have them before we know."""
        self._entries.store_announced(jobs)
        # Of a repetition with other values it is unknown which of them the API has.
        first = [job for job in jobs if job.entry.sent == job.digest]
        self._agreements.put(
            self._line, [self._agreement(job.record, job.values) for job in first]
        )

    def store(self, results: Sequence[Settled]) -> None:
        """Store the entries, and what was sent as the agreement."""
        results = self._with_new_ids(results)
        self._entries.store(results)
        sent: list[PairAgreement] = []
        deleted: list[str] = []
        for result in results:
            entry = result.entry
            if entry is None:
                continue
            is_refused = not entry.exists and not entry.key
            if entry.is_deleted or is_refused:
                deleted.append(entry.record)
            elif result.effect.outcome in SENT and entry.digest != UNSURE:
                sent.append(self._agreement(entry.record, result.values))
        self._agreements.put(self._line, sent)
        self._agreements.delete(self._line, deleted)

    def _with_new_ids(self, results: Sequence[Settled]) -> list[Settled]:
        """Return results with the new ID of records whose ID was a key of the host.

        A user has changed it there, and the API has accepted that.
        """
        name = self._keys[0]
        if name not in self._fields.sent:
            return list(results)
        updated = {
            result.entry.record: result.entry
            for result in results
            if result.entry and result.effect.outcome is WriteOutcome.UPDATED
        }
        before = self._agreements.read(self._line, updated.keys())
        after: list[Settled] = []
        for result in results:
            entry = result.entry
            agreement = before.get(entry.record) if entry else None
            if entry and agreement and agreement.host:
                now = plain_values(result.values, [name])[name]
                was_id = entry.remote_id == str(agreement.host.get(name))
                if was_id and now not in (None, ""):
                    entry = replace(entry, remote_id=str(now))
            after.append(replace(result, entry=entry))
        return after

    def _agreement(self, record: str, values: Mapping[str, object]) -> PairAgreement:
        return PairAgreement(
            record,
            key=self._key(values),
            api=plain_values(values, self._fields.shared),
            host=plain_values(values, self._fields.sent),
            is_pushed=True,
        )

    def _key(self, values: Mapping[str, object]) -> str:
        """Return the key of a record of the host, as rows of the API have theirs."""
        return key_text(key_of(self._keys, values))


class RepeatedCreates:
    """Repeats the creates that have no response."""

    def __init__(
        self,
        progress: RunInProgress,
        pair: PairPlan,
        outgoing: OutgoingRecords,
        exchange: PushExchange,
        ledger: PairLedger,
    ) -> None:
        self._progress = progress
        self._ports = progress.ports
        self._sync = progress.sync
        self._line = pair.push.line.name
        self._agreements = pair.agreements
        self._outgoing = outgoing
        self._exchange = exchange
        self._ledger = ledger

    def repeat(self, is_permitted: Callable[[BaseException], bool]) -> None:
        """Repeat each create once; some errors are permitted, and the first other ends.

        A record that a server fails to create may have been edited or deleted since.
        """
        errors = 0
        last = ""
        while entries := self._ports.ledger.announced(self._line, last, STEP):
            last = entries[-1].record
            jobs = self._jobs(entries_to_retry(self._progress, entries))
            groups = self._outgoing.requests.groups(jobs)
            while groups and errors < MOST_ERRORS:
                some = groups[: self._exchange.batch.width]
                groups = groups[len(some) :]
                results = self._exchange.send(some)
                self._store(some, results)
                failures = [
                    result
                    for result in results.values()
                    if isinstance(result, BaseException)
                ]
                errors += len(failures)
                for failure in failures:
                    if not is_permitted(failure):
                        raise failure

    def _store(
        self, groups: Sequence[Group], results: Mapping[str, Settled | BaseException]
    ) -> None:
        settled = [part for part in results.values() if isinstance(part, Settled)]
        with self._progress.page_transaction():
            self._ledger.store(settled)
            saved = self._ports.runs.save(self._progress.run)
        self._progress.run = saved
        self._ledger.keep_failures([job for group in groups for job in group], results)

    def _jobs(self, entries: Sequence[LedgerEntry]) -> list[Job]:
        """Return creates once more, with the values that were sent if possible.

        Then any API that knows the key returns its first response.
        """
        ids = [entry.record for entry in entries]
        held_back = self._ledger.held_back(ids)
        records = self._ports.records.by_id(self._sync.target, ids)
        agreements = self._agreements.read(self._line, ids)
        jobs: list[Job] = []
        for entry in entries:
            record = records.get(entry.record)
            before = self._as_sent(entry, record, agreements.get(entry.record))
            if before is None or entry.record in held_back:
                continue
            job = self._outgoing.plan(before, entry)
            if isinstance(job, Job):
                jobs.append(job)
        return jobs

    def _as_sent(
        self,
        entry: LedgerEntry,
        record: HostRecord | None,
        agreement: PairAgreement | None,
    ) -> HostRecord | None:
        """Return a record as its create sent it, or as it is; None if deleted."""
        values = {
            **(record.values if record else {}),
            **((agreement and agreement.host) or {}),
        }
        before = HostRecord(entry.record, values)
        return before if self._outgoing.digest_now(before) == entry.sent else record


def _is_of_outkey(error: BaseException) -> bool:
    """Whether an error is one of sending, and not the end of the process."""
    return isinstance(error, OutkeyError)


def _is_server_error(error: BaseException) -> bool:
    """Whether a server failed, perhaps at this one request."""
    return isinstance(error, BadResponse) and error.status >= SERVER_ERROR
