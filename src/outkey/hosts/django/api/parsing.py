"""Reading bodies: JSON as RFC 8259 has it."""

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from outkey.foundation.core.errors import InvalidRequest
from outkey.foundation.core.text import Text
from outkey.hosts.django.api.responses import NUL


class StrictParser(Parser):
    """Reads JSON without what only Python's module accepts."""

    def parse_body(self, request: HttpRequest) -> Any:  # noqa: ANN401 - any JSON
        """Return the body, or raise InvalidRequest without repeating a part of it."""
        try:
            document = json.loads(
                request.body,
                parse_constant=refuse_constant,
                object_pairs_hook=_without_doubles,
            )
            _refuse_nul_inside(document)
        except (ValueError, RecursionError):
            raise InvalidRequest(
                Text("the body is not JSON"),
                hint=Text("Send one JSON document with the content type of JSON."),
                field="body",
            ) from None
        return document


def _refuse_nul_inside(document: object) -> None:
    """Refuse a text that no database can store, wherever it is."""
    if isinstance(document, str):
        _refuse_unstorable(document)
    elif isinstance(document, dict):
        for name, value in document.items():
            _refuse_nul_inside(name)
            _refuse_nul_inside(value)
    elif isinstance(document, list):
        for value in document:
            _refuse_nul_inside(value)


def _refuse_unstorable(text: str) -> None:
    """Refuse NUL, and half of a surrogate pair, which UTF-8 cannot encode."""
    if NUL in text:
        raise ValueError
    text.encode()


def refuse_constant(_text: str) -> None:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object, or refuse one that names a key twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError
    return members
