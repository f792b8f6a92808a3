"""Bodies of login requests: a text with placeholders, filled in one pass."""

import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import quote_plus

from outkey.foundation.core.fields.choices import BodyFormat
from outkey.foundation.core.secret import Secret

# No spaces inside, so that the braces of JSON and GraphQL are not mistaken for one.
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
ENCODERS: Mapping[BodyFormat, Callable[[str], str]] = {
    # A placeholder stands inside the quotes of a JSON string.
    BodyFormat.JSON: lambda text: json.dumps(text)[1:-1],
    BodyFormat.FORM: quote_plus,
}
CONTENT_TYPES = {
    BodyFormat.JSON: "application/json",
    BodyFormat.FORM: "application/x-www-form-urlencoded",
}


def placeholders_in(template: str) -> list[str]:
    """Return the names of the placeholders in a template, each once, in order."""
    return list(dict.fromkeys(_PLACEHOLDER.findall(template)))


def fill(
    template: str, values: Mapping[str, str | Secret], body_format: BodyFormat
) -> Secret:
    """Return a template with its values, each encoded for the format.

    A value that looks like a placeholder itself is not replaced again.
    """
    encode = ENCODERS[body_format]
    parts: list[str | Secret] = []
    for number, part in enumerate(_PLACEHOLDER.split(template.strip())):
        if number % 2 == 0:
            parts.append(part)
            continue
        value = values[part]
        parts.append(
            value.derive(encode) if isinstance(value, Secret) else encode(value)
        )
    return Secret.joined(*parts)
