"""Rows of the reference for the fields of configurations and sync lines."""

from collections.abc import Iterable, Iterator

from outkey.foundation.core.fields.field_kinds import (
    MAX_LIST,
    MAX_TEXT,
    Conditions,
    Field,
    Kind,
)
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sync.core.line.fields import EVERY_LINE_FIELD

LABELS = {field.path: field.label for field in (*BY_PATH.values(), *EVERY_LINE_FIELD)}
HEADING = """\
| Label | TOML key | Takes | Default | Applies when | What it is |
|---|---|---|---|---|---|"""
WITH_LENGTH = frozenset({Kind.TEXT, Kind.LONG_TEXT})
WITH_LIMITS = frozenset({Kind.INTEGER, Kind.SECONDS})


def field_rows(fields: Iterable[Field], key: str = "path") -> Iterator[str]:
    """Yield a table of fields; their keys are the paths, or the last parts of these."""
    yield HEADING
    for field in fields:
        columns = (
            field.label,
            f"`{getattr(field, key)}`",
            accepted_values(field),
            default_value(field),
            conditions(field),
            field.help,
        )
        yield f"| {' | '.join(columns)} |"


def accepted_values(field: Field) -> str:
    """Return what a field takes."""
    if field.choices:
        return ", ".join(f"`{value}` ({label})" for value, label in field.choices)
    if field.kind in WITH_LENGTH:
        return f"text of at most {field.maximum or MAX_TEXT} characters"
    if field.kind in {Kind.LIST, Kind.TABLES}:
        return f"{field.kind}, at most {int(field.maximum) or MAX_LIST}"
    if field.kind in WITH_LIMITS:
        return f"{field.kind} from {field.minimum:g} to {field.maximum:,}"
    return str(field.kind)


def default_value(field: Field) -> str:
    """Return a field's default, or that the field is required."""
    if field.required:
        return "required"
    if field.required_when:
        return f"required if {condition_text(field.required_when)}"
    if field.kind is Kind.FLAG:
        return f"`{field.default}`".lower()
    is_shown = isinstance(field.default, str | int | float) and field.default != ""
    return f"`{field.default}`" if is_shown else ""


def conditions(field: Field) -> str:
    """Return when a field applies."""
    return "; or ".join(map(condition_text, field.alternatives)) or "always"


def condition_text(conditions: Conditions) -> str:
    """Return what other fields must be."""
    return ", ".join(
        f"{LABELS[path]} is {' or '.join(str(value or 'empty') for value in values)}"
        for path, values in conditions
    )
