"""The module that Django loads for the engine `outkey.hosts.django.postgresql`.

A send must end, and `/readyz` must respond, also while the database hangs.
"""

from types import ModuleType
from typing import Any

import psycopg
from django.db.backends.postgresql import base

from outkey.foundation.adapters.postgresql_deadlines import (
    LATER_SECONDS,
    STATEMENT_SECONDS,
    DeadlineConnection,
)


def connect(**parameters: Any) -> DeadlineConnection:  # noqa: ANN401 - of psycopg
    """Return a connection with timeouts, whose server has responded."""
    connection = DeadlineConnection.connect(**parameters)
    connection.require_response()
    connection.patience = STATEMENT_SECONDS + LATER_SECONDS
    return connection


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, with another `connect`; it calls that of `Database`."""

    Database = ModuleType("psycopg")


vars(DatabaseWrapper.Database).update(vars(psycopg), connect=connect)
