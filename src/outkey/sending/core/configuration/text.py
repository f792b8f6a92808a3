"""A configuration as TOML, which `drafts.py` reads.

References are written as they are. A stored secret is a comment with the time when it
was set, so that the output can be stored, compared and applied elsewhere.
"""

from collections.abc import Iterable, Iterator

from outkey.foundation.core.fields.field_kinds import Kind
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.toml.text import entries, toml_key, toml_value
from outkey.sending.core.configuration.configuration import TOKEN_HEADERS, Configuration
from outkey.sending.core.configuration.custom_rows import CustomRow
from outkey.sending.core.configuration.fields import (
    BY_PATH,
    FIELDS,
    SECTIONS,
    other_type_of,
)
from outkey.sending.core.configuration.secret_state import SecretState


def configuration_lines(configuration: Configuration) -> Iterator[str]:
    """Yield the lines of a configuration's tables, without what is as by default."""
    table = f"configuration.{toml_key(configuration.name)}"
    settings = configuration.values()
    values = {
        path: value
        for path, value in settings.items()
        if value != BY_PATH[path].default or BY_PATH[path].is_always_written
        # What a document refuses stays stored only.
        if not BY_PATH[path].is_refused(settings)
    }
    yield f"[{table}]"
    yield from entries({path: v for path, v in values.items() if "." not in path})
    yield from secret_lines(configuration, "")
    yield from _rows_lines(configuration, f"{table}.headers", configuration.headers)
    yield from _rows_lines(configuration, f"{table}.query", configuration.query)
    for section in SECTIONS:
        # What was entered for another type stays stored, but a document refuses it.
        if other_type_of(section, configuration.authentication_type):
            continue
        prefix = f"{section}."
        inner_values = {
            path.removeprefix(prefix): value
            for path, value in values.items()
            if path.rpartition(".")[0] == section
            and BY_PATH[path].kind is not Kind.TABLES
        }
        lines = [*entries(inner_values), *secret_lines(configuration, prefix)]
        if lines:
            yield f"[{table}.{section}]"
            yield from lines
        if section == "oauth2" and configuration.uses_oauth2:
            rows = configuration.oauth2.token_headers
            yield from _rows_lines(configuration, f"{table}.{TOKEN_HEADERS}", rows)
        if section == "login":
            for step in configuration.login.steps:
                yield f"[[{table}.login.steps]]"
                yield from entries(step)


def _rows_lines(
    configuration: Configuration, table: str, rows: Iterable[CustomRow]
) -> Iterator[str]:
    """Yield the tables of rows."""
    for row in rows:
        yield f"[[{table}]]"
        yield from _row_lines(row, configuration)


def _row_lines(row: CustomRow, configuration: Configuration) -> Iterator[str]:
    """Yield the keys of a header or query row."""
    yield f"key = {toml_value(row.key)}"
    if row.value or not row.secret:
        yield f"value = {toml_value(row.value)}"
    if row.secret:
        state = configuration.secrets.get(row.secret_field)
        yield from secret_line("reference" if row.value else "value", state)
    yield f"secret = {toml_value(row.secret)}"


def secret_lines(configuration: Configuration, prefix: str) -> Iterator[str]:
    """Yield the secrets whose paths have this prefix and one key behind it."""
    settings = configuration.values()
    for field in FIELDS:
        is_here = field.secret and field.path == prefix + field.key
        if is_here and not field.is_refused(settings):
            state = configuration.secrets.get(field.secret_name)
            yield from secret_line(field.key, state)


def secret_line(key: str, state: SecretState | None) -> Iterator[str]:
    """Yield the reference of a secret, or a comment about a stored one."""
    if state is None:
        return
    if state.reference is not None:
        yield f"{key} = {toml_value(str(state.reference))}"
    else:
        day = day_of(state.set_at) if state.set_at else "(date unknown)"
        yield f"# {key}: set {day}"
