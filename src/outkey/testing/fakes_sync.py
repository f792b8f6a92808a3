"""In-memory tables of runs and of a host's own records, for tests."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

from outkey.adapters.states_memory import MemoryStateRows
from outkey.core.sync.records import (
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
from outkey.core.sync.run import RejectedRecord, Run, RunState
from outkey.engine.sync.runs import Runs
from outkey.ports.sending import Clock, Configurations
from outkey.ports.sync import RunOrder, RunQuery
from outkey.testing.fakes import MemoryDatabase


class MemoryRunRows:
    """Runs and rejected records in dictionaries by the id of the run."""

    def __init__(self, configurations: Configurations) -> None:
        self.configurations = configurations
        self.runs: dict[str, Run] = {}
        self._rejected: dict[str, list[RejectedRecord]] = {}
        self._lock = threading.Lock()

    def find(self, query: RunQuery, *, lock: bool = False) -> list[Run]:
        """Return the runs of a query."""
        runs = [run for run in self.runs.values() if is_in_query(run, query)]
        if query.order is RunOrder.DUE:
            runs.sort(key=lambda run: run.until)
        else:
            is_newest_first = query.order is RunOrder.NEWEST
            runs.sort(key=lambda run: int(run.id), reverse=is_newest_first)
        return runs[: query.limit]

    def swap(self, before: Run | None, after: Run | None) -> Run | None:
        """Replace a run in its generation, insert one or delete one."""
        with self._lock:
            if before is not None:
                stored = self.runs.get(before.id)
                if stored is None or stored.generation != before.generation:
                    return None
            if after is None:
                return None if before is None else self._delete(before)
            if self._is_taken(after):
                return None
            if before is None:
                self.configurations.line(after.line)  # it must exist
                newest = max((int(run_id) for run_id in self.runs), default=0)
                after = replace(after, id=str(newest + 1))
            self.runs[after.id] = after
            return after

    def put_rejected(
        self, run: str, first: int, records: Sequence[RejectedRecord]
    ) -> None:
        """Replace the rejected records of a run from a number on."""
        stored = self._rejected.get(run, [])
        earlier = [record for record in stored if record.number < first]
        self._rejected[run] = [*earlier, *records]

    def rejected(self, run: str, limit: int) -> list[RejectedRecord]:
        """Return the first rejected records of a run."""
        records = self._rejected.get(run, [])
        return sorted(records, key=lambda record: record.number)[:limit]

    def _delete(self, run: Run) -> Run:
        self._rejected.pop(run.id, None)
        return self.runs.pop(run.id)

    def _is_taken(self, run: Run) -> bool:
        """Whether another run of the line has a state that only one may have."""
        return any(
            other.id != run.id
            and other.line == run.line
            and other.state is run.state
            and (
                run.state is RunState.RUNNING
                or (run.state is RunState.WAITING and other.dry_run is run.dry_run)
            )
            for other in self.runs.values()
        )


def is_in_query(run: Run, query: RunQuery) -> bool:
    """Whether a query finds a run."""
    return (
        query.id in {"", run.id}
        and query.line in {"", run.line}
        and (not query.states or run.state in query.states)
        and query.dry_run in {None, run.dry_run}
        and query.digest in {"", run.digest}
        and (run.attempt > 0 or not query.requested)
        and (query.until is None or run.until <= query.until)
        and (
            query.ended_before is None
            or (run.ended_at is not None and run.ended_at < query.ended_before)
        )
        and (not query.after or int(run.id) > int(query.after))
    )


class MemoryRecords:
    """Records in dictionaries, by target and id.

    `_run`, `_line` and `_archived` are among the values of a record.
    """

    def __init__(
        self, fields: Mapping[str, Sequence[HostField]], runs: MemoryRunRows
    ) -> None:
        self._runs = runs
        self.tables: dict[str, dict[str, dict[str, object]]] = {
            name: {} for name in fields
        }
        self._targets = [
            Target(name, name, tuple(of_model)) for name, of_model in fields.items()
        ]

    def targets(self) -> list[Target]:
        """Return the models with their fields."""
        return self._targets

    def table(self, target: str) -> dict[str, dict[str, object]]:
        """Return the records of a target by id, with the marks."""
        return self.tables[find_target(self._targets, target).name]

    def rows(self, target: str) -> list[dict[str, object]]:
        """Return the records that are not archived, without the marks."""
        return [
            without_marks(row)
            for row in self.table(target).values()
            if not row["_archived"]
        ]

    def read(self, target: str, after: str, limit: int) -> list[HostRecord]:
        """Return the next records, ordered by id."""
        table = self.table(target)
        numbers = sorted(
            int(record) for record in table if int(record) > int(after or 0)
        )
        return [
            HostRecord(str(number), without_marks(table[str(number)]))
            for number in numbers[:limit]
        ]

    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Mapping[str, object]],
        run: str,
        *,
        dry_run: bool = False,
    ) -> list[Written]:
        """Create or update a record for each row."""
        results = []
        for row in rows:
            result = self._compare(target, keys, row)
            if not dry_run:
                self._write(target, keys, row, run=run, outcome=result.outcome)
                result = replace(result, changes={})
            results.append(result)
        return results

    def archive(self, target: str, line: str, run: str) -> int:
        """Archive what the line brought and the run has not seen."""
        missing = [
            row
            for row in self.table(target).values()
            if row["_line"] == line and row["_run"] != run and not row["_archived"]
        ]
        for row in missing:
            row["_archived"] = True
        return len(missing)

    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> dict[object, object]:
        """Return the ids of the records that alone have a value."""
        find_field(find_target(self._targets, target), field)
        ids: dict[object, list[int]] = {}
        for record, row in self.table(target).items():
            ids.setdefault(row.get(field), []).append(int(record))
        return {
            value: ids[value][0] for value in values if len(ids.get(value, ())) == 1
        }

    def _write(
        self,
        target: str,
        keys: Sequence[str],
        row: Mapping[str, object],
        *,
        run: str,
        outcome: WriteOutcome,
    ) -> None:
        line = self._runs.runs[run].line
        if outcome is WriteOutcome.REFUSED:
            return
        table = self.table(target)
        newest = max((int(record) for record in table), default=0)
        record = self._record_of(target, keys, row) or str(newest + 1)
        marks = {"_run": run, "_line": line, "_archived": False}
        table.setdefault(record, {}).update(row, **marks)

    def _record_of(
        self, target: str, keys: Sequence[str], row: Mapping[str, object]
    ) -> str:
        """Return the id of the record with the keys of a row, or "" for none."""
        wanted = [row.get(key) for key in keys]
        for record, stored in self.table(target).items():
            if [stored.get(key) for key in keys] == wanted:
                return record
        return ""

    def _compare(
        self, target: str, keys: Sequence[str], row: Mapping[str, object]
    ) -> Written:
        model = find_target(self._targets, target)
        stored = self.table(target).get(self._record_of(target, keys, row))
        refusal = refused_row(model, keys, row, is_new=stored is None)
        if refusal is not None:
            return refusal
        is_archived = stored is not None and bool(stored["_archived"])
        return written_row(stored, row, is_archived=is_archived)


def without_marks(row: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a record without the marks of MemoryRecords."""
    return {name: value for name, value in row.items() if not name.startswith("_")}


class MemorySync:
    """Runs and records in memory, in one database."""

    def __init__(
        self,
        configurations: Configurations,
        fields: Mapping[str, Sequence[HostField]],
        clock: Clock,
    ) -> None:
        states = MemoryStateRows()
        self.rows = MemoryRunRows(configurations)
        self.records = MemoryRecords(fields, self.rows)
        self.database = MemoryDatabase(clock, self.rows, self.records, states)
        self.runs = Runs(self.rows, states, self.database, configurations)
