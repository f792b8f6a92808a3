"""The synchronization of one sync line as TOML, as a form shows and reads it.

It is what a document has under the line's name, without the fields that the form has
inputs for.
"""

from typing import Any

from outkey.core.config.export import render_table
from outkey.core.config.toml import parse_toml
from outkey.core.errors import ConfigError
from outkey.core.sync.line import Sync
from outkey.core.sync.table import read_sync, sync_table
from outkey.core.text import Text

LINE_FIELDS = ("name", "configuration", "method", "path")
_MOST_CHARACTERS = 128 * 1024  # room for a script of the greatest length
_TABLES = ("pagination", "incremental")


def read_sync_text(text: str) -> Sync | None:
    """Read the TOML of a form; None for an empty one."""
    text = text.replace("\r\n", "\n")
    if not text:
        return None
    table = parse_toml(text, longest=_MOST_CHARACTERS, field="TOML")
    for name in LINE_FIELDS:
        if name in table:
            message = Text("{name} has a field of its own on this page", name=name)
            raise ConfigError(message, hint=Text("Leave it out here."), field="TOML")
    if "direction" not in table:
        message = Text("a line that synchronizes must say pull or push")
        raise ConfigError(message, field="direction")
    return read_sync(table)


def write_sync_text(sync: Sync | None) -> str:
    """Return the TOML that `read_sync_text` reads."""
    if sync is None:
        return ""
    values: dict[str, Any] = sync_table(sync)
    mappings = values.pop("fields")
    tables = [(name, values.pop(name)) for name in _TABLES if name in values]
    tables += [("[fields]", mapping) for mapping in mappings]
    parts = [render_table("line", values).partition("\n")[2]]
    parts += [render_table(name, table) for name, table in tables]
    return "\n\n".join(parts)
