"""Credentials where none belongs, looked for in what the sparring provider was sent."""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from urllib.parse import unquote_plus

from outkey.spar import Arrival, Spar
from outkey.spar.authority import CLIENT_SECRET

CREDENTIAL = re.compile(rf"{CLIENT_SECRET}|spar-rt-[0-9a-f]{{32}}")
# A client authenticates here, and here only.
ENDPOINTS = re.compile(r"/oauth/(token|odd/[\w-]+|revoke|introspect|device)")


def strays(spar: Spar) -> list[str]:
    """Name the requests that wrongly have a client secret or a refresh token."""
    return [
        f"{arrival.method} {arrival.server} {arrival.path}"
        for arrival in spar.journal
        if any(
            CREDENTIAL.search(form) for part in _parts(arrival) for form in _forms(part)
        )
    ]


def _parts(arrival: Arrival) -> Iterator[str]:
    # RFC 6749 §2.3.1: client credentials MUST NOT be included in the request URI.
    yield from (arrival.path, arrival.query)
    belongs = arrival.server != "elsewhere" and ENDPOINTS.fullmatch(arrival.path)
    for name, value in arrival.headers:
        if not belongs or name.lower() != "authorization":
            yield value
    if not belongs:
        yield arrival.body.decode(errors="replace")


def _forms(text: str) -> Iterator[str]:
    yield from (text, unquote_plus(text))
    if text[:6].lower() == "basic ":
        try:
            yield unquote_plus(b64decode(text[6:]).decode())
        except (binascii.Error, UnicodeDecodeError):
            return
