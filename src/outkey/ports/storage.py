"""What an installation stores: configurations, secrets, tokens, audit rows."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from outkey.core.audit.chain import ChainRow, Mark
from outkey.core.config.configuration import Configuration, SecretState
from outkey.core.findings.health import Summary
from outkey.core.request.rate_limit import Pace
from outkey.core.rows import ConfigurationRow, LineRow
from outkey.core.secret import Secret
from outkey.core.vault.envelope import TokenRow
from outkey.core.vault.versions import SecretVersion
from outkey.core.vault.voucher import Voucher
from outkey.ports.sending import Secrets


class Database(Protocol):
    """What all rows of a host share: its transactions and its clock."""

    def transaction(self) -> AbstractContextManager[None]:
        """Write all of what is written inside, or nothing.

        Raises StorageUnavailable where the database fails.
        """

    def now(self) -> float:
        """Return Unix time by a clock that all processes sharing the database read alike."""


class ConfigurationRows(Protocol):
    """The table of configurations."""

    def find(
        self,
        *,
        names: Collection[str] | None = None,
        records: Collection[str] | None = None,
        lock: bool = False,
    ) -> list[ConfigurationRow]:
        """Return the rows of these names or records, or all of them, by name.

        Locked, no other process can change them until the transaction ends. A row that
        did not change since it was last read may be the same object, which the
        registry recognizes.
        """

    def swap(
        self, before: ConfigurationRow | None, after: ConfigurationRow | None
    ) -> bool:
        """Write a row in the place of the one with the stamp of `before`.

        Returns whether it was there. Without `before` the row is inserted, unless its
        name is taken; without `after` it is deleted with its lines, secrets and token.
        """

    def summaries(self) -> list[Summary]:
        """Return what lists show, by name; reads neither settings nor secrets."""


class LineRows(Protocol):
    """The table of sync lines."""

    def find(self, names: Collection[str] | None = None) -> list[LineRow]:
        """Return the lines of these names, or all of them, by name."""

    def swap(self, before: LineRow | None, after: LineRow | None) -> bool:
        """Write a line in the place of the one named like `before`.

        Returns whether it was there. Without `before` the line is inserted, without
        `after` deleted.
        """


class SecretRows(Protocol):
    """The tables of ciphertexts: secrets in all versions, vouchers and tokens."""

    def read(self, records: Collection[str], field: str = "") -> list[SecretVersion]:
        """Return the versions of secrets and vouchers of these records.

        Ciphertexts are read only where a field is named.
        """

    def swap(self, before: SecretVersion | None, after: SecretVersion | None) -> bool:
        """Write a version in the place of exactly this one, and return whether it was there.

        Compared are place, label and ciphertext. Without `before` the version is
        inserted, unless there is one of its number; without `after` deleted. Tokens are
        found by their place, and only their ciphertexts change.
        """

    def sealed_by_others(self, key: str, limit: int) -> list[SecretVersion]:
        """Return some of the ciphertexts that another key than this one seals."""

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        """Return how many secrets and tokens each key seals, by the key's name.

        With `vouchers`, those that it seals are counted as well.
        """


class KeyRows(Protocol):
    """The table of keys that this database was used with."""

    def read(self) -> dict[str, bytes]:
        """Return the check value of each key, by the key's name."""

    def add(self, keys: Mapping[str, bytes]) -> None:
        """Store the check values of these keys; those stored already do not change."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The rows of configurations and their secrets, with the database they are in."""

    database: Database
    configurations: ConfigurationRows
    lines: LineRows
    secrets: SecretRows
    keys: KeyRows


class SecretStore(Secrets, Protocol):
    """Where secret values are stored, sealed and vouched for.

    It writes secrets and vouchers only: after a change the registry must be told
    (`Registry.note_secrets_changed`), so that no cache has the former value.
    """

    def replace(
        self, configuration: Configuration, field: str, secret: Secret, *, by: str = ""
    ) -> SecretState:
        """Store a new value, for the origin that the configuration has now."""

    def voucher(self, configuration: Configuration) -> Voucher:
        """Return what the key vouches for of a stored configuration."""

    def vouch(self, configuration: Configuration, changed: Collection[str]) -> None:
        """Vouch for what a save has changed, so that it cannot be changed without the key.

        `changed` are names of secrets, SEAL for the script, and paths of settings.
        """


class TokenRows(Protocol):
    """The table that sealed tokens are kept in."""

    def read(self, configuration: Configuration) -> TokenRow | None:
        """Return the row of a configuration."""

    def swap(
        self, configuration: Configuration, generation: int, row: TokenRow
    ) -> bool:
        """Write a row in the place of the one of this generation (0: none), and tell whether.

        Sealed bytes of the same serial are left as they are: a rewrap may have changed them.
        """

    def now(self) -> float:
        """Return Unix time by a clock that all who share the rows read alike."""


class AuditRows(Protocol):
    """The table that a chained audit is kept in."""

    def append(self, rows: Sequence[ChainRow]) -> None:
        """Keep all rows durably or none, or raise AuditUnavailable."""

    def count(self) -> int:
        """Return how many rows there are."""

    def newest(
        self, limit: int, *, before: int = 0, **columns: str
    ) -> list[dict[str, object]]:
        """Return the facts of the newest rows with their ids, newest first.

        Only those before a row, and with these values in their labels, if any are given.
        """

    def read(self) -> Iterator[ChainRow]:
        """Return all rows, one stream after the other, each ordered by number."""

    def expired(self, moment: int, step: int) -> Iterator[ChainRow]:
        """Return the rows up to which each stream is older than a moment, so many at a time."""

    def prune(self, tombstone: Mark) -> int:
        """Remove the rows up to a tombstone, keep that in their place, and return how many."""

    def tombstones(self) -> Iterator[Mark]:
        """Return the newest tombstone of every stream that was pruned."""


class Checkpoints(Protocol):
    """The second place, apart from the rows, that says how far each stream had got."""

    def append(self, mark: Mark) -> None:
        """Keep a checkpoint durably, or raise AuditUnavailable."""

    def read(self) -> Iterator[Mark]:
        """Return all checkpoints."""


class RateLimitRows(Protocol):
    """How far the permits of each configuration are given out, for all who share it."""

    def advance(self, configuration: str, step: Callable[[Pace], Pace]) -> None:
        """Replace the pace by what the step makes of it, with nobody else in between."""


class Processes(Protocol):
    """Which processes are at work, and which keys they hold."""

    def seen(self, process: str, keys: Sequence[str], at: float) -> None:
        """Keep that a process works, with these keys."""

    def gone(self, process: str) -> None:
        """Forget a process that ended."""

    def lacking(self, key: str, since: float) -> list[str]:
        """Return the processes that were seen since then and do not hold this key."""
