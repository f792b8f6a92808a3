"""Interfaces to stored rows: configurations, secrets, tokens, audit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from outkey.sending.ports.sending import Secrets

if TYPE_CHECKING:
    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.database import Database
    from outkey.sending.core.audit.chain import AuditStream, ChainMark, ChainRow
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.health import Summary
    from outkey.sending.core.configuration.rows import ConfigurationRow
    from outkey.sending.core.configuration.secret_state import SecretState
    from outkey.sending.core.connections.connection import ConnectionQuery
    from outkey.sending.core.vault.envelope import TokenRow
    from outkey.sending.core.vault.row_voucher import RowName
    from outkey.sending.core.vault.versions import SecretVersion
    from outkey.sending.core.vault.voucher import Voucher


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

        Locked, no other process can change them until the transaction ends. Rows are
        compared with those read before, fastest if a row is still the same object.
        Connections are rows with names and records of their own, and are found by these
        only: all of them means all configurations.
        """

    def connections(
        self, configuration: str, query: ConnectionQuery
    ) -> list[ConfigurationRow]:
        """Return connections of a configuration, by its record, ordered by their ids.

        By code points: the next page begins after the last id of this one.
        """

    def swap(
        self, before: ConfigurationRow | None, after: ConfigurationRow | None
    ) -> bool:
        """Replace the row that has the stamp of `before`.

        Returns whether it was there. Without `before` the row is inserted, unless its
        name is taken; without `after` it is deleted with its lines, secrets, token and
        connections.
        A row with another name stays the same one, with all that belongs to it.
        At least one of the two is given.
        """

    def summaries(self) -> list[Summary]:
        """Return summaries for lists, by name; reads neither settings nor secrets."""


class SecretRows(Protocol):
    """The tables of ciphertexts: secrets in all versions, vouchers and tokens."""

    def read(self, records: Collection[str], field: str = "") -> list[SecretVersion]:
        """Return the versions of secrets and vouchers of these records.

        Ciphertexts are read only where a field is named.
        """

    def swap(self, before: SecretVersion | None, after: SecretVersion | None) -> bool:
        """Replace label and ciphertext of exactly this version.

        Returns whether it was there: place, label and ciphertext are compared. Without
        `before` the version is inserted, unless there is one of its number; without
        `after` deleted. At least one of the two is given. Tokens are found by their
        place, and only their ciphertexts change.
        """

    def sealed_by_others(self, key: str, limit: int) -> list[SecretVersion]:
        """Return some of the ciphertexts that are sealed with other keys."""

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        """Return how many secrets and tokens each key seals, by the key's name.

        With `vouchers`, vouchers are counted as well. Ciphertexts that name no key are
        counted by the name "".
        """

    def needs_key(self) -> bool:
        """Whether anything is stored that was sealed or signed with a key.

        By the ciphertexts themselves, whatever another column states about them.
        """


class KeyRows(Protocol):
    """The table of keys that this database was used with."""

    def read(self) -> dict[str, bytes]:
        """Return the check value of each key, by the key's name."""

    def add(self, keys: Mapping[str, bytes]) -> None:
        """Store the check values of these keys; those stored already do not change."""


@dataclass(frozen=True, slots=True)
class ConfigurationStorage:
    """The rows of configurations and their secrets, with the database they are in."""

    database: Database
    configurations: ConfigurationRows
    secrets: SecretRows
    keys: KeyRows


class SecretStore(Secrets, Protocol):
    """Where secret values are stored, sealed and vouched for.

    It writes secrets and vouchers only: after a change call `note_secrets_changed` of
    `sending/engine/registry.py`, so that no cache has the previous value.
    """

    def set_value(
        self, configuration: Configuration, field: str, secret: Secret, *, by: str = ""
    ) -> SecretState:
        """Store a new value, for the origin that the configuration has now."""

    def stage_value(
        self, configuration: Configuration, field: str, secret: Secret, *, by: str = ""
    ) -> SecretState:
        """Store a new value for the next set of credentials; the one in use stays."""

    def voucher(self, configuration: Configuration) -> Voucher:
        """Return the voucher of a stored configuration."""

    def refuse_unvouched(self, configuration: Configuration, field: str) -> None:
        """Raise SecretUnreadable unless a secret is as it was saved; opens nothing."""

    def vouch(
        self,
        configuration: Configuration,
        changed: Collection[str],
        *,
        moves: bool = False,
    ) -> None:
        """Vouch for what a save has changed: other changes are noticed then.

        `changed` are names of secrets and paths of settings, and SCRIPT_FACT. If it
        `moves` secrets between sets of credentials, no ciphertext may be another one
        than before: SecretUnreadable.
        """

    def vouch_each(
        self, changes: Iterable[tuple[Configuration, Collection[str]]]
    ) -> None:
        """Vouch for what a save has changed of each of several configurations."""


