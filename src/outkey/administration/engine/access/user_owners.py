"""The owners that users of a host are limited to.

They are shared states that are vouched for, by the id that the host knows a user by. A
user without one sees everything; one whose limit was changed or deleted without outkey
sees nothing, until an operator sets it again.
"""

from outkey.foundation.core.errors import HostError, Sealed, SecretUnreadable
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.ports.database import StateRows
from outkey.sending.core.configuration.owners import EVERYTHING, NOTHING, Reach


class UserOwners:
    """Reads and stores the limits of users."""

    def __init__(self, states: StateRows) -> None:
        self._states = states

    def reach(self, user: str) -> Reach:
        """Return what a user may see; nothing where the limit cannot be believed."""
        try:
            stored = self._states.read(StateKind.USER_OWNERS, [user]).get(user)
        except (Sealed, SecretUnreadable):
            return NOTHING
        return EVERYTHING if stored is None else _reach_of(stored)

    def all(self) -> dict[str, Reach]:
        """Return what the limited users may see, by user."""
        return {
            user: _reach_of(state)
            for user, state in self._states.read(StateKind.USER_OWNERS).items()
        }

    def put(self, user: str, owners: frozenset[str] | None) -> None:
        """Limit a user to owners; None ends the limit.

        A limit that was changed without outkey is replaced as well.
        """
        value = None if owners is None else {"owners": sorted(owners)}
        try:
            self._states.put(StateKind.USER_OWNERS, {user: value})
        except SecretUnreadable:
            self._states.put(StateKind.USER_OWNERS, {user: None})
            self._states.put(StateKind.USER_OWNERS, {user: value})


def _reach_of(state: SharedState) -> Reach:
    if isinstance(state.error, HostError) or is_odd(state.value):
        return NOTHING
    return Reach(owners=frozenset(state.value.get("owners", ())))
