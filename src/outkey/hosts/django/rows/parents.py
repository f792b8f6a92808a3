"""The parents of lines that request a list for each, in a table beside the ledger."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import RowUnreadable, unknown_line
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.stored_values import (
    is_odd,
    read_table,
    read_text,
    read_time,
)
from outkey.foundation.core.text import Text
from outkey.hosts.django.models import LineParent
from outkey.hosts.django.rows.raw_sql import (
    execute,
    require_written,
    wrap_errors_of_methods,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from outkey.sync.core.run.parents import ParentState

GROUP = 500  # rows of one statement
COLUMNS = ("key", "turn", "since", "full_at", "mark", "checkpoint")
# Fixed SQL: a run writes the state of a parent with each page.
LINE = "SELECT id FROM outkey_syncline WHERE name = %s"
INSERT = f"INSERT INTO outkey_lineparent (line_id, {', '.join(COLUMNS)}) VALUES "  # noqa: S608 - constants
ROW = f"({', '.join(['%s'] * (len(COLUMNS) + 1))})"
ASSIGNMENTS = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:])
OR_UPDATE = f" ON CONFLICT (line_id, key) DO UPDATE SET {ASSIGNMENTS}"


@wrap_errors_of_methods
class DjangoParentRows:
    """One row for each parent of a line; they belong to the line."""

    def read(self, line: str, keys: Collection[str]) -> dict[str, ParentState]:
        rows = LineParent.objects.filter(line__name=line).values(*COLUMNS)
        states = [
            _state_of(row)
            for group in groups_of(list(keys), GROUP)
            for row in rows.filter(key__in=group)
        ]
        return {state.key: state for state in states}

    def put(self, line: str, states: Sequence[ParentState]) -> None:
        if not states:
            return
        found = execute(LINE, (line,)).fetchone()
        if found is None:
            raise unknown_line()
        for group in groups_of(states, GROUP):
            values = [(*found, *_values_of(state)) for state in group]
            statement = INSERT + ", ".join([ROW] * len(group)) + OR_UPDATE
            require_written(execute(statement, [*chain(*values)]), len(group))

    def delete(
        self,
        line: str,
        keys: Collection[str] | None = None,
        *,
        but_of: float | None = None,
    ) -> int:
        rows = LineParent.objects.filter(line__name=line)
        if but_of is not None:
            rows = rows.exclude(full_at=but_of)
        if keys is None:
            return rows.delete()[0]
        groups = groups_of(list(keys), GROUP)
        return sum(rows.filter(key__in=group).delete()[0] for group in groups)


def _values_of(state: ParentState) -> tuple[object, ...]:
    """Return the values of the columns."""
    return (
        state.key,
        state.turn,
        state.since,
        state.full_at,
        state.mark,
        json.dumps(dict(state.checkpoint)),
    )


def _state_of(row: Mapping[str, object]) -> ParentState:
    """Return a state as core has it; a run must not guess what it has requested."""
    from outkey.sync.core.run.parents import ParentState

    state = ParentState(
        key=read_text(row["key"]),
        turn=read_text(row["turn"]),
        since=read_text(row["since"]),
        full_at=read_time(row["full_at"]),
        mark=read_text(row["mark"]),
        checkpoint=read_table(row["checkpoint"]),
    )
    values = (state.key, state.turn, state.since, state.full_at, state.mark)
    if is_odd(*values, state.checkpoint):
        raise RowUnreadable(Text("what is known of a parent cannot be read"))
    return state
