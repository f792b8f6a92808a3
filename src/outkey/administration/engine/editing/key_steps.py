"""The steps of a key rotation, each recorded under the user who takes it."""

from collections.abc import Iterator
from dataclasses import dataclass

from outkey.administration.engine.editing.administration import Administration
from outkey.administration.ports.installation import (
    Keys,
    KeySteps,
    SealedSecrets,
    VouchedRows,
)
from outkey.sending.core.audit.events import Tag


@dataclass(frozen=True, slots=True)
class KeyAdministration:
    """The steps of a user with the keys of an installation."""

    administration: Administration
    rotation: KeySteps
    secrets: SealedSecrets
    keys: Keys
    vouched_rows: VouchedRows

    def add(self) -> str:
        """Add a key that only opens, and return its name."""
        return self.rotation.add(lambda name: self._note(Tag.KEY_ADDED, name))

    def promote(self, name: str) -> None:
        """Seal with this key from now on, unless a running process lacks it."""
        self.rotation.promote(name, lambda key: self._note(Tag.KEY_PROMOTED, key))

    def retire(self, name: str) -> None:
        """Stop opening with a key that no secret needs any more."""
        self.rotation.retire(name, lambda key: self._note(Tag.KEY_RETIRED, key))

    def reopen(self, name: str) -> None:
        """Open with a retired key again, as the secrets of an older backup need it."""
        self.rotation.reopen(name, lambda key: self._note(Tag.KEY_REOPENED, key))

    def rewrap_count(self) -> int:
        """Return how many secrets are not under the primary key."""
        primary = self.keys.ring().primary.name
        uses = self.rotation.uses()
        return sum(count for key, count in uses.items() if key != primary)

    def rewrap(self) -> Iterator[int]:
        """Bring every secret under the primary key; yield how many at each step.

        The rows that other keys vouch for are vouched for with it as well. What can be
        requested again is deleted: tokens of users, and against CSRF.
        """
        self._note(Tag.KEY_REWRAPPED, self.keys.ring().primary.name)
        self.vouched_rows.rewrap()
        if self.administration.tokens is not None:
            self.administration.tokens.drop_other_keys()
        yield from self.secrets.rewrap()

    def _note(self, tag: Tag, key: str) -> None:
        self.administration.note(tag, key=key)
