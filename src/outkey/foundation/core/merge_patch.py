"""Changes of a JSON document by another one: JSON Merge Patch, RFC 7396."""

from collections.abc import Mapping

# No settings are nested so deeply; what is deeper stays as it is, and is refused where
# it is read.
MOST_LEVELS = 8


def merged(
    document: object, patch: Mapping[str, object], levels: int = MOST_LEVELS
) -> dict[str, object]:
    """Return a document with the members of a patch; null removes a member."""
    members = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            members.pop(key, None)
        elif isinstance(value, Mapping) and levels > 1:
            members[key] = merged(members.get(key), value, levels - 1)
        else:
            members[key] = without_nulls(value, levels - 1)
    return members


def without_nulls(value: object, levels: int = MOST_LEVELS) -> object:
    """Return a value without the members that are null, in objects of lists too."""
    if levels < 1:
        return value
    if isinstance(value, Mapping):
        return merged({}, value, levels)
    if isinstance(value, list):
        return [without_nulls(element, levels - 1) for element in value]
    return value
