"""Old and new values of a changed sync line, as far as the audit may have them."""

from collections.abc import Iterator, Sequence

from outkey.foundation.core.fields.changes import FieldChange
from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind
from outkey.sending.core.audit.changed_values import (
    MAX_VALUE,
    PLAIN_PATH,
    audited_changes,
)
from outkey.sync.core.line.fields import CALL_FIELDS, SYNC_FIELDS
from outkey.sync.core.line.line import FieldMapping, Sync, SyncLine

_BY_AUDITED = {
    audited: [
        field
        for field in SYNC_FIELDS
        if field.audited is audited
        and field.path != "fields"
        and field.kind is not Kind.TABLE
    ]
    for audited in Audited
}
_TABLES = [field for field in SYNC_FIELDS if field.kind is Kind.TABLE]


def line_changes(stored: SyncLine, made: SyncLine) -> Iterator[FieldChange]:
    """Yield the changes between two versions of a line; shown values come first."""
    yield from _changes(CALL_FIELDS, stored, made)
    before = stored.sync or Sync()
    after = made.sync or Sync()
    yield from _changes(_BY_AUDITED[Audited.VALUE], before, after)
    yield from _mapping_changes(before, after)
    yield from _changes(_BY_AUDITED[Audited.EXPRESSION], before, after)
    for table in _TABLES:
        old = getattr(before, table.key)
        yield from _changes(table.parts, old, getattr(after, table.key))
    yield from _changes(_BY_AUDITED[Audited.NAME], before, after)


def _changes(
    fields: Sequence[Field], before: object, after: object
) -> Iterator[FieldChange]:
    """Yield which attributes differ, of those with these fields."""
    old, new = (
        {field.path: getattr(version, field.key) for field in fields}
        for version in (before, after)
    )
    return audited_changes(fields, old, new)


def _mapping_changes(before: Sync, after: Sync) -> Iterator[FieldChange]:
    """Yield the fields of the host that are mapped in another way."""
    old_rules = _rules_by_field(before)
    new_rules = _rules_by_field(after)
    for host in old_rules | new_rules:
        old = old_rules.get(host, "")
        new = new_rules.get(host, "")
        if old != new:
            yield FieldChange(f"fields.{host}", old, new)
    if before.mappings != after.mappings and old_rules == new_rules:
        yield FieldChange("fields")  # options or defaults


def _rules_by_field(sync: Sync) -> dict[str, str]:
    """Return how each field of the host is mapped, without options and defaults."""
    return {mapping.host: _rule_of(mapping) for mapping in sync.mappings}


def _rule_of(mapping: FieldMapping) -> str:
    """Return the rule of a field; an expression or a template may hold any text."""
    if PLAIN_PATH.fullmatch(mapping.api):
        return f"{mapping.api}, {mapping.transform}"[:MAX_VALUE]
    return str(mapping.transform)
