"""In-memory tables of runs and of a host's own records, for tests."""

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import SecretUnreadable, UnknownConfiguration
from outkey.foundation.ports.clock import Clock
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import (
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
from outkey.sync.core.pairs.pairs import PairAgreement
from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.core.run.parents import ParentState
from outkey.sync.core.run.run import RejectedRecord, Run, RunState
from outkey.sync.core.run.states import is_over
from outkey.sync.engine.runs.runs import Runs
from outkey.sync.ports.sync import Key, LineSource, PairQuery, RunOrder, RunQuery
from outkey.testing.fakes.basic import MemoryDatabase


class MemoryRunRows:
    """Runs and rejected records in dictionaries by the id of the run."""

    def __init__(self, configurations: LineSource) -> None:
        self.configurations = configurations
        self.runs: dict[str, Run] = {}
        self._rejected: dict[str, list[RejectedRecord]] = {}
        self._lock = threading.Lock()

    def find(self, query: RunQuery, *, lock: bool = False) -> list[Run]:
        """Return the runs of a query."""
        runs = [
            run
            for run in self.runs.values()
            if is_in_query(run, query) and self._is_of(run, query.configuration)
        ]
        if query.order is RunOrder.DUE:
            runs.sort(key=lambda run: run.until)
        else:
            is_newest_first = query.order is RunOrder.NEWEST
            runs.sort(key=lambda run: int(run.id), reverse=is_newest_first)
        return runs[: query.limit]

    def _is_of(self, run: Run, configuration: str) -> bool:
        """Whether a run is of a line of this configuration; "" is any."""
        if not configuration:
            return True
        with suppress(SecretUnreadable, UnknownConfiguration):  # changed, or deleted
            return self.configurations.line(run.line).configuration == configuration
        return False

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
                with suppress(SecretUnreadable):  # a changed line has runs too
                    self.configurations.line(after.line)  # it must exist
                newest = max((int(run_id) for run_id in self.runs), default=0)
                after = replace(after, id=str(newest + 1))
            self.runs[after.id] = after
            return after

    def put_rejected(
        self,
        run: str,
        first: int,
        records: Sequence[RejectedRecord],
        removed: Collection[str] = (),
    ) -> None:
        """Replace the rejected records of a run from a number on."""
        stored = self._rejected.get(run, [])
        earlier = [
            record
            for record in stored
            if record.number < first and record.key not in removed
        ]
        self._rejected[run] = [*earlier, *records]

    def rejected(
        self,
        run: str,
        limit: int,
        *,
        skip: int = 0,
        keys: Collection[str] | None = None,
    ) -> list[RejectedRecord]:
        """Return the first rejected records of a run."""
        records = [
            record
            for record in self._rejected.get(run, [])
            if keys is None or record.key in keys
        ]
        records.sort(key=lambda record: record.number)
        return records[skip : skip + limit]

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
        and query.received in {None, run.is_received}
        and query.digest in {"", run.digest}
        and (run.attempt > 0 or not query.requested)
        and (
            query.due_by is None
            or run.state is not RunState.WAITING
            or is_over(run, query.due_by)
        )
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
        self._newest = 0
        self.tables: dict[str, dict[str, dict[str, object]]] = {
            name: {} for name in fields
        }
        self.saved = 0  # how many rows were to be saved by code of the host
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
        saves: bool = False,
    ) -> list[Written]:
        """Create or update a record for each row."""
        if saves and not dry_run:
            self.saved += len(rows)
        results = []
        for row in rows:
            result = self._compare(target, keys, row)
            if not dry_run:
                self._write(target, keys, row, run=run, outcome=result.outcome)
                result = replace(result, changes={})
            results.append(result)
        return results

    def unseen(self, target: str, line: str, run: str) -> Unseen:
        """Return how many records the line brought, and the run has not seen."""
        brought = self._brought(target, line)
        missing = [row for row in brought.values() if row["_run"] != run]
        return Unseen(len(missing), len(brought))

    def retire(self, target: str, line: str, run: str, gone: Gone) -> int:
        """Archive or delete what the line brought and the run has not seen."""
        missing = {
            record: row
            for record, row in self._brought(target, line).items()
            if row["_run"] != run
        }
        for record, row in missing.items():
            row["_archived"] = True
            if gone is Gone.DELETE:
                del self.table(target)[record]
        return len(missing)

    def delete_children(
        self,
        target: str,
        parent: Sequence[str],
        keys: Sequence[str],
        kept: Mapping[Key, Collection[Key]],
    ) -> int:
        """Delete the children of these parents whose keys are not in `kept`."""
        table = self.table(target)
        missing = [
            record
            for record, row in table.items()
            if (of_parent := kept.get(tuple(row.get(name) for name in parent)))
            is not None
            and tuple(row.get(name) for name in keys) not in of_parent
        ]
        for record in missing:
            del table[record]
        return len(missing)

    def matching(
        self, target: str, keys: Sequence[str], values: Collection[Key]
    ) -> dict[Key, HostRecord]:
        """Return the records with these values of the key fields."""
        found = {
            tuple(row.get(key) for key in keys): HostRecord(record, without_marks(row))
            for record, row in self.table(target).items()
        }
        return {key: found[key] for key in values if key in found}

    def by_id(self, target: str, ids: Collection[str]) -> dict[str, HostRecord]:
        """Return the records with these ids."""
        table = self.table(target)
        return {
            record: HostRecord(record, without_marks(table[record]))
            for record in ids
            if record in table
        }

    def assign(
        self,
        target: str,
        values: Mapping[str, Mapping[str, object]],
        run: str,
        *,
        saves: bool = False,
    ) -> set[str]:
        """Write values of some fields into records."""
        if saves:
            self.saved += len(values)
        line = self._runs.runs[run].line
        model = find_target(self._targets, target)
        table = self.table(target)
        assigned = set()
        for record, row in values.items():
            refusal = refused_row(model, tuple(row), row, is_new=False)
            if record in table and refusal is None:
                table[record].update(row, _run=run, _line=line)
                assigned.add(record)
        return assigned

    def missing(
        self, target: str, line: str, run: str, after: str, limit: int
    ) -> list[HostRecord]:
        """Return the next of what the line brought and the run has not seen."""
        unseen = [
            HostRecord(record, without_marks(row))
            for record, row in self._brought(target, line).items()
            if row["_run"] != run and int(record) > int(after or 0)
        ]
        return sorted(unseen, key=lambda record: int(record.id))[:limit]

    def present(self, target: str, ids: Sequence[str]) -> set[str]:
        """Return those of these ids whose records exist and are not archived."""
        table = self.table(target)
        return {
            record
            for record in ids
            if record in table and not table[record]["_archived"]
        }

    def _brought(self, target: str, line: str) -> dict[str, dict[str, object]]:
        return {
            record: row
            for record, row in self.table(target).items()
            if row["_line"] == line and not row["_archived"]
        }

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
        # As databases do, never an id that a deleted record had.
        self._newest = max([self._newest, *map(int, table)])
        record = self._record_of(target, keys, row) or str(self._newest + 1)
        self._newest = max(self._newest, int(record))
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


