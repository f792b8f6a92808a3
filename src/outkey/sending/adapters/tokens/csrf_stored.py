"""CSRF tokens of an installation: sealed, in the table of shared states."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.sending.adapters.tokens.sealed_states import (
    bare_state,
    sealed_value,
    with_content,
)
from outkey.sending.core.vault.envelope import Place, csrf_place

if TYPE_CHECKING:
    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.database import Database, StateRows
    from outkey.sending.adapters.secrets.secrets_stored import Keyrings
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.oauth2.token import TokenState
    from outkey.sending.ports.sending import Tokens


class StoredCsrfTokens:
    """Seals CSRF tokens and their cookies, each for its configuration and origin."""

    def __init__(self, states: StateRows, keys: Keyrings, database: Database) -> None:
        self._states = states
        self._keys = keys
        self._database = database

    def csrf(self) -> StoredCsrfTokens:
        return self

    def refuse_renewal(self) -> None:
        """Refuse nothing: fetching a token ends no other one."""

    def now(self) -> float:
        return self._database.now()

    def of_subject(self, subject: Secret) -> Tokens:
        """Refuse to serve a user: theirs are beside their tokens."""
        raise NotImplementedError

    def subjects(self, configuration: Configuration) -> int:  # noqa: ARG002
        return 0

    def delete_subjects(self, configuration: Configuration) -> None:
        """Delete nothing."""

    def prune_ended(self) -> None:
        """Delete those that have ended, also those of removed configurations."""
        now = self.now()
        ended = [
            key
            for key, stored in self._states.read(StateKind.CSRF).items()
            if not bare_state(stored).is_of_use(now)
        ]
        if ended:
            self._states.put(StateKind.CSRF, dict.fromkeys(ended))

    def mark(self, secret: Secret, before: str) -> str:
        """Refuse to mark a secret: no CSRF token is entered."""
        raise NotImplementedError

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        stored = self._stored(configuration)
        state = bare_state(stored)
        if not opened:
            return state
        place = _place(configuration, state.serial)
        return with_content(state, stored, place, self._keys)

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        value = sealed_value(after, _place(configuration, after.serial), self._keys)
        is_stored = self._states.swap(
            StateKind.CSRF, configuration.record, before.generation, value
        )
        return replace(after, generation=before.generation + 1) if is_stored else None

    def _stored(self, configuration: Configuration) -> SharedState:
        key = configuration.record
        return self._states.read(StateKind.CSRF, [key]).get(key, SharedState())


def _place(configuration: Configuration, serial: int) -> Place:
    return csrf_place(configuration.record, serial, configuration.token_binding)
