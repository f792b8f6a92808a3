"""The helper that tells the product's frames from others, wherever the checkout is."""

from pathlib import Path

import pytest

from frames import PACKAGE, every_frame, places_showing, product_frames
from outkey.foundation.core.errors import ConfigError
from outkey.sending.core.configuration.reference import parse_reference

RAISE = """
def fail():
    held = "a-text-to-find"
    raise ValueError("refused")
"""


def failure_in(file: str | Path) -> BaseException:
    """Return an error whose last frame claims to be of a file."""
    names: dict[str, object] = {}
    exec(compile(RAISE, str(file), "exec"), names)
    with pytest.raises(ValueError, match="refused") as caught:
        names["fail"]()  # type: ignore[operator]
    return caught.value


@pytest.mark.parametrize(
    "file",
    [
        "/srv/outkey/tests/unit/test_x.py",
        "/home/tester/outkey/src/outkeys/x.py",
        PACKAGE.parent / "x.py",
        PACKAGE / "testing" / "fakes.py",
    ],
)
def test_a_path_like_that_of_the_product_is_not_enough(file: str | Path) -> None:
    error = failure_in(file)
    assert product_frames(error) == []
    assert places_showing("a-text-to-find", error, every_frame(error)) == ["fail: held"]


def test_a_text_in_a_frame_of_the_product_is_found_by_its_place() -> None:
    error = failure_in(PACKAGE / "core" / "x.py")
    assert places_showing("a-text-to-find", error, product_frames(error)) == [
        "fail: held"
    ]
    assert places_showing("refused", error, []) == ["the error"]


def test_frames_of_the_installed_package_are_recognized() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_reference("nothing", field="token")
    assert [frame.f_code.co_name for frame in product_frames(caught.value)] == [
        "parse_reference"
    ]
