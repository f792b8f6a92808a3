"""Values as TOML, which `parsing.py` reads."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def section_lines(name: str, values: Mapping[str, object]) -> Iterator[str]:
    """Yield one table with its values."""
    yield f"[{name}]"
    yield from entries(values)


def render_table(name: str, values: Mapping[str, object]) -> str:
    """Return one table with its values."""
    return "\n".join(section_lines(name, values))


def entries(values: Mapping[str, object]) -> Iterator[str]:
    """Yield keys with their values, a line each."""
    return (f"{key} = {toml_value(value)}" for key, value in values.items())


def toml_key(name: str) -> str:
    """Return a key, quoted where it must be."""
    return name if BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(key)} = {toml_value(v)}" for key, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, str) and "\n" in value and is_plain(value):
        return f"'''\n{value}'''"
    # JSON's strings, numbers and booleans are TOML's as well, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def is_plain(text: str) -> bool:
    """Whether a text of several lines needs no escapes, as most scripts do."""
    return "'''" not in text and text.replace("\n", "").replace("\t", "").isprintable()
