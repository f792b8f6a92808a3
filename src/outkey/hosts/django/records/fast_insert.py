"""Inserts new records without instances of their model, which cost more than the row.

Only for models without an `__init__` or `clean` of their own, and with Django's own
fields; what such a model does on creation is done here for all rows, column by column.
"""

# ruff: noqa: SLF001 - _meta is a documented interface of Django

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from types import NoneType, SimpleNamespace
from typing import Any

from django.db import connections, models, router
from django.db.models.fields import NOT_PROVIDED

from outkey.hosts.django.records.fields import AnyField

# Not those of files and of generated columns.
FIELD_MODULES = {
    "django.db.models.fields",
    "django.db.models.fields.json",
    "django.db.models.fields.related",
}
# What Django's fields do with a value that has their type already: the operation of the
# database's backend, and the attributes of the field that it takes.
ADAPTERS: tuple[tuple[type[AnyField], type, str, tuple[str, ...]], ...] = (
    (
        models.DecimalField,
        Decimal,
        "adapt_decimalfield_value",
        ("max_digits", "decimal_places"),
    ),
    (models.DateField, date, "adapt_datefield_value", ()),
)


class NewRecord:
    """The values of a new record by attribute, like an instance that is not saved."""

    pk: object = None
    _state = SimpleNamespace(adding=True)

    def __init__(self, **values: object) -> None:
        self.__dict__ = values

    def clean(self) -> None:
        """Accept everything, like a model without a rule of its own."""


def is_django_field(field: AnyField) -> bool:
    """Whether a field is one of Django's own classes, and stores values as they do."""
    return type(field).__module__ in FIELD_MODULES


def is_plain(model: type[models.Model]) -> bool:
    """Whether rows of a model can be written without its instances."""
    return (
        all(
            getattr(model, name) is getattr(models.Model, name)
            for name in ("__init__", "clean")
        )
        and isinstance(model._meta.pk, models.AutoField)
        and all(
            is_django_field(field) and field.db_default is NOT_PROVIDED
            for field in model._meta.concrete_fields
        )
    )


def insert(model: type[models.Model], records: Sequence[NewRecord]) -> None:
    """Write new rows, and give each record the id of its row."""
    if not records:
        return
    alias = router.db_for_write(model)
    connection = connections[alias]
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    batch = max(1, connection.ops.bulk_batch_size(fields, records))
    with connection.cursor() as cursor:
        for start in range(0, len(records), batch):
            group = records[start : start + batch]
            columns = [column_values(field, group, connection) for field in fields]
            values = list(chain.from_iterable(zip(*columns, strict=True)))
            cursor.execute(insert_statement(model, alias, len(group)), values)
            for record, (pk,) in zip(group, cursor.fetchall(), strict=True):
                record.pk = pk


def column_values(
    field: AnyField,
    records: Sequence[NewRecord],
    connection: Any,  # noqa: ANN401 - Django has no type for it
) -> list[object]:
    """Return the value of each record in one column, as the database takes it."""
    attribute = field.attname
    first = records[0]
    if attribute in vars(first):
        values = [vars(record)[attribute] for record in records]
    elif field.has_default() and callable(field.default):
        values = [field.get_default() for _ in records]
    else:
        setattr(first, attribute, field.get_default())
        # The time now, for a field with auto_now or auto_now_add.
        value = field.pre_save(first, add=True)  # type: ignore[arg-type]
        return [field.get_db_prep_save(value, connection)] * len(records)
    types = set(map(type, values)) - {NoneType}
    if isinstance(field, models.CharField | models.TextField) and types <= {str}:
        return values  # text is text in every database
    for field_class, value_type, operation, attributes in ADAPTERS:
        if isinstance(field, field_class) and types <= {value_type}:
            adapt = getattr(connection.ops, operation)
            arguments = [getattr(field, name) for name in attributes]
            return [adapt(value, *arguments) for value in values]
    return [field.get_db_prep_save(value, connection) for value in values]


@lru_cache(maxsize=100)
def insert_statement(model: type[models.Model], alias: str, count: int) -> str:
    """Return SQL that inserts so many rows and returns their ids."""
    quote = connections[alias].ops.quote_name
    meta = model._meta
    columns = [
        quote(str(field.column))
        for field in meta.concrete_fields
        if not field.primary_key
    ]
    row = f"({', '.join(['%s'] * len(columns))})"
    return (
        f"INSERT INTO {quote(meta.db_table)} ({', '.join(columns)})"  # noqa: S608 - names of the model's own
        f" VALUES {', '.join([row] * count)} RETURNING {quote(str(meta.pk.column))}"
    )
