"""New records on their way into a table without a model's instance: it costs more than the row.

Only for models that have no say in it, whose fields are all of Django's own kinds; what such a
model does when it is created is done here for all rows at once, column by column.
"""

# ruff: noqa: SLF001 - _meta is Django's own documented door

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

_KINDS_OF_DJANGO = {
    f"django.db.models.fields{module}" for module in ("", ".json", ".related")
}  # not those that are files, or generated

# What Django's fields do with values that are of their type already, without looking once more.
_ADAPTERS: tuple[tuple[type[AnyField], type, str, tuple[str, ...]], ...] = (
    (
        models.DecimalField,
        Decimal,
        "adapt_decimalfield_value",
        ("max_digits", "decimal_places"),
    ),
    (models.DateField, date, "adapt_datefield_value", ()),
)


class Draft:
    """The values of a new record, by attribute; it looks like an instance that is not saved."""

    pk: object = None
    _state = SimpleNamespace(adding=True)

    def __init__(self, **values: object) -> None:
        self.__dict__ = values

    def clean(self) -> None:
        """Do what a model does that has no rule of its own."""


def is_of_django(field: AnyField) -> bool:
    """Tell whether nobody else has a say in how values of a field are kept."""
    return type(field).__module__ in _KINDS_OF_DJANGO


def is_plain(model: type[models.Model]) -> bool:
    """Tell whether rows of a model can be written without its instances."""
    return (
        all(
            getattr(model, name) is getattr(models.Model, name)
            for name in ("__init__", "clean")
        )
        and isinstance(model._meta.pk, models.AutoField)
        and all(
            is_of_django(field) and field.db_default is NOT_PROVIDED
            for field in model._meta.concrete_fields
        )
    )


def insert(model: type[models.Model], drafts: Sequence[Draft]) -> None:
    """Write new rows, and give each draft the id of its row."""
    if not drafts:
        return
    alias = router.db_for_write(model)
    connection = connections[alias]
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    most = max(1, connection.ops.bulk_batch_size(fields, drafts))
    with connection.cursor() as cursor:
        for start in range(0, len(drafts), most):
            some = drafts[start : start + most]
            columns = [_column(field, some, connection) for field in fields]
            values = list(chain.from_iterable(zip(*columns, strict=True)))
            cursor.execute(_statement(model, alias, len(some)), values)
            for draft, (number,) in zip(some, cursor.fetchall(), strict=True):
                draft.pk = number


def _column(field: AnyField, drafts: Sequence[Draft], connection: Any) -> list[object]:  # noqa: ANN401 - Django has no type for it
    """Return the value of each draft in one column, as the database takes it."""
    attribute, first = field.attname, drafts[0]
    if attribute in vars(first):
        values = [vars(draft)[attribute] for draft in drafts]
    elif field.has_default() and callable(field.default):
        values = [field.get_default() for _ in drafts]
    else:
        setattr(first, attribute, field.get_default())
        once = field.pre_save(first, add=True)  # type: ignore[arg-type]  # the moment, where a field follows the time
        return [field.get_db_prep_save(once, connection)] * len(drafts)
    kinds = set(map(type, values)) - {NoneType}
    if isinstance(field, models.CharField | models.TextField) and kinds <= {str}:
        return values  # text is text in every database
    for known, kind, name, options in _ADAPTERS:
        if isinstance(field, known) and kinds <= {kind}:
            adapt, given = (
                getattr(connection.ops, name),
                [getattr(field, o) for o in options],
            )
            return [adapt(value, *given) for value in values]
    return [field.get_db_prep_save(value, connection) for value in values]


@lru_cache(maxsize=100)
def _statement(model: type[models.Model], alias: str, count: int) -> str:
    quoted, meta = connections[alias].ops.quote_name, model._meta
    columns = [quoted(str(f.column)) for f in meta.concrete_fields if not f.primary_key]
    row = f"({', '.join(['%s'] * len(columns))})"
    return (
        f"INSERT INTO {quoted(meta.db_table)} ({', '.join(columns)})"  # noqa: S608 - names of the model's own
        f" VALUES {', '.join([row] * count)} RETURNING {quoted(str(meta.pk.column))}"
    )
