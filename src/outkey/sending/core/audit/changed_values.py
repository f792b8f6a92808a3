"""Old and new values of a change, as far as the audit may have them.

The audit cannot be edited, so it has no value that could be a secret that was entered
in the wrong place: a free text is reported as changed, without its value. The table of
fields says which values are shown (`Field.audited`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.changes import FieldChange
from outkey.foundation.core.fields.field_kinds import Audited, Field
from outkey.foundation.core.origin import parse_endpoint
from outkey.sending.core.audit.events import path_template
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.fields import BY_PATH

MAX_VALUE = 80
PLAIN_PATH = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_.]*")


def configuration_changes(
    stored: Configuration, made: Configuration
) -> Iterator[FieldChange]:
    """Yield the fields, rows and references that differ."""
    before = stored.values()
    after = made.values()
    fields = [BY_PATH[path] for path in after | before]
    for path, old, new in audited_changes(fields, before, after):
        yield FieldChange(path, old[:MAX_VALUE], new[:MAX_VALUE])
    for path, rows in made.rows_by_path.items():
        if stored.rows_by_path[path] != rows:
            yield FieldChange(path)
    for field, state in made.secrets.items():
        if stored.secrets.get(field) != state:
            yield FieldChange(field)


def audited_changes(
    fields: Iterable[Field], before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[FieldChange]:
    """Yield which of these fields differ; their values are given by path."""
    for field in fields:
        old = before.get(field.path)
        new = after.get(field.path)
        if old != new:
            yield FieldChange(field.path, *audited_texts(field.audited, old, new))


def audited_texts(audited: Audited, old: object, new: object) -> tuple[str, str]:
    """Return two values as the audit has them; "" if they may be secrets."""
    if audited is Audited.EXPRESSION and not (is_plain(old) and is_plain(new)):
        return "", ""
    show = _SHOWN[audited]
    return (
        "" if old is None else show(old),
        "" if new is None else show(new),
    )


def is_plain(expression: object) -> bool:
    """Whether an expression is a plain path, in which no value can be."""
    text = str(expression)
    return text in {"", "@"} or PLAIN_PATH.fullmatch(text) is not None


def _url_text(value: object) -> str:
    """Return origin and path of a URL, without segments that may be an ID or a key."""
    try:
        endpoint = parse_endpoint(str(value), "")
    except OutkeyError:
        return ""
    return f"{endpoint.origin}{path_template(endpoint.target)}"[:MAX_VALUE]


def _value_text(value: object) -> str:
    """Return a choice, a number or a list of names as text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value)[:MAX_VALUE]
    return str(value)[:MAX_VALUE]


_SHOWN: Mapping[Audited, Callable[[object], str]] = {
    Audited.NAME: lambda _value: "",
    Audited.VALUE: _value_text,
    Audited.WHOLE: str,
    Audited.URL: _url_text,
    Audited.PATH: lambda path: path_template(str(path)),
    Audited.EXPRESSION: _value_text,
}
