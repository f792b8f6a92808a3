"""Texts that every database can store."""

import re

# PostgreSQL stores no NUL, and UTF-8 has no surrogates.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(value: object) -> bool:
    """Whether every database can store the texts of a value."""
    match value:
        case str():
            return not UNSTORABLE.search(value)
        case dict():
            return all(is_storable(part) for pair in value.items() for part in pair)
        case list():
            return all(is_storable(part) for part in value)
    return True
