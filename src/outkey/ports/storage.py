"""What an installation stores: configurations, secrets, tokens, audit rows."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from outkey.core.audit.chain import AuditStream, ChainRow, Mark
from outkey.core.config.configuration import Configuration, SecretState, SyncLine
from outkey.core.findings.health import Summary
from outkey.core.secret import Secret
from outkey.core.shared_state import SharedState, StateKind
from outkey.core.sync.schedule import TimedLine
from outkey.core.vault.envelope import SealedRow, TokenRow
from outkey.core.vault.voucher import Voucher
from outkey.ports.sending import Configurations, Secrets


class Registry(Configurations, Protocol):
    """Where configurations are kept and changed."""

    def all(self) -> list[Configuration]:
        """Return every configuration, by name; opens no secret."""

    def find(self, names: Iterable[str]) -> dict[str, Configuration]:
        """Return those of these configurations that there are."""

    def batch(self) -> AbstractContextManager[None]:
        """Keep all of what is changed inside, or none of it."""

    def add(self, configuration: Configuration) -> Configuration:
        """Keep a new configuration with its references; return it with record and version."""

    def replace(self, configuration: Configuration) -> Configuration:
        """Keep a changed configuration, or raise EditConflict if its version is not the newest."""

    def remove(self, name: str) -> None:
        """Forget a configuration with its secrets and lines, or raise UnknownConfiguration."""

    def lines(self) -> list[SyncLine]:
        """Return every sync line, by name."""

    def timetable(self) -> list[TimedLine]:
        """Return when lines run, of all of them, also of those that cannot be read otherwise."""

    def put_line(self, line: SyncLine) -> None:
        """Keep a sync line, new or changed."""

    def remove_line(self, name: str) -> None:
        """Forget a sync line, or raise UnknownConfiguration."""

    def put_secret(
        self, name: str, field: str, state: SecretState, sealed: bytes | None
    ) -> None:
        """Keep a pending version of a secret: its state and, if it is no reference, ciphertext."""

    def lock(self, configuration: Configuration) -> None:
        """Let nobody else change this configuration until the batch ends.

        Raises EditConflict if it is not stored any more, or not in this version.
        """

    def put_voucher(self, name: str, voucher: SealedRow) -> None:
        """Store a configuration's voucher; the one before is deleted, so that none can return."""

    def clear_secret(self, name: str, field: str) -> None:
        """Forget all versions of a secret."""

    def activate_secret(self, name: str, field: str, version: int) -> None:
        """Make the pending version the current one, and that the previous one.

        Raises EditConflict where it is not pending any more.
        """

    def sealed(
        self, configuration: Configuration, field: str, version: int
    ) -> bytes | None:
        """Return the ciphertext of one version of a stored secret."""

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        """Return how many stored secrets each key seals, by the key's name.

        With `vouchers`, those that it seals are counted as well.
        """

    def sealed_by_others(self, key: str, limit: int) -> list[SealedRow]:
        """Return some of the ciphertexts, all versions, that another key than this one seals."""

    def swap_sealed(self, row: SealedRow, stored: bytes) -> bool:
        """Put new bytes in the place of exactly these, and tell whether they were there."""

    def known_keys(self) -> dict[str, bytes]:
        """Return the keys that were used here, by name, with the check value of each."""

    def put_known_keys(self, keys: dict[str, bytes]) -> None:
        """Keep the check values of these keys as well."""

    def put_trial(
        self,
        configuration: Configuration,
        at: float,
        cause: str,
        seen: Mapping[str, object] | None = None,
    ) -> None:
        """Keep how the last test of this state of a configuration ended; no cause: it works.

        What was seen of the other side is kept until another test sees something.
        """

    def resume(self, name: str) -> None:
        """End a pause, or raise UnknownConfiguration."""

    def due(self, before: float, limit: int) -> list[str]:
        """Return the names of configurations that could send and whose last test is older.

        The oldest first; what nobody has tested yet is not among them.
        """

    def summaries(self) -> list[Summary]:
        """Return what lists show of every configuration, by name; reads no row and no secret."""


class SecretStore(Secrets, Protocol):
    """Where secret values are kept and replaced."""

    def replace(
        self, configuration: Configuration, field: str, secret: Secret, *, by: str = ""
    ) -> SecretState:
        """Keep a new value, for the origin that the configuration has now."""

    def voucher(self, configuration: Configuration) -> Voucher:
        """Return what the key vouches for of a stored configuration."""

    def vouch(self, configuration: Configuration, changed: Collection[str]) -> None:
        """Vouch for what a save has changed, so that it cannot be changed without the key.

        `changed` are names of secrets, SEAL for the script, and paths of settings.
        """


class Database(Protocol):
    """What all rows of a host share: its transactions and its clock."""

    def transaction(self) -> AbstractContextManager[None]:
        """Write all of what is written inside, or nothing.

        Raises StorageUnavailable where the database fails.
        """

    def now(self) -> float:
        """Return Unix time by a clock that all processes sharing it read alike."""


class TokenRows(Protocol):
    """The table of sealed tokens, one row a configuration."""

    def read(self, configuration: Configuration) -> TokenRow | None:
        """Return the row of a configuration."""

    def swap(
        self, configuration: Configuration, generation: int, row: TokenRow
    ) -> bool:
        """Replace the row of this generation (0: there is none), and return whether.

        Sealed bytes of the same serial stay: a key rotation may have changed them.
        """


class AuditRows(Protocol):
    """The table of a chained audit.

    `append` commits by itself: a record that the caller's transaction could roll back
    is not a record.
    """

    def append(self, rows: Sequence[ChainRow]) -> None:
        """Store all rows durably or none, or raise AuditUnavailable."""

    def newest(
        self, limit: int, *, before: int = 0, **labels: str
    ) -> list[dict[str, object]]:
        """Return the facts of the newest rows with their ids, newest first.

        Only those before the row with this id, and with these labels, if given.
        """

    def after(self, position: int, limit: int) -> list[dict[str, object]]:
        """Return the facts of the rows after an id, with their ids, oldest first."""

    def read(self) -> Iterator[ChainRow]:
        """Return all rows, one stream after the other, each ordered by number."""

    def streams(self) -> Iterator[AuditStream]:
        """Return every stream, also one whose rows were all pruned."""

    def prune(self, tombstone: Mark) -> int:
        """Replace the rows up to a tombstone by it; return how many were removed."""


class Checkpoints(Protocol):
    """A second place, apart from the rows, that records how far each stream has got."""

    def append(self, mark: Mark) -> None:
        """Store a checkpoint durably, or raise AuditUnavailable."""

    def read(self) -> Iterator[Mark]:
        """Return all checkpoints."""


class StateRows(Protocol):
    """The table of small values that all processes share: leases, heartbeats, paces.

    Values hold what JSON can hold, and no secrets.
    """

    def read(
        self, kind: StateKind, keys: Collection[str] | None = None
    ) -> dict[str, SharedState]:
        """Return the states of a kind by key: of all keys, or of these."""

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        """Replace the state of this generation (0: there is none), and return whether.

        Of several processes that try at the same time one succeeds.
        """

    def put(
        self, kind: StateKind, values: Mapping[str, Mapping[str, Any] | None]
    ) -> None:
        """Store values by key, whatever there was before; None deletes."""
