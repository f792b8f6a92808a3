"""The pull of a pair: each record is compared with what both sides agreed on."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Writes
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.mapping.records import WriteOutcome, Written
from outkey.sync.core.paging.response import Record
from outkey.sync.core.pairs.pairs import Decision, pair_fields
from outkey.sync.core.push.results import remote_id_of
from outkey.sync.core.run.reasons import CREATE_UNANSWERED
from outkey.sync.core.run.run import Run
from outkey.sync.engine.pairs.bookkeeping import PairBookkeeping
from outkey.sync.engine.pairs.changes import PairChanges
from outkey.sync.engine.pairs.decisions import (
    PairDecider,
    RowDecision,
    record_id,
    without_refused,
)
from outkey.sync.engine.pairs.matches import Match, PairMatches
from outkey.sync.engine.pairs.push import PairPush
from outkey.sync.engine.pairs.removal import PairRemoval, mark_seen
from outkey.sync.engine.pull.missing_records import has_read_all
from outkey.sync.engine.pull.pull import Pull
from outkey.sync.engine.pull.record_mapper import KeyTexts, Row, key_of
from outkey.sync.engine.push.unanswered_creates import UnansweredCreates
from outkey.sync.engine.runs.plan import PairPlan
from outkey.sync.engine.runs.run_in_progress import RunInProgress

UNCHANGED = Written(WriteOutcome.UNCHANGED)
UPDATED = Written(WriteOutcome.UPDATED)


class PairPull(Pull):
    """Writes what only the API has changed; the rule decides what both have."""

    def __init__(self, progress: RunInProgress, plan: PairPlan) -> None:
        super().__init__(progress)
        ports = progress.ports
        self._pair_plan = plan
        self._agreements = plan.agreements
        self._push_line = plan.push.line.name
        self._fields = pair_fields(self.sync, plan.push.sync)
        self._changes = PairChanges(ports, plan)
        self._matches = PairMatches(ports, plan)
        self._decider = PairDecider(plan, self._matches, ports.zone)
        self._bookkeeping = PairBookkeeping(ports, plan, self._matches, self._changes)
        self._removal = PairRemoval(ports, plan, self._decider, self._changes)
        paths = {mapping.host: mapping.api for mapping in self.sync.mappings}
        self._find_keys = {
            name: ports.finder.compile(paths[name], field="keys")
            for name in self.sync.keys
            if paths[name]
        }
        self._find_id = ports.finder.compile(paths[self.sync.keys[0]], field="keys")
        path = plan.pair.api_changed
        self._find_changed = (
            ports.finder.compile(path, field="api_changed") if path else None
        )
        # By key: the record's ID at the API, and when it was changed there.
        self._facts: dict[KeyTexts, tuple[str, object]] = {}
        # The keys of the records in this run's pages that have a conflict.
        self._disputed: set[str] = set()
        self._has_every_page = False  # not of a run that another process began
        self._unanswered: UnansweredCreates | None = None  # none

    # ── creates without a response ───────────────────────────────────────────────────

    def steps(self) -> Iterator[Run]:
        """Request page after page, and store each with its checkpoint."""
        self._has_every_page = not self.progress.run.position
        if not self.progress.run.dry_run:
            self._changes.recover()
            self._repeat_creates()
        yield from super().steps()

    def _repeat_creates(self) -> None:
        """Let the push repeat the creates that have no response.

        Otherwise a page would bring their records a second time. What may be one that
        still has no response is not written.
        """
        if not self.ports.ledger.announced(self._push_line, "", 1):
            return
        pushing = RunInProgress(self.ports, self._pair_plan.push)
        push = PairPush(pushing, self._pair_plan)
        with self.progress.lend_run(pushing):
            push.repeat_creates_only()
        self._unanswered = UnansweredCreates(self.ports, self._pair_plan)
        if self._unanswered.count:
            self.progress.note_change(
                Text(
                    "sent records whose create has no response yet: {count}; what may"
                    " be one of them at the API is not written here",
                    count=self._unanswered.count,
                )
            )

    # ── what is written ──────────────────────────────────────────────────────────────

    def _map(self, records: Sequence[Record | Unmapped]) -> list[Row | Unmapped]:
        rows = super()._map(records)
        self._facts = {}
        for place, (record, row) in enumerate(zip(records, rows, strict=True)):
            if isinstance(record, Unmapped):
                continue
            if isinstance(row, Unmapped):
                rows[place] = self._with_keys(row, record)
                continue
            remote_id = remote_id_of(self._find_id(record))
            changed = self._find_changed(record) if self._find_changed else None
            facts = remote_id, changed
            self._facts.setdefault(key_of(self.sync.keys, row), facts)
        return rows

    def _with_keys(self, row: Unmapped, record: Record) -> Unmapped:
        """Return a rejection that tells of which record it is.

        The push does not overwrite what nobody could read.
        """
        keys: dict[str, object] = {}
        for name, find in self._find_keys.items():
            with suppress(SyncFailed):
                keys[name] = remote_id_of(find(record))
        return replace(row, row={**keys, **row.row})

    def _fit(self, rows: Sequence[Row]) -> Sequence[Row]:
        fitted = super()._fit(rows)
        keys = self.sync.keys
        self._facts |= {
            key_of(keys, after): self._facts[key_of(keys, before)]
            for before, after in zip(rows, fitted, strict=True)
        }
        return fitted

    def _target_transaction(self) -> AbstractContextManager[None]:
        """Lock the records that are compared until they are written."""
        return self.ports.records.transaction({self.sync.target})

    def _upsert(self, rows: Sequence[Row]) -> Sequence[Written]:
        facts = [self._facts[key_of(self.sync.keys, row)] for row in rows]
        matches = self._matches.find(rows, [remote_id for remote_id, _ in facts])
        unclear = {match.key for match in matches if self._may_be_ours(match)}
        decisions = [
            self._decider.decide_row(match, changed_at)
            for match, (_, changed_at) in zip(matches, facts, strict=True)
            if match.key not in unclear
        ]
        self._disputed |= {row.key for row in decisions if row.is_disputed}
        if self.progress.run.dry_run:
            results = self._compare(decisions)
        else:
            results = self._write_and_store(decisions)
        refusal = Written(WriteOutcome.REFUSED, self.sync.keys[0], CREATE_UNANSWERED)
        results |= dict.fromkeys(unclear, refusal)
        return [results.get(match.key, UNCHANGED) for match in matches]

    def _may_be_ours(self, match: Match) -> bool:
        """Whether a row may be of a record that was sent, and has no ID here yet."""
        if self._unanswered is None or match.record or match.agreement:
            return False
        return self._unanswered.may_be(match.row)

    def _compare(self, decisions: Sequence[RowDecision]) -> dict[str, Written]:
        """Return what a run would write."""
        results = {row.key: UPDATED for row in decisions if row.needs_key}
        same = [row for row in decisions if not row.match.has_other_key]
        return results | self._write_rows(same)

    def _write_and_store(self, decisions: Sequence[RowDecision]) -> dict[str, Written]:
        self._changes.begin()
        results = self._assign_keys([row for row in decisions if row.needs_key])
        decisions = without_refused(decisions, results)
        renamed = [
            row.match.record for row in decisions if row.match.record and row.keeps_name
        ]
        mark_seen(self.ports, self.sync.target, renamed, self.progress.run)
        results |= self._write_rows([row for row in decisions if not row.keeps_name])
        self._bookkeeping.store(without_refused(decisions, results))
        self._changes.write_journal(self.progress.run)
        return results

    def _write_rows(self, decisions: Sequence[RowDecision]) -> dict[str, Written]:
        """Write the API's versions, and what the API alone has of others."""
        results: dict[str, Written] = {}
        written = [row for row in decisions if row.is_written]
        kept = [row for row in decisions if row.is_kept]
        for group in filter(None, (written, kept)):
            outcomes = super()._upsert([self._row_to_write(row) for row in group])
            keys = [row.key for row in group]
            results |= dict(zip(keys, outcomes, strict=True))
        return results

    def _row_to_write(self, decision: RowDecision) -> Row:
        """Return what is written of a record.

        If its shared fields stay, the keys at least: this marks it as seen.
        """
        row = decision.match.row
        if decision.is_written:
            return row
        names = {*self.sync.keys}
        if decision.decision is not Decision.ASK:
            names |= self._fields.pulled - self._fields.shared
        return {name: value for name, value in row.items() if name in names}

    def _assign_keys(self, decisions: Sequence[RowDecision]) -> dict[str, Written]:
        """Write the API's keys into records that have others; return the refusals."""
        if not decisions:
            return {}
        names = self.sync.keys
        ids = {row.key: record_id(row) for row in decisions}
        values = {
            ids[row.key]: {name: row.match.row[name] for name in names}
            for row in decisions
        }
        assigned = self.ports.records.assign(
            self.sync.target,
            values,
            self.progress.run.id,
            saves=self.sync.writes is Writes.MODEL,
        )
        refusal = Written(WriteOutcome.REFUSED, names[0], "taken")
        return {key: refusal for key, record in ids.items() if record not in assigned}

    # ── the end of a run ─────────────────────────────────────────────────────────────

    def has_open_conflicts(self) -> bool:
        """Whether the API's version of a record is needed again, for a conflict."""
        return bool(self._agreements.conflicts(self._push_line, "", 1))

    def complete(self) -> Run:
        """Store the run as done; delete conflicts that neither side has any more."""
        saw_all = self._has_every_page and has_read_all(self.progress)
        if saw_all and not self.progress.run.dry_run:
            with self.progress.page_transaction():
                self._removal.delete_conflicts(self._disputed)
        return super().complete()

    def retire(self) -> int:
        """Retire what is gone at the API and unchanged in the host."""
        return self._removal.retire(self.progress.run, super().retire)
