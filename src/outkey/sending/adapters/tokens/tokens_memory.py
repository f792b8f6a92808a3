"""Tokens in the memory of one process: for a gateway without a database, and drafts."""

import os
from collections.abc import Callable
from dataclasses import replace

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import TokenState


class MemoryTokens:
    """Stores states in a dictionary. Tokens that rotate are lost with the process."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._states: dict[str, TokenState] = {}
        self._lock = ProcessLock()
        self._key = os.urandom(32)
        self._csrf: MemoryTokens | None = None
        self.now = now

    def csrf(self) -> "MemoryTokens":
        with self._lock:
            if self._csrf is None:
                self._csrf = MemoryTokens(self.now)
            return self._csrf

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        state = self._states.get(configuration.name, TokenState())
        return state if opened else replace(state, content=None)

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        state = replace(after, generation=before.generation + 1)
        with self._lock:
            current = self._states.get(configuration.name, TokenState())
            if current.generation != before.generation:
                return None
            self._states[configuration.name] = state
        return state

    def refuse_renewal(self) -> None:
        """Refuse nothing: no backup has these tokens."""

    def mark(self, secret: Secret, before: str) -> str:  # noqa: ARG002 - one key
        return secret.fingerprint(self._key).hex()
