"""The keys that seal secrets: one primary, others that still open, and retired ones.

A ring is a value; every step of a rotation returns another ring, or refuses if it is
unsafe. The text form, in the key file and in OUTKEY_KEY, is one key per line:
`state base64`.
"""

import binascii
import hashlib
import hmac
import os
from base64 import b64decode, b64encode
from dataclasses import dataclass, field, replace
from enum import StrEnum

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from outkey.foundation.core.errors import (
    ConfigError,
    KeyStepRefused,
    Sealed,
    drop_traceback,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text, counted
from outkey.sending.core.vault.envelope import KEY_ID_BYTES

KEY_BYTES = 32


class KeyState(StrEnum):
    """The use of a key: sealing, opening, or neither."""

    PRIMARY = "primary"  # seals and opens
    DECRYPT = "decrypt"  # opens only
    RETIRED = "retired"  # neither; stored for old backups, which need it reopened


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the ring."""

    id: bytes
    state: KeyState
    material: Secret  # Base64, so that it is text like every other secret
    cipher: AESGCM = field(compare=False, repr=False)

    def raw(self) -> bytes:
        """Return the key itself, to derive others from."""
        return b64decode(self.material.reveal())

    @property
    def name(self) -> str:
        """The id as users see it."""
        return self.id.hex()


def make_key(raw: bytes, state: KeyState) -> Key:
    """Make a key from its bytes; its id is derived, so that a wrong file is noticed."""
    identity = hashlib.sha256(b"kid" + raw).digest()[:KEY_ID_BYTES]
    return Key(identity, state, Secret(b64encode(raw).decode("ascii")), AESGCM(raw))


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys of an installation."""

    keys: tuple[Key, ...]

    @property
    def primary(self) -> Key:
        """The key that new secrets are sealed with."""
        return next(key for key in self.keys if key.state is KeyState.PRIMARY)

    def opener(self, key_id: bytes) -> Key:
        """Return the key that opens what was sealed with this id."""
        name = key_id.hex()
        for key in self.keys:
            if key.id != key_id:
                continue
            if key.state is KeyState.RETIRED:
                raise Sealed(
                    Text(
                        "the key {key} that a secret was encrypted with is retired",
                        key=name,
                    ),
                    hint=_reopen_hint(name),
                )
            return key
        raise Sealed(
            Text("the key {key} that a secret was encrypted with is missing", key=name)
        )

    def opens(self, name: str) -> bool:
        """Whether the key of this name opens secrets."""
        return any(
            key.name == name and key.state is not KeyState.RETIRED for key in self.keys
        )

    def holds(self, name: str) -> bool:
        """Whether the key of this name is in the ring."""
        return any(key.name == name for key in self.keys)

    def check_values(self) -> dict[str, bytes]:
        """Return a value per key that proves the key and does not reveal it."""
        return {key.name: self.derive("check", key.name) for key in self.keys}

    def derive(self, purpose: str, name: str | None = None) -> bytes:
        """Return a key for another purpose, derived from the primary or a named key."""
        key = self.primary if name is None else self._find(name)
        kdf = HKDF(SHA256(), KEY_BYTES, salt=None, info=f"outkey {purpose}".encode())
        return kdf.derive(key.raw())

    def add(self) -> tuple["Keyring", Key]:
        """Return a ring with a new key that only opens, until every process has it."""
        key = make_key(os.urandom(KEY_BYTES), KeyState.DECRYPT)
        return Keyring((*self.keys, key)), key

    def promote(self, name: str) -> "Keyring":
        """Return a ring in which this key seals and the former primary only opens."""
        chosen = self._find(name)
        if chosen.state is KeyState.RETIRED:
            raise KeyStepRefused(
                Text("a retired key cannot be promoted"), hint=_reopen_hint(name)
            )
        return self._with_states(
            {self.primary.id: KeyState.DECRYPT, chosen.id: KeyState.PRIMARY}
        )

    def retire(self, name: str, *, secrets: int) -> "Keyring":
        """Return a ring that no longer opens with this key, unless secrets need it."""
        chosen = self._find(name)
        if chosen.state is KeyState.PRIMARY:
            raise KeyStepRefused(
                Text("the primary key cannot be retired"),
                hint=Text("Promote another first."),
            )
        if secrets:
            message = counted(
                secrets,
                Text("1 secret is still encrypted with this key"),
                Text(
                    "{count} secrets are still encrypted with this key", count=secrets
                ),
            )
            raise KeyStepRefused(message, hint=Text("Run: outkey keys rewrap"))
        return self._with_states({chosen.id: KeyState.RETIRED})

    def reopen(self, name: str) -> "Keyring":
        """Return a ring that opens with a retired key again."""
        chosen = self._find(name)
        if chosen.state is not KeyState.RETIRED:
            raise KeyStepRefused(
                Text("this key is not retired"), hint=Text("See: outkey keys status")
            )
        return self._with_states({chosen.id: KeyState.DECRYPT})

    def same_keys(self, other: "Keyring") -> bool:
        """Whether two rings hold the same keys, in constant time for the material."""
        mine = serialize(self)
        theirs = serialize(other)
        return hmac.compare_digest(mine.reveal().encode(), theirs.reveal().encode())

    def _find(self, name: str) -> Key:
        for key in self.keys:
            if key.name == name:
                return key
        raise KeyStepRefused(
            Text("there is no key with this id"), hint=Text("See: outkey keys status")
        )

    def _with_states(self, states: dict[bytes, KeyState]) -> "Keyring":
        return Keyring(
            tuple(replace(k, state=states.get(k.id, k.state)) for k in self.keys)
        )


def _reopen_hint(name: str) -> Text:
    """Return the hint how a retired key is opened again."""
    return Text("Run: outkey keys reopen {key}", key=name)


def new_keyring() -> Keyring:
    """Return a ring with one new key."""
    return Keyring((make_key(os.urandom(KEY_BYTES), KeyState.PRIMARY),))


def serialize(ring: Keyring) -> Secret:
    """Return the ring as text; secret, since it holds the keys."""
    lines = (f"{key.state} {key.material.reveal()}\n" for key in ring.keys)
    return Secret("".join(lines))


@drop_traceback
def parse(text: Secret) -> Keyring:
    """Read a ring, lines or one bare Base64 key, or raise Sealed."""
    keys = [_parse_line(line) for line in text.reveal().splitlines() if line.strip()]
    if sum(key.state is KeyState.PRIMARY for key in keys) != 1:
        raise Sealed(Text("the key file has no primary key, or more than one"))
    if len({key.id for key in keys}) != len(keys):
        raise Sealed(Text("the key file has one key twice"))
    return Keyring(tuple(keys))


def _parse_line(line: str) -> Key:
    *state, encoded = line.split()
    try:
        raw = b64decode(encoded, validate=True)
        key_state = KeyState(state[0]) if state else KeyState.PRIMARY
    except (binascii.Error, ValueError):
        raise Sealed(Text("the key is damaged: a line is not `state base64`")) from None
    if len(raw) != KEY_BYTES or len(state) > 1:
        raise Sealed(
            Text(
                "the key is damaged: a key must have {count} bytes",
                count=KEY_BYTES,
            )
        )
    return make_key(raw, key_state)


def agree(first: Keyring | None, second: Keyring | None) -> Keyring | None:
    """Return the ring of two sources, or raise ConfigError where they differ."""
    if first is not None and second is not None and not first.same_keys(second):
        hint = Text("Remove one of the two; nothing was changed.")
        raise ConfigError(
            Text("OUTKEY_KEY and the key file have different keys"), hint=hint
        )
    return first or second
