"""What the frames of the product show in an error, wherever the checkout lies.

The results name places, never texts: a failing assertion over them prints no secret,
and pytest compares no megabytes.
"""

import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType

import outkey

PACKAGE = Path(outkey.__file__).resolve().parent


def every_frame(error: BaseException) -> list[FrameType]:
    """Return all frames of an error below the one that caught it, of whatever code."""
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)][1:]


def product_frames(error: BaseException) -> list[FrameType]:
    """Return the frames that run code of the package, without its test helpers."""
    return [frame for frame in every_frame(error) if _is_product(frame)]


def places_showing(
    text: str, error: BaseException, frames: Iterable[FrameType]
) -> list[str]:
    """Return where a crash reporter would find a text: error, history or a local."""
    return [place for place, content in _shown(error, frames) if text in content]


def _is_product(frame: FrameType) -> bool:
    file = Path(frame.f_code.co_filename).resolve()
    return file.is_relative_to(PACKAGE) and not file.is_relative_to(PACKAGE / "testing")


def _shown(
    error: BaseException, frames: Iterable[FrameType]
) -> Iterator[tuple[str, str]]:
    yield "the error", "".join(traceback.format_exception_only(error))
    yield "its context", repr(error.__context__)
    yield "its cause", repr(error.__cause__)
    for frame in frames:
        for name, value in frame.f_locals.items():
            yield f"{frame.f_code.co_qualname}: {name}", f"{name}={value!r}"
