"""The tables of runs and of rejected records, and the host's own contacts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from sqlite3 import Row

from outkey.core.errors import UnknownConfiguration
from outkey.core.findings.monitoring import LineRun
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
from outkey.core.sync.run import Counts, RejectedRecord, Run, RunState
from outkey.ports.sync import RunOrder, RunQuery
from third_host.database import Table

RUN_COLUMNS = (
    *("line", "state", "dry_run", "digest", "attempt", "until", "ended_at"),
    "generation",
)
ORDERS = {RunOrder.NEWEST: "id DESC", RunOrder.OLDEST: "id", RunOrder.DUE: "until"}
FIND = """
SELECT * FROM run WHERE (:id = '' OR id = :id) AND :line IN ('', line)
AND (:states = '[]' OR state IN (SELECT value FROM json_each(:states)))
AND (:dry_run IS NULL OR dry_run = :dry_run) AND :digest IN ('', digest)
AND (attempt > 0 OR NOT :requested) AND (:until IS NULL OR until <= :until)
AND (:ended_before IS NULL OR ended_at < :ended_before)
AND (:after = '' OR id > CAST(:after AS INTEGER))
"""
LATEST = """
SELECT line.configuration, run.line, dry_run, state, attempt, until
FROM run JOIN line ON line.name = run.line
WHERE id IN (SELECT max(id) FROM run GROUP BY line, dry_run)
"""
CONTACTS = Target(
    "demo.contact",
    "Contacts",
    (
        HostField(
            "external_id",
            "external id",
            FieldKind.TEXT,
            required=True,
            longest=40,
            unique=True,
        ),
        HostField("name", "name", FieldKind.TEXT, required=True, longest=80),
        HostField("credit", "credit", FieldKind.DECIMAL),
    ),
)


class NoQueue:
    """Notifies nobody: workers of this host look at the runs themselves."""

    def put(self, run: Run, lock: str) -> None:
        return


class RunTable(Table):
    """Runs and rejected records. A transaction locks all of them, as `lock` wants."""

    def find(self, query: RunQuery, *, lock: bool = False) -> list[Run]:
        order = f"ORDER BY {ORDERS[query.order]} LIMIT :limit"
        return [
            stored_run(row)
            for row in self.database.execute(f"{FIND} {order}", asdict(query))
        ]

    def swap(self, before: Run | None, after: Run | None) -> Run | None:
        if before is None and after is not None:
            return self._insert(after)
        old = before and {"id": before.id, "generation": before.generation}
        is_done = self.database.swap("run", old, after and run_columns(after))
        return (after or before) if is_done else None

    def _insert(self, run: Run) -> Run | None:
        query = "SELECT 1 FROM line WHERE name = :line"
        if not self.database.rows(query, line=run.line):
            raise UnknownConfiguration
        if not self.database.swap("run", None, run_columns(run)):
            return None
        ((number,),) = self.database.rows("SELECT last_insert_rowid()")
        return replace(run, id=str(number))

    def put_rejected(
        self, run: str, first: int, records: Sequence[RejectedRecord]
    ) -> None:
        with self.database.transaction():
            self.database.write(
                "DELETE FROM rejected WHERE run = :run AND number >= :first",
                run=run,
                first=first,
            )
            for record in records:
                self.database.insert("rejected", {"run": run, **asdict(record)})

    def rejected(self, run: str, limit: int) -> list[RejectedRecord]:
        rows = self.database.rows(
            "SELECT number, key, field, reason FROM rejected WHERE run = :run"
            " ORDER BY number LIMIT :limit",
            run=run,
            limit=limit,
        )
        return [RejectedRecord(*row) for row in rows]


class LatestRuns(Table):
    """The newest row of each line and kind."""

    def latest(self) -> list[LineRun]:
        return [
            LineRun(**{**row, "state": RunState(row["state"])})
            for row in map(dict, self.database.rows(LATEST))
        ]


class ContactRecords(Table):
    """The host's contacts, which sync lines read and write."""

    def targets(self) -> list[Target]:
        return [CONTACTS]

    def read(self, target: str, after: str, limit: int) -> list[HostRecord]:
        find_target(self.targets(), target)
        rows = self.database.rows(
            "SELECT * FROM contact WHERE id > :after ORDER BY id LIMIT :limit",
            after=int(after or 0),
            limit=limit,
        )
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
        return self.database.write(
            "UPDATE contact SET archived = 1 WHERE NOT archived AND id IN"
            " (SELECT contact FROM sighting WHERE line = :line AND run != :run)",
            line=line,
            run=run,
        )

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
            is_archived = bool(record["archived"])
            values = contact_values(record)
            return record, written_row(values, row, is_archived=is_archived)
        refusal = refused_row(CONTACTS, keys, row, is_new=True)
        return None, refusal or written_row(None, row)

    def _write(
        self, keys: Sequence[str], row: Mapping[str, object], run: str
    ) -> Written:
        record, result = self._compare(keys, row)
        if result.outcome is WriteOutcome.REFUSED:
            return result
        old = record and {"id": record["id"]}
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


def run_columns(run: Run) -> dict[str, object]:
    """Return the columns of a run, without its id."""
    facts = asdict(run)
    del facts["id"], facts["lease"]
    columns = {name: facts.pop(name) for name in RUN_COLUMNS}
    return columns | {"facts": facts}


def stored_run(row: Row) -> Run:
    """Return a run as core has it."""
    columns = {name: row[name] for name in RUN_COLUMNS} | json.loads(row["facts"])
    columns["state"] = RunState(row["state"])
    columns["dry_run"] = bool(row["dry_run"])
    columns["counts"] = Counts(**columns["counts"])
    return Run(id=str(row["id"]), **columns)


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
