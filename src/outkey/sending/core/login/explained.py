"""Details of a failed login for its error: request, status and names of keys.

No value of the response is passed on: only the names of its members, where they are
plain words, so that a user finds the place of the token.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.text import Text
from outkey.sending.core.login.failures import NO_TOKEN, NOTHING_TAKEN
from outkey.sending.core.request.message import Response

_MAX_NAMES = 8
_MAX_DEPTH = 3
# A word as programs name a member; a key or a password would have more digits.
_NAME = re.compile(r"[A-Za-z_][A-Za-z_-]{0,30}\d?")


class LoginExchange(NamedTuple):
    """A request of a login and its response, for a user who waits."""

    method: str
    url: str  # without a query
    response: Response
    document: object  # the response's
    where: str  # where the token, or a value that is taken, was looked for
    step: int = 0  # from 1; 0 for a login without steps


def explain_login(
    error: OutkeyError, sent: LoginExchange, *, is_secret: Callable[[str], bool]
) -> None:
    """Add to an error what was sent where, or what the response has instead."""
    if error.reason in {NO_TOKEN, NOTHING_TAKEN}:
        names = ", ".join(islice(_member_names(sent.document), _MAX_NAMES))
        shown = "" if is_secret(names) else names
        message = _missing_token(sent.where, shown)
    else:
        message = Text(
            "{problem}: {method} {url} → {status}",
            problem=error.message,
            method=sent.method,
            url=sent.url,
            status=sent.response.status,
        )
    if sent.step:
        message = Text("step {number}: {problem}", number=sent.step, problem=message)
    error.replace_message(message)


def _missing_token(where: str, names: str) -> Text:
    """Return the message for a login that succeeded, and whose token is elsewhere."""
    where = where or "Set-Cookie"
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
