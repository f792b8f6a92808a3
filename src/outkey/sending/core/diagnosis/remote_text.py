"""The message of the external system. It is remote text: show it as a quotation."""

import html
import json
import re

from outkey.sending.core.request.challenge import parse_challenges
from outkey.sending.core.request.message import BODY_READ, Response

_LONGEST = 200
_DEEPEST = 5
# From the most informative to the least.
_KEYS = (
    "error_description",
    "message",
    "errormessage",
    "error_message",
    "detail",
    "faultstring",
    "description",
    "reason",
    "msg",
    "title",
    "error",
    "errors",
    "errormessages",
    "fault",
    "response",
    "code",
)
# The title of a page, a SOAP fault, an AWS message; bounded, so that it is always fast.
_TAGS = re.compile(
    r"<(?:title|message|faultstring)(?:\s[^>]{0,200})?>([^<]{1,400})", re.IGNORECASE
)


def remote_message(response: Response) -> str:
    """Return the error message of a response: one printable line, or nothing.

    It is not shortened, so that a search for secrets covers all of it.
    """
    text = response.body[:BODY_READ].decode("utf-8", "replace")
    document = read_json(text)
    if document is not None:
        message = _message_in(document, 0)
    elif text.lstrip()[:1] == "<":
        tag = _TAGS.search(text)
        message = html.unescape(tag[1]) if tag else ""
    else:
        message = text
    return printable_line(message) or printable_line(_challenge_description(response))


def shorten(line: str) -> str:
    """Return at most 200 characters of a line."""
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def read_json(text: str) -> object:
    """Return a JSON document, None if the text is not JSON."""
    try:
        return json.loads(text, parse_int=float)  # a float takes any number of digits
    except (ValueError, RecursionError):
        return None


def _message_in(value: object, depth: int) -> str:
    """Return the first text under one of the keys."""
    if isinstance(value, str):
        return value
    if depth > _DEEPEST or not value:
        return ""
    if isinstance(value, list):
        return _message_in(value[0], depth + 1)
    if not isinstance(value, dict):
        return ""
    fields = {str(key).lower(): inner for key, inner in value.items()}
    messages = (_message_in(fields[key], depth + 1) for key in _KEYS if key in fields)
    return next((message for message in messages if message), "")


def _challenge_description(response: Response) -> str:
    """Return the error descriptions of WWW-Authenticate."""
    challenges = parse_challenges(response.headers.get_all("WWW-Authenticate"))
    return " ".join(
        challenge.parameters.get("error_description", "") for challenge in challenges
    )


def printable_line(text: str) -> str:
    """Return a text as one line without unprintable characters."""
    line = " ".join(text[: 4 * _LONGEST].split())
    return "".join(character for character in line if character.isprintable())
