"""Shared states in one table of Django's database.

A send that needs a permit waits for `read` and `swap`, so each is one statement of
fixed SQL.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any

from django.db import connection, transaction

from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.state_shapes import MAX_GENERATION, read_state
from outkey.foundation.core.stored_values import is_odd, read_text
from outkey.hosts.django import models
from outkey.hosts.django.rows.raw_sql import (
    execute,
    require_written,
    wrap_errors_of_methods,
)

PER_STATEMENT = 300
SELECT = "SELECT key, generation, value FROM outkey_sharedstate WHERE kind = %s"
SELECT_ONE = f"{SELECT} AND key = %s"
INSERT = "INSERT INTO outkey_sharedstate (kind, key, generation, value) VALUES "
COLUMNS = "(%s, %s, 1, %s)"
OR_NOTHING = " ON CONFLICT DO NOTHING"
OR_REPLACE = (
    " ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, generation ="
    f" CASE WHEN outkey_sharedstate.generation < {MAX_GENERATION}"
    " THEN outkey_sharedstate.generation + 1 ELSE 1 END"
)
# A generation that outkey did not write could never be swapped.
UPDATE_ODD = {
    vendor: (
        "UPDATE outkey_sharedstate SET generation = 1, value = %s"  # noqa: S608 - constants
        f" WHERE kind = %s AND key = %s AND (generation >= {MAX_GENERATION}{odd})"
    )
    for vendor, odd in (
        ("sqlite", " OR generation < 1 OR typeof(generation) <> 'integer'"),
        ("postgresql", " OR generation < 1"),
    )
}
UPDATE = (
    "UPDATE outkey_sharedstate SET generation = generation + 1, value = %s"
    " WHERE kind = %s AND key = %s AND generation = %s"
)


@wrap_errors_of_methods
class DjangoStateRows:
    """One row for each kind and key."""

    def read(
        self, kind: StateKind, keys: Collection[str] | None = None
    ) -> dict[str, SharedState]:
        if keys is None:
            return states_of(kind, execute(SELECT, (kind.value,)).fetchall())
        if len(keys) == 1:
            rows = execute(SELECT_ONE, (kind.value, *keys)).fetchall()
            return states_of(kind, rows)
        states: dict[str, SharedState] = {}
        for group in groups_of(keys, PER_STATEMENT):
            found = models.SharedStateRow.objects.filter(kind=kind, key__in=group)
            states |= states_of(kind, found.values_list("key", "generation", "value"))
        return states

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        text = json.dumps(dict(value))
        if is_odd(generation):
            statement = UPDATE_ODD[connection.vendor]
            cursor = execute(statement, (text, kind.value, key))
        elif generation:
            cursor = execute(UPDATE, (text, kind.value, key, generation))
        else:
            cursor = execute(INSERT + COLUMNS + OR_NOTHING, (kind.value, key, text))
        return bool(cursor.rowcount)

    def put(
        self, kind: StateKind, values: Mapping[str, Mapping[str, Any] | None]
    ) -> None:
        rows = [
            (kind.value, key, json.dumps(dict(value)))
            for key, value in values.items()
            if value is not None
        ]
        deleted = [key for key, value in values.items() if value is None]
        with transaction.atomic():
            for some in groups_of(rows, PER_STATEMENT):
                columns = ", ".join([COLUMNS] * len(some))
                statement = INSERT + columns + OR_REPLACE
                require_written(execute(statement, tuple(chain(*some))), len(some))
            for keys in groups_of(deleted, PER_STATEMENT):
                models.SharedStateRow.objects.filter(kind=kind, key__in=keys).delete()


def states_of(
    kind: StateKind, rows: Iterable[tuple[object, object, object]]
) -> dict[str, SharedState]:
    """Return the states in these rows, by key."""
    return {
        read_text(key): read_state(kind, generation, value)
        for key, generation, value in rows
    }
