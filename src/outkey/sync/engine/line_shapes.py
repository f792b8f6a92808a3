"""The recorded shapes of lines, as shared states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outkey.foundation.core.shared_state import StateKind
from outkey.sync.core.drift.drift import LineShape

if TYPE_CHECKING:
    from outkey.foundation.ports.database import StateRows


class LineShapes:
    """Reads and stores the shapes of the records that lines bring, by line."""

    def __init__(self, states: StateRows) -> None:
        self._states = states

    def get(self, line: str) -> LineShape:
        """Return the shape of a line; an empty one if nothing was recorded."""
        state = self._states.read(StateKind.LINE_SHAPE, [line]).get(line)
        return LineShape.from_facts(state.value) if state else LineShape()

    def all(self) -> dict[str, LineShape]:
        """Return the shapes of all lines that have one."""
        states = self._states.read(StateKind.LINE_SHAPE)
        return {
            line: LineShape.from_facts(state.value) for line, state in states.items()
        }

    def put(self, line: str, shape: LineShape) -> None:
        """Store the shape of a line."""
        self._states.put(StateKind.LINE_SHAPE, {line: shape.facts()})

    def remove(self, line: str) -> None:
        """Delete the shape of a line."""
        self._states.put(StateKind.LINE_SHAPE, {line: None})
