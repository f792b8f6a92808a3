"""Decompression with a size limit, which stops decompression bombs."""

import zlib

from outkey.core.errors import AnswerBroken, ResponseTooLarge
from outkey.core.text import Text

_STEP = 64 * 1024
_MAX_LAYERS = 4
_MAX_MEMBERS = 1000
_WINDOW_GZIP_OR_ZLIB = 47
_WINDOW_RAW = -15


def inflate(body: bytes, encodings: list[str], limit: int) -> bytes:
    """Undo Content-Encoding (RFC 9110 §8.4), last encoding first.

    An unknown encoding is left as it is.
    """
    layers = [
        e.strip().lower() for line in encodings for e in line.split(",") if e.strip()
    ]
    if len(layers) > _MAX_LAYERS:
        raise ResponseTooLarge(Text("the response is compressed in too many layers"))
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
    raise AnswerBroken(Text("the compression of the response is damaged"))


def _members(body: bytes, window: int, limit: int) -> bytes:
    """Inflate all members of a stream (RFC 1952 §2.2 permits several)."""
    inflater = zlib.decompressobj(window)
    members = 1
    inflated_body = bytearray()
    for start in range(0, len(body), _STEP):
        piece = body[start : start + _STEP]
        while piece:
            if inflater.eof:
                inflater = zlib.decompressobj(window)
                members += 1
                if members > _MAX_MEMBERS:
                    raise ResponseTooLarge(
                        Text("the response is compressed in too many pieces")
                    )
            inflated_body += inflater.decompress(piece, limit - len(inflated_body) + 1)
            if len(inflated_body) > limit:
                raise ResponseTooLarge
            piece = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    if not inflater.eof:
        raise AnswerBroken(Text("the compressed response is incomplete"))
    return bytes(inflated_body)
