"""Checks of the lists in a line's records, whose elements become records."""

from collections.abc import Iterator, Sequence

from outkey.foundation.core.findings.checks import Check, Finding, Level
from outkey.sync.core.line.checks import (
    NO_HOST_FIELD,
    UNMAPPED,
    HostFields,
    MappingCheck,
)
from outkey.sync.core.line.line import Children, Sync
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.mapping.shape import is_made_by_outkey
from outkey.sync.core.mapping.transforms import Zones

WRONG_PARENT = Check(
    "L022",
    Level.ERROR,
    "the field {name} has {held}, but the key of the parent is {kind}",
    "Choose a field of the same kind, or one that links to the parent.",
)


def children_findings(
    sync: Sync,
    number: int,
    parent_fields: Sequence[HostField],
    fields: Sequence[HostField],
    zones: Zones,
) -> Iterator[Finding]:
    """Yield the findings about the children of a line, given both targets' fields."""
    children = sync.children[number]
    place = f"children[{number}]."
    host_fields = {field.name: field for field in fields}
    parents = {field.name: field for field in parent_fields}
    for name, key in zip(children.parent, sync.keys, strict=True):
        if name not in host_fields:
            yield NO_HOST_FIELD.finding(f"{place}parent")
        elif is_made_by_outkey(children.target):
            continue  # its column takes the keys, or the table was refused already
        elif key in parents and not _fits_key(sync, host_fields[name], parents[key]):
            yield WRONG_PARENT.finding(
                f"{place}parent",
                name=name,
                held=host_fields[name].kind,
                kind=parents[key].kind,
            )
    for index, mapping in enumerate(children.mappings):
        check = MappingCheck(
            place=f"{place}fields[{index}]",
            mapping=mapping,
            host=host_fields.get(mapping.host),
            zones=zones,
            is_pull=True,
        )
        yield from check.findings()
    yield from _unmapped_children(children, host_fields, f"{place}fields")


def _fits_key(sync: Sync, field: HostField, key: HostField) -> bool:
    """Whether a child's field can hold the key of its parent, or links to it."""
    if field.links_to(sync.target):
        return len(sync.keys) == 1
    return field.kind is key.kind or FieldKind.ANY in {field.kind, key.kind}


def _unmapped_children(
    children: Children, host_fields: HostFields, place: str
) -> Iterator[Finding]:
    """Yield an error for each required field that nothing fills."""
    filled = {*children.parent, *(mapping.host for mapping in children.mappings)}
    for field in host_fields.values():
        if field.required and field.name not in filled:
            yield UNMAPPED.finding(place, name=field.name)
