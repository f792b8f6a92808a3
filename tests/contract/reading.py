"""Reads the bytes of a response with our reader, split in any way."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from outkey.foundation.core.errors import OutkeyError
from outkey.sending.adapters.transport.response_reader import ResponseReader

INCOMPLETE = "incomplete"
LARGE = 20_000


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
    parts = [data] if pieces is None else list(pieces)

    def read_by(take: Callable[[ResponseReader, bytes], bool]) -> Outcome:
        reader = ResponseReader(limit, to_head=to_head)
        return _read_pieces(reader, parts, limit=limit, ends=ends, take=take)

    fed = read_by(ResponseReader.feed)
    # A large head is read in the same way by both.
    has_body = isinstance(fed, Read) and bool(fed.body)
    if has_body or len(data) < LARGE:
        assert read_by(receive_in_place) == fed
    return fed


def _read_pieces(
    reader: ResponseReader,
    pieces: list[bytes],
    *,
    limit: int,
    ends: bool,
    take: Callable[[ResponseReader, bytes], bool],
) -> Outcome:
    length = sum(map(len, pieces))
    taken = 0
    try:
        for piece in pieces:
            taken += len(piece)
            if take(reader, piece):
                # What was not taken would be found by the check before the next use.
                return _read(reader, reusable=reader.reusable and taken == length)
            check_memory(reader, limit)
        if not ends:
            return INCOMPLETE
        reader.end()
    except OutkeyError as error:
        return Refused(type(error).__name__, str(error.message))
    return _read(reader, reusable=reader.reusable)


def receive_in_place(reader: ResponseReader, piece: bytes) -> bool:
    """Give a piece to the reader as a socket does that receives into its space."""
    space = reader.space()
    if space is None:
        return reader.feed(piece)
    with space:
        size = min(len(space), len(piece))
        space[:size] = piece[:size]
    is_complete = reader.fill(size)
    if is_complete and size < len(piece):
        reader.reusable = False  # the rest is found before the next use
    return is_complete


def check_memory(reader: ResponseReader, limit: int) -> None:
    """Assert that no more is held than the limits permit."""
    chunks = reader._chunks
    held = reader._filled if chunks is None else len(chunks.body())
    assert held <= limit
    assert len(reader._buffer) <= reader._heads_left


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
