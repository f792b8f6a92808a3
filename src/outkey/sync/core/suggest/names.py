"""Names in a suggestion: of values in a response, and of the columns they go to."""

import json
import re
import unicodedata
from collections.abc import Collection

from outkey.sync.core.mapping.targets import ARCHIVED_AT, MAX_NAME, OWN_COLUMNS

Path = tuple[str, ...]  # the names that lead to a value

_MAX_READ = 200
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHERS = re.compile(r"[^a-z0-9]+")
_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"}
)
# Objects around the values of a record, whose names mean nothing.
WRAPPERS = frozenset({"attributes", "fields", "properties", "node", "_source"})


def expression_of(path: Path) -> str:
    """Return a path as JMESPath; the empty one is the document itself."""
    return ".".join(map(quoted_name, path)) or "@"


def quoted_name(name: str) -> str:
    """Return a name as JMESPath has it, in quotes where it must be."""
    if _IDENTIFIER.fullmatch(name):
        return name
    return json.dumps(name, ensure_ascii=not name.isprintable())


def comparable_name(name: str) -> str:
    """Return a name without case and punctuation: nextPage and next_page are equal."""
    return re.sub(r"[^a-z0-9]", "", name[:_MAX_READ].lower())


def snake_case(text: str) -> str:
    """Return a name of lower-case ASCII letters and digits, with `_` between words."""
    ascii_umlauts = text[:_MAX_READ].translate(_UMLAUTS)
    plain = (
        unicodedata.normalize("NFKD", ascii_umlauts).encode("ascii", "ignore").decode()
    )
    return _OTHERS.sub("_", _CAPITAL.sub("_", plain).lower()).strip("_")


def inner_path(path: Path) -> Path:
    """Return a path without the name of an object that only holds the values."""
    return path[1:] if len(path) > 1 and path[0] in WRAPPERS else path


def column_name(path: Path, taken: Collection[str]) -> str:
    """Return the name of a column that is not taken yet."""
    for parts in (inner_path(path), path):
        name = column_of(parts)
        if name not in taken:
            return name
    number = 2
    while (candidate := _with_number(name, number)) in taken:
        number += 1
    return candidate


def column_of(path: Path) -> str:
    """Return the name of a column for a path, whether or not it is taken."""
    name = snake_case("_".join(path)) or "field"
    if name[0].isdigit() or name in (*OWN_COLUMNS, ARCHIVED_AT):
        name = f"api_{name}"
    return name[:MAX_NAME].rstrip("_")


def _with_number(name: str, number: int) -> str:
    """Return a name with a number behind it."""
    ending = f"_{number}"
    return name[: MAX_NAME - len(ending)] + ending
