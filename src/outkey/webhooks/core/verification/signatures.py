"""Signatures: reading them from headers, and computing and comparing them."""

import binascii
import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import Delivery, NotVerified, RefusalReason
from outkey.webhooks.core.schemes.scheme import (
    DIGEST_LENGTHS,
    HMAC_HASHES,
    PLACE,
    SYMMETRIC,
    SignatureAlgorithm,
    SignatureEncoding,
    SignatureList,
    UrlForm,
    WebhookScheme,
)
from outkey.webhooks.core.verification.keys import PUBLIC_PREFIX
from outkey.webhooks.core.verification.public_keys import PublicKeys

MAX_HEADER = 4096
MAX_SIGNATURES = 16  # in one header: two secrets, some versions
HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
BASE64_TEXT = re.compile(r"[A-Za-z0-9+/]+={0,2}")
PRINTABLE = re.compile(r"[\x20-\x7e]+")
# HubSpot decodes these of the URL before it signs it.
HUBSPOT_ESCAPES = {
    "%3A": ":",
    "%2F": "/",
    "%3F": "?",
    "%40": "@",
    "%21": "!",
    "%24": "$",
    "%27": "'",
    "%28": "(",
    "%29": ")",
    "%2A": "*",
    "%2C": ",",
    "%3B": ";",
}
HUBSPOT_ESCAPE = re.compile("|".join(HUBSPOT_ESCAPES), re.IGNORECASE)

Message = bytes | Sequence[bytes]  # as a whole or in pieces


def single_header(delivery: Delivery, names: Iterable[str]) -> str:
    """Return the value of the first of these headers that is there, or "".

    A header that occurs twice is refused: another program could read the other one.
    """
    for name in names:
        values = delivery.header_values(name)
        if len(values) > 1:
            raise NotVerified(RefusalReason.HEADER_REPEATED, header=name)
        # Only these are white space in HTTP; Python's strip() removes more.
        value = values[0].strip(" \t") if values else ""
        if value:
            return _checked_header(name, value)
    return ""


def _checked_header(name: str, value: str) -> str:
    """Return the value of a header if it is printable ASCII of limited length."""
    if len(value) > MAX_HEADER or not PRINTABLE.fullmatch(value):
        raise NotVerified(RefusalReason.HEADER_MALFORMED, header=name)
    return value


def signature_header(delivery: Delivery, scheme: WebhookScheme) -> str:
    """Return the value of the header with the signature."""
    value = single_header(delivery, scheme.signature_headers)
    if not value:
        names = ", ".join(scheme.signature_headers)
        raise NotVerified(RefusalReason.SIGNATURE_MISSING, header=names)
    return value


def listed_values(listing: SignatureList, value: str, name: str) -> list[str]:
    """Return the values of a name in a header with several signatures."""
    if listing.between_lists:
        value = value.replace(listing.between_lists, listing.separator)
    items = value.split(listing.separator)
    if len(items) > MAX_SIGNATURES:
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    pairs = [item.strip(" ").partition(listing.mark) for item in items]
    return [text for key, _, text in pairs if key == name]


def signature_texts(scheme: WebhookScheme, value: str) -> list[str]:
    """Return the signatures of a header as they are written."""
    if scheme.listing is not None:
        return listed_values(scheme.listing, value, scheme.listing.version)
    for prefix in scheme.prefixes:
        if value.startswith(prefix):
            return [value.removeprefix(prefix)]
    return []


def read_signatures(scheme: WebhookScheme, value: str) -> list[bytes]:
    """Return the signatures of a header; those of another length are left out."""
    length = DIGEST_LENGTHS.get(scheme.algorithm)
    decoded = [
        decode_signature(scheme.encoding, text)
        for text in signature_texts(scheme, value)
    ]
    return [
        signature
        for signature in decoded
        if signature and length in {None, len(signature)}
    ]


