"""The encodings that a secret turns up in when it leaks or is echoed."""

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_SHORTEST_REVERSED = 8  # a shorter one reads backwards as an ordinary word too easily


def forms(text: str, username: str = "") -> dict[str, bytes]:
    """Return the encodings of a secret by name, without those that hold it as it is."""
    text = text.encode(errors="replace").decode()  # a lone surrogate has no encoding
    raw = text.encode()
    others = _encodings(text, raw, username)
    return {"raw": raw} | {
        name: form for name, form in others if form and raw not in form
    }


def _encodings(text: str, raw: bytes, username: str) -> Iterator[tuple[str, bytes]]:
    for offset in range(3):
        # Where a secret stands inside a longer Base64 text decides how it looks: three ways.
        yield (
            f"Base64, offset {offset}",
            _inner(b64encode(b"\0" * offset + raw), offset, len(raw)),
        )
        yield (
            f"Base64url, offset {offset}",
            _inner(urlsafe_b64encode(b"\0" * offset + raw), offset, len(raw)),
        )
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


def _inner(encoded: bytes, offset: int, length: int) -> bytes:
    """Cut off the characters at both ends that neighbours of the secret would change."""
    start = -(-offset * 8 // 6)
    end = (offset + length) * 8 // 6
    return encoded[start:end]
