"""The TOML text of a line's synchronization, changed without losing its comments.

Everything that a change does not concern stays as a user wrote it: comments, order,
spaces and keys that outkey does not know.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.toml.editing import TomlEditor
from outkey.foundation.core.toml.parsing import parse_toml
from outkey.foundation.core.toml.rows import Table, are_rows
from outkey.foundation.core.toml.text import entries, toml_key
from outkey.sync.core.line.section import MAX_SYNC


class LineText:
    """The TOML of a synchronization; ConfigError with the line of a mistake."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._table = parse_toml(self._text, longest=MAX_SYNC, field="sync")

    def __str__(self) -> str:
        return self._text

    def table(self) -> dict[str, Any]:
        """Return the values of the text; changing them does not change the text."""
        return deepcopy(self._table)

    def with_table(self, table: Mapping[str, object]) -> "LineText":
        """Return a text with these values, changed where they differ from the text."""
        wanted = deepcopy(dict(table))
        editor = TomlEditor(self._text, self.table())
        editor.apply(wanted)
        edited = str(editor)
        # A text that only lacks its comments is better than one with other values.
        return LineText(edited if means(edited, wanted) else _plain_toml(wanted))


def set_value(table: Table, outer: list[str], name: str, value: object) -> None:
    """Set a value in a table, or remove it with the tables that are empty then."""
    if outer:
        inner = table.setdefault(outer[0], {})
        set_value(inner, outer[1:], name, value)
        if not inner:
            del table[outer[0]]
    elif value is None:
        table.pop(name, None)
    else:
        table[name] = value


def means(text: str, table: Table) -> bool:
    """Whether a text is the TOML of a table."""
    try:
        return parse_toml(text, longest=MAX_SYNC) == table
    except ConfigError:
        return False


def _plain_toml(table: Table) -> str:
    """Return the TOML of a table, without comments."""
    lists = {name: value for name, value in table.items() if are_rows(value)}
    tables = {name: value for name, value in table.items() if isinstance(value, dict)}
    plain = {
        name: value
        for name, value in table.items()
        if name not in lists and name not in tables
    }
    lines = [*entries(plain)]
    for name, inner in tables.items():
        lines += ["", f"[{toml_key(name)}]", *entries(inner)]
    for name, rows in lists.items():
        for row in rows:
            lines += ["", f"[[{toml_key(name)}]]", *entries(row)]
    return "\n".join(lines) + "\n"
