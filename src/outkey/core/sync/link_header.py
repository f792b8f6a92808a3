"""The Link header: where the next page is, in the API's own words (RFC 8288 §3)."""

import re
from collections.abc import Iterable, Iterator

# One link and its parameters; a comma or semicolon inside quotes or angle brackets parts nothing.
# Possessive, so that a header made for it cannot keep us busy.
_PARAMETER = r"""\s*+;\s*+([^\s=;,"]++)(?:\s*+=\s*+("(?:[^"\\]|\\.)*+"|[^\s;,"]*+))?+"""
_LINK = re.compile(rf"[\s,]*+<([^<>]*+)>((?:{_PARAMETER})*+)\s*+(?:;\s*+)?+(?:,|$)")
_ONE = re.compile(_PARAMETER)
_LONGEST = 64 * 1024  # of all lines together
_ESCAPED = re.compile(r"\\(.)")


def next_link(values: Iterable[str]) -> str | None:
    """Return the first address whose relation is `next`, as it stands there."""
    left = _LONGEST
    for value in values:
        part = value[:left]
        left -= len(part)
        for address, parameters in _links(part):
            # A link with an anchor speaks of another page than the one that was asked for.
            if (
                "next" in parameters.get("rel", "").lower().split()
                and "anchor" not in parameters
            ):
                return address
    return None


def _links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Read links one after the other; what cannot be read ends the value."""
    place = 0
    while found := _LINK.match(value, place):
        yield found[1].strip(), _parameters(found[2])
        place = found.end()


def _parameters(text: str) -> dict[str, str]:
    read: dict[str, str] = {}
    for name, value in _ONE.findall(text):
        unquoted = _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value
        read.setdefault(name.lower(), unquoted)  # of two, the first counts (§3.3)
    return read
