"""Pushing what changed: the ledger has what the API accepted of each record.

A record is created, updated or deleted at the API. Its entry is stored with the
checkpoint, after the response. Before a create is sent, its key and the digest of its
values are stored: whatever happens to the process, the same create is repeated.

    outgoing  the records as they are sent, and which request each of them needs
    exchange  sends the requests, and reads the responses
    ledger    stores the entries: of a line (LineLedger), of a pair (PairLedger), or of
              a line whose runs send all records (NoLedger): that stores nothing
    progress  stores each step with its checkpoint
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from outkey.sync.core.mapping.records import HostRecord, WriteOutcome
from outkey.sync.core.paging.paging import DELETIONS, Position
from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.guard import refuse_mass_removal, refuse_replaced_target
from outkey.sync.core.run.run import Run
from outkey.sync.engine.push.exchange import PushExchange, exchange_with_ledger
from outkey.sync.engine.push.ledger import (
    LineLedger,
    PushLedger,
    entries_to_retry,
    ids_to_retry,
)
from outkey.sync.engine.push.outgoing import OutgoingRecords
from outkey.sync.engine.push.push_jobs import (
    Action,
    Job,
    Plan,
    Settled,
    StepProgress,
)
from outkey.sync.engine.runs.run_in_progress import RunInProgress

STEP = 1000  # records that are compared at a time
MANY = 100  # rejected records, if no other one was accepted: then more would be too


def push_of_line(progress: RunInProgress) -> "Push":
    """Return the push of a line that is in no pair."""
    ledger = LineLedger(progress.ports, progress.plan.line.name)
    outgoing = OutgoingRecords(progress.ports, progress.plan)
    exchange = exchange_with_ledger(progress, outgoing, ledger)
    return Push(progress, outgoing, exchange, ledger)


class Push:
    """A run that sends what the API does not have yet.

    `repeat_creates` repeats those that had no response, before records are sent.
    """

    def __init__(
        self,
        progress: RunInProgress,
        outgoing: OutgoingRecords,
        exchange: PushExchange,
        ledger: PushLedger,
        repeat_creates: Callable[[], None] | None = None,
    ) -> None:
        self.progress = progress
        self._ports = progress.ports
        self._sync = progress.sync
        self._outgoing = outgoing
        self._requests = outgoing.requests
        self._exchange = exchange
        self._ledger = ledger
        self._repeat_creates = repeat_creates
        self._is_target_known = False  # whether it was compared with the ledger

    def sample(self, limit: int) -> Sequence[Effect]:
        """Return the effects of sending the first records; nothing is sent."""
        records = self._read("", limit)
        plans = [expected(plan) for _, plan in self._plan(records)]
        return self.progress.guard.mask(
            [plan.effect for plan in plans if isinstance(plan, Settled)]
        )

    def steps(self) -> Iterator[Run]:
        """Send what is new and changed, and then what is to be deleted."""
        if not self.progress.run.dry_run:
            self._ledger.recover()
        with self._exchange.batch:
            if self.progress.position().phase != DELETIONS:
                if self._repeat_creates is not None and not self.progress.run.dry_run:
                    self._repeat_creates()
                yield from self._send_records()
            if self._sync.delete and not _rejects_everything(self.progress.run):
                yield from self._send_deletions()

    def complete(self) -> Run:
        """Store the run as done."""
        return self.progress.complete()

    # ── what is to be done ───────────────────────────────────────────────────────────

    def _send_records(self) -> Iterator[Run]:
        while records := self._read(self.progress.position().at, STEP):
            plans = self._plan(records)
            if any(self._is_first_create(plan) for _, plan in plans):
                self._refuse_replaced_target()
            yield from self._work(plans)
            if _rejects_everything(self.progress.run):
                return

    def _read(self, after: str, limit: int) -> Sequence[HostRecord]:
        """Return the next records that this run sends, after an id; by id."""
        while records := self._ports.records.read(self._sync.target, after, limit):
            ids = ids_to_retry(self.progress, [record.id for record in records])
            chosen = [record for record in records if record.id in ids]
            if chosen:
                return chosen
            after = records[-1].id
        return []

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
        target = self._sync.target
        total = 0
        known = 0
        for entries in self._every_entry():
            ids = [entry.record for entry in entries if entry.exists]
            total += len(ids)
            known += len(self._ports.records.by_id(target, ids)) if ids else 0
        refuse_replaced_target(
            target,
            total - known,
            total,
            percent=self._sync.guard_percent,
            has_more_new=self._has_more_new,
        )
        self._is_target_known = True

    def _has_more_new(self, known: int) -> bool:
        """Whether more records of the target than these are not in the ledger."""
        new = 0
        last = ""
        while records := self._read(last, STEP):
            self.progress.keep_working()
            ids = [record.id for record in records]
            new += len(ids) - len(self._ledger.read(ids))
            if new > known:
                return True
            last = ids[-1]
        return False

    def _plan(self, records: Sequence[HostRecord]) -> list[tuple[str, Plan]]:
        """Return the plan for each record of a step."""
        ids = [record.id for record in records]
        entries = self._ledger.read(ids)
        skipped = {*self.progress.position().ahead} | self._ledger.held_back(ids)
        if self._sync.delete:
            # An archived record is one to delete; if the response to its create was
            # lost, that is repeated to learn its id.
            uncertain = {record for record, entry in entries.items() if entry.key}
            active = self._ports.records.present(self._sync.target, ids)
            skipped |= {*ids} - {*active} - uncertain
        return [
            (
                record.id,
                record.id
                if record.id in skipped
                else self._outgoing.plan(
                    record, entries.get(record.id, LedgerEntry(record.id))
                ),
            )
            for record in records
        ]

    def _send_deletions(self) -> Iterator[Run]:
        """Delete at the API what the ledger has and the host no longer has."""
        missing = self._ids_to_delete()
        if not missing:
            return
        kept = self._ids_in_use(missing)
        position = self.progress.position()
        if position.phase != DELETIONS:
            position = replace(position, phase=DELETIONS, at="", ahead=())
        while entries := self._ledger.after(position.at, STEP):
            plans = [
                (entry.record, self._plan_deletion(entry, kept, position.ahead))
                for entry in self._missing_in_host(entries)
            ]
            is_limited = len(plans) > self.progress.records_left()
            yield from self._work(plans, position)
            if _rejects_everything(self.progress.run):
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
        for entries in self._every_entry():
            total += sum(entry.exists for entry in entries)
            gone = self._missing_in_host(entries)
            count += len(gone)
            missing.update(entry.remote_id for entry in gone)
        if not self.progress.allows_removal:
            refuse_mass_removal(count, total, self._sync.guard_percent)
        return missing

    def _ids_in_use(self, missing: set[str]) -> set[str]:
        """Return those of the remote ids that records of the host still have."""
        kept: set[str] = set()
        for entries in self._every_entry():
            shared = [entry for entry in entries if entry.remote_id in missing]
            gone = {entry.record for entry in self._missing_in_host(shared)}
            kept |= {
                entry.remote_id
                for entry in shared
                if entry.exists and entry.record not in gone
            }
        return kept - {""}

    def _every_entry(self) -> Iterator[Sequence[LedgerEntry]]:
        last = ""
        while entries := self._ledger.after(last, STEP):
            self.progress.keep_working()
            yield entries
            last = entries[-1].record

    def _missing_in_host(self, entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
        """Return the entries of records that the API has and the host has not."""
        existing = [entry for entry in entries if entry.exists]
        ids = [entry.record for entry in existing]
        present = self._ports.records.present(self._sync.target, ids) if ids else ()
        kept = {*present} | (self._ledger.held_back(ids) if ids else set())
        gone = [entry for entry in existing if entry.record not in kept]
        return entries_to_retry(self.progress, gone)

    # ── one step ─────────────────────────────────────────────────────────────────────

    def _work(
        self, plans: list[tuple[str, Plan]], position: Position | None = None
    ) -> Iterator[Run]:
        """Do the jobs of a step, without those that cannot be done now."""
        possible, error = self._ledger.possible(plans)
        yield from self._do(possible, position or self.progress.position())
        if error is not None:
            raise error

    def _do(self, plans: list[tuple[str, Plan]], position: Position) -> Iterator[Run]:
        """Do the jobs of a step, with a checkpoint after each group of requests."""
        self.progress.keep_working()
        if plans:
            self.progress.refuse_more_records(1)
        plans = plans[: self.progress.records_left()]
        if self.progress.run.dry_run:
            plans = [(record, expected(plan)) for record, plan in plans]
        progress = StepProgress(replace(position, pages=position.pages + 1), plans)
        jobs = [plan for _, plan in plans if isinstance(plan, Job)]
        groups = self._requests.groups(jobs)
        while groups and not _rejects_everything(self.progress.run):
            width = self._exchange.batch.width
            results = self._exchange.send(groups[:width])
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
            self._ledger.store(results)
            saved = self.progress.save_page(progress.position, effects)
        self.progress.run = saved
        self.progress.report(effects)


def expected(plan: Plan) -> Plan:
    """Return the effect that a plan would have, without a change of the entry."""
    if isinstance(plan, Job):
        return Settled(Effect(plan.outcome, plan.record, plan.row))
    return Settled(plan.effect) if isinstance(plan, Settled) else plan


def _rejects_everything(run: Run) -> bool:
    """Whether every record so far was rejected, and they are many."""
    return run.counts.is_all_rejected and run.counts.failed >= MANY
