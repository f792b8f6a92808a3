"""Reads the bytes of a response with our reader, split in any way."""

from collections.abc import Iterable
from typing import NamedTuple

from outkey.adapters.response_reader import ResponseReader
from outkey.core.errors import OutkeyError

INCOMPLETE = "incomplete"


class Read(NamedTuple):
    """A response that was read."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    reusable: bool


class Refused(NamedTuple):
    """The error instead of a response."""

    error: str
    message: str


Outcome = Read | Refused | str


def read(
    data: bytes,
    pieces: Iterable[bytes] | None = None,
    *,
    to_head: bool = False,
    limit: int = 1024,
    ends: bool = True,
) -> Outcome:
    """Return what the reader makes of some bytes and, perhaps, the connection's end."""
    reader = ResponseReader(limit, to_head=to_head)
    taken = 0
    try:
        for piece in (data,) if pieces is None else pieces:
            taken += len(piece)
            if reader.feed(piece):
                # What was not taken would be found by the check before the next use.
                return _read(reader, reusable=reader.reusable and taken == len(data))
            check_memory(reader, limit)
        if not ends:
            return INCOMPLETE
        reader.end()
    except OutkeyError as error:
        return Refused(type(error).__name__, str(error.message))
    return _read(reader, reusable=reader.reusable)


def check_memory(reader: ResponseReader, limit: int) -> None:
    """Assert that no more is held than the limits permit."""
    chunks = reader._chunks
    held = len(reader._buffer) if chunks is None else len(chunks.body)
    assert held <= (limit if reader.status else reader._heads_left)


def _read(reader: ResponseReader, *, reusable: bool) -> Read:
    response = reader.response(reader.body)
    return Read(response.status, tuple(response.headers), response.body, reusable)


def single_bytes(data: bytes) -> Iterable[bytes]:
    """Split into single bytes."""
    return (data[index : index + 1] for index in range(len(data)))


def cut_at(data: bytes, places: Iterable[int]) -> Iterable[bytes]:
    """Split at these places; those outside are ignored."""
    start = 0
    for place in sorted(set(places)):
        if start < place < len(data):
            yield data[start:place]
            start = place
    yield data[start:]
