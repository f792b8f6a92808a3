"""Changes of agreements and ledger by a run of a pair, safe from kills."""

from collections.abc import Sequence
from contextlib import suppress

from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.pairs.journal import PairJournal, stored_journal
from outkey.sync.core.pairs.pairs import PairAgreement
from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.core.run.run import Run
from outkey.sync.engine.runs.line_plan import PairPlan, SyncPorts


class PairChanges:
    """Stores the changes of a page, and writes a journal of them beside its records."""

    def __init__(self, ports: SyncPorts, plan: PairPlan) -> None:
        self._ports = ports
        self._rows = plan.agreements
        self._pull_line = plan.pull.line.name
        self._push_line = plan.push.line.name
        self._target = plan.pull.sync.target
        self._deleted: list[str] = []
        self._agreements: list[PairAgreement] = []
        self._entries: list[LedgerEntry] = []

    def begin(self) -> None:
        """Begin with the changes of the next page."""
        self._deleted = []
        self._agreements = []
        self._entries = []

    def put(self, agreements: Sequence[PairAgreement]) -> None:
        """Insert or replace agreements."""
        self._agreements += agreements
        self._rows.put(self._push_line, agreements)

    def delete(self, records: Sequence[str]) -> None:
        """Delete the agreements of these records."""
        self._deleted += records
        self._rows.delete(self._push_line, records)

    def put_entries(self, entries: Sequence[LedgerEntry]) -> None:
        """Insert or replace entries of the ledger."""
        self._entries += entries
        self._ports.ledger.put(self._push_line, entries)

    def write_journal(self, run: Run) -> None:
        """Write the changes of this page to the database of its records."""
        journal = PairJournal(
            run.id, run.pages, self._deleted, self._agreements, self._entries
        )
        self._ports.records.put_journal(
            self._target, self._pull_line, journal.as_text()
        )

    def recover(self) -> None:
        """Store what a killed pull has written and could not store any more.

        To be called before anything else in a run that is not a dry one: neither line
        of the pair runs meanwhile.
        """
        text = self._ports.records.journal(self._target, self._pull_line)
        if not text:
            return
        journal = stored_journal(text)
        # The runs of another installation are not known here.
        with suppress(ConfigError), self._ports.runs.transaction():
            if not journal.is_stored(self._ports.runs.get(journal.run)):
                self._rows.delete(self._push_line, journal.deleted)
                self._rows.put(self._push_line, journal.agreements)
                self._ports.ledger.put(self._push_line, journal.entries)
        self._ports.records.put_journal(self._target, self._pull_line, "")
