"""The bytes of a sealed secret: layout, padding and place. No cryptography.

    0x01 | algorithm (1) | key id (8)
         | nonce (12) | wrapped data key (32) and tag (16)
         | nonce (12) | padded text (64 or more) and tag (16)

Both layers are sealed with the same associated data, so that a ciphertext opens only
where it was written: in its table, record, field and version, and for its origin.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from outkey.foundation.core.errors import OutkeyError, SecretUnreadable
from outkey.foundation.core.text import Text

FORMAT = 1
AES_256_GCM = 1
KEY_ID_BYTES = 8
NONCE_BYTES = 12
TAG_BYTES = 16
DATA_KEY_BYTES = 32
BLOCK = 64
_SEALED_KEY = DATA_KEY_BYTES + TAG_BYTES
_HEAD = struct.Struct(f">BB{KEY_ID_BYTES}s{NONCE_BYTES}s{_SEALED_KEY}s{NONCE_BYTES}s")
_DOMAIN = "outkey1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a secret is written, and for which origin it may be opened."""

    table: str
    record: str
    field: str
    version: int
    origin: str

    def associated_data(self) -> bytes:
        """Encode the place, each part with its length, so that no two are the same."""
        return _encode(self)


@lru_cache(maxsize=1024)  # every send and every delivery opens the same places
def _encode(place: Place) -> bytes:
    parts = (
        _DOMAIN,
        place.table,
        place.record,
        place.field,
        str(place.version),
        place.origin,
    )
    encoded = [part.encode() for part in parts]
    return b"".join(struct.pack(">I", len(part)) + part for part in encoded)


WEBHOOK_TABLE = "webhook"  # of the secrets of webhooks


def secret_place(record: str, field: str, version: int, origin: str) -> Place:
    """Return the place of a configuration's secret, the same for every registry."""
    return Place("secret", record, field, version, origin)


def token_place(record: str, serial: int, origin: str) -> Place:
    """Return the place of a configuration's token."""
    return Place("token", record, "token", serial, origin)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A sealed secret, taken apart."""

    key_id: bytes
    key_nonce: bytes
    wrapped_key: bytes
    nonce: bytes
    ciphertext: bytes

    def pack(self) -> bytes:
        """Return the bytes that are stored."""
        sealed_key = self.key_id, self.key_nonce, self.wrapped_key
        head = _HEAD.pack(FORMAT, AES_256_GCM, *sealed_key, self.nonce)
        return head + self.ciphertext


@dataclass(frozen=True, slots=True)
class SealedRow:
    """A stored ciphertext and the place it is bound to."""

    place: Place
    stored: bytes


@dataclass(frozen=True, slots=True)
class TokenRow:
    """The row of a token: sealed bytes, and facts that are not secret."""

    generation: int
    serial: int
    origin: str
    sealed: bytes | None
    facts: Mapping[str, object]
    # Why it must not be used: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = field(default=None, compare=False)


def key_name_of(stored: bytes) -> str:
    """Return the id of the key that opens a ciphertext, as users see it."""
    return unpack(stored).key_id.hex()


def named_key(stored: bytes) -> str:
    """Return the id of the key that opens a ciphertext; "" if it is damaged."""
    try:
        return key_name_of(stored)
    except SecretUnreadable:
        return ""


def unpack(stored: bytes) -> Envelope:
    """Take stored bytes apart, or raise SecretUnreadable."""
    if len(stored) < _HEAD.size + BLOCK + TAG_BYTES:
        raise SecretUnreadable(Text("a stored secret is incomplete"))
    version, algorithm, key_id, key_nonce, wrapped, nonce = _HEAD.unpack_from(stored)
    if (version, algorithm) != (FORMAT, AES_256_GCM):
        raise SecretUnreadable(
            Text("a stored secret has a format that is unknown to this version")
        )
    return Envelope(key_id, key_nonce, wrapped, nonce, stored[_HEAD.size :])


def pad(text: bytes) -> bytes:
    """Fill up to whole blocks, to hide the length of a secret (ISO 7816-4)."""
    return text + b"\x80" + b"\0" * (-(len(text) + 1) % BLOCK)


def unpad(padded: bytes) -> bytes:
    """Undo `pad`."""
    text, mark, _ = padded.rstrip(b"\0").rpartition(b"\x80")
    if not mark:
        raise SecretUnreadable
    return text
