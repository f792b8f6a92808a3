"""The host's own records: contacts, which sync lines read and write."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from sqlite3 import Row

from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import (
    FieldKind,
    HostField,
    HostRecord,
    Target,
    Unseen,
    WriteOutcome,
    Written,
    find_field,
    find_target,
    refused_row,
    written_row,
)
from outkey.sync.ports.sync import Key
from third_host.database import Table

TEXT = FieldKind.TEXT
FIELDS = (
    HostField("external_id", "external id", TEXT, required=True, longest=40),
    HostField("name", "name", TEXT, required=True, longest=80),
    HostField("credit", "credit", FieldKind.DECIMAL),
)
SEEN = (
    "INSERT INTO sighting SELECT line, coalesce(:contact, last_insert_rowid()),"
    " id FROM run WHERE id = :run ON CONFLICT DO UPDATE SET run = excluded.run"
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
        saves: bool = False,
    ) -> list[Written]:
        find_target(self.targets(), target)
        if dry_run:
            return [self._compare(keys, row)[1] for row in rows]
        with self.database.transaction():
            return [self._write(keys, row, run) for row in rows]

    def unseen(self, target: str, line: str, run: str) -> Unseen:
        find_target(self.targets(), target)
        query = (
            "SELECT count(CASE WHEN run != :run THEN 1 END), count(*) FROM sighting"
            " JOIN contact ON contact.id = contact WHERE line = :line AND NOT archived"
        )
        ((missing, total),) = self.database.rows(query, line=line, run=run)
        return Unseen(missing, total)

    def retire(self, target: str, line: str, run: str, gone: Gone) -> int:
        find_target(self.targets(), target)
        change = "UPDATE contact SET archived = 1"
        if gone is Gone.DELETE:
            change = "DELETE FROM contact"
        where = (
            " WHERE NOT archived AND id IN"
            " (SELECT contact FROM sighting WHERE line = :line AND run != :run)"
        )
        return self.database.write(change + where, line=line, run=run)

    def delete_children(
        self,
        target: str,
        parent: Sequence[str],
        keys: Sequence[str],
        kept: Mapping[Key, Collection[Key]],
    ) -> int:
        model = find_target(self.targets(), target)
        names = [find_field(model, name).name for name in (*parent, *keys)]
        rows = self.database.rows(f"SELECT id, {', '.join(names)} FROM contact")
        missing = [
            record
            for record, *values in rows
            if (of_parent := kept.get(tuple(values[: len(parent)]))) is not None
            and tuple(values[len(parent) :]) not in of_parent
        ]
        return self.database.write(
            "DELETE FROM contact WHERE id IN (SELECT value FROM json_each(:ids))",
            ids=missing,
        )

    def matching(
        self, target: str, keys: Sequence[str], values: Collection[tuple[object, ...]]
    ) -> dict[tuple[object, ...], HostRecord]:
        find_target(self.targets(), target)
        found = {
            tuple(record.values.get(key) for key in keys): record
            for record in self.read(target, "", -1)
        }
        return {key: found[key] for key in values if key in found}

    def by_id(self, target: str, ids: Collection[str]) -> dict[str, HostRecord]:
        find_target(self.targets(), target)
        query = "SELECT * FROM contact WHERE id IN (SELECT value FROM json_each(:ids))"
        rows = self.database.rows(query, ids=[int(number) for number in ids])
        return {
            str(row["id"]): HostRecord(str(row["id"]), contact_values(row))
            for row in rows
        }

    def assign(
        self,
        target: str,
        values: Mapping[str, Mapping[str, object]],
        run: str,
        *,
        saves: bool = False,
    ) -> set[str]:
        find_target(self.targets(), target)
        assigned = set()
        for record, row in values.items():
            if refused_row(CONTACTS, tuple(row), row, is_new=False):
                continue
            columns = {"id": int(record)} | contact_columns(row)
            pairs = ", ".join(f"{name} = :{name}" for name in columns)
            query = f"UPDATE contact SET {pairs} WHERE id = :id"
            if self.database.write(query, **columns):
                assigned.add(record)
                self.database.write(SEEN, contact=int(record), run=run)
        return assigned

    def missing(
        self, target: str, line: str, run: str, after: str, limit: int
    ) -> list[HostRecord]:
        find_target(self.targets(), target)
        query = (
            "SELECT contact.* FROM sighting JOIN contact ON contact.id = contact"
            " WHERE line = :line AND run != :run AND NOT archived"
            " AND contact.id > :after ORDER BY contact.id LIMIT :limit"
        )
        rows = self.database.rows(
            query, line=line, run=run, after=int(after or 0), limit=limit
        )
        return [HostRecord(str(row["id"]), contact_values(row)) for row in rows]

    def present(self, target: str, ids: Sequence[str]) -> set[str]:
        find_target(self.targets(), target)
        query = (
            "SELECT id FROM contact WHERE NOT archived AND id IN"
            " (SELECT value FROM json_each(:ids))"
        )
        rows = self.database.rows(query, ids=[int(number) for number in ids])
        return {str(row["id"]) for row in rows}

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
        self.database.write(SEEN, contact=old and old["id"], run=run)
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
