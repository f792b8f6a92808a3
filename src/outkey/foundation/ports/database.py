"""The database of a host: transactions, its clock, and small shared values."""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from outkey.foundation.core.shared_state import SharedState, StateKind


class Database(Protocol):
    """The transactions and the clock that all rows of a host share."""

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Commit everything that is written inside, or nothing.

        One that is not `durable` may be lost as a whole if the machine fails, but not
        if the process does, and not after a later one that is durable.

        Raises StorageUnavailable if the database fails.
        """

    def after_commit(self, work: Callable[[], None]) -> None:
        """Do some work when the transaction around is committed, or now without one.

        If it is rolled back, the work is not done.
        """

    def now(self) -> float:
        """Return Unix time by a clock that all processes share."""


class StateRows(Protocol):
    """The table of small values that all processes share: leases, heartbeats, paces.

    Values are JSON, without secrets.
    """

    def read(
        self, kind: StateKind, keys: Collection[str] | None = None
    ) -> dict[str, SharedState]:
        """Return the states of a kind by key: of all keys, or of these."""

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        """Replace the state if it has this generation (0 inserts); return whether.

        If several processes try at the same time, one succeeds.
        """

    def put(
        self, kind: StateKind, values: Mapping[str, Mapping[str, Any] | None]
    ) -> None:
        """Store values by key, unconditionally; None deletes."""
