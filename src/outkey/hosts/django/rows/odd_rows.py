"""Finds rows with values that outkey never writes there, by conditions of SQL.

Reading such a row gives a harmless value (`columns`); here the doctor learns of it.
Configurations, sync lines and shared states are examined by the engine, and the audit
by its verification.
"""

from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.db.models import Field, Model

from outkey.foundation.core.moments import LAST_MOMENT
from outkey.foundation.core.stored_values import OddRow
from outkey.hosts.django import models
from outkey.hosts.django.rows.raw_sql import execute, wrap_database_errors
from outkey.sync.core.run.run import RunState
from outkey.webhooks.core.inbox.inbox import DeliveryState

SHOWN = 5  # rows of each table
TABLES: dict[str, type[Model]] = {
    "header": models.HeaderRow,
    "secret": models.SecretValue,
    "token": models.Token,
    "line version": models.LineVersion,
    "run": models.Run,
    "rejected record": models.Quarantine,
    "sync mark": models.SyncMark,
    "ledger entry": models.Ledger,
    "agreement of a pair": models.Agreement,
    "parent of a line": models.LineParent,
    "delivery": models.Delivery,
    "known key": models.KnownKey,
    "user settings": models.UserSettings,
}
STATES = {models.Run: RunState, models.Delivery: DeliveryState}
# The condition for an odd value of a column, by the kind of the field.
ON_SQLITE: dict[str, str] = {
    "BinaryField": "typeof({c}) <> 'blob'",
    "BooleanField": "{c} NOT IN (0, 1)",
    "CharField": "typeof({c}) <> 'text'",
    "FloatField": (
        "typeof({c}) NOT IN ('real', 'integer')"
        f" OR {{c}} < 0 OR {{c}} >= {LAST_MOMENT}"
    ),
    "JSONField": "CASE WHEN json_valid({c}) THEN json_type({c}) <> 'object' ELSE 1 END",
    "PositiveBigIntegerField": "typeof({c}) <> 'integer' OR {c} < 0",
    "PositiveIntegerField": "typeof({c}) <> 'integer' OR {c} < 0",
    "PositiveSmallIntegerField": "typeof({c}) <> 'integer' OR {c} < 0",
    "TextField": "typeof({c}) <> 'text'",
}
ON_POSTGRESQL: dict[str, str] = {
    # NaN is greater than all numbers.
    "FloatField": f"NOT ({{c}} >= 0 AND {{c}} < {LAST_MOMENT})",
    "JSONField": "jsonb_typeof({c}) <> 'object'",
}


@wrap_database_errors
def odd_rows() -> list[OddRow]:
    """Return some of the odd rows of each table."""
    return [row for kind, model in TABLES.items() for row in _odd_rows_of(kind, model)]


def _odd_rows_of(kind: str, model: type[Model]) -> Iterator[OddRow]:
    """Yield the first odd rows of a table, by their primary keys."""
    found = filter(None, map(_odd_condition, fields_of(model)))
    conditions = [f"({condition})" for condition in found]
    states = STATES.get(model)
    if states is not None:
        names = ", ".join(f"'{state.value}'" for state in states)
        conditions.append(f"state NOT IN ({names})")
    if not conditions:
        return
    options = model._meta  # noqa: SLF001 - Django's documented name
    key = options.pk.column
    statement = (
        f"SELECT {key} FROM {options.db_table}"  # noqa: S608 - names of our own
        f" WHERE {' OR '.join(conditions)} LIMIT {SHOWN}"
    )
    for (number,) in execute(statement, ()).fetchall():
        yield OddRow(kind, str(number))


def _odd_condition(field: "Field[Any, Any]") -> str:
    """Return the condition for an odd value in a column; "" if none can be odd."""
    by_kind = ON_SQLITE if connection.vendor == "sqlite" else ON_POSTGRESQL
    condition = by_kind.get(field.get_internal_type(), "")
    if not condition:
        return ""
    column = f'"{field.column}"'
    is_odd = condition.format(c=column)
    if field.null:
        return f"{column} IS NOT NULL AND ({is_odd})"
    return f"{column} IS NULL OR {is_odd}"


def fields_of(model: type[Model]) -> Iterator["Field[Any, Any]"]:
    """Yield the columns of a table, without its keys."""
    for field in model._meta.concrete_fields:  # noqa: SLF001 - Django's documented name
        if not field.is_relation and not field.primary_key:
            yield field
