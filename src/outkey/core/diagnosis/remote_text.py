"""The external system's own words. They are remote text: whoever shows them says whose they are."""

import html
import json
import re

from outkey.core.diagnosis.evidence import BODY_READ
from outkey.core.request.challenge import parse_challenges
from outkey.core.request.message import Response

_LONGEST = 200
_DEEPEST = 5
# From the most telling to the least.
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
# A page's title, a SOAP fault, an AWS message; bounded, so that nobody can make it slow.
_TAGS = re.compile(
    r"<(?:title|message|faultstring)(?:\s[^>]{0,200})?>([^<]{1,400})", re.IGNORECASE
)


def words_of(response: Response) -> str:
    """Return what the answer says in its own words: one printable line, or nothing.

    It is not shortened, so that whoever looks for a secret in it looks at all of it.
    """
    text = response.body[:BODY_READ].decode("utf-8", "replace")
    document = read_json(text)
    if document is not None:
        words = _telling(document, 0)
    elif text.lstrip()[:1] == "<":
        found = _TAGS.search(text)
        words = html.unescape(found[1]) if found else ""
    else:
        words = text
    return _line(words) or _line(_described(response))


def shortened(line: str) -> str:
    """Return a line that fits."""
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def read_json(text: str) -> object:
    """Return a JSON document, or None where the text is none."""
    try:
        return json.loads(text, parse_int=float)  # however many digits somebody sends
    except (ValueError, RecursionError):
        return None


def _telling(value: object, depth: int) -> str:
    """Return the first text that stands under one of the keys."""
    if isinstance(value, str):
        return value
    if depth > _DEEPEST or not value:
        return ""
    if isinstance(value, list):
        return _telling(value[0], depth + 1)
    if not isinstance(value, dict):
        return ""
    fields = {str(key).lower(): inner for key, inner in value.items()}
    found = (_telling(fields[key], depth + 1) for key in _KEYS if key in fields)
    return next((words for words in found if words), "")


def _described(response: Response) -> str:
    challenges = parse_challenges(response.headers.get_all("WWW-Authenticate"))
    return " ".join(c.parameters.get("error_description", "") for c in challenges)


def _line(text: str) -> str:
    return "".join(c for c in " ".join(text[: 4 * _LONGEST].split()) if c.isprintable())
