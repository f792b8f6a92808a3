"""The tables of runs and of rejected records."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from outkey.administration.core.findings.monitoring import LineRun
from outkey.foundation.core.errors import UnknownConfiguration
from outkey.foundation.core.stored_times import LONGEST_WAIT, SKEW_SECONDS
from outkey.foundation.core.text import text_data, text_from_data
from outkey.sync.core.drift.drift import Drift
from outkey.sync.core.run.run import Counts, RejectedRecord, Run, RunState
from outkey.sync.ports.sync import RunOrder, RunQuery
from third_host.database import Table

ORDERS = {RunOrder.NEWEST: "id DESC", RunOrder.OLDEST: "id", RunOrder.DUE: "until"}
FIND = """
SELECT * FROM run WHERE (:id = '' OR id = :id) AND :line IN ('', line)
AND (:configuration = '' OR line IN
  (SELECT name FROM line WHERE configuration = :configuration))
AND (:states = '[]' OR state IN (SELECT value FROM json_each(:states)))
AND (:dry_run IS NULL OR dry_run = :dry_run)
AND (:received IS NULL OR is_received = :received) AND :digest IN ('', digest)
AND (attempt > 0 OR NOT :requested)
AND (:due_by IS NULL OR state <> 'waiting' OR until <= :due_by
  OR until > :due_by + :skew + iif(until = started_at, 0, :longest_wait))
AND (:ended_before IS NULL OR ended_at < :ended_before)
AND (:after = '' OR id > CAST(:after AS INTEGER))
"""
LATEST = """
SELECT run.*, line.configuration FROM run JOIN line ON line.name = run.line
WHERE id IN (SELECT max(id) FROM run WHERE NOT is_received GROUP BY line, dry_run)
"""


class NoQueue:
    """Notifies nobody: workers of this host look at the runs themselves."""

    def put(self, run: Run, lock: str) -> None:
        return


class RunTable(Table):
    """Runs and rejected records. A transaction locks all of them, as `lock` wants."""

    def find(self, query: RunQuery, *, lock: bool = False) -> list[Run]:
        order = f"ORDER BY {ORDERS[query.order]} LIMIT :limit"
        bounds = {"skew": SKEW_SECONDS, "longest_wait": LONGEST_WAIT}
        values = {**asdict(query), **bounds}
        return [
            stored_run(dict(row))
            for row in self.database.execute(f"{FIND} {order}", values)
        ]

    def swap(self, before: Run | None, after: Run | None) -> Run | None:
        if before is None and after is not None:
            return self._insert(after)
        if before is None:
            return None
        old = {"id": before.id, "generation": before.generation}
        new = None if after is None else run_columns(after)
        is_swapped = self.database.swap("run", old, new)
        return (after or before) if is_swapped else None

    def _insert(self, run: Run) -> Run | None:
        query = "SELECT 1 FROM line WHERE name = :line"
        if not self.database.rows(query, line=run.line):
            raise UnknownConfiguration
        if not self.database.swap("run", None, run_columns(run)):
            return None
        ((number,),) = self.database.rows("SELECT last_insert_rowid()")
        return replace(run, id=str(number))

    def put_rejected(
        self,
        run: str,
        first: int,
        records: Sequence[RejectedRecord],
        removed: Collection[str] = (),
    ) -> None:
        with self.database.transaction():
            delete = (
                "DELETE FROM rejected WHERE run = :run AND (number >= :first"
                " OR key IN (SELECT value FROM json_each(:keys)))"
            )
            keys = json.dumps([*removed])
            self.database.write(delete, run=run, first=first, keys=keys)
            for record in records:
                self.database.insert("rejected", {"run": run, **asdict(record)})

    def rejected(
        self,
        run: str,
        limit: int,
        *,
        skip: int = 0,
        keys: Collection[str] | None = None,
    ) -> list[RejectedRecord]:
        query = (
            "SELECT number, key, field, reason, kind, excerpt FROM rejected"
            " WHERE run = :run"
            " AND (:keys IS NULL OR key IN (SELECT value FROM json_each(:keys)))"
            " ORDER BY number LIMIT :limit OFFSET :skip"
        )
        listed = None if keys is None else json.dumps([*keys])
        rows = self.database.rows(query, run=run, limit=limit, skip=skip, keys=listed)
        return [RejectedRecord(*row) for row in rows]


class LatestRuns(Table):
    """The newest row of each line and kind."""

    def latest(self) -> list[LineRun]:
        return [
            LineRun(columns.pop("configuration"), stored_run(columns))
            for columns in map(dict, self.database.rows(LATEST))
        ]


def run_columns(run: Run) -> dict[str, object]:
    """Return the columns of a run that a swap writes."""
    columns = asdict(run)
    del columns["id"]
    columns["notes"] = [text_data(note) for note in run.notes]
    columns["drift"] = [each._asdict() for each in run.drift]
    return columns


def stored_run(row: Mapping[str, Any]) -> Run:
    """Return a run as core has it."""
    columns = {
        **row,
        "id": str(row["id"]),
        "state": RunState(row["state"]),
        "dry_run": bool(row["dry_run"]),
        "position": json.loads(row["position"]),
        "removed": json.loads(row["removed"]),
        "allows_removal": bool(row["allows_removal"]),
        "is_received": bool(row["is_received"]),
        "notes": tuple(map(text_from_data, json.loads(row["notes"]))),
        "drift": tuple(map(Drift.from_data, json.loads(row["drift"]))),
        "counts": Counts.from_facts(json.loads(row["counts"])),
    }
    return Run(**columns)
