"""Finding the records of rows by their key fields, in as few statements as possible."""

# ruff: noqa: SLF001 - _meta, _state and the managers are documented interfaces of Django

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from math import prod
from operator import itemgetter

from django.db import connections, models, router

from outkey.hosts.django.records.fast_insert import (
    Record,
    has_known_database,
    is_django_field,
)
from outkey.hosts.django.records.fields import AnyField, is_unique
from outkey.hosts.django.records.row_cleaning import Row, accepted_rows
from outkey.hosts.django.rows.raw_sql import execute
from outkey.hosts.django.rows.sql_lists import text_list
from outkey.sync.core.mapping.records import Written

ANY_KEY_QUERIES = {
    "sqlite": (
        "SELECT 1 FROM {table}"
        " WHERE {column} IN (SELECT value FROM json_each(%s)) LIMIT 1"
    ),
    "postgresql": (
        "SELECT 1 FROM unnest(%s::text[]) AS listed(value),"
        " LATERAL (SELECT 1 FROM {table} WHERE {column} = listed.value LIMIT 1) AS x"
        " LIMIT 1"
    ),
}
MAX_COMBINATIONS = 2  # for each row: more of them would be read in vain
KeyValues = tuple[object, ...]


def find_records(
    model: type[models.Model],
    keys: Sequence[AnyField],
    rows: Sequence[Row | Written],
    *,
    lock: bool,
) -> dict[KeyValues, list[Record]]:
    """Return the records with the keys of rows, also those a default manager hides."""
    names = [key.name for key in keys]
    wanted = set(
        zip(
            *(map(itemgetter(name), accepted_rows(rows)) for name in names), strict=True
        )
    )
    records: dict[KeyValues, list[Record]] = {}
    if wanted:
        for record in _query_records(model, keys, wanted, lock=lock):
            values = tuple(getattr(record, key.attname) for key in keys)
            if values in wanted:
                records.setdefault(values, []).append(record)
    return records


def _query_records(
    model: type[models.Model],
    keys: Sequence[AnyField],
    wanted: Collection[KeyValues],
    *,
    lock: bool,
) -> Iterable[models.Model]:
    """Return the records that have one of these key values."""
    key = keys[0]
    manager = model._base_manager
    is_text = isinstance(key, models.CharField | models.TextField)
    if (
        len(keys) > 1
        or not is_text
        or not is_django_field(key)
        or type(manager) is not models.Manager
    ):
        return key_query(model, keys, wanted, lock=lock)
    texts = [str(value) for (value,) in wanted]
    if is_unique(key) and has_known_database(model) and not has_any(model, key, texts):
        return ()
    vendor = connections[router.db_for_write(model)].vendor
    statement = _compiled_key_query(model, key, len(texts), vendor, lock=lock)
    return manager.get_queryset().raw(statement, texts)


def has_any(model: type[models.Model], key: AnyField, texts: Sequence[str]) -> bool:
    """Whether a record has one of these keys: quick to tell, and new records do not."""
    alias = router.db_for_write(model)
    vendor = connections[alias].vendor
    statement = _any_key_query(model, key, alias, vendor)
    rows = execute(statement, [text_list(vendor, texts)], alias)
    return rows.fetchone() is not None


@lru_cache(maxsize=100)
def _any_key_query(
    model: type[models.Model], key: AnyField, alias: str, vendor: str
) -> str:
    """Return SQL that finds one record with a key of a list, by the index of the key.

    PostgreSQL would rather read the whole of a table that is not very large.
    """
    quote = connections[alias].ops.quote_name
    return ANY_KEY_QUERIES[vendor].format(
        table=quote(model._meta.db_table), column=quote(str(key.column))
    )


@lru_cache(maxsize=100)
def _compiled_key_query(
    model: type[models.Model], key: AnyField, count: int, _vendor: str, *, lock: bool
) -> str:
    """Return cached SQL that looks up `count` keys.

    Django compiles it slower than databases run it. It depends on the vendor, since
    some have no row locks.
    """
    placeholders = [(str(number),) for number in range(count)]
    query = key_query(model, [key], placeholders, lock=lock)
    return str(query.query.get_compiler(query.db).as_sql()[0])


def key_query(
    model: type[models.Model],
    keys: Sequence[AnyField],
    wanted: Collection[KeyValues],
    *,
    lock: bool,
) -> models.QuerySet[models.Model]:
    """Return the query for the records that have one of these key values.

    Of several keys it may find a few more: those that combine values of two rows.
    Django takes ten times as long to compile a condition for each row.
    """
    names = [key.attname for key in keys]
    columns = [list(dict.fromkeys(column)) for column in zip(*wanted, strict=True)]
    if prod(map(len, columns)) <= MAX_COMBINATIONS * len(wanted):
        condition = models.Q(
            **{
                f"{name}__in": column
                for name, column in zip(names, columns, strict=True)
            }
        )
    else:
        conditions = (
            models.Q(**dict(zip(names, values, strict=True))) for values in wanted
        )
        condition = models.Q(*conditions, _connector=models.Q.OR)
    # By id, so that two processes that lock the same records do not deadlock.
    records = model._base_manager.filter(condition).order_by("pk")
    return records.select_for_update() if lock else records
