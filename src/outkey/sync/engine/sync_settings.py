"""The other databases and the pairs of an installation, as shared states."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import RowUnreadable
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.state_shapes import read_each, without_value
from outkey.foundation.core.stored_values import is_odd

if TYPE_CHECKING:
    from outkey.foundation.ports.database import StateRows
    from outkey.sync.core.databases.section import OtherDatabase
    from outkey.sync.core.pairs.section import Pair


class SyncSettings:
    """Reads and stores what documents say in `[database.NAME]` and `[pair.NAME]`."""

    def __init__(self, states: StateRows) -> None:
        self._states = states

    def databases(self) -> dict[str, OtherDatabase]:
        """Return the other databases that can be read, by name.

        Those that were changed outside have an error.
        """
        return {name: found for name, found in self._databases().items() if found}

    def pairs(self) -> dict[str, Pair]:
        """Return the pairs that can be read, by name, as `databases` does."""
        return {name: pair for name, pair in self._pairs().items() if pair}

    def unreadable(self) -> dict[str, list[str]]:
        """Return the names of databases and pairs that cannot be read."""
        return {
            StateKind.DATABASE: without_value(self._databases()),
            StateKind.PAIR: without_value(self._pairs()),
        }

    def _databases(self) -> dict[str, OtherDatabase | None]:
        from outkey.sync.core.databases.section import read_database  # noqa: PLC0415

        return read_each(
            self._states.read(StateKind.DATABASE),
            lambda name, state: replace(
                read_database(name, state.value, f"database.{name}."),
                error=state.error,
            ),
        )

    def _pairs(self) -> dict[str, Pair | None]:
        from outkey.sync.core.pairs.section import read_pair  # noqa: PLC0415

        return read_each(
            self._states.read(StateKind.PAIR),
            lambda name, state: replace(
                read_pair(name, state.value, f"pair.{name}."), error=state.error
            ),
        )

    def pairs_of(self, lines: Collection[str]) -> list[str]:
        """Return the names of the pairs that have one of these lines."""
        return [
            name
            for name, pair in self.pairs().items()
            if pair.pull in lines or pair.push in lines
        ]

    def lock_pair(self, name: str) -> Pair | None:
        """Return a pair, locked until the transaction ends.

        None if it was deleted.
        """
        from outkey.sync.core.pairs.section import read_pair  # noqa: PLC0415

        while state := self._states.read(StateKind.PAIR, [name]).get(name):
            if is_odd(state.value):
                raise RowUnreadable
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
        from outkey.sync.core.databases.section import database_table  # noqa: PLC0415
        from outkey.sync.core.pairs.section import pair_table  # noqa: PLC0415

        self._states.put(
            StateKind.DATABASE,
            {database.name: database_table(database) for database in databases},
        )
        self._states.put(
            StateKind.PAIR, {pair.name: pair_table(pair) for pair in pairs}
        )
