"""Texts of login requests with placeholders, filled in one pass."""

import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import BodyFormat, StepFormat
from outkey.foundation.core.placeholders import PLACEHOLDER
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.request.dot_segments import has_parent_segment
from outkey.sending.core.request.message import percent_encoded

Values = Mapping[str, str | Secret]
# No spaces inside, so that the braces of JSON and GraphQL are not mistaken for one.
_QUOTED = re.compile(r"%7B([A-Za-z_][A-Za-z0-9_]*)%7D")  # in the target of a request
_XML_QUOTES = {'"': "&quot;", "'": "&apos;"}
ENCODERS: Mapping[BodyFormat | StepFormat, Callable[[str], str]] = {
    # A placeholder stands inside the quotes of a JSON string.
    BodyFormat.JSON: lambda text: json.dumps(text)[1:-1],
    BodyFormat.FORM: quote_plus,
    StepFormat.XML: lambda text: escape(text, _XML_QUOTES),
}
CONTENT_TYPES: Mapping[BodyFormat | StepFormat, str] = {
    BodyFormat.JSON: "application/json",
    BodyFormat.FORM: "application/x-www-form-urlencoded",
    StepFormat.XML: "application/xml",
}


def has_encoded_placeholder(target: str) -> bool:
    """Whether a path or URL has a placeholder with its braces percent-encoded."""
    return _QUOTED.search(target) is not None


def fill(template: str, values: Values, body_format: BodyFormat | StepFormat) -> Secret:
    """Return a template with its values, each encoded for the format.

    A value that looks like a placeholder itself is not replaced again.
    """
    parts = PLACEHOLDER.split(template.strip())
    return _filled(parts, values, ENCODERS[body_format])


def fill_text(template: str, values: Values) -> str | Secret:
    """Return a template with its values as they are; a secret only if it has one."""
    parts = PLACEHOLDER.split(template)
    return _filled(parts, values, str) if len(parts) > 1 else template


def fill_target(target: str, values: Values) -> tuple[str, Secret | None]:
    """Return a target with the names of its values, and with the values themselves.

    The second one is None where there are none. A value is encoded so that it neither
    ends a segment or a parameter nor leads to a parent.
    """
    parts = _QUOTED.split(target)
    if len(parts) == 1:
        return target, None
    filled = _filled(parts, values, percent_encoded)
    return _QUOTED.sub(r"{\1}", target), filled.derive(_refuse_parent)


def _refuse_parent(target: str) -> str:
    if has_parent_segment(target.partition("?")[0]):
        raise ConfigError(
            Text("a value leads the path of a step elsewhere"), field="login.steps"
        )
    return target


def _filled(parts: list[str], values: Values, encode: Callable[[str], str]) -> Secret:
    """Return texts and, at each second place, values by their names, as one."""
    filled: list[str | Secret] = []
    for number, part in enumerate(parts):
        if number % 2 == 0:
            filled.append(part)
            continue
        value = values[part]
        filled.append(
            value.derive(encode) if isinstance(value, Secret) else encode(value)
        )
    return Secret.joined(*filled)
