"""The ledger of a push: what the API last accepted of each record."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

UNSURE = "?"  # a digest that no values have: what the API has is not known
_KEY_LENGTH = 32
_COUNT_MARK = "."  # before the number of records that a key is for


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """The entry of a push's ledger for one record of the host."""

    record: str  # its id
    digest: str = ""  # of the mapped values that were last accepted; "" for none
    remote_id: str = ""  # "" before it is created, and after it is deleted
    is_deleted: bool = False  # at the API
    # How many of its creates got a response. It is a part of the Idempotency-Key, so
    # that a create that a kill has repeated is the same one, and a later one is not.
    creations: int = 0
    key: str = ""  # the Idempotency-Key of a create that has no response yet
    sent: str = ""  # the digest of what that create has sent

    @property
    def exists(self) -> bool:
        """Whether the API has the record."""
        return not self.is_deleted and bool(self.digest or self.remote_id)

    def announce(self, key: str, digest: str) -> "LedgerEntry":
        """Return the entry of a create that is sent now.

        If one with other values had no response, either may be what the API has.
        """
        sent = digest if self.sent in {"", digest} else UNSURE
        return replace(self, key=key, sent=sent)

    def accept(self, digest: str, remote_id: str = "") -> "LedgerEntry":
        """Return the entry after the API has created the record."""
        return LedgerEntry(
            self.record,
            digest=digest if self.sent in {"", digest} else UNSURE,
            remote_id=remote_id or self.remote_id,
            creations=self.creations + 1,
        )

    def update(self, digest: str) -> "LedgerEntry":
        """Return the entry after the API has updated the record."""
        return LedgerEntry(
            self.record, digest, self.remote_id, creations=self.creations
        )

    def delete(self) -> "LedgerEntry":
        """Return the entry after the API has deleted the record."""
        return LedgerEntry(self.record, is_deleted=True, creations=self.creations)


def digest_of(body: object, path_values: Mapping[str, object]) -> str:
    """Return a digest of what a record sends, in its body and in its path."""
    canonical = json.dumps(
        [body, path_values], sort_keys=True, separators=(",", ":"), default=str
    )
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()


def creation_key(configuration: str, line: str, entry: LedgerEntry) -> str:
    """Return the Idempotency-Key of the next creation of a record.

    It has the id of the configuration, because another installation may send records
    with the same ids to the same API.
    """
    return _key_of([configuration, line, entry.record, entry.creations])


def batch_key(keys: Sequence[str]) -> str:
    """Return the Idempotency-Key of a request that creates several records."""
    return f"{_key_of(keys)}{_COUNT_MARK}{len(keys)}"


def count_of(key: str) -> int:
    """Return for how many records a key is."""
    count = key.partition(_COUNT_MARK)[2]
    return int(count) if count else 1


def _key_of(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_KEY_LENGTH]
