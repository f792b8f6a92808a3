"""HTTP statuses as a field has them: `200-299, 404`."""

import re

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

_PART = re.compile(r"([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?")


def parse_ranges(text: str) -> tuple[range, ...]:
    """Return the ranges of a text, or refuse it; a single status is a range too.

    A range that ends before it begins is empty: version 0.1 stored such texts, and what
    is stored can be read. `refuse_unsavable` refuses a new one.
    """
    ranges = []
    for part in text.split(","):
        match = _PART.fullmatch(part.strip(" "))
        if match is None:
            raise ConfigError(Text("must be statuses such as 200-299 or 200, 404"))
        first = int(match[1])
        last = int(match[2] or first)
        ranges.append(range(first, last + 1))
    return tuple(ranges)


def accepts(statuses: str, status: int) -> bool:
    """Whether a status is among those of a text such as `200-299, 404`."""
    return any(status in accepted for accepted in parse_ranges(statuses))
