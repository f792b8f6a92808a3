"""Templates with {names} in braces: in texts, in paths and in JSON documents."""

import json
import re
from collections.abc import Mapping

MAX_FILLED = 10_000_000  # characters of the values in a body
PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}", re.ASCII)


def placeholders(template: str) -> list[str]:
    """Return the names in the braces of a template."""
    return PLACEHOLDER.findall(template)


def is_too_long(template: str, values: Mapping[str, object]) -> bool:
    """Whether a template would become too long: it may name a large value often."""
    names = placeholders(template)
    lengths = {name: len(str(value_at(values, name))) for name in set(names)}
    return sum(lengths[name] for name in names) > MAX_FILLED


def value_at(record: object, path: str) -> object:
    """Return the value at a dotted name, or None."""
    for name in path.split("."):
        if not isinstance(record, Mapping):
            return None
        record = record.get(name)
    return record


def fill_body(template: object, values: Mapping[str, object]) -> object:
    """Return a JSON document with its {names} filled in.

    A text that is one name alone becomes the value itself. Values are never parsed:
    none can add a key.
    """
    match template:
        case str():
            alone = PLACEHOLDER.fullmatch(template)
            if alone:
                return value_at(values, alone[1])
            return fill_text(template, values)
        case dict():
            return {name: fill_body(part, values) for name, part in template.items()}
        case list():
            return [fill_body(part, values) for part in template]
    return template


def fill_text(template: str, values: Mapping[str, object]) -> str:
    """Return a text with its {names} filled in."""
    return PLACEHOLDER.sub(
        lambda name: _plain_text(value_at(values, name[1])), template
    )


def _plain_text(value: object) -> str:
    if isinstance(value, dict | list):
        return compact_json(value)
    return "" if value is None else str(value)


def compact_json(value: object) -> str:
    """Return an object or a list as JSON that is the same for equal values.

    ValueError for a number that is not finite as a double.
    """
    return json.dumps(
        value,
        separators=(",", ":"),
        sort_keys=True,
        allow_nan=False,
        default=float,  # a decimal
    )
