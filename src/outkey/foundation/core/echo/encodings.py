"""The encodings in which a secret appears when it leaks or is echoed."""

import html
import json
from base64 import b32encode, b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_URLSAFE = bytes.maketrans(b"+/", b"-_")
_SHORTEST_REVERSED = 8  # a shorter one reads backwards as an ordinary word too easily


def forms(text: str, username: str = "") -> dict[str, bytes]:
    """Return the encodings of a secret by name, without those that contain it as is."""
    return common_forms(text, username) | rare_forms(text)


def common_forms(text: str, username: str = "") -> dict[str, bytes]:
    """Return the secret and those encodings that are searched in two pieces as well."""
    text = _encodable(text)
    raw = text.encode()
    return {"raw": raw} | _without_raw(raw, _common_encodings(text, raw, username))


def rare_forms(text: str) -> dict[str, bytes]:
    """Return encodings that are searched in one piece only, since they are many."""
    text = _encodable(text)
    raw = text.encode()
    return _without_raw(raw, _rare_encodings(text, raw))


def _encodable(text: str) -> str:
    """Return a text without lone surrogates, which no encoding has."""
    return text.encode(errors="replace").decode()


def _without_raw(
    raw: bytes, encodings: Iterator[tuple[str, bytes]]
) -> dict[str, bytes]:
    """Return the encodings that do not contain the secret as it is."""
    return {name: form for name, form in encodings if form and raw not in form}


def _common_encodings(
    text: str, raw: bytes, username: str
) -> Iterator[tuple[str, bytes]]:
    """Yield each encoding of a secret with its name."""
    for offset in range(3):
        # A secret inside a longer Base64 text looks different at each of three offsets.
        form = _base64_part(raw, offset)
        yield f"Base64, offset {offset}", form
        yield f"Base64url, offset {offset}", form.translate(_URLSAFE)
    yield "Basic pair", b64encode(f"{username}:{text}".encode())
    yield "hexadecimal", raw.hex().encode()
    yield "hexadecimal, upper case", raw.hex().upper().encode()
    yield "percent-encoded", quote(text, safe="").encode()
    yield "form-encoded", quote_plus(text).encode()
    yield "JSON", json.dumps(text)[1:-1].encode()
    yield "JSON, escaped slashes", json.dumps(text)[1:-1].replace("/", "\\/").encode()
    yield "HTML", html.escape(text).encode()
    yield "repr", repr(text)[1:-1].encode()
    yield "UTF-16", text.encode("utf-16-le")
    if len(text) >= _SHORTEST_REVERSED:
        yield "reversed", text[::-1].encode()


def _rare_encodings(text: str, raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield encodings of encodings, and Base32, each with its name."""
    twice = b64encode(raw).rstrip(b"=")  # the padding depends on what follows
    # Without its last zero it is a part of the other byte order as well.
    wide = text.encode("utf-16-le").removesuffix(b"\0")
    for offset in range(3):
        yield f"Base64 of Base64, offset {offset}", _base64_part(twice, offset)
        yield f"Base64 of UTF-16, offset {offset}", _base64_part(wide, offset)
    for offset in range(5):
        yield f"Base32, offset {offset}", _base32_part(raw, offset)


def _base64_part(raw: bytes, offset: int) -> bytes:
    """Return the Base64 of bytes that follow others, without what neighbours change."""
    encoded = b64encode(b"\0" * offset + raw)
    return _inner_part(encoded, offset, len(raw), bits=6)


def _base32_part(raw: bytes, offset: int) -> bytes:
    """Return the Base32 of bytes that follow others, without what neighbours change."""
    encoded = b32encode(b"\0" * offset + raw)
    return _inner_part(encoded, offset, len(raw), bits=5)


def _inner_part(encoded: bytes, offset: int, length: int, bits: int) -> bytes:
    """Return the characters, each of so many bits, that depend on the bytes alone."""
    start = -(-offset * 8 // bits)
    end = (offset + length) * 8 // bits
    return encoded[start:end]
