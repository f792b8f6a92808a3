"""In-memory stand-ins for a host's own records, and for the runs that synchronize them."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

from outkey.core.errors import ConfigError, LineBusy, RunStopped
from outkey.core.sync.run import (
    FieldKind,
    HostField,
    HostRecord,
    Outcome,
    Quarantined,
    Run,
    RunState,
    Target,
    Written,
)
from outkey.ports import Clock

_LEASE_SECONDS = 60.0
_TYPES: Mapping[FieldKind, type] = {
    FieldKind.TEXT: str,
    FieldKind.CHOICE: str,
    FieldKind.NUMBER: int,
    FieldKind.DECIMAL: Decimal,
    FieldKind.DATE: date,
    FieldKind.DATETIME: datetime,
    FieldKind.BOOLEAN: bool,
}


class MemoryRuns:
    """Runs in a dictionary; what is done on a page is undone if the page fails."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.kept: dict[str, Run] = {}
        self._seen_at: dict[str, float] = {}
        self._left_out: dict[str, list[Quarantined]] = {}
        self._lock = threading.Lock()
        self.records: MemoryRecords | None = None

    def begin(self, line: str, actor: str, *, dry_run: bool) -> Run:
        """Begin a run, or go on with one that was killed or failed."""
        with self._lock:
            return self._begun(line, actor, dry_run=dry_run)

    def _begun(self, line: str, actor: str, *, dry_run: bool) -> Run:
        now, before = self._clock.now(), next(iter(self.newest(1, line)), None)
        if before is not None and before.state is RunState.RUNNING:
            if self._seen_at[before.id] + _LEASE_SECONDS >= now:
                raise LineBusy
            before = self._put(replace(before, state=RunState.FAILED, cause="killed", ended_at=now))
        if before is not None and _goes_on(before) and not dry_run:
            return self._put(_resumed(before, actor))
        done = [r for r in self.newest(len(self.kept), line) if r.state is RunState.DONE]
        since = next((r.cursor or r.since for r in done if not r.dry_run), "")
        made = Run(str(len(self.kept) + 1), line, actor, now, dry_run=dry_run, since=since)
        return self._put(made)

    @contextmanager
    def page(self) -> Iterator[None]:
        """Keep all that is written inside, records and checkpoint, or nothing of it."""
        mine = self.kept.copy(), deepcopy(self._left_out)
        theirs = deepcopy(self.records.tables) if self.records else {}
        try:
            yield
        except BaseException:
            self.kept, self._left_out = mine
            if self.records:
                self.records.tables = theirs
            raise

    def save(self, run: Run) -> Run:
        """Keep a checkpoint; raise RunStopped where somebody cancelled it or took it over."""
        kept = self.kept[run.id]
        if kept.state is RunState.CANCELLED:
            raise RunStopped(reason="cancelled")
        if kept.generation != run.generation or kept.state is not RunState.RUNNING:
            raise RunStopped(reason="taken_over")
        return self._put(replace(run, generation=run.generation + 1))

    def quarantine(self, run: Run, items: Sequence[Quarantined]) -> None:
        """Keep what was left out."""
        self._left_out.setdefault(run.id, []).extend(items)

    def finish(self, run: Run) -> None:
        """Keep how a run ended; a cancelled one has its end already."""
        if self.kept[run.id].state is not RunState.CANCELLED or run.state is not RunState.CANCELLED:
            self.save(run)

    def newest(self, limit: int, line: str = "") -> list[Run]:
        """Return runs, newest first."""
        found = [run for run in self.kept.values() if line in ("", run.line)]
        return sorted(found, key=lambda run: int(run.id), reverse=True)[:limit]

    def get(self, run: str) -> Run:
        """Return one run, or raise ConfigError."""
        if run not in self.kept:
            raise ConfigError("there is no such run", field="run")
        return self.kept[run]

    def left_out(self, run: str, limit: int) -> list[Quarantined]:
        """Return what a run left out."""
        return sorted(self._left_out.get(self.get(run).id, []), key=lambda q: q.number)[:limit]

    def cancel(self, run: str) -> None:
        """Let a run stop at its next page."""
        found = self.get(run)
        if found.state is RunState.RUNNING:
            ended = replace(found, state=RunState.CANCELLED, ended_at=self._clock.now())
            self.kept[run] = ended

    def _put(self, run: Run) -> Run:
        self.kept[run.id] = run
        self._seen_at[run.id] = self._clock.now()
        return run


def _goes_on(run: Run) -> bool:
    failed = run.state is RunState.FAILED and not run.dry_run
    return failed and (bool(run.position) or run.cause == "killed")


def _resumed(run: Run, actor: str) -> Run:
    again = replace(run, actor=actor, state=RunState.RUNNING, cause="", ended_at=None)
    return replace(again, generation=run.generation + 1)


