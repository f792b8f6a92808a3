"""Placeholders in texts, and URLs with them while their values are not known."""

import re

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
NOWHERE = "https://variable.invalid"  # no name below .invalid resolves (RFC 6761 §6.4)
_TO_PATH = re.compile(r"(?:[^/?#]*//)?[^/?#]*")


def sample_of(template: str) -> str:
    """Return a URL of the same form: its origin is nowhere if a value would change it.

    So a request with the sample could not reach anybody.
    """
    if "{" not in template:
        return template
    start = _TO_PATH.match(template)
    origin = start[0] if start else ""
    path = template[len(origin) :]
    if PLACEHOLDER.search(origin):
        origin = NOWHERE
    return origin + PLACEHOLDER.sub("x", path)


def placeholders_in(*templates: str) -> list[str]:
    """Return the names of the placeholders in templates, each once, in order."""
    names = [name for text in templates for name in PLACEHOLDER.findall(text)]
    return list(dict.fromkeys(names))
