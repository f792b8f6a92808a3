"""Tokens of an installation: sealed, and bound to their configuration and origins."""

from collections.abc import Callable
from dataclasses import replace

from outkey.adapters.secrets_envelope import seal, unseal
from outkey.adapters.secrets_stored import Keyrings
from outkey.core.config.configuration import Configuration
from outkey.core.errors import SecretUnreadable
from outkey.core.oauth2.token import TokenContent, TokenState
from outkey.core.text import Text
from outkey.core.vault.envelope import TokenRow, key_name_of, token_place
from outkey.ports.storage import TokenRows


class StoredTokens:
    """Seals what is secret of a token before it is written.

    `now` is the clock that all processes sharing the rows read alike.
    """

    def __init__(
        self, rows: TokenRows, keys: Keyrings, now: Callable[[], float]
    ) -> None:
        self._rows = rows
        self._keys = keys
        self.now = now

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        """Return the state of a configuration's token.

        A token bound to other origins than the current ones is not opened.
        """
        row = self._rows.read(configuration)
        if row is None:
            return TokenState()
        if not opened:
            return TokenState(row.generation, row.serial)
        content = None
        origin = configuration.binding_of("client_secret")
        if row.sealed is not None and row.origin == origin:
            ring = self._keys.ring(key_name_of(row.sealed))
            place = token_place(configuration.record, row.serial, origin)
            content = TokenContent.unpacked(unseal(row.sealed, place, ring))
        try:
            return TokenState.from_facts(row.facts, row.generation, row.serial, content)
        except ValueError:
            raise SecretUnreadable(
                Text("the stored token was changed outside of outkey"),
                hint=Text("Delete it: outkey token forget NAME."),
                field="token",
            ) from None

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        origin = configuration.binding_of("client_secret")
        sealed = None
        if after.content is not None and after.serial != before.serial:
            place = token_place(configuration.record, after.serial, origin)
            sealed = seal(after.content.packed(), place, self._keys.fresh())
        state = replace(after, generation=before.generation + 1)
        row = TokenRow(state.generation, state.serial, origin, sealed, state.facts())
        if not self._rows.swap(configuration, before.generation, row):
            return None
        return state
