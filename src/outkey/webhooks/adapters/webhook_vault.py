"""Secrets and bodies of webhooks, sealed with the keys of an installation."""

import os
from base64 import b64decode, b64encode

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from outkey.foundation.core.errors import SecretUnreadable, drop_traceback
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.secrets_envelope import seal, unseal
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.secrets.secrets_stored import Keyrings
from outkey.sending.core.configuration.reference import Reference
from outkey.sending.core.vault.envelope import (
    DATA_KEY_BYTES,
    NONCE_BYTES,
    Place,
    key_name_of,
)


class SealedWebhooks:
    """Opens and seals with the ring; bodies have a key of their own for each webhook.

    So a rotation rewraps one key for each webhook, and not every body.
    """

    def __init__(self, keys: Keyrings, references: ReferencedSecrets) -> None:
        self._keys = keys
        self._references = references

    def seal(self, secret: Secret, place: Place) -> bytes:
        return seal(secret, place, self._keys.fresh())

    def open(self, sealed: bytes, place: Place) -> Secret:
        return unseal(sealed, place, self._keys.ring(key_name_of(sealed)))

    def open_reference(self, reference: Reference, field: str) -> Secret:
        return self._references.open_reference(reference, field)

    def new_key(self) -> Secret:
        return Secret(b64encode(os.urandom(DATA_KEY_BYTES)).decode())

    @drop_traceback
    def seal_body(self, key: Secret, body: bytes, place: Place) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + _cipher(key).encrypt(nonce, body, place.associated_data())

    @drop_traceback
    def open_body(self, key: Secret, sealed: bytes, place: Place) -> bytes:
        nonce = sealed[:NONCE_BYTES]
        content = sealed[NONCE_BYTES:]
        try:
            return _cipher(key).decrypt(nonce, content, place.associated_data())
        except (InvalidTag, ValueError):
            raise SecretUnreadable from None


def _cipher(key: Secret) -> AESGCM:
    return AESGCM(b64decode(key.reveal()))
