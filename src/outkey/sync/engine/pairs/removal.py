"""Records of a pair deleted at the API: archived, left alone, or decided by a user."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from outkey.sync.core.mapping.keys import key_text
from outkey.sync.core.mapping.records import HostRecord
from outkey.sync.core.pairs.pairs import Decision, PairAgreement, PairConflict
from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.core.run.run import Run
from outkey.sync.engine.pairs.changes import PairChanges
from outkey.sync.engine.pairs.decisions import PairDecider
from outkey.sync.engine.runs.line_plan import PairPlan, SyncPorts

GROUP = 1000


class PairRemoval:
    """Decides about the records that a run has not seen at the API."""

    def __init__(
        self,
        ports: SyncPorts,
        plan: PairPlan,
        decider: PairDecider,
        changes: PairChanges,
    ) -> None:
        self._ports = ports
        self._sync = plan.pull.sync
        self._agreements = plan.agreements
        self._push_line = plan.push.line.name
        self._decider = decider
        self._changes = changes

    def retire(self, run: Run, retire_unseen: Callable[[], int]) -> int:
        """Archive or delete records missing at the API and unchanged in the host."""
        self._changes.begin()
        retired: list[str] = []
        last = ""
        while records := self._ports.records.missing(
            self._sync.target, run.line, run.id, last, GROUP
        ):
            last = records[-1].id
            retired += self._keep_changed(records, run)
        count = retire_unseen()
        ledger = self._ports.ledger.read(self._push_line, retired)
        entries = [entry.delete() for entry in ledger.values()]
        self._changes.put_entries(entries)
        self._changes.delete(retired)
        self._changes.write_journal(run)
        return count

    def delete_conflicts(self, disputed: Collection[str]) -> None:
        """Delete the conflicts about records that both sides have deleted.

        `disputed` are the keys of those that this run has seen. An incremental run
        would have seen the others: while there is a conflict, it begins where the run
        began that found it.
        """
        last = ""
        while conflicts := self._agreements.conflicts(self._push_line, last, GROUP):
            last = conflicts[-1].record
            ids = [
                agreement.record
                for agreement in conflicts
                if agreement.key not in disputed
            ]
            present = self._ports.records.present(self._sync.target, ids)
            gone = [record for record in ids if record not in present]
            entries = self._ports.ledger.read(self._push_line, gone).values()
            deleted = [entry.delete() for entry in entries]
            self._ports.ledger.put(self._push_line, deleted)
            self._agreements.delete(self._push_line, gone)

    def _keep_changed(self, records: Sequence[HostRecord], run: Run) -> list[str]:
        """Mark records that the host changed as seen; return the ids of the rest."""
        ids = [record.id for record in records]
        agreements = self._agreements.read(self._push_line, ids)
        ledger = self._ports.ledger.read(self._push_line, ids)
        retired: list[str] = []
        remaining: list[HostRecord] = []
        conflicts: list[PairAgreement] = []
        created_again: list[LedgerEntry] = []
        for record in records:
            agreement = agreements.get(record.id)
            entry = ledger.get(record.id, LedgerEntry(record.id))
            decision, host = self._decider.decide_missing(record, agreement)
            if decision is Decision.RETIRE and not entry.key:
                retired.append(record.id)
                continue
            remaining.append(record)
            if entry.key:  # its create may have arrived by now
                continue
            if decision is Decision.ASK:
                before = agreement or PairAgreement(record.id, self._key_of(record))
                conflicts.append(replace(before, conflict=PairConflict(None, host)))
            else:
                again = LedgerEntry(record.id, creations=entry.creations + 1)
                created_again.append(again)
        mark_seen(self._ports, self._sync.target, remaining, run)
        self._changes.put(conflicts)
        self._changes.put_entries(created_again)
        self._changes.delete([entry.record for entry in created_again])
        return retired

    def _key_of(self, record: HostRecord) -> str:
        values = [record.values.get(name) for name in self._sync.keys]
        return key_text([str(value) for value in values])


def mark_seen(
    ports: SyncPorts, target: str, records: Sequence[HostRecord], run: Run
) -> None:
    """Mark records as seen by a run, whatever their keys are."""
    values: dict[str, dict[str, object]] = {record.id: {} for record in records}
    if values:
        ports.records.assign(target, values, run.id)
