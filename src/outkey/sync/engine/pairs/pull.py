"""The pull of a pair: each record is compared with what both sides agreed on."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Writes
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.mapping.records import WriteOutcome, Written
from outkey.sync.core.paging.response import Record
from outkey.sync.core.pairs.pairs import Decision, pair_fields
from outkey.sync.core.push.results import remote_id_of
from outkey.sync.core.run.reasons import CREATE_UNANSWERED
from outkey.sync.core.run.run import Counts
from outkey.sync.engine.pairs.bookkeeping import PairBookkeeping
from outkey.sync.engine.pairs.changes import PairChanges
from outkey.sync.engine.pairs.decisions import (
    PairDecider,
    RowDecision,
    record_id,
    without_refused,
)
from outkey.sync.engine.pairs.matches import Match, PairMatches
from outkey.sync.engine.pairs.push import repeat_creates
from outkey.sync.engine.pairs.removal import PairRemoval, mark_seen
from outkey.sync.engine.pairs.unanswered_creates import UnansweredCreates
from outkey.sync.engine.pull.children import ChildEffects
from outkey.sync.engine.pull.missing_records import has_read_all
from outkey.sync.engine.pull.page_reader import PageReader
from outkey.sync.engine.pull.pages import PageEffects, PageRows
from outkey.sync.engine.pull.pull import Pull
from outkey.sync.engine.pull.record_mapper import KeyTexts, Row, key_of, write_rows
from outkey.sync.engine.pull.records_to_rows import RecordsToRows
from outkey.sync.engine.pull.shape_watch import ShapeWatch
from outkey.sync.engine.pull.target_writer import TargetWriter
from outkey.sync.engine.runs.line_plan import PairPlan
from outkey.sync.engine.runs.run_in_progress import RunInProgress

UNCHANGED = Written(WriteOutcome.UNCHANGED)
UPDATED = Written(WriteOutcome.UPDATED)


def pull_of_pair(progress: RunInProgress, plan: PairPlan) -> Pull:
    """Return the pull of a line that is in a pair."""
    source = PageReader(progress)
    target = TargetWriter(progress, is_locking=True)
    reader = RecordsToRows(progress, target, RejectedKeys(progress).add)
    writer = PairWriter(progress, plan, target)
    return Pull(progress, source, reader, writer, ShapeWatch(progress))


class RejectedKeys:
    """Finds the keys of records that could not be mapped."""

    def __init__(self, progress: RunInProgress) -> None:
        sync = progress.sync
        paths = {mapping.host: mapping.api for mapping in sync.mappings}
        self._find_keys = {
            name: progress.ports.finder.compile(paths[name], field="keys")
            for name in sync.keys
            if paths[name]
        }

    def add(self, row: Unmapped, record: Record) -> Unmapped:
        """Add the key fields to a rejection, so that the push skips the record.

        It does not overwrite what could not be read.
        """
        keys: dict[str, object] = {}
        for name, find in self._find_keys.items():
            with suppress(SyncFailed):
                keys[name] = remote_id_of(find(record))
        return replace(row, row={**keys, **row.row})


class RowFacts(NamedTuple):
    """The values of a record of the API that its row does not have."""

    remote_id: str
    changed_at: object  # when it was changed at the API


class PairWriter:
    """Writes what only the API has changed; the rule decides what both have."""

    def __init__(
        self, progress: RunInProgress, plan: PairPlan, target: TargetWriter
    ) -> None:
        ports = progress.ports
        self._progress = progress
        self._ports = ports
        self._sync = progress.sync
        self._target = target
        self._plan = plan
        self._agreements = plan.agreements
        self._push_line = plan.push.line.name
        self._fields = pair_fields(self._sync, plan.push.sync)
        self._changes = PairChanges(ports, plan)
        self._matches = PairMatches(ports, plan)
        self._decider = PairDecider(plan, self._matches, ports.zone)
        self._bookkeeping = PairBookkeeping(ports, plan, self._matches, self._changes)
        self._removal = PairRemoval(ports, plan, self._decider, self._changes)
        paths = {mapping.host: mapping.api for mapping in self._sync.mappings}
        self._find_id = ports.finder.compile(paths[self._sync.keys[0]], field="keys")
        path = plan.pair.api_changed
        self._find_changed = (
            ports.finder.compile(path, field="api_changed") if path else None
        )
        # The keys of the records in this run's pages that have a conflict.
        self._disputed: set[str] = set()
        self._has_every_page = False  # not of a run that another process began
        self._unanswered: UnansweredCreates | None = None  # none

    # ── the begin of a run ───────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Complete what a killed run has left, and make the table of the line."""
        run = self._progress.run
        self._has_every_page = not run.position
        if not run.dry_run:
            self._changes.recover()
            self._repeat_creates()
        self._target.begin()

    def _repeat_creates(self) -> None:
        """Let the push repeat the creates that have no response.

        Otherwise a page would bring their records a second time. What may be one that
        still has no response is not written.
        """
        if not self._ports.ledger.announced(self._push_line, "", 1):
            return
        pushing = RunInProgress(self._ports, self._plan.push)
        with self._progress.lend_run(pushing):
            repeat_creates(pushing, self._plan)
        self._unanswered = UnansweredCreates(self._ports, self._plan)
        if self._unanswered.count:
            self._progress.note_change(
                Text(
                    "sent records whose create has no response yet: {count}; what may"
                    " be one of them at the API is not written here",
                    count=self._unanswered.count,
                )
            )

    # ── the rows of a page ───────────────────────────────────────────────────────────

    def transaction(self) -> AbstractContextManager[None]:
        """Lock the records that are compared until they are written."""
        return self._target.transaction()

    def write(self, page: PageRows) -> PageEffects:
        """Write rows as the rule decides, or compare them in a dry run."""
        keys = self._sync.keys
        facts = self._facts(page)

        def upsert(rows: Sequence[Row]) -> Sequence[Written]:
            of_rows = [facts[key_of(keys, row)] for row in rows]
            return self._write(self._target.fit(rows), of_rows)

        return PageEffects(write_rows(keys, page.rows, upsert), ChildEffects())

    def finish(self) -> None:
        """Make the columns that had no value."""
        self._target.finish()

    def _facts(self, page: PageRows) -> dict[KeyTexts, RowFacts]:
        """Return the facts of the records that were mapped, by key."""
        facts: dict[KeyTexts, RowFacts] = {}
        for record, row in zip(page.records, page.rows, strict=True):
            if not isinstance(row, Unmapped):
                remote_id = remote_id_of(self._find_id(record))
                changed = self._find_changed(record) if self._find_changed else None
                key = key_of(self._sync.keys, row)
                facts.setdefault(key, RowFacts(remote_id, changed))
        return facts

    def _write(
        self, rows: Sequence[Row], facts: Sequence[RowFacts]
    ) -> Sequence[Written]:
        matches = self._matches.find(rows, [of_row.remote_id for of_row in facts])
        unclear = {match.key for match in matches if self._may_be_ours(match)}
        decisions = [
            self._decider.decide_row(match, of_row.changed_at)
            for match, of_row in zip(matches, facts, strict=True)
            if match.key not in unclear
        ]
        self._disputed |= {row.key for row in decisions if row.is_disputed}
        if self._progress.run.dry_run:
            results = self._compare(decisions)
        else:
            results = self._write_and_store(decisions)
        refusal = Written(WriteOutcome.REFUSED, self._sync.keys[0], CREATE_UNANSWERED)
        results |= dict.fromkeys(unclear, refusal)
        return [results.get(match.key, UNCHANGED) for match in matches]

    def _may_be_ours(self, match: Match) -> bool:
        """Whether a row may be of a record that was sent, and has no ID here yet."""
        if self._unanswered is None or match.record or match.agreement:
            return False
        return self._unanswered.may_be(match.row)

    def _compare(self, decisions: Sequence[RowDecision]) -> dict[str, Written]:
        """Return the results that a run would have."""
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
        mark_seen(self._ports, self._sync.target, renamed, self._progress.run)
        results |= self._write_rows([row for row in decisions if not row.keeps_name])
        self._bookkeeping.store(without_refused(decisions, results))
        self._changes.write_journal(self._progress.run)
        return results

    def _write_rows(self, decisions: Sequence[RowDecision]) -> dict[str, Written]:
        """Write rows of which the API's version won; of others only its own fields."""
        results: dict[str, Written] = {}
        written = [row for row in decisions if row.is_written]
        kept = [row for row in decisions if row.is_kept]
        for group in filter(None, (written, kept)):
            outcomes = self._target.upsert([self._row_to_write(row) for row in group])
            keys = [row.key for row in group]
            results |= dict(zip(keys, outcomes, strict=True))
        return results

    def _row_to_write(self, decision: RowDecision) -> Row:
        """Return the fields of a record that are written.

        If its shared fields stay, the keys at least: this marks it as seen.
        """
        row = decision.match.row
        if decision.is_written:
            return row
        names = {*self._sync.keys}
        if decision.decision is not Decision.ASK:
            names |= self._fields.pulled - self._fields.shared
        return {name: value for name, value in row.items() if name in names}

    def _assign_keys(self, decisions: Sequence[RowDecision]) -> dict[str, Written]:
        """Write the API's keys into records that have others; return the refusals."""
        if not decisions:
            return {}
        names = self._sync.keys
        ids = {row.key: record_id(row) for row in decisions}
        values = {
            ids[row.key]: {name: row.match.row[name] for name in names}
            for row in decisions
        }
        assigned = self._ports.records.assign(
            self._sync.target,
            values,
            self._progress.run.id,
            saves=self._sync.writes is Writes.MODEL,
        )
        refusal = Written(WriteOutcome.REFUSED, names[0], "taken")
        return {key: refusal for key, record in ids.items() if record not in assigned}

    # ── the end of a run ─────────────────────────────────────────────────────────────

    def settle_conflicts(self) -> bool:
        """Delete conflicts about records that neither side has.

        Return whether others are open: the next run needs the API's versions again.
        """
        saw_all = self._has_every_page and has_read_all(self._progress)
        if saw_all and not self._progress.run.dry_run:
            with self._progress.page_transaction():
                self._removal.delete_conflicts(self._disputed)
        return bool(self._agreements.conflicts(self._push_line, "", 1))

    def remove_missing(self) -> Counts:
        """Archive or delete records missing at the API and unchanged in the host."""
        retire = partial(self._removal.retire, self._progress.run, self._target.retire)
        return self._target.remove_missing_by(retire)
