"""JSON in lines for users: every name, text and number is as it was received."""

import re
from collections.abc import Iterator

from outkey.foundation.core.limited_json import read_limited_json

MAX_FORMATTED = 1024 * 1024  # bytes; more is not read on a terminal
_INDENT = "  "
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_PAIRS = {"{": "}", "[": "]"}


def formatted_json(body: bytes) -> str | None:
    """Return a JSON object or list with a line for each value; None if it is neither.

    What parsers disagree on, such as a name that is repeated, is not formatted.
    """
    if len(body) > MAX_FORMATTED or not body.lstrip().startswith((b"{", b"[")):
        return None
    try:
        read_limited_json(body)
    except ValueError:
        return None
    return "".join(_formatted_pieces(_PIECE.findall(body.decode())))


def _formatted_pieces(pieces: list[str]) -> Iterator[str]:
    """Yield pieces of JSON with line breaks and spaces between them."""
    depth = 0
    for piece, follower in zip(pieces, [*pieces[1:], ""], strict=True):
        is_empty = _PAIRS.get(piece) == follower
        if piece in _PAIRS and not is_empty:
            depth += 1
        is_last = follower in {"}", "]"} and piece not in _PAIRS
        if is_last:
            depth -= 1
        yield piece
        if piece == ":":
            yield " "
        elif piece == "," or is_last or (piece in _PAIRS and not is_empty):
            yield "\n" + _INDENT * depth
