"""Tokens of an installation: sealed, and bound to their configuration and origins."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import EditConflict, SecretUnreadable
from outkey.foundation.core.hold import refuse_on_hold
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text
from outkey.sending.adapters.secrets.secrets_envelope import seal, unseal
from outkey.sending.core.vault.envelope import TokenRow, key_name_of, token_place

if TYPE_CHECKING:
    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.database import Database, StateRows
    from outkey.sending.adapters.secrets.secrets_stored import Keyrings
    from outkey.sending.adapters.tokens.tokens_beside import RowsBeside, TokensBeside
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.oauth2.token import TokenState
    from outkey.sending.ports.sending import Tokens
    from outkey.sending.ports.storage import ConfigurationRows, TokenRows


class StoredTokens:
    """Seals the secret parts of a token before it is written.

    It also updates the configuration's health, which lists show.
    """

    def __init__(
        self,
        rows: TokenRows,
        keys: Keyrings,
        database: Database,
        configurations: ConfigurationRows,
        states: StateRows,
    ) -> None:
        self._rows = rows
        self._keys = keys
        self._database = database
        self._configurations = configurations
        self._states = states

    def csrf(self) -> TokensBeside:
        from outkey.sending.core.oauth2.token import CSRF_SUFFIX  # noqa: PLC0415

        return self._marked(CSRF_SUFFIX)

    @cached_property
    def _beside(self) -> RowsBeside:
        from outkey.sending.adapters.tokens.tokens_beside import RowsBeside  # noqa: PLC0415

        return RowsBeside(self._states)

    def refuse_renewal(self) -> None:
        refuse_on_hold(self._states.read(StateKind.HOLD))

    def now(self) -> float:
        return self._database.now()

    def of_subject(self, subject: Secret) -> Tokens:
        return self._marked(self.mark(subject, ""))

    def _marked(self, mark: str) -> TokensBeside:
        from outkey.sending.adapters.tokens.tokens_beside import TokensBeside  # noqa: PLC0415

        return TokensBeside(self, self._beside, self._keys, mark)

    def subjects(self, configuration: Configuration) -> int:
        return self._beside.count(configuration.record)

    def delete_beside(self, configuration: Configuration) -> None:
        self._beside.delete(configuration.record)

    def delete_set(self, configuration: Configuration, serial: int) -> None:
        self._beside.delete_set(configuration.record, serial)

    def prune_ended(self) -> None:
        self._beside.prune(self.now())

    def drop_other_keys(self) -> None:
        self._beside.keep_only(self._keys.fresh().primary.name)

    def mark(self, secret: Secret, before: str) -> str:
        """Return the hash with a key that is derived from one of the ring.

        The name of that key comes first, so that the mark outlives a rotation.
        """
        name, _, _ = before.partition(":")
        ring = self._keys.ring(name)
        if name and not ring.holds(name):
            return before
        name = name or ring.primary.name
        hashed = secret.fingerprint(ring.derive("mark", name)).hex()
        return f"{name}:{hashed}"

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        """Return the state of a configuration's token.

        A token bound to other origins than the current ones is not opened.
        """
        from outkey.sending.core.oauth2.token import TokenContent, TokenState  # noqa: PLC0415

        if configuration.other_set is not None:
            return self._marked("").read(configuration, opened=opened)
        row = self._rows.read(configuration)
        if row is None:
            return TokenState()
        if not opened:
            return TokenState(row.generation, row.serial)
        if isinstance(row.error, SecretUnreadable):
            raise _changed_token_error(configuration)
        if row.error is not None:
            raise row.error
        content = None
        origin = configuration.token_binding
        if row.sealed is not None and row.origin == origin:
            ring = self._keys.ring(key_name_of(row.sealed))
            place = token_place(configuration.record, row.serial, origin)
            content = TokenContent.unpacked(unseal(row.sealed, place, ring))
        try:
            return TokenState.from_facts(row.facts, row.generation, row.serial, content)
        except ValueError:
            raise _changed_token_error(configuration) from None

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        if configuration.other_set is not None:
            return self._marked("").swap(configuration, before, after)
        origin = configuration.token_binding
        sealed = None
        if after.content is not None and after.serial != before.serial:
            place = token_place(configuration.record, after.serial, origin)
            sealed = seal(after.content.packed(), place, self._keys.fresh())
        state = replace(after, generation=before.generation + 1)
        row = TokenRow(state.generation, state.serial, origin, sealed, state.facts())
        with self._database.transaction():
            if not self._rows.swap(configuration, before.generation, row):
                return None
            dead = bool(row.facts["dead"])
            # Temporary credentials alone are no token.
            renewed = sealed is not None and after.access is not None
            obtained_at = after.obtained_at if renewed else None
            self._change_health(configuration, dead=dead, obtained_at=obtained_at)
        return state

    def _change_health(
        self, configuration: Configuration, *, dead: bool, obtained_at: float | None
    ) -> None:
        """Store in the health whether a user must authorize again, for lists.

        It is written in the transaction of the token, so it locks the row: a conflict
        must undo the token too. `Registry` writes health without a transaction, and
        repeats a swap that another process was quicker with.
        """
        name = configuration.account
        for lock in (False, True):  # the lock is taken only for a change
            for row in self._configurations.find(names=[name], lock=lock):
                changed = row.after_token(dead=dead, obtained_at=obtained_at)
                if row.record != configuration.record or changed == row:
                    return
                if lock and not self._configurations.swap(row, changed):
                    raise EditConflict


def _changed_token_error(configuration: Configuration) -> SecretUnreadable:
    """Return the error for a token that was changed, or put back, without outkey."""
    return SecretUnreadable(
        Text("the stored token was changed outside of outkey"),
        hint=Text(
            "Delete it: outkey token forget {name}.",
            name=configuration.command_name,
        ),
        field="token",
    )
