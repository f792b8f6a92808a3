"""Responses to a push: the IDs of new records, and errors in a 200."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from outkey.sending.core.diagnosis.success import error_member, false_flag
from outkey.sync.core.mapping.storable import UNSTORABLE

WHOLE_BODY = "@"
MAX_REMOTE_ID = 1000  # characters, of the database's column
# An index of PostgreSQL holds 2704 bytes with the line.
MAX_REMOTE_ID_BYTES = 2000
ERROR_STATUSES = range(400, 600)
STATUS = re.compile("[0-9]{3}")
_STATUS_MEMBERS = ("status", "statusCode", "status_code", "httpStatus")


def remote_id_of(value: object) -> str:
    """Return the ID of a record as text; "" for a value that is not an ID."""
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return ""
    text = str(value)
    return "" if is_too_long(text) or UNSTORABLE.search(text) else text


def has_long_id(value: object) -> bool:
    """Whether a value is refused as an ID only because it is too long."""
    return isinstance(value, str) and is_too_long(value)


def is_too_long(text: str) -> bool:
    """Whether a text is longer than an ID that can be stored."""
    is_long = len(text) > MAX_REMOTE_ID
    return is_long or len(text.encode(errors="replace")) > MAX_REMOTE_ID_BYTES


def has_error(document: object) -> bool:
    """Whether the body of a successful response reports a failure."""
    return bool(false_flag(document) or error_member(document))


def status_in(result: object) -> int:
    """Return the error status of one result of a batch; 0 if it has none."""
    if not isinstance(result, Mapping):
        return 0
    for name in _STATUS_MEMBERS:
        status = result.get(name)
        if isinstance(status, str) and STATUS.fullmatch(status):
            status = int(status)
        if isinstance(status, int) and status in ERROR_STATUSES:
            return status
    return 0


def list_at(place: str, elements: Sequence[object]) -> object:
    """Return the body of a batch: the list at a dotted name, or the list itself."""
    body: object = list(elements)
    names = [] if place == WHOLE_BODY else place.split(".")
    for name in reversed(names):
        body = {name: body}
    return body
