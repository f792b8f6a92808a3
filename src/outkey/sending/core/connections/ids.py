"""The id of a connection, which the application gives."""

import re

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

MAX_ID = 120
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+~-]*")


def check_connection_id(value: object, field: str = "connection") -> str:
    """Return an id that a connection may have, else raise; it is compared exactly."""
    if isinstance(value, str) and len(value) <= MAX_ID and _ID.fullmatch(value):
        return value
    raise ConfigError(
        Text("this is not an id of a connection"),
        hint=Text(
            "An id has 1 to {limit} characters: a letter or digit, then letters,"
            " digits and . _ - : @ + ~ (ASCII).",
            limit=MAX_ID,
        ),
        field=field,
    )
