"""Tokens as an installation keeps them: sealed, and bound to their configuration and origins."""

from dataclasses import replace

from outkey.adapters.secrets_envelope import seal, unseal
from outkey.adapters.secrets_stored import Keyrings
from outkey.core.config.configuration import Configuration
from outkey.core.errors import EditConflict, SecretUnreadable
from outkey.core.oauth2.token import TokenContent, TokenState
from outkey.core.vault.envelope import TokenRow, key_name_of, token_place
from outkey.ports.storage import ConfigurationRows, Database, TokenRows


class StoredTokens:
    """Seals what is secret of a token before it is written."""

    def __init__(
        self,
        rows: TokenRows,
        keys: Keyrings,
        database: Database,
        configurations: ConfigurationRows,
    ) -> None:
        self._rows = rows
        self._keys = keys
        self._database = database
        self._configurations = configurations

    def read(self, configuration: Configuration, *, opened: bool = True) -> TokenState:
        """Return what is kept of a configuration's token.

        Bound to other origins than those of now, it is not opened, and not used.
        """
        row = self._rows.read(configuration)
        if row is None:
            return TokenState()
        if not opened:
            return TokenState(row.generation, row.serial)
        content, origin = None, configuration.binding_of("client_secret")
        if row.sealed is not None and row.origin == origin:
            ring = self._keys.ring(key_name_of(row.sealed))
            place = token_place(configuration.record, row.serial, origin)
            content = TokenContent.unpacked(unseal(row.sealed, place, ring))
        try:
            return TokenState.from_facts(row.facts, row.generation, row.serial, content)
        except ValueError:
            message = "the stored token is not as outkey wrote it"
            hint = "Forget it: outkey token forget NAME."
            raise SecretUnreadable(message, hint=hint, field="token") from None

    def swap(
        self, configuration: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        origin = configuration.binding_of("client_secret")
        sealed = None
        if after.content is not None and after.serial != before.serial:
            place = token_place(configuration.record, after.serial, origin)
            sealed = seal(after.content.packed(), place, self._keys.fresh())
        new = replace(after, generation=before.generation + 1)
        row = TokenRow(new.generation, new.serial, origin, sealed, new.facts())
        with self._database.transaction():
            if not self._rows.swap(configuration, before.generation, row):
                return None
            dead = bool(row.facts["dead"])
            self._change_health(configuration, dead=dead, renewed=sealed is not None)
        return new

    def now(self) -> float:
        return self._rows.now()

    def _change_health(
        self, configuration: Configuration, *, dead: bool, renewed: bool
    ) -> None:
        """Let lists show whether a user must allow the access again."""
        name = configuration.name
        for lock in (False, True):  # the lock is taken only for a change
            for row in self._configurations.find(names=[name], lock=lock):
                health = row.health.after_token(dead=dead, renewed=renewed)
                if row.record != configuration.record or health == row.health:
                    return
                if lock and not self._configurations.swap(
                    row, replace(row, health=health)
                ):
                    raise EditConflict
