"""Shapes: the fields that a line needs, by its mappings and by its values.

A transform decides the kind of its column. Where a value is taken as it is, the first
values decide it, and later ones widen the column: whole numbers to decimals, anything
to text.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import FieldMapping, Gone, Sync, Transform
from outkey.sync.core.mapping.json_values import as_json
from outkey.sync.core.mapping.records import FieldKind, HostField, Shape
from outkey.sync.core.mapping.targets import (
    FileName,
    TableName,
    parse_target,
    refuse_column_name,
)

KIND_BY_TRANSFORM = {
    Transform.AS_IS: FieldKind.ANY,
    Transform.TEXT: FieldKind.TEXT,
    Transform.NUMBER: FieldKind.NUMBER,
    Transform.DECIMAL: FieldKind.DECIMAL,
    Transform.DATE: FieldKind.DATE,
    Transform.DATETIME: FieldKind.DATETIME,
    Transform.BOOLEAN: FieldKind.BOOLEAN,
    Transform.CHOICE: FieldKind.TEXT,
    Transform.LOOKUP: FieldKind.LINK,
    Transform.CONSTANT: FieldKind.ANY,  # as the column is, where there is one
    Transform.TEMPLATE: FieldKind.TEXT,
}
# What values of JSON can be; a column of another kind was made for a transform.
KINDS_OF_JSON = frozenset(
    {
        FieldKind.ANY,
        FieldKind.TEXT,
        FieldKind.NUMBER,
        FieldKind.DECIMAL,
        FieldKind.BOOLEAN,
        FieldKind.JSON,
    }
)
WHOLE_NUMBERS = frozenset({FieldKind.NUMBER, FieldKind.LINK})
LARGEST_NUMBER = 2**63 - 1
SMALLEST_NUMBER = -(2**63)


def is_made_by_outkey(target: str) -> bool:
    """Whether a target is a table or a file, and not a model of the host."""
    return isinstance(parse_target(target), TableName | FileName)


def shape_of(sync: Sync) -> Shape:
    """Return the shape of a pull's table or file, or raise ConfigError."""
    return Shape(
        keys=sync.keys,
        fields=_mapped_fields(sync.mappings, sync.keys),
        archives=sync.gone is Gone.ARCHIVE,
        retires=sync.gone is not Gone.KEEP,
        is_fed=sync.feed,
    )


def shape_of_children(sync: Sync, number: int) -> Shape:
    """Return the shape of the table of a pull's children, or raise ConfigError."""
    children = sync.children[number]
    mappings = child_mappings(sync, number)
    return Shape(
        keys=children.keys,
        fields=_mapped_fields(mappings, children.keys, f"children[{number}].fields"),
        retires=sync.gone is Gone.DELETE,
        is_fed=sync.feed,
    )


def child_mappings(sync: Sync, number: int) -> tuple[FieldMapping, ...]:
    """Return the mappings of children, and of the keys that they hold of a parent."""
    children = sync.children[number]
    transforms = {mapping.host: mapping.transform for mapping in sync.mappings}
    parent_keys = (
        FieldMapping("", name, transforms[key])
        for name, key in zip(children.parent, sync.keys, strict=True)
    )
    return (*children.mappings, *parent_keys)


def _mapped_fields(
    mappings: Iterable[FieldMapping], keys: Collection[str], place: str = "fields"
) -> tuple[HostField, ...]:
    """Return the columns that mappings need; ConfigError for an impossible name."""
    fields = []
    names: set[str] = set()
    for number, mapping in enumerate(mappings):
        name = mapping.host
        refuse_column_name(name, field=f"{place}[{number}].host")
        if name.lower() in names:
            raise ConfigError(
                Text("two columns differ only in upper and lower case"),
                hint=Text("Rename one of them: some databases see no difference."),
                field=f"{place}[{number}].host",
            )
        names.add(name.lower())
        is_lookup = mapping.transform is Transform.LOOKUP
        fields.append(
            HostField(
                name,
                name,
                KIND_BY_TRANSFORM[mapping.transform],
                required=name in keys,
                target=mapping.options.get("target", "") if is_lookup else "",
            )
        )
    return tuple(fields)


