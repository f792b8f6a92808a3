"""The parents of a line: read some at a time, in one order, with their states.

A million parents are never in memory together.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import PARENT_VALUE, ForEach, ParentRecords, Sync
from outkey.sync.core.mapping.json_values import as_json
from outkey.sync.core.mapping.mapping import Unmapped, fill_path
from outkey.sync.core.mapping.records import HostRecord
from outkey.sync.core.mapping.transforms import RejectedValue
from outkey.sync.core.run.parents import ParentState, mark_of
from outkey.sync.engine.runs.line_plan import LinePlan, SyncPorts
from outkey.sync.engine.runs.run_in_progress import RunInProgress

GROUP = 500  # parents that are read at a time


class Verdict(StrEnum):
    """What a run does with a parent."""

    OPEN = "open"  # its list is requested
    DONE = "done"  # an earlier process of the run has completed its list
    SKIPPED = "skipped"  # its row has not changed


@dataclass(frozen=True, slots=True)
class Parent:
    """A parent with its fields, as JSON has them."""

    key: str  # the id of its record, or the value
    values: Mapping[str, object]

    def fault(self, plan: LinePlan) -> Unmapped | None:
        """Return why its list cannot be requested."""
        path = fill_path(plan.line.path, {"parent": self.values})
        return path if isinstance(path, Unmapped) else None


class Parents:
    """The parents of a line, in the order of their ids or of the list of values."""

    def __init__(self, ports: SyncPorts, for_each: ForEach) -> None:
        self._ports = ports
        self._for_each = for_each
        self._sync: Sync | None = None
        self._target = ""
        if self._for_each.line:
            self._sync = ports.configurations.line(self._for_each.line).sync
            self._target = self._sync.target if self._sync else ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that tell parents apart."""
        return self._sync.keys if self._sync is not None else (PARENT_VALUE,)

    def first(self) -> Parent | None:
        """Return the first parent; None if there is none."""
        return next(iter(next(self.after("", 1), ())), None)

    def after(self, key: str, limit: int = GROUP) -> Iterator[list[Parent]]:
        """Yield the parents after one, "" from the first on, some at a time."""
        values = self._for_each.values
        if values:
            begin = values.index(key) + 1 if key else 0
            for group in groups_of(values[begin:], limit):
                yield [Parent(value, {PARENT_VALUE: value}) for value in group]
            return
        while records := self._ports.records.read(self._target, key, limit):
            yield list(map(_parent_of, records))
            key = records[-1].id

    def find(self, key: str) -> str:
        """Return the key of a parent by its unique key, its id or its value.

        ConfigError if there is no such parent.
        """
        found = key if key in self._for_each.values else ""
        if self._sync is not None:
            found = self._id_of(key, self._sync)
        if not found:
            raise ConfigError(
                Text("there is no such parent"),
                hint=Text("Enter the key or the ID of its record, or its value."),
                field="parent",
            )
        return found

    def _id_of(self, key: str, sync: Sync) -> str:
        """Return the id of a record of the parents, or ""."""
        records = self._ports.records
        if len(sync.keys) == 1:
            values = [key, int(key)] if key.isdecimal() else [key]
            for value in values:
                with suppress(ConfigError):  # a field with values of another type
                    ids = records.find(self._target, sync.keys[0], [value])
                    if ids:
                        return str(next(iter(ids.values())))
        with suppress(ConfigError, ValueError):
            return next(iter(records.present(self._target, [key])), "")
        return ""

    def count(self, run: str) -> int:
        """Return how many there are about, for a run that shows how far it is."""
        if self._for_each.values:
            return len(self._for_each.values)
        line = self._for_each.line
        return self._ports.records.unseen(self._target, line, run).total


class ParentStates:
    """What is known of the lists of a line's parents, and what a run adds to it.

    A dry run and a retry add nothing: the next run is where it was.
    """

    def __init__(self, progress: RunInProgress, turn: str) -> None:
        self._progress = progress
        self._rows = progress.ports.parents
        self._turn = turn
        only = progress.sync.for_each.only
        self._skips = only is ParentRecords.CHANGED
        self._reset_value = progress.ports.runs.reset_value(progress.run.line)

    @property
    def are_stored(self) -> bool:
        """Whether the run adds to what is known."""
        return self._progress.run.is_ordinary

    def read(self, parents: Sequence[Parent]) -> dict[str, ParentState]:
        """Return the states of parents by key, new ones for those without."""
        line = self._progress.run.line
        known = self._rows.read(line, [parent.key for parent in parents])
        return {
            parent.key: known.get(parent.key, ParentState(parent.key))
            for parent in parents
        }

    def put(self, states: Sequence[ParentState]) -> None:
        """Store the states of parents, in the transaction of their pages."""
        if self.are_stored:
            self._rows.put(self._progress.run.line, states)

    def since(self, state: ParentState) -> str:
        """Return the incremental value that the run sends for a parent.

        After a reset of the line, of which nothing is known of any parent, it is where
        that was to.
        """
        run = self._progress.run
        if run.is_full:
            return ""
        is_known = state.full_at == run.full_at
        return state.since if is_known else self._reset_value

    def verdict(self, parent: Parent, state: ParentState) -> Verdict:
        """Return what the run does with a parent."""
        if self.are_stored and state.is_done_by(self._turn):
            return Verdict.DONE
        if state.turn == self._turn or not self._skips:
            return Verdict.OPEN
        return Verdict.SKIPPED if state.mark == self.mark(parent) else Verdict.OPEN

    def mark(self, parent: Parent) -> str:
        """Return what shows that the row of a parent or the line has changed."""
        return mark_of(self._progress.digest, parent.values)


def _parent_of(record: HostRecord) -> Parent:
    """Return a record of the host as a parent."""
    values = {name: _json_value(value) for name, value in record.values.items()}
    return Parent(record.id, values)


def _json_value(value: object) -> object:
    """Return a value as JSON has it: text in the place of what JSON does not have."""
    if is_odd(value):  # no request is sent with what only stands for a value
        return None
    try:
        converted = as_json(value)
    except RejectedValue:
        return None
    is_json = converted is None or isinstance(
        converted, str | int | float | dict | list
    )
    return converted if is_json else str(converted)
