"""Where an unexpected error came from: types and places in the code, and no values.

The text of an error may hold a secret, and so may the values of a frame. A line of
source code may be a user's own. None of these is shown.
"""

import traceback
from collections.abc import Iterator

MAX_ERRORS = 20
MAX_FRAMES = 60  # of one error: as many of its first as of its last ones


def failure_places(error: BaseException) -> str:
    """Return the types of an error and of those before it, with their frames."""
    parts = ["\n".join(_lines(each)) for each in _chain(error)]
    return "Traceback without values:\n" + "\nthen:\n".join(parts)


def _chain(error: BaseException) -> list[BaseException]:
    """Return the errors that led to this one, the first one first."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < MAX_ERRORS and current not in chain:
        chain.insert(0, current)
        current = current.__cause__ or current.__context__
    return chain


def _lines(error: BaseException) -> Iterator[str]:
    kind = type(error)
    yield f"{kind.__module__}.{kind.__qualname__}"
    frames = [
        f"  {frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    if len(frames) > MAX_FRAMES:
        half = MAX_FRAMES // 2
        frames = [*frames[:half], "  …", *frames[-half:]]
    yield from frames
