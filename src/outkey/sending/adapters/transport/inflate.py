"""Decompression with a size limit, which stops decompression bombs."""

import zlib
from collections.abc import Iterable, Iterator

from outkey.foundation.core.errors import ResponseBroken, ResponseTooLarge
from outkey.foundation.core.text import Text

_STEP = 64 * 1024
_MAX_LAYERS = 4
_MAX_MEMBERS = 1000
_WINDOW_GZIP_OR_ZLIB = 47
_WINDOW_RAW = -15
_KNOWN = frozenset({"gzip", "x-gzip", "deflate"})


def inflate(body: bytes, encodings: list[str], limit: int) -> bytes:
    """Undo Content-Encoding (RFC 9110 §8.4), last encoding first.

    An unknown encoding is left as it is.
    """
    steps = (body[start : start + _STEP] for start in range(0, len(body), _STEP))
    return b"".join(inflate_parts(steps, encodings, limit))


def inflate_parts(
    parts: Iterable[bytes], encodings: list[str], limit: int
) -> Iterator[bytes]:
    """Do the same with a body that arrives in parts; the parts are small again."""
    for layer in layers_of(encodings):
        parts = _Layer(layer, limit).inflate(parts)
    yield from parts


def layers_of(encodings: list[str]) -> list[str]:
    """Return the encodings that can be undone, in the order in which they are."""
    layers = [
        e.strip().lower() for line in encodings for e in line.split(",") if e.strip()
    ]
    if len(layers) > _MAX_LAYERS:
        raise ResponseTooLarge(Text("the response is compressed in too many layers"))
    undone = []
    for layer in reversed(layers):
        if layer == "identity":
            continue
        if layer not in _KNOWN:
            break
        undone.append(layer)
    return undone


class _Layer:
    """One encoding, and how much of the body it has given so far."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._members = 1  # RFC 1952 §2.2 permits several
        self._window = _WINDOW_GZIP_OR_ZLIB
        self._inflater = zlib.decompressobj(self._window)
        # What has arrived, as long as it may turn out to be raw: some servers send raw
        # deflate, against RFC 9110 §8.4.1.2.
        self._undecided: bytes | None = b"" if encoding == "deflate" else None

    def inflate(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the body without this encoding; an empty body may be without it."""
        is_empty = True
        for part in parts:
            is_empty = is_empty and not part
            yield from self._feed(part)
        if not is_empty and not self._inflater.eof:
            raise ResponseBroken(Text("the compressed response is incomplete"))

    def _feed(self, data: bytes) -> Iterator[bytes]:
        if self._undecided is not None:
            self._undecided += data
        try:
            yield from self._members_of(data)
        except zlib.error:
            if self._undecided is None:
                raise ResponseBroken(
                    Text("the compression of the response is damaged")
                ) from None
            data = self._undecided
            self._undecided = None
            self._window = _WINDOW_RAW
            self._inflater = zlib.decompressobj(self._window)
            yield from self._feed(data)

    def _members_of(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflater.eof:
                self._begin_member()
            most = min(_STEP, self._limit - self._size + 1)
            part = self._inflater.decompress(data, most)
            data = self._rest()
            while part:
                self._size += len(part)
                if self._size > self._limit:
                    raise ResponseTooLarge
                self._undecided = None
                yield part
                # zlib may have more of what it has read already.
                part = b""
                if not data and not self._inflater.eof:
                    most = min(_STEP, self._limit - self._size + 1)
                    part = self._inflater.decompress(b"", most)
                    data = self._rest()

    def _rest(self) -> bytes:
        inflater = self._inflater
        return inflater.unused_data if inflater.eof else inflater.unconsumed_tail

    def _begin_member(self) -> None:
        self._inflater = zlib.decompressobj(self._window)
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise ResponseTooLarge(
                Text("the response is compressed in too many pieces")
            )
