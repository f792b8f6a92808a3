"""The Link header: the URL of the next page (RFC 8288 §3)."""

import re
from collections.abc import Iterable, Iterator

# One link and its parameters; a comma or semicolon inside quotes or angle brackets
# separates nothing. Possessive, so that no header makes the search take long.
_PARAMETER = r"""\s*+;\s*+([^\s=;,"]++)(?:\s*+=\s*+("(?:[^"\\]|\\.)*+"|[^\s;,"]*+))?+"""
_LINK = re.compile(rf"[\s,]*+<([^<>]*+)>((?:{_PARAMETER})*+)\s*+(?:;\s*+)?+(?:,|$)")
_PARAMETERS = re.compile(_PARAMETER)
_MAX_LENGTH = 64 * 1024  # of all lines together
_ESCAPED = re.compile(r"\\(.)")


def next_link(values: Iterable[str]) -> str | None:
    """Return the first URL whose relation is `next`, as it is written."""
    remaining = _MAX_LENGTH
    for value in values:
        part = value[:remaining]
        remaining -= len(part)
        for url, parameters in _links(part):
            # A link with an anchor is about another page than the requested one.
            if (
                "next" in parameters.get("rel", "").lower().split()
                and "anchor" not in parameters
            ):
                return url
    return None


def _links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the links of a value up to the first part that is not valid."""
    place = 0
    while match := _LINK.match(value, place):
        yield match[1].strip(), _parameters(match[2])
        place = match.end()


def _parameters(text: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, value in _PARAMETERS.findall(text):
        text = _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value
        parameters.setdefault(name.lower(), text)  # of two, the first counts (§3.3)
    return parameters
