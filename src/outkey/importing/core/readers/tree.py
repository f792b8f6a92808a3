"""Documents from outside as trees of plain values, read within limits.

JSON is read here; YAML by what the caller passes, since the standard library has no
reader for it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

MAX_TEXT = 2 * 1024 * 1024
MAX_DEPTH = 50
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]', re.DOTALL)
ReadYaml = Callable[[str], object]
Table = Mapping[str, object]
EMPTY: Table = {}


def refuse_long(text: str) -> None:
    """Refuse a text that is longer than an import may be."""
    if len(text) > MAX_TEXT or len(text.encode(errors="replace")) > MAX_TEXT:
        raise too_long()


def too_long() -> ConfigError:
    """Return the error for a text that is longer than an import may be."""
    return ConfigError(
        Text("the input is longer than {limit} MiB", limit=MAX_TEXT // 1024**2),
        hint=Text("Import a part of it: the servers and the security of an API."),
    )


def too_deep() -> ConfigError:
    """Return the error for a document that is nested too deeply."""
    return ConfigError(
        Text("the document is nested deeper than {limit} levels", limit=MAX_DEPTH)
    )


def read_json(text: str) -> object:
    """Return the value of a JSON document of limited depth."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        sign = match[0]
        depth += (sign in "[{") - (sign in "]}")
        if depth > MAX_DEPTH:
            raise too_deep()
    try:
        return json.loads(text)
    except ValueError:
        raise ConfigError(Text("this is not valid JSON")) from None


def read_tree(text: str, read_yaml: ReadYaml) -> Table:
    """Return the table of a JSON or YAML document."""
    is_json = text.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    tree = read_json(text.lstrip("\ufeff")) if is_json else read_yaml(text)
    if not isinstance(tree, dict):
        raise ConfigError(Text("the document is not a table of keys and values"))
    return tree


def table(value: object) -> Table:
    """Return a table, an empty one for anything else."""
    return value if isinstance(value, dict) else EMPTY


def rows(value: object) -> Iterator[Table]:
    """Yield the tables of a list."""
    if isinstance(value, list):
        for row in value:
            if isinstance(row, dict):
                yield row


def text_of(value: object) -> str:
    """Return a text; numbers and flags as they are written, else nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""
