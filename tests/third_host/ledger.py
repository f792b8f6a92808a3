"""The table of what pushes have sent."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
from sqlite3 import Row

from outkey.sync.core.push.ledger import LedgerEntry
from third_host.database import Table

COLUMNS = ", ".join(field.name for field in fields(LedgerEntry))
READ = (
    f"SELECT {COLUMNS} FROM ledger WHERE line = :line"
    " AND record IN (SELECT value FROM json_each(:records))"
)
AFTER = (
    f"SELECT {COLUMNS} FROM ledger WHERE line = :line AND record > :record"
    " ORDER BY record LIMIT :limit"
)
BY_REMOTE_ID = (
    f"SELECT {COLUMNS} FROM ledger WHERE line = :line AND remote_id != ''"
    " AND remote_id IN (SELECT value FROM json_each(:remote_ids))"
)
ANNOUNCED = (
    f"SELECT {COLUMNS} FROM ledger WHERE line = :line AND record > :record"
    " AND key != '' ORDER BY record LIMIT :limit"
)
FORGET = "DELETE FROM ledger WHERE line = :line AND record = :record"


class LedgerTable(Table):
    """One row for each record of a line."""

    def read(self, line: str, records: Collection[str]) -> dict[str, LedgerEntry]:
        rows = self.database.rows(READ, line=line, records=records)
        return {row["record"]: stored_entry(row) for row in rows}

    def put(self, line: str, entries: Sequence[LedgerEntry]) -> None:
        with self.database.transaction():
            for entry in entries:
                self.database.write(FORGET, line=line, record=entry.record)
                self.database.insert("ledger", {"line": line, **asdict(entry)})

    def after(self, line: str, record: str, limit: int) -> list[LedgerEntry]:
        rows = self.database.rows(AFTER, line=line, record=record, limit=limit)
        return [stored_entry(row) for row in rows]

    def by_remote_id(
        self, line: str, remote_ids: Collection[str]
    ) -> dict[str, LedgerEntry]:
        rows = self.database.rows(BY_REMOTE_ID, line=line, remote_ids=remote_ids)
        return {row["remote_id"]: stored_entry(row) for row in rows}

    def announced(self, line: str, record: str, limit: int) -> list[LedgerEntry]:
        rows = self.database.rows(ANNOUNCED, line=line, record=record, limit=limit)
        return [stored_entry(row) for row in rows]


def stored_entry(row: Row) -> LedgerEntry:
    """Return an entry as core has it."""
    return LedgerEntry(**{**dict(row), "is_deleted": bool(row["is_deleted"])})