class MemoryRecords:
    """Records in dictionaries, by target and id; `_run` and `_archived` stand among the values."""

    def __init__(self, fields: Mapping[str, Sequence[HostField]], runs: MemoryRuns) -> None:
        self._fields, self._runs = fields, runs
        self.tables: dict[str, dict[str, dict[str, object]]] = {name: {} for name in fields}
        runs.records = self

    def targets(self) -> list[Target]:
        """Return the models that may be synchronized."""
        return [Target(name, name) for name in self._fields]

    def describe(self, target: str) -> Sequence[HostField]:
        """Return the fields of a model, or raise ConfigError."""
        if target not in self._fields:
            raise ConfigError("this model is not open to be synchronized", field="target")
        return self._fields[target]

    def rows(self, target: str) -> list[dict[str, object]]:
        """Return what is kept, without what was archived and without our own marks."""
        return [_own(row) for row in self._table(target).values() if not row["_archived"]]

    def read(self, target: str, after: str, limit: int) -> list[HostRecord]:
        """Return some records behind one, in the order of their ids; the first ones after ""."""
        table = self._table(target)
        numbers = sorted(int(one) for one in table if int(one) > int(after or 0))
        return [HostRecord(str(n), _own(table[str(n)])) for n in numbers[:limit]]

    def upsert(
        self, target: str, keys: Sequence[str], rows: Sequence[Mapping[str, object]], run: str
    ) -> list[Written]:
        """Create or update a record for each row; the same again is unchanged."""
        line, written = self._runs.get(run).line, []
        for row in rows:
            ((outcome, _),) = self.compare(target, keys, [row])
            written.append(outcome)
            if outcome.outcome is not Outcome.REFUSED:
                place = self._place(target, keys, row) or self._next_id(target)
                kept = self.tables[target].setdefault(place, {})
                kept.update(row, _run=run, _line=line, _archived=False)
        return written

    def compare(
        self, target: str, keys: Sequence[str], rows: Sequence[Mapping[str, object]]
    ) -> list[tuple[Written, Mapping[str, tuple[object, object]]]]:
        """Tell what upsert would do, with each field's value before and after; writes nothing."""
        return [self._compared(target, keys, row) for row in rows]

    def archive(self, target: str, line: str, run: str) -> int:
        """Archive what this line has brought and this run has not seen; return how many."""
        gone = [
            row
            for row in self._table(target).values()
            if row["_line"] == line and row["_run"] != run and not row["_archived"]
        ]
        for row in gone:
            row["_archived"] = True
        return len(gone)

    def find(self, target: str, field: str, values: Sequence[object]) -> dict[object, object]:
        """Return the ids of the records that have these values in a field, by value."""
        if field not in {known.name for known in self.describe(target)}:
            raise ConfigError("the model has no such field to synchronize", field=field)
        found: dict[object, list[int]] = {}
        for place, row in self._table(target).items():
            found.setdefault(row.get(field), []).append(int(place))
        return {value: found[value][0] for value in values if len(found.get(value, ())) == 1}

    def _table(self, target: str) -> dict[str, dict[str, object]]:
        self.describe(target)
        return self.tables[target]

    def _next_id(self, target: str) -> str:
        return str(max(map(int, self.tables[target]), default=0) + 1)

    def _place(self, target: str, keys: Sequence[str], row: Mapping[str, object]) -> str:
        wanted = [row[key] for key in keys]
        for place, kept in self.tables[target].items():
            if [kept.get(key) for key in keys] == wanted:
                return place
        return ""

    def _compared(
        self, target: str, keys: Sequence[str], row: Mapping[str, object]
    ) -> tuple[Written, Mapping[str, tuple[object, object]]]:
        fields = {known.name: known for known in self.describe(target)}
        if not {*keys, *row} <= {*fields} or not {*keys} <= {*row}:
            raise ConfigError("the model has no such field to synchronize", field="keys")
        before = self.tables[target].get(self._place(target, keys, row))
        was = before or {}
        for name, known in fields.items():
            looked_at = name in row or before is None
            if looked_at and (reason := _fault(known, row.get(name), is_key=name in keys)):
                return Written(Outcome.REFUSED, name, reason), {}
        changes = {n: (was.get(n), v) for n, v in row.items() if was.get(n) != v}
        if before is None:
            return Written(Outcome.CREATED), changes
        same = not changes and not before["_archived"]
        return Written(Outcome.UNCHANGED if same else Outcome.UPDATED), changes


def _own(row: Mapping[str, object]) -> dict[str, object]:
    """Return a record without our own marks."""
    return {name: value for name, value in row.items() if not name.startswith("_")}


def _fault(known: HostField, value: object, *, is_key: bool) -> str:
    """Return what is wrong with a value, in a word."""
    if value in (None, ""):
        return "missing" if known.required or is_key else ""
    if not isinstance(value, _TYPES.get(known.kind, object)):
        return "wrong_type"
    return "too_long" if known.longest and len(str(value)) > known.longest else ""
