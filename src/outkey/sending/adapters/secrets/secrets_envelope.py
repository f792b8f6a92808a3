"""Secrets in AES-256-GCM envelopes: a data key per write, wrapped by the ring's key.

Rotation rewraps the data key only, 32 bytes per secret, and never decrypts the secret.
"""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from outkey.foundation.core.errors import SecretUnreadable, drop_traceback
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.keyring import Keyring
from outkey.sending.core.vault.envelope import (
    DATA_KEY_BYTES,
    NONCE_BYTES,
    Envelope,
    Place,
    pad,
    unpack,
    unpad,
)


@drop_traceback
def seal(secret: Secret, place: Place, ring: Keyring) -> bytes:
    """Return the bytes to store for a secret at a place."""
    key = ring.primary
    data_key = os.urandom(DATA_KEY_BYTES)
    bound = place.associated_data()
    key_nonce = os.urandom(NONCE_BYTES)
    nonce = os.urandom(NONCE_BYTES)
    wrapped = key.cipher.encrypt(key_nonce, data_key, bound)
    # As hex, since `derive` returns text. A lone surrogate is refused here.
    text = secret.derive(lambda plain: pad(plain.encode()).hex())
    ciphertext = AESGCM(data_key).encrypt(nonce, bytes.fromhex(text.reveal()), bound)
    return Envelope(key.id, key_nonce, wrapped, nonce, ciphertext).pack()


@drop_traceback
def unseal(stored: bytes, place: Place, ring: Keyring) -> Secret:
    """Return the secret that was sealed at this place, or raise SecretUnreadable."""
    envelope = unpack(stored)
    bound = place.associated_data()
    data_key = _unwrap(envelope, bound, ring)
    try:
        padded = AESGCM(data_key).decrypt(envelope.nonce, envelope.ciphertext, bound)
    except InvalidTag:
        raise SecretUnreadable from None
    return Secret(unpad(padded).decode())


def unseal_text(stored: bytes, place: Place, ring: Keyring) -> str:
    """Return a text that is not secret; it was sealed to prove that outkey wrote it."""
    return unseal(stored, place, ring).reveal()


@drop_traceback
def rewrap(stored: bytes, place: Place, ring: Keyring) -> bytes:
    """Return the same secret under the primary key; unchanged if it is already."""
    envelope = unpack(stored)
    key = ring.primary
    if envelope.key_id == key.id:
        return stored
    bound = place.associated_data()
    data_key = _unwrap(envelope, bound, ring)
    key_nonce = os.urandom(NONCE_BYTES)
    wrapped = key.cipher.encrypt(key_nonce, data_key, bound)
    return Envelope(
        key.id, key_nonce, wrapped, envelope.nonce, envelope.ciphertext
    ).pack()


def _unwrap(envelope: Envelope, bound: bytes, ring: Keyring) -> bytes:
    key = ring.opener(envelope.key_id)
    try:
        return key.cipher.decrypt(envelope.key_nonce, envelope.wrapped_key, bound)
    except InvalidTag:
        raise SecretUnreadable from None