def decode_signature(encoding: SignatureEncoding, text: str) -> bytes:
    """Return the bytes of a signature; b"" if it is not written in this encoding."""
    if encoding is SignatureEncoding.HEX:
        return binascii.unhexlify(text) if HEX.fullmatch(text) else b""
    return decode_base64(text)


def decode_base64(text: str) -> bytes:
    """Return the bytes of a Base64 text, with or without padding; b"" if invalid.

    Only the one text that these bytes have is accepted.
    """
    if not BASE64_TEXT.fullmatch(text):
        return b""
    digits = text.rstrip("=")
    if len(digits) % 4 == 1:
        return b""
    data = b64decode(digits + "=" * (-len(digits) % 4))
    written = b64encode(data).decode()
    return data if text in {written, written.rstrip("=")} else b""


def encode_signature(encoding: SignatureEncoding, signature: bytes) -> str:
    """Return a signature as it is sent."""
    if encoding is SignatureEncoding.HEX:
        return signature.hex()
    return b64encode(signature).decode()


def scheme_for(scheme: WebhookScheme, secret: Secret) -> WebhookScheme:
    """Return the scheme that a secret is for: another one for a public key."""
    if scheme.with_public_key and secret.known_prefix((PUBLIC_PREFIX,)):
        return replace(scheme.with_public_key, timestamp=scheme.timestamp)
    return scheme


def fill_template(template: str, parts: Mapping[str, bytes]) -> list[bytes]:
    """Return the signed bytes in pieces: the template with the parts in its places.

    They are not joined: a body may be large.
    """
    return [
        parts[piece[1:-1]] if PLACE.fullmatch(piece) else piece.encode()
        for piece in PLACE.split(template)
    ]


def check_url(url: str) -> None:
    """Refuse a delivery whose URL is needed, but unknown or unreadable."""
    if not url:
        raise NotVerified(RefusalReason.URL_UNKNOWN)
    try:
        has_host = urlsplit(url).hostname and urlsplit(url).port != 0
    except ValueError:
        has_host = False
    if not has_host or not PRINTABLE.fullmatch(url):
        raise NotVerified(RefusalReason.URL_MALFORMED)


def signed_url(scheme: WebhookScheme, url: str) -> bytes:
    """Return the URL as the sender signs it."""
    check_url(url)
    if scheme.url_form is UrlForm.HUBSPOT:
        url = HUBSPOT_ESCAPE.sub(lambda found: HUBSPOT_ESCAPES[found[0].upper()], url)
    return url.encode()


def symmetric_signature(
    algorithm: SignatureAlgorithm, key: bytes, *message: bytes
) -> bytes:
    """Return the signature that sender and receiver compute with the same key.

    The message may be in pieces.
    """
    if algorithm is SignatureAlgorithm.SHA256:
        plain = hashlib.sha256()
        for piece in message:
            plain.update(piece)
        return plain.digest()
    keyed = hmac.new(key, digestmod=HMAC_HASHES[algorithm])
    for piece in message:
        keyed.update(piece)
    return keyed.digest()


def is_signed(
    scheme: WebhookScheme,
    key: bytes,
    messages: Iterable[Message],
    signatures: list[bytes],
    keys: PublicKeys,
) -> bool:
    """Whether one of the signatures is that of one of the messages.

    Everything is compared, whatever the result, so that the time tells nothing.
    """
    results = [
        is_valid
        for message in messages
        for is_valid in _comparisons(scheme, key, message, signatures, keys)
    ]
    return any(results)


def _comparisons(
    scheme: WebhookScheme,
    key: bytes,
    message: Message,
    signatures: list[bytes],
    keys: PublicKeys,
) -> list[bool]:
    """Return for each signature whether it is that of a message."""
    pieces = (message,) if isinstance(message, bytes) else message
    if scheme.algorithm in SYMMETRIC:
        expected = symmetric_signature(scheme.algorithm, key, *pieces)
        return [hmac.compare_digest(expected, signature) for signature in signatures]
    joined = b"".join(pieces)
    return [
        keys.is_valid(scheme.algorithm, key, joined, signature)
        for signature in signatures
    ]
