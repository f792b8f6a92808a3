"""CSRF tokens of an installation: sealed, in the table of shared states."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outkey.foundation.core.errors import OutkeyError, Sealed
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_values import is_odd
from outkey.sending.adapters.secrets.secrets_envelope import seal, unseal
from outkey.sending.core.oauth2.token import TokenContent, TokenState
from outkey.sending.core.vault.envelope import csrf_place, key_name_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.database import Database, StateRows
    from outkey.sending.adapters.secrets.secrets_stored import Keyrings
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.ports.sending import Tokens


class StoredCsrfTokens:
    """Seals CSRF tokens and their cookies, each for its configuration and origin.

    One that cannot be opened, as after its key was retired, is as good as none: another
    one is fetched.
    """

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

    def prune_subjects(self) -> None:
        """Delete nothing."""

    def mark(self, secret: Secret, before: str) -> str:
        """Refuse to mark a secret: no CSRF token is entered."""
        raise NotImplementedError

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        stored = self._stored(configuration)
        value = stored.value
        if is_odd(value) or "serial" not in value:
            return TokenState(stored.generation)
        serial = int(value["serial"])
        content = self._content(configuration, value) if opened else None
        try:
            return TokenState.from_facts(
                value["facts"], stored.generation, serial, content
            )
        except ValueError:
            return TokenState(stored.generation, serial)

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        origin = configuration.token_binding
        if after.serial != before.serial:
            sealed = ""
            if after.content is not None:
                place = csrf_place(configuration.record, after.serial, origin)
                packed = seal(after.content.packed(), place, self._keys.fresh())
                sealed = b64encode(packed).decode()
        else:
            stored = self._stored(configuration)
            if stored.generation != before.generation:
                return None
            sealed = str(stored.value.get("sealed", ""))
        value = {
            "serial": after.serial,
            "origin": origin,
            "sealed": sealed,
            "facts": after.facts(),
        }
        is_stored = self._states.swap(
            StateKind.CSRF, configuration.record, before.generation, value
        )
        return replace(after, generation=before.generation + 1) if is_stored else None

    def _stored(self, configuration: Configuration) -> SharedState:
        key = configuration.record
        return self._states.read(StateKind.CSRF, [key]).get(key, SharedState())

    def _content(
        self, configuration: Configuration, value: Mapping[str, Any]
    ) -> TokenContent | None:
        """Return the token itself; None for one of another origin or another key."""
        origin = configuration.token_binding
        if not value["sealed"] or value["origin"] != origin:
            return None
        try:
            sealed = b64decode(str(value["sealed"]), validate=True)
            place = csrf_place(configuration.record, int(value["serial"]), origin)
            ring = self._keys.ring(key_name_of(sealed))
            return TokenContent.unpacked(unseal(sealed, place, ring))
        except Sealed:
            raise
        except (OutkeyError, ValueError):
            return None
