"""Old and new values of a change, as far as the audit may have them.

The audit cannot be edited, so it has no value that could be a secret that was entered
in the wrong place: a free text is reported as changed, without its value.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.field_kinds import Kind
from outkey.foundation.core.origin import parse_endpoint
from outkey.sending.core.audit.events import path_template
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.fields import BY_PATH

if TYPE_CHECKING:
    pass

MAX_VALUE = 80
PLAIN_PATH = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_.]*")
# Their values are chosen from a list, or are numbers.
SHOWN_KINDS = frozenset(
    {
        Kind.CHOICE,
        Kind.FLAG,
        Kind.SECONDS,
        Kind.INTEGER,
        Kind.DATE,
        Kind.METHOD,
        Kind.STATUSES,
    }
)
URL_KINDS = frozenset({Kind.URL, Kind.ENDPOINT, Kind.PROXY})
PATH_FIELDS = frozenset(
    {"verification.test_path", "login.path", "login.refresh_path", "login.logout_path"}
)


class ValueChange(NamedTuple):
    """A field with its old and new value; both are empty if they are not recorded."""

    field: str
    old: str = ""
    new: str = ""


def configuration_changes(
    stored: Configuration, made: Configuration
) -> Iterator[ValueChange]:
    """Yield the fields, rows and references that differ."""
    before = stored.values()
    after = made.values()
    for path in after | before:
        if before.get(path) != after.get(path):
            yield ValueChange(
                path,
                shown_value(path, before.get(path)),
                shown_value(path, after.get(path)),
            )
    for name in ("headers", "query"):
        if getattr(stored, name) != getattr(made, name):
            yield ValueChange(name)
    for field, state in made.secrets.items():
        if stored.secrets.get(field) != state:
            yield ValueChange(field)


def shown_value(path: str, value: object) -> str:
    """Return a value as the audit has it; "" if it may be a secret."""
    field = BY_PATH.get(path)
    if field is None or value is None:
        return ""
    if field.kind in URL_KINDS:
        return shown_url(str(value))
    if path in PATH_FIELDS:
        return path_template(str(value))[:MAX_VALUE]
    return plain_value(value) if field.kind in SHOWN_KINDS else ""


def shown_url(url: str) -> str:
    """Return origin and path of a URL, without segments that may be an ID or a key."""
    try:
        endpoint = parse_endpoint(url, "")
    except OutkeyError:
        return ""
    return f"{endpoint.origin}{path_template(endpoint.target)}"[:MAX_VALUE]


def plain_value(value: object) -> str:
    """Return a choice, a number or a list of names as text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value)[:MAX_VALUE]
    return str(value)[:MAX_VALUE]


def expression_changes(name: str, old: str, new: str) -> Iterator[ValueChange]:
    """Yield whether an expression differs; with its values if both are plain."""
    if old == new:
        return
    are_plain = all(
        part in {"", "@"} or PLAIN_PATH.fullmatch(part) for part in (old, new)
    )
    yield ValueChange(name, *(part[:MAX_VALUE] for part in (old, new) if are_plain))
