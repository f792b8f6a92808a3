"""The length that a request states for its body."""

from collections.abc import Mapping
from typing import Any

LONGEST_NUMBER = 12  # digits of a length


def stated_size(environ: Mapping[str, Any]) -> int:
    """Return the length that a request states; 0 if it is not a number."""
    stated = environ.get("CONTENT_LENGTH") or "0"
    if not stated.isascii() or not stated.isdecimal():
        return 0
    # Python refuses to read numbers of thousands of digits.
    return int(stated.lstrip("0")[: LONGEST_NUMBER + 1] or "0")
