"""Segments `..` in a path, in every spelling that some server reads as one.

A server behind another one may decode a path again, read encodings that UTF-8 and
RFC 3986 do not permit, or trim what surrounds a name. Then the path leads elsewhere.
"""

import re
import unicodedata
from urllib.parse import unquote_to_bytes

_SEPARATOR = re.compile(r"[\\/]")
# More than that is not a spelling of anything.
_MOST_ROUNDS = 8
# `%u002e`, as old servers of Microsoft read it.
_WIDE = re.compile(rb"%u([0-9A-Fa-f]{4})")
# ASCII in two to four bytes, where UTF-8 permits one.
_OVERLONG = re.compile(
    rb"[\xc0\xc1][\x80-\xbf]|\xe0[\x80\x81][\x80-\xbf]|\xf0\x80[\x80\x81][\x80-\xbf]"
)
# Bytes that are not UTF-8, as `surrogateescape` decodes them, to Latin-1: an older
# server reads them so, and trims the blanks and the control characters among them.
_LATIN_1 = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}


def has_parent_segment(path: str) -> bool:
    """Whether a server might read a segment of an encoded path as `..`."""
    if path.isascii() and "%" not in path and path.count(".") < len(".."):
        return False  # nearly every path; each request is checked
    raw = path.encode("utf-8", "surrogatepass")
    for _ in range(_MOST_ROUNDS):
        decoded = raw.decode("utf-8", "surrogateescape").translate(_LATIN_1)
        text = unicodedata.normalize("NFKC", decoded)
        if any(map(_is_parent, _SEPARATOR.split(text))):
            return True
        before = raw
        raw = _OVERLONG.sub(_shortest, unquote_to_bytes(_WIDE.sub(_narrow, raw)))
        if raw == before:
            return False
    return True


def _narrow(match: re.Match[bytes]) -> bytes:
    """Return a character that was written by its number."""
    return chr(int(match[1], 16)).encode("utf-8", "surrogatepass")


def _shortest(match: re.Match[bytes]) -> bytes:
    """Return the ASCII character that an encoding stands for."""
    *_, before, last = match[0]
    return bytes([(before & 1) << 6 | last & 0x3F])


def _is_parent(segment: str) -> bool:
    """Whether a segment is `..` without ;parameters, spaces and control characters."""
    name = segment.partition(";")[0]
    if name.count(".") != len(".."):
        return False
    others = name.replace(".", "")
    return all(unicodedata.category(character)[0] in {"C", "Z"} for character in others)
