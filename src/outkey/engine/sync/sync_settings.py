"""The other databases and the pairs of an installation, as shared states."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from outkey.core.config.sync_sections import (
    OtherDatabase,
    Pair,
    database_table,
    pair_table,
    read_database,
    read_pair,
)
from outkey.core.shared_state import StateKind
from outkey.ports.storage import StateRows


class SyncSettings:
    """Reads and stores what documents say in `[database.NAME]` and `[pair.NAME]`."""

    def __init__(self, states: StateRows) -> None:
        self._states = states

    def databases(self) -> dict[str, OtherDatabase]:
        """Return the other databases, by name; with an error those changed outside."""
        states = self._states.read(StateKind.DATABASE)
        return {
            name: replace(
                read_database(name, state.value, f"database.{name}."),
                error=state.error,
            )
            for name, state in sorted(states.items())
        }

    def pairs(self) -> dict[str, Pair]:
        """Return the pairs, by name; with an error those changed outside."""
        states = self._states.read(StateKind.PAIR)
        return {
            name: replace(
                read_pair(name, state.value, f"pair.{name}."), error=state.error
            )
            for name, state in sorted(states.items())
        }

    def pairs_of(self, lines: Collection[str]) -> list[str]:
        """Return the names of the pairs that have one of these lines."""
        return [
            name
            for name, pair in self.pairs().items()
            if pair.pull in lines or pair.push in lines
        ]

    def lock_pair(self, name: str) -> Pair | None:
        """Return a pair that nobody else changes or locks until the transaction ends.

        None if it was deleted.
        """
        while state := self._states.read(StateKind.PAIR, [name]).get(name):
            # A write locks the row. One that came second has to read it again.
            if self._states.swap(StateKind.PAIR, name, state.generation, state.value):
                return read_pair(name, state.value, f"pair.{name}.")
        return None

    def rename_line(self, line: str, new_name: str) -> None:
        """Let the pairs of a line name it by its new name."""
        names = {line: new_name}
        changed = [
            replace(
                pair,
                pull=names.get(pair.pull, pair.pull),
                push=names.get(pair.push, pair.push),
            )
            for pair in self.pairs().values()
            if line in {pair.pull, pair.push}
        ]
        self.put((), changed)

    def remove_pairs(self, names: Iterable[str]) -> None:
        """Delete pairs; their lines stay."""
        self._states.put(StateKind.PAIR, dict.fromkeys(names))

    def put(self, databases: Iterable[OtherDatabase], pairs: Iterable[Pair]) -> None:
        """Store databases and pairs, new or changed."""
        self._states.put(
            StateKind.DATABASE,
            {database.name: database_table(database) for database in databases},
        )
        self._states.put(
            StateKind.PAIR, {pair.name: pair_table(pair) for pair in pairs}
        )
