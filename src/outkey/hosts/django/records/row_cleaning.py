"""Rows are cleaned: each value as its field stores it, or the row is refused."""

# ruff: noqa: SLF001 - _meta, _state and the managers are documented interfaces of Django

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from outkey.hosts.django.records.fields import (
    AnyField,
    cleaner_of,
    fault_of,
    plain_values,
)
from outkey.sync.core.mapping.records import Written, rejected_write

Row = Mapping[str, object]


def clean_rows(
    fields: Mapping[str, AnyField], keys: Sequence[str], rows: Sequence[Row]
) -> list[Row | Written]:
    """Return each row as its fields store it, or its refusal.

    Most columns need no more than one look at all of their values.
    """
    columns = {name: [row[name] for row in rows if name in row] for name in fields}
    cleaners = {
        name: cleaner_of(model_field)
        for name, model_field in fields.items()
        if not _is_plain_column(model_field, columns[name])
    }
    has_keys = not any(empty in columns[key] for key in keys for empty in (None, ""))
    if has_keys and not cleaners:
        return list(rows)
    return [clean_row(cleaners, keys, row) for row in rows]


def _is_plain_column(model_field: AnyField, column: Sequence[object]) -> bool:
    """Whether a field stores all values of a column as they are."""
    plain = plain_values(model_field)
    return plain is not None and plain.are(column)


def clean_row(
    cleaners: Mapping[str, Callable[[object], object]], keys: Sequence[str], row: Row
) -> Row | Written:
    """Return a row with the values of some fields cleaned, or its refusal."""
    if cleaners:
        values = dict(row)
        for name in [name for name in row if name in cleaners]:
            try:
                values[name] = cleaners[name](row[name])
            except ValidationError as error:
                return rejected_write(name, fault_of(error)[1])
        row = values
    for name in keys:
        if row[name] in (None, ""):
            return rejected_write(name, "missing")
    return row


def refuse_dead_links(fields: Iterable[AnyField], rows: list[Row | Written]) -> None:
    """Refuse the rows whose links lead to no record; one query for each field."""
    for link in fields:
        if not isinstance(link, models.ForeignKey):
            continue
        ids = {row.get(link.name) for row in accepted_rows(rows)} - {None}
        linked: Any = link.related_model
        allowed = linked._base_manager.complex_filter(link.get_limit_choices_to())
        existing = {None, *allowed.filter(pk__in=ids).values_list("pk", flat=True)}
        for number, row in enumerate(rows):
            if not isinstance(row, Written) and row.get(link.name) not in existing:
                rows[number] = rejected_write(link.name, "not_found")


def accepted_rows(rows: Iterable[Row | Written]) -> list[Row]:
    """Return the rows that are not refused."""
    return [row for row in rows if not isinstance(row, Written)]
