"""Storing agreements and entries of the ledger with a page of a pair."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from outkey.sync.core.mapping.records import HostRecord
from outkey.sync.core.pairs.pairs import (
    Decision,
    PairAgreement,
    PairConflict,
    pair_fields,
    plain_values,
)
from outkey.sync.core.push.ledger import UNSURE, LedgerEntry
from outkey.sync.engine.pairs.changes import PairChanges
from outkey.sync.engine.pairs.decisions import RowDecision, record_id
from outkey.sync.engine.pairs.matches import PairMatches
from outkey.sync.engine.push.outgoing import OutgoingRecords
from outkey.sync.engine.runs.line_plan import PairPlan, SyncPorts


class PairBookkeeping:
    """Stores what both sides agree on after the rows of a page were written."""

    def __init__(
        self,
        ports: SyncPorts,
        plan: PairPlan,
        matches: PairMatches,
        changes: PairChanges,
    ) -> None:
        self._ports = ports
        self._sync = plan.pull.sync
        self._push_line = plan.push.line.name
        self._matches = matches
        self._changes = changes
        self._outgoing = OutgoingRecords(ports, plan.push)
        self._fields = pair_fields(plan.pull.sync, plan.push.sync)
        self._own = self._fields.sent - self._fields.shared - {*self._sync.keys}

    def store(self, decisions: Sequence[RowDecision]) -> None:
        """Store the agreements about rows, and what the API has of their records."""
        records = self._records_now(decisions)
        ids = {record.id for record in records.values()}
        ids |= {row.match.agreement.record for row in decisions if row.match.agreement}
        ledger = self._ports.ledger.read(self._push_line, ids)
        agreements: list[PairAgreement] = []
        entries: list[LedgerEntry] = []
        replaced: list[str] = []
        for row in decisions:
            before = row.match.agreement
            record = records.get(row.key)
            agreement = self._agreement(row, record)
            if agreement is not None and agreement != before:
                agreements.append(agreement)
            if record is None:
                continue
            stored = ledger.get(record.id, LedgerEntry(record.id))
            entry = stored
            if before and before.record != record.id:
                replaced.append(before.record)
                old = ledger.get(before.record, LedgerEntry(before.record))
                entries.append(old.delete())
                entry = replace(old, record=record.id)
            after = self._entry(row, record, entry)
            if after != stored:
                entries.append(after)
        self._changes.delete(replaced)
        self._changes.put(agreements)
        self._changes.put_entries(entries)

    def _records_now(self, decisions: Sequence[RowDecision]) -> dict[str, HostRecord]:
        """Return the records of rows as they are now, by the key of the row."""
        by_keys = self._matches.by_keys([row.match.row for row in decisions])
        renamed = {row.key: record_id(row) for row in decisions if row.keeps_name}
        by_id: Mapping[str, HostRecord] = {}
        if renamed:
            by_id = self._ports.records.by_id(self._sync.target, renamed.values())
        current = {
            row.key: by_keys.get(self._matches.values_of(row.match.row))
            for row in decisions
        }
        current |= {key: by_id[record] for key, record in renamed.items()}
        return {key: record for key, record in current.items() if record}

    def _agreement(
        self, row: RowDecision, record: HostRecord | None
    ) -> PairAgreement | None:
        """Return the agreement after a row, or the conflict that it has."""
        agreement = row.match.agreement
        if agreement and record:
            # What was deleted in the host, and is there again, has another id.
            agreement = replace(agreement, record=record.id)
        if row.decision is Decision.ASK:
            before = agreement or PairAgreement(record_id(row))
            conflict = PairConflict(row.api, row.host)
            return replace(before, key=row.key, conflict=conflict)
        if row.decision is Decision.LEAVE:
            is_chosen = agreement and agreement.conflict and agreement.conflict.choice
            if agreement is None or is_chosen:
                return agreement
            return replace(agreement, key=row.key, conflict=None)
        if row.decision is Decision.NOTHING and agreement and not row.needs_key:
            return replace(agreement, api=row.api, is_pushed=False, conflict=None)
        if record is None:
            return None
        host = plain_values(record.values, self._fields.sent)
        return PairAgreement(record.id, row.key, row.api, host)

    def _entry(
        self, row: RowDecision, record: HostRecord, entry: LedgerEntry
    ) -> LedgerEntry:
        """Return the ledger's entry: the API has the record, and perhaps its values."""
        is_same = row.decision is Decision.NOTHING and not row.needs_key
        if row.decision is Decision.ASK or is_same:
            return entry
        if row.match.is_new_key:  # the entry is about another record of the API
            entry = LedgerEntry(record.id, creations=entry.creations)
        if row.decision is Decision.LEAVE:
            digest = entry.digest or UNSURE
        elif row.match.is_present and self._has_own_changes(row, record):
            digest = UNSURE
        else:
            digest = self._outgoing.digest_now(record)
        return LedgerEntry(
            record.id,
            digest,
            remote_id=entry.remote_id or row.match.remote_id,
            creations=entry.creations,
        )

    def _has_own_changes(self, row: RowDecision, record: HostRecord) -> bool:
        """Whether fields that are only sent have changed, or may have."""
        agreement = row.match.agreement
        if agreement is None or agreement.host is None:
            return bool(self._own)
        now = plain_values(record.values, self._own)
        return now != {name: agreement.host.get(name) for name in now}
