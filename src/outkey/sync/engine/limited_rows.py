"""The sync lines and runs that a limited user or token sees, as rows of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import unknown_run
from outkey.sending.core.configuration.owners import Reach, out_of_reach
from outkey.sending.engine.limited_rows import LimitedConfigurations
from outkey.sync.ports.sync import RunOrder, RunQuery, Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from outkey.sync.core.line.history import LineVersion
    from outkey.sync.core.line.rows import LineRow
    from outkey.sync.core.run.run import RejectedRecord, Run
    from outkey.sync.ports.sync import LineRows, RunRows

FEW_NAMES = 50  # of lines, whose configurations are looked up by their names


def limited_storage(storage: Storage, reach: Reach) -> Storage:
    """Return the rows of configurations and lines within a reach."""
    configurations = LimitedConfigurations(storage.configurations, reach)
    return replace(
        storage,
        configurations=configurations,
        lines=LimitedLines(storage.lines, configurations),
    )


class LimitedLines:
    """The lines of the configurations within a reach."""

    def __init__(self, rows: LineRows, configurations: LimitedConfigurations) -> None:
        self._rows = rows
        self._configurations = configurations

    def find(self, names: Collection[str] | None = None) -> list[LineRow]:
        rows = self._rows.find(names)
        owners = {row.configuration for row in rows}
        if len(owners) <= FEW_NAMES:
            found = self._configurations.find(names=owners) if owners else ()
            visible = {row.name for row in found}
        else:
            visible = self._configurations.names()
        return [row for row in rows if row.configuration in visible]

    def swap(self, before: LineRow | None, after: LineRow | None) -> bool:
        owners = {row.configuration for row in (before, after) if row is not None}
        if len(self._configurations.find(names=owners)) < len(owners):
            raise out_of_reach()
        return self._rows.swap(before, after)

    def versions(self, name: str, limit: int) -> list[LineVersion]:
        return self._rows.versions(name, limit) if self.find([name]) else []

    def add_version(self, version: LineVersion, oldest: int) -> bool:
        return bool(self.find([version.line])) and self._rows.add_version(
            version, oldest
        )


class LimitedRuns:
    """The runs of the lines within a reach."""

    def __init__(self, rows: RunRows, lines: LineRows) -> None:
        self._rows = rows
        self._lines = lines

    def find(self, query: RunQuery, *, lock: bool = False) -> Sequence[Run]:
        if query.line:
            is_visible = bool(self._lines.find([query.line]))
            return self._rows.find(query, lock=lock) if is_visible else ()
        if query.id:
            runs = self._rows.find(query, lock=lock)
            names = self._visible({run.line for run in runs})
            return [run for run in runs if run.line in names]
        # Line by line: the rows of all lines could be those of others up to the limit.
        found = [
            run
            for line in self._lines.find()
            for run in self._rows.find(replace(query, line=line.name), lock=lock)
        ]
        order = _ORDERS[query.order]
        found.sort(key=order, reverse=query.order is RunOrder.NEWEST)
        return found[: query.limit]

    def swap(self, before: Run | None, after: Run | None) -> Run | None:
        names = {run.line for run in (before, after) if run is not None}
        if self._visible(names) != names:
            raise out_of_reach()
        return self._rows.swap(before, after)

    def put_rejected(
        self,
        run: str,
        first: int,
        records: Sequence[RejectedRecord],
        removed: Collection[str] = (),
    ) -> None:
        self._refuse_other(run)
        self._rows.put_rejected(run, first, records, removed)

    def rejected(
        self,
        run: str,
        limit: int,
        *,
        skip: int = 0,
        keys: Collection[str] | None = None,
    ) -> Sequence[RejectedRecord]:
        self._refuse_other(run)
        return self._rows.rejected(run, limit, skip=skip, keys=keys)

    def _visible(self, names: set[str]) -> set[str]:
        return {line.name for line in self._lines.find(names)} if names else set()

    def _refuse_other(self, run: str) -> None:
        if not run or not self.find(RunQuery(id=run)):
            raise unknown_run()


_ORDERS: dict[RunOrder, Callable[[Run], float]] = {
    RunOrder.NEWEST: lambda run: int(run.id),
    RunOrder.OLDEST: lambda run: int(run.id),
    RunOrder.DUE: lambda run: run.until,
}
