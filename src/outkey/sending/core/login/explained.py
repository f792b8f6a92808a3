"""Details of a failed login for its error: request, status and names of keys.

No value of the response is passed on: only the names of its members, where they are
plain words, so that a user finds the place of the token.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.login.failures import LOGIN_PATH, NO_TOKEN
from outkey.sending.core.login.requests import target_of
from outkey.sending.core.login.responses import parse_body
from outkey.sending.core.request.message import Response

_MAX_NAMES = 8
_MAX_DEPTH = 3
# A word as programs name a member; a key or a password would have more digits.
_NAME = re.compile(r"[A-Za-z_][A-Za-z_-]{0,30}\d?")


def explain_login(
    error: OutkeyError,
    response: Response,
    configuration: Configuration,
    *,
    is_secret: Callable[[str], bool],
) -> None:
    """Add to an error what was sent where, or what the response has instead."""
    if error.reason == NO_TOKEN:
        names = ", ".join(islice(_member_names(parse_body(response.body)), _MAX_NAMES))
        shown = "" if is_secret(names) else names
        error.replace_message(_missing_token(configuration.login.token, shown))
        return
    target = target_of(configuration, LOGIN_PATH).partition("?")[0]
    error.replace_message(
        Text(
            "{problem}: {method} {url} → {status}",
            problem=error.message,
            method=configuration.login.method,
            url=f"{configuration.base.origin}{target}",
            status=response.status,
        )
    )


def _missing_token(where: str, names: str) -> Text:
    """Return the message for a login that succeeded, and whose token is elsewhere."""
    if not names:
        return Text("the login worked, but nothing is at {where}", where=where)
    return Text(
        "the login worked, but nothing is at {where}; the response has: {names}",
        where=where,
        names=names,
    )


def _member_names(document: object, prefix: str = "", depth: int = 1) -> Iterator[str]:
    """Yield the paths of a document's members that are plain words."""
    if not isinstance(document, dict):
        return
    for name, value in document.items():
        if not _NAME.fullmatch(name):
            continue
        path = f"{prefix}{name}"
        if isinstance(value, dict) and value and depth < _MAX_DEPTH:
            yield from _member_names(value, f"{path}.", depth + 1)
        else:
            yield path
