"""Tokens beside that of a configuration: of users, of another set, and against CSRF.

Each is a sealed shared state. That of a user is found by a keyed hash of the subject
token, which is stored nowhere. Each can be requested again, so none outlives its key or
its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.sending.adapters.tokens.sealed_states import (
    bare_state,
    is_under_other_key,
    sealed_value,
    with_content,
)
from outkey.sending.core.oauth2.token import (
    CSRF_SUFFIX,
    SET,
    TokenState,
    set_mark,
    superfluous,
)
from outkey.sending.core.vault.envelope import Place

if TYPE_CHECKING:
    from outkey.foundation.ports.database import StateRows
    from outkey.sending.adapters.secrets.secrets_stored import Keyrings
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.ports.sending import Tokens

KIND = StateKind.TOKEN_BESIDE
PRUNE_EVERY = 64  # new subjects of a process


class RowsBeside:
    """The stored states of all configurations."""

    def __init__(self, states: StateRows) -> None:
        self._states = states
        self._new = 0

    def read(self, key: str) -> SharedState:
        """Return the state of one token."""
        return self._states.read(KIND, [key]).get(key, SharedState())

    def swap(
        self, key: str, generation: int, value: Mapping[str, Any], now: float
    ) -> bool:
        """Replace the state if it has this generation; return whether it had."""
        if not generation:
            self._make_room(now)
        return self._states.swap(KIND, key, generation, value)

    def _make_room(self, now: float) -> None:
        """Delete what has ended before a new state is added, but not each time."""
        if self._new % PRUNE_EVERY == 0:
            self.prune(now)
        self._new += 1

    def prune(self, now: float) -> None:
        """Delete the states that have ended, and the oldest of too many."""
        by_record: dict[str, dict[str, TokenState]] = {}
        for key, stored in self._states.read(KIND).items():
            record = key.partition(":")[0]
            by_record.setdefault(record, {})[key] = bare_state(stored)
        for states in by_record.values():
            self._delete(superfluous(states, now))

    def count(self, record: str) -> int:
        """Return for how many subjects of a configuration there is a state."""
        subjects = [
            key
            for key in self._keys(record)
            if not key.endswith(CSRF_SUFFIX) and not key.startswith(f"{record}:{SET}")
        ]
        return len(subjects)

    def delete_set(self, record: str, serial: int) -> None:
        """Delete the tokens of a set of credentials that was destroyed."""
        prefix = f"{record}:{set_mark(serial)}"
        self._delete([key for key in self._keys(record) if key.startswith(prefix)])

    def delete(self, record: str) -> None:
        """Delete all states of a configuration."""
        self._delete(self._keys(record))

    def keep_only(self, key_name: str) -> None:
        """Delete the states that another key than this one seals."""
        states = self._states.read(KIND)
        self._delete(
            [key for key in states if is_under_other_key(states[key], key_name)]
        )

    def _keys(self, record: str) -> list[str]:
        return [key for key in self._states.read(KIND) if key.startswith(f"{record}:")]

    def _delete(self, keys: list[str]) -> None:
        if keys:
            self._states.put(KIND, dict.fromkeys(keys))


class TokensBeside:
    """A token of each configuration: of one user, of another set, or the CSRF token."""

    def __init__(
        self, tokens: Tokens, rows: RowsBeside, keys: Keyrings, mark: str
    ) -> None:
        self._tokens = tokens
        self._rows = rows
        self._keys = keys
        self._mark = mark
        self.now = tokens.now
        self.mark = tokens.mark
        self.of_subject = tokens.of_subject
        self.subjects = tokens.subjects
        self.delete_beside = tokens.delete_beside
        self.delete_set = tokens.delete_set
        self.drop_other_keys = tokens.drop_other_keys
        self.prune_ended = tokens.prune_ended

    def csrf(self) -> TokensBeside:
        mark = f"{self._mark}{CSRF_SUFFIX}"
        return TokensBeside(self._tokens, self._rows, self._keys, mark)

    def refuse_renewal(self) -> None:
        """Raise OnHold while no token may be requested; a CSRF token ends no other."""
        if not self._mark.endswith(CSRF_SUFFIX):
            self._tokens.refuse_renewal()

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        stored = self._rows.read(self._key(configuration))
        state = bare_state(stored)
        if not opened:
            return state
        place = self._place(configuration, state.serial)
        return with_content(state, stored, place, self._keys)

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        place = self._place(configuration, after.serial)
        value = sealed_value(after, place, self._keys)
        key = self._key(configuration)
        if not self._rows.swap(key, before.generation, value, self.now()):
            return None
        return replace(after, generation=before.generation + 1)

    def _key(self, configuration: Configuration) -> str:
        return f"{configuration.record}:{self._mark_of(configuration)}"

    def _place(self, configuration: Configuration, serial: int) -> Place:
        origin = configuration.token_binding
        mark = self._mark_of(configuration)
        return Place("token", configuration.record, mark, serial, origin)

    def _mark_of(self, configuration: Configuration) -> str:
        """Return whose token it is; no token is that of two sets of credentials."""
        other = configuration.other_set
        return f"{set_mark(other.serial)}{self._mark}" if other else self._mark
