"""The versions of a sync line: what each save stored, as one text."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import NO_TEXT, Text

if TYPE_CHECKING:
    from outkey.sync.core.line.line import SyncLine

MOST_VERSIONS = 100  # of one line; the oldest are deleted
_REQUEST_KEYS = ("configuration", "method", "path")


@dataclass(frozen=True, slots=True)
class LineVersion:
    """One stored version of a line, and who saved it."""

    line: str
    number: int  # from 1
    at: float
    actor: str
    text: str  # as `version_text` returns it
    summary: Text = NO_TEXT


def written_sync(line: SyncLine) -> str:
    """Return the TOML of a synchronization as its user wrote it, with comments.

    A source that differs from the stored settings is not used: the stored
    values may have been changed by a document or a program since.
    """
    from outkey.sync.core.line.section import parse_sync, render_sync  # noqa: PLC0415

    if line.sync is None:
        return ""
    try:
        if line.source and parse_sync(line.source) == line.sync:
            return line.source
    except ConfigError:
        pass  # written by a version of outkey that knew other keys
    return render_sync(line.sync)


def version_text(line: SyncLine) -> str:
    """Return a whole line as TOML: its request, an empty line, its synchronization."""
    # Strings of JSON are strings of TOML, and have no line breaks.
    request = "\n".join(
        f"{key} = {json.dumps(getattr(line, key), ensure_ascii=False)}"
        for key in _REQUEST_KEYS
    )
    return f"{request}\n\n{written_sync(line)}"


def compared_values(line: SyncLine) -> dict[str, str]:
    """Return the values of a line as `compare_lines` compares them."""
    values = {key: str(getattr(line, key)) for key in _REQUEST_KEYS}
    return values | {"sync": written_sync(line)}


def read_version(name: str, text: str) -> SyncLine:
    """Undo `version_text`, or raise ConfigError."""
    from outkey.sync.core.line.section import parse_sync, read_request  # noqa: PLC0415

    request, _, source = text.partition("\n\n")
    try:
        table = tomllib.loads(request)
    except tomllib.TOMLDecodeError:
        raise ConfigError(Text("the stored version cannot be read")) from None
    sync = parse_sync(source) if source else None
    return replace(read_request(name, table, sync), source=source)
