"""Decompression with a ceiling: a bomb is noticed at the limit, not after it has gone off."""

import zlib

from outkey.core.errors import AnswerBroken, ResponseTooLarge

_STEP = 256 * 1024
_MAX_LAYERS = 4
_WINDOW_GZIP_OR_ZLIB = 47
_WINDOW_RAW = -15


def inflated(body: bytes, encodings: list[str], limit: int) -> bytes:
    """Undo Content-Encoding (RFC 9110 §8.4), last one first; an unknown one is left as it is."""
    layers = [e.strip().lower() for line in encodings for e in line.split(",") if e.strip()]
    if len(layers) > _MAX_LAYERS:
        raise ResponseTooLarge("the answer is compressed too many times over")
    for layer in reversed(layers):
        if layer == "identity" or not body:
            continue
        if layer not in {"gzip", "x-gzip", "deflate"}:
            return body
        body = _inflate(body, layer, limit)
    return body


def _inflate(body: bytes, encoding: str, limit: int) -> bytes:
    try:
        return _members(body, _WINDOW_GZIP_OR_ZLIB, limit)
    except zlib.error:
        pass
    # Some servers send raw deflate, against RFC 9110 §8.4.1.2.
    try:
        if encoding == "deflate":
            return _members(body, _WINDOW_RAW, limit)
    except zlib.error:
        pass
    raise AnswerBroken("the answer's compression is damaged")


def _members(body: bytes, window: int, limit: int) -> bytes:
    """Inflate all members of a stream (RFC 1952 §2.2 permits several)."""
    parts: list[bytes] = []
    size = 0
    while body:
        inflater = zlib.decompressobj(window)
        while not inflater.eof:
            part = inflater.decompress(body, _STEP)
            body = inflater.unconsumed_tail
            size += len(part)
            parts.append(part)
            if size > limit:
                raise ResponseTooLarge
            if not part and not inflater.eof:
                raise AnswerBroken("the answer's compression ends too early")
        body = inflater.unused_data
    return b"".join(parts)
