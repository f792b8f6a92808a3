"""The key of a webhook's secret, as bytes. The only place that reveals the secret."""

import binascii
import hashlib
import html
import re
from base64 import b64decode
from collections.abc import Callable

from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.schemes.scheme import KeyForm

STANDARD_PREFIX = "whsec_"
PUBLIC_PREFIX = "whpk_"
PRIVATE_PREFIX = "whsk_"
# Of Standard Webhooks: shorter keys are guessable, longer ones are hashed by HMAC.
MIN_STANDARD = 24
MAX_STANDARD = 64
MAX_PUBLIC = 4096  # bytes; a key of 16384 bits has 2086
ED25519_LENGTH = 32
PEM = re.compile(
    r"-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----"
)


def key_bytes(secret: Secret, form: KeyForm) -> bytes | None:
    """Return the key of a secret, None if the secret has another form."""
    text = secret.reveal()
    try:
        key = KEY_READERS[form](text)
    except ValueError:  # a UnicodeEncodeError, too, holds the text
        return None
    return key or None


def private_key_bytes(secret: Secret, form: KeyForm) -> bytes | None:
    """Return the private Ed25519 key that belongs to a public one of this form."""
    text = secret.reveal()
    try:
        if form is KeyForm.PUBLIC_HEX:
            return _read_hex(text)
        return _read_base64(text.removeprefix(PRIVATE_PREFIX))
    except ValueError:
        return None


def read_text(text: str) -> bytes:
    """Return the text itself."""
    return text.encode()


def _read_base64(text: str) -> bytes:
    """Return the bytes of a Base64 text, with or without padding."""
    text = text.strip().rstrip("=")
    return b64decode(text + "=" * (-len(text) % 4), validate=True)


def _read_standard(text: str) -> bytes:
    """Return the key of Standard Webhooks."""
    # Some senders put the version before the prefix.
    encoded = text.strip().removeprefix("v1,").removeprefix(STANDARD_PREFIX)
    key = _read_base64(encoded)
    if not MIN_STANDARD <= len(key) <= MAX_STANDARD:
        raise ValueError
    return key


def _read_hex(text: str) -> bytes:
    """Return the bytes of a hexadecimal text."""
    return binascii.unhexlify(text.strip())


def _read_hash(text: str) -> bytes:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).digest()


def _read_html(text: str) -> bytes:
    """Return a text whose HTML entities are decoded."""
    return html.unescape(text).encode()


def _read_public_standard(text: str) -> bytes:
    """Return the public key of Standard Webhooks v1a."""
    return _fixed_length(_read_base64(text.strip().removeprefix(PUBLIC_PREFIX)))


def _read_public_hex(text: str) -> bytes:
    """Return a public key that is written in hexadecimal digits."""
    return _fixed_length(_read_hex(text))


def _fixed_length(key: bytes) -> bytes:
    """Return an Ed25519 key."""
    if len(key) != ED25519_LENGTH:
        raise ValueError
    return key


def _read_public_der(text: str) -> bytes:
    """Return a SubjectPublicKeyInfo, given as PEM or as its Base64 alone."""
    pem = PEM.fullmatch(text.strip())
    key = _read_base64("".join((pem[1] if pem else text).split()))
    if len(key) > MAX_PUBLIC:
        raise ValueError
    return key


def is_pem(secret: Secret) -> bool:
    """Whether a secret is a public key as PEM."""
    return bool(secret.known_prefix(("-----BEGIN PUBLIC KEY-----",)))


KEY_READERS: dict[KeyForm, Callable[[str], bytes]] = {
    KeyForm.TEXT: read_text,
    KeyForm.STANDARD: _read_standard,
    KeyForm.BASE64: _read_base64,
    KeyForm.HEX: _read_hex,
    KeyForm.SHA256: _read_hash,
    KeyForm.HTML: _read_html,
    KeyForm.PUBLIC_STANDARD: _read_public_standard,
    KeyForm.PUBLIC_HEX: _read_public_hex,
    KeyForm.PUBLIC_DER: _read_public_der,
}
