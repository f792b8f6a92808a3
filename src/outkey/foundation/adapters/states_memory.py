"""Shared states of one process: for a gateway without a database, and for tests."""

from collections.abc import Collection, Mapping
from typing import Any

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.shared_state import SharedState, StateKind


class MemoryStateRows:
    """Stores states in a dictionary."""

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._states: dict[tuple[StateKind, str], SharedState] = {}

    def read(
        self, kind: StateKind, keys: Collection[str] | None = None
    ) -> dict[str, SharedState]:
        """Return the states of a kind, or those with some keys."""
        if keys is None:
            states = list(self._states.items())
            return {key: state for (other, key), state in states if other is kind}
        states_or_none = {key: self._states.get((kind, key)) for key in keys}
        return {key: state for key, state in states_or_none.items() if state}

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        """Replace a state if it still has this generation; return whether it was."""
        with self._lock:
            state = self._states.get((kind, key), SharedState())
            if state.generation != generation:
                return False
            self._states[kind, key] = SharedState(generation + 1, value)
        return True

    def put(
        self, kind: StateKind, values: Mapping[str, Mapping[str, Any] | None]
    ) -> None:
        """Store states whatever their generation; None deletes one."""
        with self._lock:
            for key, value in values.items():
                state = self._states.pop((kind, key), SharedState())
                if value is not None:
                    self._states[kind, key] = SharedState(state.generation + 1, value)
