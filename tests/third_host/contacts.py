"""The host's own records: contacts, which sync lines read and write."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from sqlite3 import Row

from outkey.core.sync.records import (
    FieldKind,
    HostField,
    HostRecord,
    Target,
    WriteOutcome,
    Written,
    find_field,
    find_target,
    refused_row,
    written_row,
)
from third_host.database import Table

TEXT = FieldKind.TEXT
FIELDS = (
    HostField("external_id", "external id", TEXT, required=True, longest=40),
    HostField("name", "name", TEXT, required=True, longest=80),
    HostField("credit", "credit", FieldKind.DECIMAL),
)
CONTACTS = Target("demo.contact", "Contacts", FIELDS)


class ContactRecords(Table):
    """Contacts; those that a line has not seen any more can be archived."""

    def targets(self) -> list[Target]:
        return [CONTACTS]

    def read(self, target: str, after: str, limit: int) -> list[HostRecord]:
        find_target(self.targets(), target)
        query = "SELECT * FROM contact WHERE id > :after ORDER BY id LIMIT :limit"
        rows = self.database.rows(query, after=int(after or 0), limit=limit)
        return [HostRecord(str(row["id"]), contact_values(row)) for row in rows]

    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Mapping[str, object]],
        run: str,
        *,
        dry_run: bool = False,
    ) -> list[Written]:
        find_target(self.targets(), target)
        if dry_run:
            return [self._compare(keys, row)[1] for row in rows]
        with self.database.transaction():
            return [self._write(keys, row, run) for row in rows]

    def archive(self, target: str, line: str, run: str) -> int:
        find_target(self.targets(), target)
        statement = (
            "UPDATE contact SET archived = 1 WHERE NOT archived AND id IN"
            " (SELECT contact FROM sighting WHERE line = :line AND run != :run)"
        )
        return self.database.write(statement, line=line, run=run)

    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> dict[object, object]:
        find_field(find_target(self.targets(), target), field)
        rows = self.database.rows(
            f"SELECT {field}, min(id) FROM contact WHERE {field} IN"
            f" (SELECT value FROM json_each(:wanted)) GROUP BY {field}"
            " HAVING count(*) = 1",
            wanted=[str(value) for value in values],
        )
        ids = dict(map(tuple, rows))
        return {value: ids[str(value)] for value in values if str(value) in ids}

    def _compare(
        self, keys: Sequence[str], row: Mapping[str, object]
    ) -> tuple[Row | None, Written]:
        """Return the record with the keys of a row, and what writing it would do."""
        refusal = refused_row(CONTACTS, keys, row, is_new=False)
        if refusal:
            return None, refusal
        where = " AND ".join(f"{key} = :{key}" for key in keys)
        query = f"SELECT * FROM contact WHERE {where}"
        records = self.database.rows(query, **contact_columns(row))
        if len(records) > 1:
            return None, Written(WriteOutcome.REFUSED, keys[0], "ambiguous")
        for record in records:
            values = contact_values(record)
            return record, written_row(values, row, is_archived=record["archived"])
        refusal = refused_row(CONTACTS, keys, row, is_new=True)
        return None, refusal or written_row(None, row)

    def _write(
        self, keys: Sequence[str], row: Mapping[str, object], run: str
    ) -> Written:
        record, result = self._compare(keys, row)
        if result.outcome is WriteOutcome.REFUSED:
            return result
        old = None if record is None else {"id": record["id"]}
        new = contact_columns(row) | {"archived": False}
        if not self.database.swap("contact", old, new):
            return Written(WriteOutcome.REFUSED, reason="taken")
        self.database.write(
            "INSERT INTO sighting SELECT line, coalesce(:contact, last_insert_rowid()),"
            " id FROM run WHERE id = :run ON CONFLICT DO UPDATE SET run = excluded.run",
            contact=old and old["id"],
            run=run,
        )
        return replace(result, changes={})


def contact_columns(row: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a contact as its columns have them."""
    return {
        name: str(value) if isinstance(value, Decimal) else value
        for name, value in row.items()
    }


def contact_values(row: Row) -> dict[str, object]:
    """Return the values of a contact as sync lines have them."""
    credit = row["credit"]
    return {
        "external_id": row["external_id"],
        "name": row["name"],
        "credit": None if credit is None else Decimal(credit),
    }
