"""The fields of a sample that a line does not map, each with a mapping to add."""

from collections.abc import Sequence
from dataclasses import dataclass

from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import FieldMapping
from outkey.sync.core.line_form.rows import MappingRow, row_of_mapping
from outkey.sync.core.mapping.records import HostField
from outkey.sync.core.mapping.shown import shortened
from outkey.sync.core.paging.response import Record
from outkey.sync.core.suggest.fields import fields_of
from outkey.sync.core.suggest.hosts import AS_IT_IS
from outkey.sync.core.suggest.names import (
    Path,
    column_of,
    comparable_name,
    expression_of,
    inner_path,
)
from outkey.sync.core.suggest.suggest import FieldSuggestion, onto_columns, onto_host
from outkey.sync.core.suggest.values import guess_transform

MAX_SHOWN = 80


@dataclass(frozen=True, slots=True)
class UnmappedField:
    """A field of the API, an example, and the row that would map it."""

    row: MappingRow  # without a host's field if none has its name
    example: str
    why: Text
    has_same_name: bool = False  # but for case and punctuation


def unmapped_fields(
    rows: Sequence[MappingRow],
    records: Sequence[Record],
    host_fields: Sequence[HostField] = (),
) -> list[UnmappedField]:
    """Return the fields of records that no row has.

    `host_fields` are those of a model; without them each field can have a column.
    """
    fields = fields_of(records)
    mapped = {row.api for row in rows}
    hosts = {row.host for row in rows}
    guesses = {
        path: guess_transform(path[-1], values)
        for path, values in fields.usable().items()
        if expression_of(path) not in mapped
    }
    lists = [path for path in fields.lists if expression_of(path) not in mapped]
    if host_fields:
        free = [host for host in host_fields if host.name not in hosts]
        suggested, _ = onto_host(free, fields, guesses)
    else:
        whole = dict.fromkeys(lists, AS_IT_IS)
        suggested = onto_columns({**guesses, **whole}, hosts)
    unmapped = []
    for path in (*guesses, *lists):
        guess = guesses.get(path, AS_IT_IS)
        plain = FieldSuggestion(
            FieldMapping(
                expression_of(path), "", guess.transform, options=guess.options
            ),
            guess.why,
        )
        suggestion = suggested.get(path, plain)
        unmapped.append(_unmapped_field(path, suggestion, records))
    return unmapped


def _unmapped_field(
    path: Path, suggestion: FieldSuggestion, records: Sequence[Record]
) -> UnmappedField:
    """Return one field with its first value that is not null."""
    mapping = suggestion.mapping
    name = comparable_name("".join(inner_path(path)))
    return UnmappedField(
        row=row_of_mapping(mapping),
        example=shortened(_first_value(path, records), MAX_SHOWN),
        why=suggestion.why,
        has_same_name=comparable_name(mapping.host)
        in {name, comparable_name(column_of(path))},
    )


def _first_value(path: Path, records: Sequence[Record]) -> object:
    """Return the first value of a field that is not null."""
    for record in records:
        value: object = record
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None and value != "":
            return value
    return None
