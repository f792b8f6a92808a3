"""Field mappings: records of an API become rows of the host, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from urllib.parse import quote

from outkey.sending.core.request.dot_segments import has_parent_segment
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.line.templates import PLACEHOLDER, placeholders, value_at
from outkey.sync.core.mapping.excerpt import NO_VALUE
from outkey.sync.core.mapping.json_values import json_value, value_to_send
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.mapping.transforms import MappingContext, RejectedValue, convert

BY_KIND = {
    FieldKind.TEXT: Transform.TEXT,
    FieldKind.NUMBER: Transform.NUMBER,
    FieldKind.DECIMAL: Transform.DECIMAL,
    FieldKind.DATE: Transform.DATE,
    FieldKind.DATETIME: Transform.DATETIME,
    FieldKind.BOOLEAN: Transform.BOOLEAN,
    FieldKind.CHOICE: Transform.TEXT,
}
# Besides the usual one of the kind.
FITTING_TRANSFORMS: Mapping[FieldKind, set[Transform]] = {
    FieldKind.TEXT: {Transform.CHOICE, Transform.TEMPLATE},
    FieldKind.DECIMAL: {Transform.NUMBER},
    FieldKind.CHOICE: {Transform.CHOICE, Transform.TEMPLATE},
    FieldKind.LINK: {Transform.LOOKUP},
    FieldKind.JSON: set(Transform) - {Transform.LOOKUP},
}
ANY_KIND = frozenset({Transform.AS_IS, Transform.CONSTANT})
MAX_IN_PATH = 2000  # characters of a value; no ID is longer


@dataclass(frozen=True, slots=True)
class Unmapped:
    """A record that could not be mapped: field, reason, and the values before it."""

    field: str
    reason: str
    row: Mapping[str, object] = dataclass_field(default_factory=dict, repr=False)
    # The value that was refused, if it is that of a field.
    value: object = dataclass_field(default=NO_VALUE, repr=False, compare=False)


def resolve_transform(mapping: FieldMapping, host: HostField | None) -> FieldMapping:
    """Return a mapping with the transform of the host's field.

    A constant becomes the default of a value that is always missing.
    """
    if mapping.transform is Transform.CONSTANT:
        constant = mapping.options.get("value", "")
        mapping = replace(mapping, transform=Transform.AS_IS, default=constant)
    if mapping.transform is Transform.AS_IS and host is not None:
        mapping = replace(mapping, transform=BY_KIND.get(host.kind, Transform.AS_IS))
    return mapping


def takes_transform(kind: FieldKind, transform: Transform) -> bool:
    """Whether a host's field takes what a transform makes."""
    fitting = FITTING_TRANSFORMS.get(kind, set())
    return transform in {*ANY_KIND, *fitting, BY_KIND.get(kind)}


def map_incoming(
    mappings: Sequence[FieldMapping], values: Sequence[object], context: MappingContext
) -> dict[str, object] | Unmapped:
    """Return the host's values for values of a record, one for each mapping."""
    row: dict[str, object] = {}
    for mapping, value in zip(mappings, values, strict=True):
        try:
            row[mapping.host] = convert(mapping, value, context)
        except RejectedValue as rejected:
            refused = refused_value(mapping, value)
            return Unmapped(mapping.host, str(rejected), row, refused)
    return row


def map_outgoing(
    mappings: Sequence[FieldMapping],
    values: Mapping[str, object],
    context: MappingContext,
) -> dict[str, object] | Unmapped:
    """Return a record's values as JSON has them, by the host's names."""
    row: dict[str, object] = {}
    for mapping in mappings:
        try:
            value = value_to_send(mapping, values, context)
            row[mapping.host] = json_value(mapping, value, context)
        except RejectedValue as rejected:
            refused = refused_value(mapping, values.get(mapping.host))
            return Unmapped(mapping.host, str(rejected), value=refused)
    return row


def refused_value(mapping: FieldMapping, value: object) -> object:
    """Return the value that a mapping refused.

    A template is filled from the whole record, which is not one value.
    """
    return NO_VALUE if mapping.transform is Transform.TEMPLATE else value


def nest_values(
    mappings: Sequence[FieldMapping], row: Mapping[str, object]
) -> dict[str, object]:
    """Return the object for the API; dots in its names make nested objects."""
    document: dict[str, object] = {}
    for mapping in mappings:
        *outer, name = mapping.api.split(".")
        place = document
        for part in outer:
            # `line_checks` refuses a name that is both a value and an object.
            place = place.setdefault(part, {})  # type: ignore[assignment]
        place[name] = row[mapping.host]
    return document


def fill_path(template: str, values: Mapping[str, object]) -> str | Unmapped:
    """Return a path with its {names} filled in; each value stays one segment."""
    for name in placeholders(template):
        value = value_at(values, name)
        if value is None or str(value) in {"", "."} or _leaves_path(str(value)):
            return Unmapped(name, "not_for_a_path")
        if len(str(value)) > MAX_IN_PATH:
            return Unmapped(name, "too_long")
    return PLACEHOLDER.sub(
        lambda name: segment(str(value_at(values, name[1]))), template
    )


def segment(value: str) -> str:
    """Return a value as one segment of a path."""
    return quote(value, safe="", errors="replace")


def _leaves_path(value: str) -> bool:
    """Whether a server might read a value as segments of which one is `..`."""
    return has_parent_segment(segment(value))
