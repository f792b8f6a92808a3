"""Shared states in one table of Django's database.

A send that needs a permit waits for `read` and `swap`, so each is one statement of
fixed SQL.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any

from django.db import transaction

from outkey.core.groups import groups_of
from outkey.core.shared_state import SharedState, StateKind
from outkey.hosts.django import models
from outkey.hosts.django.raw_sql import (
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
    " ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value,"
    " generation = outkey_sharedstate.generation + 1"
)
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
            return states_of(execute(SELECT, (kind.value,)).fetchall())
        if len(keys) == 1:
            return states_of(execute(SELECT_ONE, (kind.value, *keys)).fetchall())
        states: dict[str, SharedState] = {}
        for group in groups_of(keys, PER_STATEMENT):
            rows = models.SharedStateRow.objects.filter(kind=kind, key__in=group)
            states |= states_of(rows.values_list("key", "generation", "value"))
        return states

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        text = json.dumps(dict(value))
        if generation:
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


def states_of(rows: Iterable[tuple[str, int, str]]) -> dict[str, SharedState]:
    """Return the states in these rows, by key."""
    return {
        key: SharedState(generation, json.loads(value))
        for key, generation, value in rows
    }
