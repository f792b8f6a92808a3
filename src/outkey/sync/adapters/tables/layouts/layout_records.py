"""Layouts of tables, as shared states that other processes change too."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from outkey.foundation.core.errors import ConfigError, RowUnreadable
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.state_shapes import read_each, read_one
from outkey.foundation.core.text import Text
from outkey.foundation.ports.database import StateRows
from outkey.sync.adapters.tables.layouts.layout import Layout
from outkey.sync.core.mapping.records import FieldKind, Target
from outkey.sync.core.mapping.targets import NAME, TableName


class LayoutRecords:
    """Reads and changes the stored layouts of tables."""

    def __init__(self, states: StateRows) -> None:
        self._states = states
        # With what is stored: another program could leave a generation as it is.
        self._layouts: dict[str, tuple[Mapping[str, Any], Layout]] = {}

    def targets(self) -> list[Target]:
        """Return the tables that outkey has made or adopted."""
        states = self._states.read(StateKind.TABLE)
        layouts = read_each(states, _read_layout)
        return [
            layout.target(name)
            for name, layout in layouts.items()
            if layout is not None and layout.is_made
        ]

    def read(self, name: TableName) -> Layout | None:
        """Return the layout of a table; None if outkey does not know it."""
        key = str(name)
        state = self._states.read(StateKind.TABLE, [key]).get(key)
        if state is None:
            return None
        facts, layout = self._layouts.get(key, ({}, None))
        if layout is None or facts != state.value:
            layout = _required_layout(key, state)
            self._layouts[key] = (state.value, layout)
        return layout

    def announce(self, name: TableName, layout: Layout) -> None:
        """Store that outkey is about to make a table, if nothing is stored yet."""
        self._states.swap(StateKind.TABLE, str(name), 0, layout.facts())

    def store(self, name: TableName, layout: Layout, recorded: Layout | None) -> None:
        """Store what a table has now, without columns that are not there yet."""
        columns = {
            column: kind
            for column, kind in layout.columns.items()
            if kind.kind is not FieldKind.ANY
        }
        if not {*layout.keys} <= columns.keys():
            return
        current = replace(layout, columns=columns)
        if current != recorded:
            self.change(name, lambda stored: _merge_layouts(current, stored))

    def change(
        self, name: TableName, change: Callable[[Layout | None], Layout]
    ) -> None:
        """Change what is stored, though other processes may do so as well."""
        key = str(name)
        while True:
            state = self._states.read(StateKind.TABLE, [key]).get(key, SharedState())
            before = _required_layout(key, state) if state.generation else None
            after = change(before)
            if after == before or self._states.swap(
                StateKind.TABLE, key, state.generation, after.facts()
            ):
                return

    def refuse_similar(self, name: TableName) -> None:
        """Refuse a name that some databases do not tell from another one."""
        for other in self._states.read(StateKind.TABLE):
            if other != str(name) and other.lower() == str(name).lower():
                raise ConfigError(
                    Text(
                        "there is a table {name}, which differs only in upper and"
                        " lower case",
                        name=other.partition(":")[2],
                    ),
                    hint=Text("Use one of the two names."),
                    field="target",
                )


def _read_layout(_name: str, state: SharedState) -> Layout:
    """Return the layout that a state describes."""
    return Layout.from_facts(state.value)


def _required_layout(name: str, state: SharedState) -> Layout:
    """Return the layout of a table that outkey knows, or raise RowUnreadable.

    A line must not take it for a new table: others may have put it into the database.
    """
    layout = read_one(name, state, _read_layout)
    if layout is None:
        raise RowUnreadable(
            Text("what is stored of the table {name} cannot be read", name=name)
        )
    return layout


def note_loss(stored: Layout | None, first_id: int) -> Layout:
    """Return the record of a table that others have dropped, or columns of it."""
    return replace(
        stored or Layout({}),
        is_partial=True,
        refilled_by=(),
        first_id=max(first_id, stored.first_id if stored else 1),
    )


def note_run(stored: Layout | None, line: str, next_id: int) -> Layout:
    """Return the record of a table after a line has read everything."""
    layout = stored or Layout({})
    lines = {*layout.refilled_by, line} if layout.is_partial else ()
    return replace(
        layout,
        refilled_by=tuple(sorted(lines)),
        next_id=max(next_id, layout.next_id),
    )


def _merge_layouts(current: Layout, stored: Layout | None) -> Layout:
    """Return the merged layout; another process may have added columns as well."""
    if stored is None:
        return current
    of_outkey = {
        column: kind
        for column, kind in stored.columns.items()
        if NAME.fullmatch(column)
    }
    return replace(
        current,
        columns={**of_outkey, **current.columns},
        is_partial=stored.is_partial,
        refilled_by=stored.refilled_by,
        first_id=stored.first_id,
        next_id=max(current.next_id, stored.next_id),
        fed_by=stored.fed_by,
    )


def note_renamed(stored: Layout | None, line: str, new_name: str) -> Layout:
    """Return the record of a table after one of its lines got another name."""
    layout = stored or Layout({})
    refilled_by, fed_by = (
        tuple(sorted({new_name if name == line else name for name in names}))
        for names in (layout.refilled_by, layout.fed_by)
    )
    return replace(layout, refilled_by=refilled_by, fed_by=fed_by)


def note_feed(stored: Layout | None, line: str, *, wants_feed: bool) -> Layout:
    """Return the record of a table after one of its lines wants a feed, or none."""
    layout = stored or Layout({})
    others = {*layout.fed_by} - {line}
    lines = others | {line} if wants_feed else others
    return replace(layout, fed_by=tuple(sorted(lines)))
