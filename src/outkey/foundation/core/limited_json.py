"""Reading JSON from strangers: with limits, and without what parsers disagree on."""

import json
import re
from typing import NoReturn

MAX_DEPTH = 100
MAX_NUMBER = 100  # characters
CONTAINERS = (dict, list)
# What can only be a long number, or a text that looks like one. Checking each number
# would take several times as long as reading the JSON.
LONG_NUMBER = re.compile(rf"[0-9][0-9.eE+-]{{{MAX_NUMBER - 1}}}")
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_limited_json(body: bytes) -> object:
    """Return the value of a body, or raise ValueError.

    Duplicate keys, NaN, long numbers, deep nesting and lone surrogates are refused.
    """
    text = body.decode()
    read_number = _read_short_number if LONG_NUMBER.search(text) else None
    try:
        value = json.loads(
            text,
            parse_int=read_number,
            parse_float=read_number,
            parse_constant=refuse_constant,
            object_pairs_hook=_read_object,
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    check_nesting(value)
    if SURROGATE.search(text):
        # A lone one raises UnicodeEncodeError, which is a ValueError.
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _read_short_number(text: str) -> float:
    """Return a number of limited length."""
    if len(text) > MAX_NUMBER:
        raise ValueError("a number is too long")
    return int(text) if text.lstrip("-").isdigit() else float(text)


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError(f"{name} is not JSON")


def _read_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object whose keys are unique."""
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key is repeated")
    return values


def check_nesting(value: object) -> None:
    """Refuse a value that is nested too deeply."""
    level = [value] if isinstance(value, CONTAINERS) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, CONTAINERS)
        ]
        if not level:
            return
    raise ValueError("nested too deeply")


def text_at(value: object, path: str) -> str:
    """Return the text or integer at a path such as `event.id`, or ""."""
    for key in path.split("."):
        if not isinstance(value, dict):
            return ""
        value = value.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)
