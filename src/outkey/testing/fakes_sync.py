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
from outkey.ports.sending import Clock

_LEASE_SECONDS = 120.0  # a minute, and as long as a request may take
_OPEN = (RunState.WAITING, RunState.RUNNING)
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
        self._planned: float | None = None
        self.records: MemoryRecords | None = None

    def begin(self, line: str, actor: str, *, dry_run: bool, asked: str = "") -> Run:
        with self._lock:
            return self._begun(line, actor, asked, dry_run=dry_run)

    def _begun(self, line: str, actor: str, asked: str, *, dry_run: bool) -> Run:
        self._end_killed(line)
        found = self._waiting(line, dry_run=dry_run) or self._unfinished(
            line, dry_run=dry_run
        )
        if asked and (found is None or found.id != asked):
            raise RunStopped(reason="taken_over")
        run = found or self._new(line, dry_run=dry_run)
        if not run.position:
            self._left_out.pop(run.id, None)
        begun = replace(
            run, actor=actor, state=RunState.RUNNING, generation=run.generation + 1
        )
        return self._put(replace(begun, cause="", ended_at=None, due_at=None))

    def _end_killed(self, line: str, *, dry_run: bool | None = None) -> None:
        now = self._clock.now()
        for run in self.newest(1, line, RunState.RUNNING):
            if dry_run not in (None, run.dry_run):
                continue
            if self._seen_at[run.id] + _LEASE_SECONDS >= now:
                raise LineBusy
            attempt = run.attempt and run.attempt + 1
            ended = replace(run, state=RunState.FAILED, cause="killed", ended_at=now)
            self._put(replace(ended, attempt=attempt))

    def _waiting(self, line: str, *, dry_run: bool) -> Run | None:
        found = self.newest(len(self.kept), line, RunState.WAITING)
        return next((run for run in found if run.dry_run is dry_run), None)

    def _unfinished(self, line: str, *, dry_run: bool) -> Run | None:
        real = [run for run in self.newest(len(self.kept), line) if not run.dry_run]
        failed = not dry_run and bool(real) and real[0].state is RunState.FAILED
        goes_on = failed and (real[0].cause == "killed" or bool(real[0].position))
        return real[0] if goes_on else None

    def _new(self, line: str, *, dry_run: bool) -> Run:
        done = self.newest(len(self.kept), line, RunState.DONE)
        since = next((run.cursor or run.since for run in done if not run.dry_run), "")
        number, now = str(len(self.kept) + 1), self._clock.now()
        return Run(number, line, "", now, dry_run=dry_run, since=since)

    def request(
        self, line: str, actor: str, *, dry_run: bool = False, sooner: bool = True
    ) -> Run:
        with self._lock:
            self._end_killed(line, dry_run=dry_run)
            now, waiting = self._clock.now(), self._waiting(line, dry_run=dry_run)
            if waiting is not None:
                is_later = sooner and (waiting.due_at or 0) > now
                return self._put(replace(waiting, due_at=now)) if is_later else waiting
            found = self._unfinished(line, dry_run=dry_run) or self._new(
                line, dry_run=dry_run
            )
            return self._wait(replace(found, actor=actor), 0.0, 1)

    def wait_again(self, run: Run, seconds: float, attempt: int) -> Run:
        failed = self.kept[run.id]
        if failed.state is not RunState.FAILED or self._waiting(
            run.line, dry_run=run.dry_run
        ):
            raise LineBusy
        return self._wait(failed, seconds, attempt)

    def _wait(self, run: Run, seconds: float, attempt: int) -> Run:
        due_at, generation = self._clock.now() + seconds, run.generation + 1
        waits = replace(run, state=RunState.WAITING, due_at=due_at, attempt=attempt)
        return self._put(replace(waits, generation=generation))

    def due(self, run: str = "") -> list[Run]:
        ends = {
            one.id: (
                self._seen_at[one.id] + _LEASE_SECONDS
                if one.due_at is None
                else one.due_at
            )
            for one in self.kept.values()
            if one.attempt and one.state in _OPEN
        }
        due = [
            one
            for one, end in ends.items()
            if end <= self._clock.now() and run in ("", one)
        ]
        return [self.kept[one] for one in sorted(due, key=lambda one: ends[one])]

    def take_schedules(self) -> tuple[float, float]:
        now = self._clock.now()
        since = self._planned or now
        self._planned = max(since, now)
        return since, now

    @contextmanager
    def page(self) -> Iterator[None]:
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
        kept = self.kept[run.id]
        if kept.state is RunState.CANCELLED:
            raise RunStopped(reason="cancelled")
        if kept.generation != run.generation or kept.state not in _OPEN:
            raise RunStopped(reason="taken_over")
        return self._put(replace(run, generation=run.generation + 1))

    def quarantine(self, run: Run, items: Sequence[Quarantined]) -> None:
        self._left_out.setdefault(run.id, []).extend(items)

    def finish(self, run: Run) -> None:
        self.save(run)

    def newest(self, limit: int, line: str = "", state: str = "") -> list[Run]:
        chosen = (run for run in self.kept.values() if line in ("", run.line))
        found = [run for run in chosen if state in ("", run.state)]
        return sorted(found, key=lambda run: int(run.id), reverse=True)[:limit]

    def get(self, run: str) -> Run:
        if run not in self.kept:
            raise ConfigError("there is no such run", field="run")
        return self.kept[run]

    def left_out(self, run: str, limit: int) -> list[Quarantined]:
        return sorted(self._left_out.get(self.get(run).id, []), key=lambda q: q.number)[
            :limit
        ]

    def cancel(self, run: str) -> None:
        found = self.get(run)
        if found.state in _OPEN:
            ended = replace(found, state=RunState.CANCELLED, ended_at=self._clock.now())
            self.kept[run] = ended

    def _put(self, run: Run) -> Run:
        self.kept[run.id] = run
        self._seen_at[run.id] = self._clock.now()
        return run