def with_kinds(shape: Shape, kinds: Mapping[str, FieldKind]) -> Shape:
    """Return a shape whose columns have these kinds."""
    fields = tuple(
        replace(field, kind=kinds.get(field.name, field.kind)) for field in shape.fields
    )
    return replace(shape, fields=fields)


def kind_for(stored: FieldKind, wanted: FieldKind) -> FieldKind | None:
    """Return the kind of a column that takes what is wanted; None: it cannot.

    No column becomes narrower.
    """
    if wanted in {FieldKind.ANY, stored}:
        return stored
    if stored is FieldKind.ANY or wanted is FieldKind.TEXT:
        return wanted
    if {stored, wanted} <= WHOLE_NUMBERS:
        return stored
    if stored in WHOLE_NUMBERS and wanted is FieldKind.DECIMAL:
        return wanted
    has_been_widened = (stored, wanted) in {
        (FieldKind.DECIMAL, FieldKind.NUMBER),
        (FieldKind.TEXT, FieldKind.LINK),
    }
    return stored if has_been_widened else None


def _kind_of_value(value: object) -> FieldKind:
    """Return the kind of a value that is taken as it is: one of JSON."""
    match value:
        case bool():
            return FieldKind.BOOLEAN
        case int() if SMALLEST_NUMBER <= value <= LARGEST_NUMBER:
            return FieldKind.NUMBER
        case Decimal() | float():
            return FieldKind.DECIMAL
        case dict() | list():
            return FieldKind.JSON
    # A longer number is an identifier rather than an amount.
    return FieldKind.TEXT


def widened_kind(stored: FieldKind, values: Sequence[object]) -> FieldKind:
    """Return the kind that a column needs for values that are taken as they are."""
    kind = stored
    for value_kind in _kinds_of_values(values):
        if {value_kind, kind} == {FieldKind.NUMBER, FieldKind.DECIMAL}:
            kind = FieldKind.DECIMAL
        elif value_kind is not kind:
            kind = value_kind if kind is FieldKind.ANY else FieldKind.TEXT
    return kind


def _kinds_of_values(values: Sequence[object]) -> set[FieldKind]:
    """Return the kinds of the values that are not null.

    One value of each type is enough, but whole numbers may be too long for a column.
    """
    samples = {type(value): value for value in values if value is not None}
    kinds = {_kind_of_value(value) for value in samples.values()}
    numbers = (
        [value for value in values if type(value) is int] if int in samples else ()
    )
    if numbers:
        kinds |= {_kind_of_value(min(numbers)), _kind_of_value(max(numbers))}
    return kinds


def widened_by_size(stored: FieldKind, values: Sequence[object]) -> FieldKind:
    """Return the kind that a column of a transform needs for its values.

    Whole numbers may be longer than 64 bits, and a host's ids may be texts.
    """
    if stored is FieldKind.LINK and any(isinstance(value, str) for value in values):
        return FieldKind.TEXT
    if stored is FieldKind.NUMBER and any(
        isinstance(value, int) and not SMALLEST_NUMBER <= value <= LARGEST_NUMBER
        for value in values
    ):
        return FieldKind.DECIMAL
    return stored


def fitted_value(kind: FieldKind, value: object) -> object:
    """Return a value as a column of a wider kind has it."""
    if value is None:
        return None
    if kind is FieldKind.TEXT:
        return value_text(value)
    if kind is FieldKind.DECIMAL and isinstance(value, int | float):
        return Decimal(str(value)) if not isinstance(value, bool) else value
    return value


def value_text(value: object) -> str:
    """Return any value as a column of texts has it."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return json.dumps(as_json(value), ensure_ascii=False)
        case date():
            return value.isoformat()
    return str(value)
