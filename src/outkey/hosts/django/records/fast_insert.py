"""Inserts new records without instances of their model, which cost more than the row.

Only for models without an `__init__` or `clean` of their own, and with Django's own
fields; what such a model does on creation is done here for all rows, column by column.
"""

# ruff: noqa: SLF001 - _meta is a documented interface of Django

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from types import NoneType, SimpleNamespace
from typing import Any

from django.db import connections, models, router
from django.db.models.fields import NOT_PROVIDED

from outkey.foundation.adapters.postgresql_text import array_literal
from outkey.hosts.django.records.fields import AnyField, decimal_pattern
from outkey.hosts.django.rows.raw_sql import execute

# Not those of files and of generated columns.
FIELD_MODULES = {
    "django.db.models.fields",
    "django.db.models.fields.json",
    "django.db.models.fields.related",
}
_PRECISION = re.compile(r"\(.*\)")

Column = list[object]


class NewRecord:
    """The values of a new record by attribute, like an instance that is not saved."""

    pk: object = None
    _state = SimpleNamespace(adding=True)

    def __init__(self, **values: object) -> None:
        self.__dict__ = values

    def clean(self) -> None:
        """Accept everything, like a model without a rule of its own."""


Record = models.Model | NewRecord


def is_django_field(field: AnyField) -> bool:
    """Whether a field is one of Django's own classes, and stores values as they do."""
    return type(field).__module__ in FIELD_MODULES


def has_known_database(model: type[models.Model]) -> bool:
    """Whether a model is in a database for which there is SQL here."""
    return connections[router.db_for_write(model)].vendor in {"sqlite", "postgresql"}


def is_plain(model: type[models.Model]) -> bool:
    """Whether rows of a model can be written without its instances."""
    return (
        has_known_database(model)
        and all(
            getattr(model, name) is getattr(models.Model, name)
            for name in ("__init__", "clean")
        )
        and isinstance(model._meta.pk, models.AutoField)
        and all(
            is_django_field(field) and field.db_default is NOT_PROVIDED
            for field in model._meta.concrete_fields
        )
    )


def insert_records(model: type[models.Model], records: Sequence[NewRecord]) -> None:
    """Write new rows, and give each record the id of its row."""
    if not records:
        return
    columns = {
        name: [vars(record)[name] for record in records] for name in vars(records[0])
    }
    ids = insert_columns(model, columns, len(records))
    for record, pk in zip(records, ids, strict=True):
        record.pk = pk


def insert_columns(
    model: type[models.Model], columns: Mapping[str, Column], count: int
) -> list[object]:
    """Write new rows, given their values by attribute, and return their ids."""
    alias = router.db_for_write(model)
    connection = connections[alias]
    fields = _inserted_fields(model)
    batch = max(1, connection.ops.bulk_batch_size(fields, range(count)))
    ids: list[object] = []
    for start in range(0, count, batch):
        size = min(batch, count - start)
        stored = [
            stored_values(
                field,
                columns[field.attname][start : start + batch]
                if field.attname in columns
                else _default_values(field, size),
                connection,
            )
            for field in fields
        ]
        ids += [pk for (pk,) in insert_batch(model, alias, stored)]
    return ids


def _inserted_fields(model: type[models.Model]) -> list[AnyField]:
    """Return the fields of a new row; the database chooses its id."""
    return [field for field in model._meta.concrete_fields if not field.primary_key]


def _default_values(field: AnyField, count: int) -> Column:
    """Return the values of a column that no row sets."""
    if field.has_default() and callable(field.default):
        return [field.get_default() for _ in range(count)]
    record = NewRecord(**{field.attname: field.get_default()})
    # The time now, for a field with auto_now or auto_now_add.
    value = field.pre_save(record, add=True)  # type: ignore[arg-type]
    return [value] * count


def stored_values(
    field: AnyField,
    values: Column,
    connection: Any,  # noqa: ANN401 - Django has no type for it
) -> Column:
    """Return the values of a column as the database takes them.

    What Django's fields make of each value, for those that are simple to tell.
    """
    if all(value is values[0] for value in values):
        return [field.get_db_prep_save(values[0], connection)] * len(values)
    types = set(map(type, values)) - {NoneType}
    if isinstance(field, models.CharField | models.TextField) and types <= {str}:
        return values  # text is text in every database
    if types == {date} and not isinstance(field, models.DateTimeField):
        return [None if value is None else value.isoformat() for value in values]  # type: ignore[attr-defined]
    if types == {Decimal} and isinstance(field, models.DecimalField):
        texts: Column = [None if value is None else str(value) for value in values]
        pattern = decimal_pattern(
            field.max_digits, field.decimal_places, with_all_places=True
        )
        if all(map(pattern.fullmatch, filter(None, texts))):  # type: ignore[arg-type]
            return texts
    return [field.get_db_prep_save(value, connection) for value in values]


def insert_batch(
    model: type[models.Model], alias: str, columns: Sequence[Column]
) -> list[tuple[object]]:
    """Insert rows by one statement, and return their ids."""
    if connections[alias].vendor == "postgresql":
        # A parameter for each column: psycopg takes longer for one of each value
        # than PostgreSQL for the rows.
        arrays = [array_literal(column) for column in columns]
        cursor = execute(_insert_of_arrays(model, alias), arrays, alias)
    else:
        values = list(chain.from_iterable(zip(*columns, strict=True)))
        statement = _insert_of_values(model, alias, len(columns[0]))
        cursor = execute(statement, values, alias)
    ids: list[tuple[object]] = cursor.fetchall()
    return ids


@lru_cache(maxsize=100)
def _insert_of_values(model: type[models.Model], alias: str, count: int) -> str:
    """Return SQL that inserts so many rows, and returns their ids."""
    fields = _inserted_fields(model)
    row = f"({', '.join(['%s'] * len(fields))})"
    return _insert_from(model, alias, f"VALUES {', '.join([row] * count)}")


@lru_cache(maxsize=100)
def _insert_of_arrays(model: type[models.Model], alias: str) -> str:
    """Return SQL that inserts rows from one array for each column."""
    arrays = array_parameters(_inserted_fields(model), alias)
    return _insert_from(model, alias, f"SELECT * FROM unnest({arrays})")  # noqa: S608 - names of types


def array_parameters(fields: Iterable[AnyField], alias: str) -> str:
    """Return SQL with an array of PostgreSQL as a parameter for each column."""
    return ", ".join(f"%s::{name}[]" for name in column_types(fields, alias))


def column_types(fields: Iterable[AnyField], alias: str) -> list[str]:
    """Return the types of columns without their length, which would cut texts off."""
    return [
        _PRECISION.sub("", str(field.db_type(connections[alias]))) for field in fields
    ]


def _insert_from(model: type[models.Model], alias: str, source: str) -> str:
    """Return SQL that inserts the rows of a source, and returns their ids."""
    quote = connections[alias].ops.quote_name
    meta = model._meta
    columns = ", ".join(quote(str(field.column)) for field in _inserted_fields(model))
    return (
        f"INSERT INTO {quote(meta.db_table)} ({columns}) {source}"
        f" RETURNING {quote(str(meta.pk.column))}"
    )