class MemoryRecords:
    """Records in dictionaries, by target and id; `_run` and `_archived` stand among the values."""

    def __init__(
        self, fields: Mapping[str, Sequence[HostField]], runs: MemoryRuns
    ) -> None:
        self._fields, self._runs = fields, runs
        self.tables: dict[str, dict[str, dict[str, object]]] = {
            name: {} for name in fields
        }
        runs.records = self

    def targets(self) -> list[Target]:
        return [Target(name, name) for name in self._fields]

    def describe(self, target: str) -> Sequence[HostField]:
        if target not in self._fields:
            raise ConfigError(
                "this model is not open to be synchronized", field="target"
            )
        return self._fields[target]

    def rows(self, target: str) -> list[dict[str, object]]:
        """Return what is kept, without what was archived and without our own marks."""
        return [
            _own(row) for row in self._table(target).values() if not row["_archived"]
        ]

    def read(self, target: str, after: str, limit: int) -> list[HostRecord]:
        table = self._table(target)
        numbers = sorted(int(one) for one in table if int(one) > int(after or 0))
        return [HostRecord(str(n), _own(table[str(n)])) for n in numbers[:limit]]

    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Mapping[str, object]],
        run: str,
    ) -> list[Written]:
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
        return [self._compared(target, keys, row) for row in rows]

    def archive(self, target: str, line: str, run: str) -> int:
        gone = [
            row
            for row in self._table(target).values()
            if row["_line"] == line and row["_run"] != run and not row["_archived"]
        ]
        for row in gone:
            row["_archived"] = True
        return len(gone)

    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> dict[object, object]:
        if field not in {known.name for known in self.describe(target)}:
            raise ConfigError("the model has no such field to synchronize", field=field)
        found: dict[object, list[int]] = {}
        for place, row in self._table(target).items():
            found.setdefault(row.get(field), []).append(int(place))
        return {
            value: found[value][0] for value in values if len(found.get(value, ())) == 1
        }

    def _table(self, target: str) -> dict[str, dict[str, object]]:
        self.describe(target)
        return self.tables[target]

    def _next_id(self, target: str) -> str:
        return str(max(map(int, self.tables[target]), default=0) + 1)

    def _place(
        self, target: str, keys: Sequence[str], row: Mapping[str, object]
    ) -> str:
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
            raise ConfigError(
                "the model has no such field to synchronize", field="keys"
            )
        before = self.tables[target].get(self._place(target, keys, row))
        was = before or {}
        for name, known in fields.items():
            looked_at = name in row or before is None
            if looked_at and (
                reason := _fault(known, row.get(name), is_key=name in keys)
            ):
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
