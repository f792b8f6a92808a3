"""Credentials in the body of a request: members of JSON at any depth, and of forms."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import parse_qsl

from outkey.sending.core.configuration.placeholders import (
    is_placeholder,
    is_secret_parameter,
    is_secret_value,
)
from outkey.sending.core.configuration.query_credentials import paired_passwords

_MAX_MEMBERS = 1000
_SHORTEST_KEY = 8
# Sign-ins of APIs in their own words, beside those that parameters of a query have.
_PASSWORD = re.compile(
    r"(?:.*[_-])?(?:password|passwd|pwd|passphrase|passcode)", re.IGNORECASE
)
_FORM = re.compile(r"[^\s={}\[\]\"<>]+=[^\s<>{}\"]*")


class BodyMember(NamedTuple):
    """A text in a body: the names that lead to it, and its value."""

    path: tuple[str, ...]
    value: str

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path[-1] if self.path else ""

    @property
    def label(self) -> str:
        """Its names, as a user finds it in the body."""
        return ".".join(self.path)


def text_members(body: str) -> list[BodyMember]:
    """Return the texts in a body of JSON, or of a form; none of another body."""
    text = body.strip()
    if text.startswith(("{", "[")):
        try:
            tree = json.loads(text)
        except (ValueError, RecursionError):
            return []
        return list(_members_of(tree))
    if not _FORM.match(text):
        return []
    return [BodyMember((name,), value) for name, value in parse_qsl(text)]


def _members_of(tree: object) -> Iterator[BodyMember]:
    """Yield the texts of a tree, in order; no recursion, since it may be very deep."""
    pending: list[tuple[tuple[str, ...], object]] = [((), tree)]
    for _ in range(_MAX_MEMBERS):
        if not pending:
            return
        path, value = pending.pop()
        if isinstance(value, dict):
            members = [((*path, str(name)), part) for name, part in value.items()]
            pending += reversed(members)
        elif isinstance(value, list):
            pending += [(path, part) for part in reversed(value)]
        elif isinstance(value, str) and path:
            yield BodyMember(path, value)


def credentials_in_body(
    body: str, *, with_placeholders: bool = False
) -> list[BodyMember]:
    """Return the members that are credentials, by their names or their values.

    A placeholder is none, unless it counts as what stands there in the real request.
    """
    members = text_members(body)
    passwords = paired_passwords([(member.name, member.value) for member in members])
    return [
        member
        for member in members
        if (with_placeholders or not is_placeholder(member.value))
        if _PASSWORD.fullmatch(member.name)
        or member.name.lower() in passwords
        or is_secret_value(member.value)
        or (is_secret_parameter(member.name) and _looks_like_key(member.value))
    ]


def _looks_like_key(value: str) -> bool:
    """Whether a value is no word: it has digits, and is long enough for a key."""
    return len(value) >= _SHORTEST_KEY and any(map(str.isdigit, value))