class TokenRows(Protocol):
    """The table of sealed tokens, one row per configuration."""

    def read(self, configuration: Configuration) -> TokenRow | None:
        """Return the row of a configuration."""

    def swap(
        self, configuration: Configuration, generation: int, row: TokenRow
    ) -> bool:
        """Replace the row if it has this generation (0 inserts); return whether it did.

        Sealed bytes of the same serial stay: a key rotation may have changed them.
        """


class AuditRows(Protocol):
    """The table of a chained audit.

    `append` commits by itself: the caller's transaction must not roll a record back.
    """

    def append(self, rows: Sequence[ChainRow], *, sync: bool = False) -> None:
        """Store all rows durably or none, or raise AuditUnavailable.

        With `sync`, these rows and all before them survive a power failure: a
        checkpoint that follows must not state more than what is there after one.
        """

    def newest(
        self, limit: int, *, before: int = 0, **labels: str
    ) -> list[dict[str, object]]:
        """Return the facts of the newest rows with their ids, newest first.

        Only those before the row with this id, and with these labels, if given:
        `configuration`, `outcome`, `kind` and `actor`, never empty.
        """

    def position_at(self, moment: float) -> int:
        """Return the id of the last row from before a Unix time; 0 for none."""

    def after(self, position: int, limit: int) -> list[dict[str, object]]:
        """Return the facts of the rows after an id, with their ids, oldest first."""

    def read(self) -> Iterator[ChainRow]:
        """Return all rows, one stream after the other, each ordered by number."""

    def streams(self) -> Iterator[AuditStream]:
        """Return every stream, also one whose rows were all pruned."""

    def beginnings(self, limit: int) -> list[ChainRow]:
        """Return the first rows of some streams, if they were not pruned.

        Of so many streams that began last, and of those that have one of so many rows
        that were written last.
        """

    def prune(self, tombstone: ChainMark) -> int:
        """Replace the rows up to a tombstone by it; return how many were removed.

        A tombstone that is not newer than the stored one changes nothing: another
        process has pruned at the same time.
        """


class AuditCheckpoints(Protocol):
    """Records, apart from the rows, how far each stream has got."""

    def append(self, mark: ChainMark) -> None:
        """Store a checkpoint durably, or raise AuditUnavailable."""

    def add_sightings(self, marks: Sequence[ChainMark]) -> None:
        """Store sightings of streams that have no mark here yet."""

    def read(self) -> Iterator[ChainMark]:
        """Return all checkpoints and sightings."""


class SeenRows(Protocol):
    """Remembers, apart from the database, the newest serial number of each row.

    So that a row which was replaced or deleted is not believed when it is put back.
    """

    def newest(self, name: RowName) -> int:
        """Return the highest serial number that was seen of a row; 0 for none."""

    def serials(self) -> Mapping[RowName, int]:
        """Return the highest serial number of each row, as of now."""

    def note(self, name: RowName, serial: int) -> None:
        """Remember a serial number, unless a higher one was seen."""

    def clear(self) -> None:
        """Remove all rows, for a database that was restored from a backup."""


class RowVouchers(Protocol):
    """Vouches for rows with a key that the database does not have.

    A content is JSON, and a voucher is a text that is stored with it.
    """

    def vouch(
        self, name: RowName, content: Mapping[str, Any], *, replaces: bool = False
    ) -> str:
        """Return the voucher for what is about to be stored, or raise Sealed.

        `replaces`: in the place of a row that was checked a moment ago.
        """

    def seen(self) -> Mapping[RowName, int]:
        """Return the newest serial number that was seen of each row, as of now."""

    def check(
        self,
        name: RowName,
        content: Mapping[str, Any],
        voucher: object,
        seen: Mapping[RowName, int],
    ) -> None:
        """Raise SecretUnreadable for a row that outkey did not store, or an old one.

        `seen` is from before the row was read: another process may have stored a newer
        one since. Sealed without a key to check it with.
        """

    def note_stored(self, name: RowName, voucher: str) -> None:
        """Remember that a row was stored: older ones are not accepted from now on."""

    def note_removed(self, name: RowName) -> None:
        """Remember that a row was deleted: it is not accepted if it is put back."""
