"""Interfaces of an installation besides its tables: keys, presets, runs, notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from outkey.administration.core.findings.changed_rows import ChangedRow
from outkey.administration.core.presets.presets import Preset
from outkey.sending.ports.sending import Listeners
from outkey.sending.ports.storage import SecretStore

if TYPE_CHECKING:
    from outkey.administration.core.findings.monitoring import LineRun, Notice


class SealingKey(Protocol):
    """A key that seals or opens secrets, as users see it."""

    @property
    def name(self) -> str:
        """The key's id."""

    @property
    def state(self) -> str:
        """The use of the key."""


class SealingKeys(Protocol):
    """All keys of an installation."""

    @property
    def keys(self) -> Sequence[SealingKey]:
        """Every key, the primary one first."""

    @property
    def primary(self) -> SealingKey:
        """The key that seals new secrets."""


class Keys(Protocol):
    """The source of an installation's keys."""

    def ring(self) -> SealingKeys:
        """Return the keys, or raise Sealed."""

    def fresh(self) -> SealingKeys:
        """Return the keys as they are stored now, or raise Sealed."""

    def is_sealed(self) -> bool:
        """Whether stored secrets cannot be opened; creates no key."""

    def audit_key(self, key_id: str) -> bytes | None:
        """Return the audit key of a stream; None if no key can have begun it."""


class KeySteps(Protocol):
    """The steps of a key rotation; each calls `note` before it is taken."""

    def uses(self) -> dict[str, int]:
        """Return how many secrets and tokens each key seals, by the key's name."""

    def add(self, note: Callable[[str], None]) -> str:
        """Add a key that only opens, and return its name."""

    def promote(self, name: str, note: Callable[[str], None]) -> None:
        """Seal with this key from now on, unless a running process lacks it."""

    def retire(self, name: str, note: Callable[[str], None]) -> None:
        """Stop opening with a key that no secret needs any more."""

    def reopen(self, name: str, note: Callable[[str], None]) -> None:
        """Open with a retired key again."""


class SealedSecrets(SecretStore, Protocol):
    """Secrets that are sealed with the keys of an installation."""

    def rewrap(self) -> Iterator[int]:
        """Bring every secret under the primary key; yield how many at each step."""


class VouchedRows(Protocol):
    """The rows that outkey believes because it has vouched for them.

    They are databases, lines, pairs, webhooks, tables and tokens.
    """

    def changed(self) -> list[ChangedRow]:
        """Return the rows that were changed outside of outkey.

        Raises Sealed without a key.
        """

    def confirm(self, row: ChangedRow) -> bool:
        """Vouch for a row as it was read; return whether it is still there."""

    def delete(self, row: ChangedRow) -> None:
        """Delete a row; of a token nothing stays that could be used."""

    def rewrap(self) -> None:
        """Vouch with the primary key for what other keys vouch for."""


class Presets(Protocol):
    """Prepared settings of known providers."""

    def names(self) -> list[str]:
        """Return the names of all presets, sorted."""

    def all(self) -> list[Preset]:
        """Return every preset, by title."""

    def get(self, name: str) -> Preset:
        """Return a preset by its name, or raise ConfigError."""


class ServerAddresses(Listeners, Protocol):
    """The addresses that the servers of an installation listen on."""

    def urls(self) -> list[str]:
        """Return the URLs of the servers that run on this machine."""

    def hold(self, host: str, port: int) -> AbstractContextManager[None]:
        """Publish what a server listens on while the block runs."""


class LineRuns(Protocol):
    """The last runs of sync lines."""

    def latest(self) -> list[LineRun]:
        """Return the last run of each line, and its last dry run, if any.

        Runs of deliveries are not among them: they show nothing about the line.
        """


class Notifier(Protocol):
    """A way to notify users."""

    def send(self, notices: Sequence[Notice]) -> None:
        """Report what has opened and what has recovered; best effort, never raises."""
