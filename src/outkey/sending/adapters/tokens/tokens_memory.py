"""Tokens in the memory of one process: for a gateway without a database, and drafts."""

import os
from collections.abc import Callable
from copy import copy
from dataclasses import replace

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import (
    CSRF_SUFFIX,
    MAX_SUBJECTS,
    SET,
    TokenState,
    set_mark,
    superfluous,
)


class MemoryTokens:
    """Stores states in a dictionary. Tokens that rotate are lost with the process."""

    def __init__(self, now: Callable[[], float]) -> None:
        # By configuration, and by a hash of the subject that a token is exchanged for.
        self._states: dict[tuple[str, str], TokenState] = {}
        self._subject = ""
        self._lock = ProcessLock()
        self._key = os.urandom(32)
        self.now = now

    def csrf(self) -> "MemoryTokens":
        return self._beside(f"{self._subject}{CSRF_SUFFIX}")

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        key = self._key_of(configuration)
        state = self._states.get(key, TokenState())
        return state if opened else replace(state, content=None)

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        state = replace(after, generation=before.generation + 1)
        with self._lock:
            key = self._key_of(configuration)
            current = self._states.get(key, TokenState())
            if current.generation != before.generation:
                return None
            if key not in self._states and self._subject:
                self._make_room(configuration.account)
            self._states[key] = state
        return state

    def of_subject(self, subject: Secret) -> "MemoryTokens":
        return self._beside(self.mark(subject, ""))

    def _beside(self, subject: str) -> "MemoryTokens":
        tokens = copy(self)  # with the same dictionary
        tokens._subject = subject  # noqa: SLF001 - of this class
        return tokens

    def subjects(self, configuration: Configuration) -> int:
        keys = self._keys_beside(configuration.account)
        return sum(
            not subject.endswith(CSRF_SUFFIX) and not subject.startswith(SET)
            for _, subject in keys
        )

    def delete_beside(self, configuration: Configuration) -> None:
        with self._lock:
            for key in self._keys_beside(configuration.account):
                del self._states[key]

    def delete_set(self, configuration: Configuration, serial: int) -> None:
        mark = set_mark(serial)
        with self._lock:
            for key in self._keys_beside(configuration.account):
                if key[1].startswith(mark):
                    del self._states[key]

    def drop_other_keys(self) -> None:
        """Delete nothing: these are not sealed."""

    def _key_of(self, configuration: Configuration) -> tuple[str, str]:
        other = configuration.other_set
        mark = set_mark(other.serial) if other else ""
        return configuration.account, f"{mark}{self._subject}"

    def _keys_beside(self, name: str) -> list[tuple[str, str]]:
        return [key for key in list(self._states) if key[0] == name and key[1]]

    def prune_ended(self) -> None:
        with self._lock:
            for name in {key[0] for key in self._states}:
                self._prune(name)

    def _make_room(self, name: str) -> None:
        if len(self._keys_beside(name)) >= MAX_SUBJECTS:
            self._prune(name)

    def _prune(self, name: str) -> None:
        keys = self._keys_beside(name)
        states = {subject: self._states[name, subject] for _, subject in keys}
        for subject in superfluous(states, self.now()):
            del self._states[name, subject]

    def refuse_renewal(self) -> None:
        """Refuse nothing: no backup has these tokens."""

    def mark(self, secret: Secret, before: str) -> str:  # noqa: ARG002 - one key
        return secret.fingerprint(self._key).hex()
