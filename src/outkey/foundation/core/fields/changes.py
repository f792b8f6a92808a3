"""A field that differs between two versions of what is stored."""

from typing import NamedTuple


class FieldChange(NamedTuple):
    """One field that differs; a text is empty if it is missing or not shown.

    The texts are those that its reader may see: the audit has fewer than a page.
    """

    path: str  # such as pagination.size, or fields.born_on.transform
    old: str = ""
    new: str = ""
