"""The public catalogue of providers: providers.yaml of npm's @nangohq/providers.

Its licence does not let outkey ship it: fetch it with `npm pack`, unpack it, and give
its path to the programs that compare outkey with it.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

# The part of a URL that decides where credentials go: scheme and host.
_ORIGIN = re.compile(r"\s*(\w+://[^/?#]*|\$\{[^}]*\})")


def read_catalogue(path: Path) -> dict[str, Mapping[str, Any]]:
    """Return the entries by name; an alias has what it does not replace."""
    entries = yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
    return {name: _resolve(entries, name) for name in entries}


def _resolve(entries: Mapping[str, Any], name: str) -> dict[str, Any]:
    entry = dict(entries[name])
    alias = entry.pop("alias", None)
    return entry if alias is None else {**_resolve(entries, alias), **entry}


def origin_of(url: object) -> str:
    """Return scheme and host of a URL, with its variables."""
    match = _ORIGIN.match(str(url))
    return match[1].lower() if match else ""