class MemoryLedgerRows:
    """The entries of pushes in a dictionary, by line and record."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], LedgerEntry] = {}

    def read(self, line: str, records: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the entries of these records, by record."""
        return {
            record: self.entries[line, record]
            for record in records
            if (line, record) in self.entries
        }

    def put(self, line: str, entries: Sequence[LedgerEntry]) -> None:
        """Insert or replace entries."""
        self.entries.update({(line, entry.record): entry for entry in entries})

    def after(self, line: str, record: str, limit: int) -> list[LedgerEntry]:
        """Return the next entries after a record, by record."""
        entries = [
            entry
            for (of_line, known), entry in self.entries.items()
            if of_line == line and known > record
        ]
        return sorted(entries, key=lambda entry: entry.record)[:limit]

    def by_remote_id(
        self, line: str, remote_ids: Collection[str]
    ) -> dict[str, LedgerEntry]:
        """Return the entries with these IDs of the API, by ID."""
        return {
            entry.remote_id: entry
            for (of_line, _), entry in self.entries.items()
            if of_line == line and entry.remote_id and entry.remote_id in remote_ids
        }

    def announced(self, line: str, record: str, limit: int) -> list[LedgerEntry]:
        """Return the next entries after a record whose create has no response yet."""
        entries = self.after(line, record, len(self.entries))
        return [entry for entry in entries if entry.key][:limit]


class MemoryPairRows:
    """The agreements of pairs in a dictionary, by line and record."""

    def __init__(self) -> None:
        self.agreements: dict[tuple[str, str], PairAgreement] = {}

    def find(self, query: PairQuery) -> list[PairAgreement]:
        """Return the agreements of a query, by record."""
        found = [
            known
            for (line, record), known in self.agreements.items()
            if line == query.line
            and (query.records is None or record in query.records)
            and (query.keys is None or known.key in query.keys)
            and (known.conflict is not None or not query.has_conflict)
            and record > query.after
        ]
        return sorted(found, key=lambda known: known.record)[: query.limit]

    def put(self, line: str, agreements: Sequence[PairAgreement]) -> None:
        """Insert or replace agreements."""
        self.agreements.update({(line, known.record): known for known in agreements})

    def delete(self, line: str, records: Collection[str]) -> None:
        """Delete the agreements of these records."""
        for record in records:
            self.agreements.pop((line, record), None)

    def conflicts(self, line: str, after: str, limit: int) -> list[PairAgreement]:
        """Return the next ones with a conflict, for tests."""
        return self.find(PairQuery(line, has_conflict=True, after=after, limit=limit))


class MemoryParentRows:
    """The states of parents in a dictionary, by line and key."""

    def __init__(self) -> None:
        self.states: dict[tuple[str, str], ParentState] = {}

    def read(self, line: str, keys: Collection[str]) -> dict[str, ParentState]:
        """Return the states of these parents, by key."""
        return {
            key: self.states[line, key] for key in keys if (line, key) in self.states
        }

    def put(self, line: str, states: Sequence[ParentState]) -> None:
        """Insert or replace states."""
        self.states.update({(line, state.key): state for state in states})

    def delete(
        self,
        line: str,
        keys: Collection[str] | None = None,
        *,
        but_of: float | None = None,
    ) -> int:
        """Delete the states of these parents, or of all but some."""
        deleted = [
            (of_line, key)
            for (of_line, key), state in self.states.items()
            if of_line == line
            and (keys is None or key in keys)
            and (but_of is None or state.full_at != but_of)
        ]
        for place in deleted:
            del self.states[place]
        return len(deleted)


class MemorySync:
    """Runs and records in memory, in one database."""

    def __init__(
        self,
        configurations: LineSource,
        fields: Mapping[str, Sequence[HostField]],
        clock: Clock,
    ) -> None:
        self.states = MemoryStateRows()
        self.rows = MemoryRunRows(configurations)
        self.records = MemoryRecords(fields, self.rows)
        self.ledger = MemoryLedgerRows()
        self.pairs = MemoryPairRows()
        self.parents = MemoryParentRows()
        tables = (
            self.rows,
            self.records,
            self.ledger,
            self.pairs,
            self.parents,
            self.states,
        )
        self.database = MemoryDatabase(clock, *tables)
        self.runs = Runs(self.rows, self.states, self.database, configurations)
