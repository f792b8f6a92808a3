"""The encodings in which a secret appears when it leaks or is echoed."""

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_SHORTEST_REVERSED = 8  # a shorter one reads backwards as an ordinary word too easily


def forms(text: str, username: str = "") -> dict[str, bytes]:
    """Return the encodings of a secret by name, without those that contain it as is."""
    text = text.encode(errors="replace").decode()  # a lone surrogate has no encoding
    raw = text.encode()
    others = encodings_of(text, raw, username)
    return {"raw": raw} | {
        name: form for name, form in others if form and raw not in form
    }


def encodings_of(text: str, raw: bytes, username: str) -> Iterator[tuple[str, bytes]]:
    """Yield each encoding of a secret with its name."""
    for offset in range(3):
        # A secret inside a longer Base64 text looks different at each of three offsets.
        yield (
            f"Base64, offset {offset}",
            inner_part(b64encode(b"\0" * offset + raw), offset, len(raw)),
        )
        yield (
            f"Base64url, offset {offset}",
            inner_part(urlsafe_b64encode(b"\0" * offset + raw), offset, len(raw)),
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


def inner_part(encoded: bytes, offset: int, length: int) -> bytes:
    """Return an encoding without the ends, which depend on the neighbouring text."""
    start = -(-offset * 8 // 6)
    end = (offset + length) * 8 // 6
    return encoded[start:end]
