"""Rows that change nothing: PostgreSQL compares them, and marks their records as seen.

Django takes three times as long to make an instance of a record as PostgreSQL takes to
compare one. Rows that are new, differ, or have an archived record need the instances.
"""

# ruff: noqa: SLF001 - _meta is a documented interface of Django

from collections.abc import Mapping, Sequence
from functools import lru_cache

from django.db import DEFAULT_DB_ALIAS, connections, models, router

from outkey.foundation.adapters.postgresql_text import array_literal
from outkey.hosts.django.records.fast_insert import (
    array_parameters,
    column_types,
    is_django_field,
    stored_values,
)
from outkey.hosts.django.records.fields import AnyField, is_unique
from outkey.hosts.django.records.marks import RunIds
from outkey.hosts.django.records.open_model import OpenModel
from outkey.hosts.django.records.row_cleaning import Row
from outkey.hosts.django.rows.raw_sql import execute
from outkey.sync.core.mapping.records import Written

_TEXTS = (models.CharField, models.TextField)
# PostgreSQL writes them as Python does, and marks have their texts.
_PRIMARY_KEYS = (models.IntegerField, models.UUIDField)
_MATCHING_COLUMNS = """
SELECT count(*) FROM unnest(%s::text[], %s::text[]) AS wanted(name, type)
JOIN pg_attribute ON attname = wanted.name AND atttypid = wanted.type::regtype
WHERE attrelid = %s::regclass
"""
# `found` has each row that changes nothing: its number, the ID of its record, and the
# mark of that. With OFFSET 0, and with an array of IDs, each is looked up by an index,
# also in a table that PostgreSQL has not analyzed.
_STATEMENT = """
WITH found AS MATERIALIZED (
    SELECT listed.number, target.id, mark.id AS mark, mark.run
    FROM unnest(%s::integer[], {arrays}) AS listed(number, {aliases}),
    LATERAL (
        SELECT {pk}::text AS id FROM {table} AS stored
        WHERE stored.{key} = listed.c0 AND {is_same} OFFSET 0
    ) AS target
    LEFT JOIN LATERAL (
        SELECT id, run, archived FROM outkey_syncmark
        WHERE line_id = %s AND target = %s AND record = target.id OFFSET 0
    ) AS mark ON TRUE
    WHERE mark.archived IS NOT TRUE
), updated AS (
    UPDATE outkey_syncmark SET run = %s
    WHERE id = ANY(ARRAY(SELECT mark FROM found WHERE run <> %s))
), inserted AS (
    INSERT INTO outkey_syncmark (line_id, target, record, run, archived)
    SELECT %s, %s, id, %s, false FROM found WHERE mark IS NULL
    ON CONFLICT (line_id, target, record)
    DO UPDATE SET run = excluded.run, archived = excluded.archived
)
SELECT array_agg(number) FROM found
"""


def can_be_compared(
    model: type[models.Model], keys: Sequence[str], fields: Mapping[str, AnyField]
) -> bool:
    """Whether PostgreSQL compares rows with these fields as Python does."""
    alias = router.db_for_write(model)
    key = fields[keys[0]]
    return (
        connections[alias].vendor == "postgresql"
        and alias == DEFAULT_DB_ALIAS  # where the marks are
        and len(keys) == 1
        and isinstance(key, _TEXTS)
        and is_unique(key)
        and not model._meta.parents
        and model.__init__ is models.Model.__init__
        and type(model._base_manager) is models.Manager
        and isinstance(model._meta.pk, _PRIMARY_KEYS)
        and is_django_field(model._meta.pk)
        and all(
            is_django_field(field) and not isinstance(field, models.JSONField)
            for field in fields.values()
        )
        and has_types_of_fields(model, tuple(fields.values()))
    )


def mark_unchanged(
    model: OpenModel,
    key: str,
    fields: Mapping[str, AnyField],
    rows: Sequence[Row | Written],
    mark: RunIds,
) -> list[int]:
    """Mark the records that rows leave as they are; return the numbers of those rows.

    A row that is refused, or lacks a field, is not compared.
    """
    compared = {
        number: row
        for number, row in enumerate(rows)
        if not isinstance(row, Written) and len(row) == len(fields)
    }
    if not compared:
        return []
    names = [key, *(name for name in fields if name != key)]
    arrays = [
        array_literal(
            stored_values(
                fields[name],
                [row[name] for row in compared.values()],
                connections[DEFAULT_DB_ALIAS],
            )
        )
        for name in names
    ]
    statement = _statement(model.model, tuple(fields[name] for name in names))
    numbers = list(compared)
    target = [mark.line, model.name]
    values = [numbers, *arrays, *target, mark.run, mark.run, *target, mark.run]
    ((unchanged,),) = execute(statement, values).fetchall()
    return unchanged or []


@lru_cache(maxsize=100)
def has_types_of_fields(
    model: type[models.Model], fields: tuple[AnyField, ...]
) -> bool:
    """Whether columns have the types that Django gives them.

    Others may have made the table: a column of another type may compare differently, or
    not at all, and its index may not be used.
    """
    columns = (*fields, model._meta.pk)
    names = [str(field.column) for field in columns]
    types = column_types(columns, DEFAULT_DB_ALIAS)
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    values = [names, types, quote(model._meta.db_table)]
    ((count,),) = execute(_MATCHING_COLUMNS, values).fetchall()
    return bool(count == len(columns))


@lru_cache(maxsize=100)
def _statement(model: type[models.Model], fields: tuple[AnyField, ...]) -> str:
    """Return the statement for rows with these fields; the first is the key."""
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    names = [quote(str(field.column)) for field in fields]
    # Others may have given a column a collation in which 'a' is 'A'.
    collations = [
        ' COLLATE "C"' if isinstance(field, _TEXTS) else "" for field in fields
    ]
    is_same = " AND ".join(
        f"stored.{name}{collation} IS NOT DISTINCT FROM listed.c{place}{collation}"
        for place, (name, collation) in enumerate(zip(names, collations, strict=True))
    )
    return _STATEMENT.format(
        arrays=array_parameters(fields, DEFAULT_DB_ALIAS),
        aliases=", ".join(f"c{place}" for place in range(len(fields))),
        pk=f"stored.{quote(str(model._meta.pk.column))}",
        table=quote(model._meta.db_table),
        key=names[0],
        is_same=is_same,
    )
