"""Confirming a delivery: the objects that it names are fetched from the API."""

import re
from urllib.parse import quote

from outkey.sending.core.request.dot_segments import has_parent_segment
from outkey.sync.core.run.reasons import sync_failure

PLACE = "{id}"
MAX_OBJECTS = 100  # that one delivery may name
# One segment of a path: nothing that ends it, or that a server may decode once more.
SEGMENT = re.compile(r"[^\x00-\x20\x7f/\\?#%]{1,256}")
TEMPLATE = re.compile(r"/(?!/)[^{}?#\s\\]*\{id\}[^{}?#\s\\]*")


def is_confirmation_path(template: str) -> bool:
    """Whether a path has the place of the id once, and neither query nor fragment."""
    return bool(TEMPLATE.fullmatch(template))


def object_path(template: str, identifier: str) -> str:
    """Return the path of an object; an id that could change the path is refused.

    It comes from a sender that is not verified: it must not lead to another resource
    of the API, to which our credentials would be sent.
    """
    is_segment = SEGMENT.fullmatch(identifier) and identifier.strip(".")
    if not is_segment or has_parent_segment(identifier):
        raise sync_failure("unsafe_id")
    return template.replace(PLACE, quote(identifier, safe="", errors="replace"))


def object_ids(value: object) -> list[str]:
    """Return the ids that an expression has found: one, or a list without repetitions.

    None of them: the delivery is about nothing.
    """
    values = value if isinstance(value, list) else [value]
    values = [item for item in values if item is not None]
    if not all(is_id(item) for item in values):
        raise sync_failure("unsafe_id")
    identifiers = [*dict.fromkeys(map(str, values))]
    if len(identifiers) > MAX_OBJECTS:
        raise sync_failure("too_many_records")
    return identifiers


def is_id(value: object) -> bool:
    """Whether a value can name an object."""
    return isinstance(value, str | int) and not isinstance(value, bool)
