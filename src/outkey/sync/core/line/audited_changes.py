"""Old and new values of a changed sync line, as far as the audit may have them."""

from collections.abc import Iterator
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING

from outkey.sending.core.audit.changed_values import (
    MAX_VALUE,
    PLAIN_PATH,
    SHOWN_KINDS,
    ValueChange,
    expression_changes,
    plain_value,
)
from outkey.sending.core.audit.events import path_template
from outkey.sync.core.line.fields import EVERY_LINE_FIELD
from outkey.sync.core.line.line import FieldMapping, Sync
from outkey.sync.core.line.sync_line import SyncLine

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


# Settings of a line that are neither a path nor a text with values.
SHOWN_SYNC_FIELDS = (
    "direction",
    "target",
    "keys",
    "gone",
    "writes",
    "guard_percent",
    "full_every",
    "schedule",
    "parallel",
    "batch",
    "max_records",
    "max_minutes",
    "changes",
    "recreate",
)
# Expressions: shown where they are plain paths, as those of the mapping.
EXPRESSION_FIELDS = ("records", "remote_id", "results_at")
# Tables of settings inside of a line.
NESTED_FIELDS = ("pagination", "incremental", "create", "update", "delete", "find")
NAMED_SYNC_FIELDS = frozenset(
    {"mappings", *SHOWN_SYNC_FIELDS, *EXPRESSION_FIELDS, *NESTED_FIELDS}
)
LINE_KINDS = {field.path: field.kind for field in EVERY_LINE_FIELD}


def line_changes(stored: SyncLine, made: SyncLine) -> Iterator[ValueChange]:
    """Yield what differs between two versions of a line."""
    if stored.configuration != made.configuration:
        yield ValueChange("configuration", stored.configuration, made.configuration)
    if stored.method != made.method:
        yield ValueChange("method", stored.method, made.method)
    if stored.path != made.path:
        yield ValueChange("path", path_template(stored.path), path_template(made.path))
    yield from sync_changes(stored.sync or Sync(), made.sync or Sync())


def sync_changes(before: Sync, after: Sync) -> Iterator[ValueChange]:
    """Yield what differs in what makes a line a synchronization."""
    for name in SHOWN_SYNC_FIELDS:
        old = getattr(before, name)
        new = getattr(after, name)
        if old != new:
            yield ValueChange(name, plain_value(old), plain_value(new))
    yield from mapping_changes(before, after)
    for name in EXPRESSION_FIELDS:
        yield from expression_changes(name, getattr(before, name), getattr(after, name))
    for name in NESTED_FIELDS:
        yield from nested_changes(name, getattr(before, name), getattr(after, name))
    for setting in dataclass_fields(Sync):
        name = setting.name
        if name in NAMED_SYNC_FIELDS:
            continue
        if getattr(before, name) != getattr(after, name):
            yield ValueChange(name)


def nested_changes(
    name: str, before: "DataclassInstance", after: "DataclassInstance"
) -> Iterator[ValueChange]:
    """Yield what differs between two tables of settings."""
    for setting in dataclass_fields(before):
        old = getattr(before, setting.name)
        new = getattr(after, setting.name)
        path = f"{name}.{setting.name}"
        if old == new:
            continue
        if setting.name == "path":
            yield ValueChange(path, path_template(old), path_template(new))
        elif LINE_KINDS.get(path) in SHOWN_KINDS:
            yield ValueChange(path, plain_value(old), plain_value(new))
        else:
            yield ValueChange(path)


def mapping_changes(before: Sync, after: Sync) -> Iterator[ValueChange]:
    """Yield the fields of the host that are mapped in another way."""
    old_rules = rules_by_field(before)
    new_rules = rules_by_field(after)
    for host in old_rules | new_rules:
        old = old_rules.get(host, "")
        new = new_rules.get(host, "")
        if old != new:
            yield ValueChange(f"fields.{host}", old, new)
    if before.mappings != after.mappings and old_rules == new_rules:
        yield ValueChange("fields")  # options or defaults


def rules_by_field(sync: Sync) -> dict[str, str]:
    """Return how each field of the host is mapped, without options and defaults."""
    return {mapping.host: rule_of(mapping) for mapping in sync.mappings}


def rule_of(mapping: FieldMapping) -> str:
    """Return the rule of a field; an expression or a template may hold any text."""
    if PLAIN_PATH.fullmatch(mapping.api):
        return f"{mapping.api}, {mapping.transform}"[:MAX_VALUE]
    return str(mapping.transform)
