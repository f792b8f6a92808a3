"""Entity tags of what programs change, and their `If-Match` (RFC 9110)."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from outkey.administration.core.access.http_statuses import VERSION_DIFFERS
from outkey.foundation.core.errors import EditConflict
from outkey.foundation.core.text import Text

CONFIGURATION_DIFFERS = Text(
    "the configuration has another version than If-Match names"
)
LINE_DIFFERS = Text("the sync line has another version than If-Match names")
WEBHOOK_DIFFERS = Text("the webhook has another version than If-Match names")


def content_tag(text: str, prefix: str = "") -> str:
    """Return the tag of a content."""
    return f'"{prefix}{sha256(text.encode()).hexdigest()[:16]}"'


def is_named(tag: str | None, header: str) -> bool:
    """Whether the value of an If-Match header names a tag; None: nothing is stored."""
    if tag is None:
        return False
    tags = [part.strip() for part in header.split(",")]
    return "*" in tags or tag in tags


def refuse_other_version(tag: str | None, header: str, message: Text) -> None:
    """Raise EditConflict if a program has seen another version; "" for any."""
    if header and not is_named(tag, header):
        raise _version_differs(message)


@contextmanager
def naming_version(header: str, message: Text) -> Iterator[None]:
    """Let a conflict with another change be one of the version, if If-Match has any."""
    try:
        yield
    except EditConflict:
        if header:
            raise _version_differs(message) from None
        raise


def _version_differs(message: Text) -> EditConflict:
    """Return the error for a version that If-Match does not name."""
    return EditConflict(message, field="If-Match", reason=VERSION_DIFFERS)
