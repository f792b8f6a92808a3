"""Writing configurations as the TOML document that `document.py` reads.

References are written as they are; a stored secret is a comment that says since when it is set,
so that the output can be kept, compared and applied elsewhere.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from outkey.core.config.configuration import Configuration, SecretState, SyncLine
from outkey.core.config.fields import BY_PATH, FIELDS, SECTIONS
from outkey.core.sync.table import sync_table

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def render(configurations: Iterable[Configuration], lines: Iterable[SyncLine]) -> str:
    """Return the document that describes these configurations and lines."""
    parts = [_configuration(configuration) for configuration in configurations]
    parts += [_line(line) for line in lines]
    return "\n".join("\n".join(part) + "\n" for part in parts)


def render_table(name: str, values: Mapping[str, object]) -> str:
    """Return one table with its values."""
    return "\n".join([f"[{name}]", *_entries(values)])


def _configuration(configuration: Configuration) -> Iterator[str]:
    table = f"configuration.{_key(configuration.name)}"
    values = {
        path: value
        for path, value in configuration.values().items()
        if value != BY_PATH[path].default
    }
    yield f"[{table}]"
    yield from (
        f"{path} = {_value(v)}" for path, v in values.items() if "." not in path
    )
    yield from _secrets(configuration, "")
    for row in configuration.headers:
        yield f"[[{table}.headers]]"
        yield f"key = {_value(row.key)}"
        if row.secret:
            yield from _secret("value", configuration.secrets.get(row.secret_field))
        else:
            yield f"value = {_value(row.value)}"
        yield f"secret = {_value(row.secret)}"
    for section in SECTIONS:
        prefix = f"{section}."
        inside = [
            f"{p.removeprefix(prefix)} = {_value(v)}"
            for p, v in values.items()
            if p.startswith(prefix)
        ]
        inside += _secrets(configuration, prefix)
        if inside:
            yield f"[{table}.{section}]"
            yield from inside


def _secrets(configuration: Configuration, prefix: str) -> Iterator[str]:
    for field in FIELDS:
        if field.secret and field.path == prefix + field.secret_name:
            yield from _secret(
                field.secret_name, configuration.secrets.get(field.secret_name)
            )


def _secret(key: str, state: SecretState | None) -> Iterator[str]:
    if state is not None and state.reference is not None:
        yield f"{key} = {_value(str(state.reference))}"
    elif state is not None:
        day = (
            datetime.fromtimestamp(state.set_at, UTC).date()
            if state.set_at
            else "some day"
        )
        yield f"# {key}: set {day}"


def _line(line: SyncLine) -> Iterator[str]:
    table = f"line.{_key(line.name)}"
    yield f"[{table}]"
    yield f"configuration = {_value(line.configuration)}"
    yield f"method = {_value(line.method)}"
    yield f"path = {_value(line.path)}"
    if line.sync is not None:
        yield from _sync(table, sync_table(line.sync))


def _sync(table: str, said: dict[str, Any]) -> Iterator[str]:
    parts = {key: said.pop(key) for key in ("pagination", "incremental") if key in said}
    rows = said.pop("fields")
    yield from _entries(said)
    for key, values in parts.items():
        yield f"[{table}.{key}]"
        yield from _entries(values)
    for row in rows:
        yield f"[[{table}.fields]]"
        yield from _entries(row)


def _entries(values: Mapping[str, object]) -> Iterator[str]:
    return (f"{key} = {_value(value)}" for key, value in values.items())


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return (
            "{ "
            + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items())
            + " }"
        )
    if isinstance(value, str) and "\n" in value and _plain(value):
        return f"'''\n{value}'''"
    # JSON's strings, numbers and booleans are TOML's as well, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(text: str) -> bool:
    """Tell whether a text of several lines can stand as it is, as a script does."""
    return "'''" not in text and text.replace("\n", "").replace("\t", "").isprintable()
