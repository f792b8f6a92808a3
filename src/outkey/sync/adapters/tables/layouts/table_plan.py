"""The plan for a table: the statements, and the texts for users about them."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import exc
from sqlalchemy.engine import Connection

from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.foundation.core.text import Text
from outkey.sync.adapters.tables.layouts.column_types import MYSQL, POSTGRESQL
from outkey.sync.adapters.tables.layouts.layout import Layout, TablePlace

LOCK_SECONDS = 60


@dataclass(slots=True)
class TablePlan:
    """The new layout of a table, the statements for it, and the texts for users."""

    layout: Layout
    label: str  # the name of the table for a user
    dry_run: bool
    statements: list[str] = field(default_factory=list)
    changes: list[Text] = field(default_factory=list)
    is_new: bool = False
    is_loss: bool = False  # others have dropped rows or columns
    is_conversion: bool = False  # the values of a column become others
    first_id: int = 1  # of the rows that are written after that

    def note(self, done: Text, would: Text) -> None:
        """Add what a user reads about a change."""
        self.changes.append(would if self.dry_run else done)

    def note_column(self, name: str, kind: str = "") -> None:
        """Add that a column is new."""
        column = f"{name} {kind}".strip()
        self.note(
            Text(
                "table {table}: column added: {column}",
                table=self.label,
                column=column,
            ),
            Text(
                "table {table}: column would be added: {column}",
                table=self.label,
                column=column,
            ),
        )


def apply_plan(connection: Connection, plan: TablePlan) -> None:
    """Execute the statements of a plan."""
    is_taken = False
    try:
        for statement in plan.statements:
            connection.exec_driver_sql(statement)
    except exc.IntegrityError:
        is_taken = True
    if is_taken:
        raise ConfigError(
            Text(
                "several records of the table {table} have the same keys",
                table=plan.label,
            ),
            hint=Text("Delete the repeated records, or choose other keys."),
            field="keys",
        )


@contextmanager
def preparation_lock(connection: Connection, place: TablePlace) -> Iterator[None]:
    """Let one process at a time make a table.

    PostgreSQL releases the lock at the end of the transaction. A transaction of SQLite
    that writes is alone in any case.
    """
    name = f"outkey {place.schema or ''}.{place.table}"
    digest = hashlib.sha256(name.encode()).digest()
    if connection.dialect.name == POSTGRESQL:
        number = int.from_bytes(digest[:8], signed=True)
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (number,))
        yield
        return
    if connection.dialect.name != MYSQL:
        yield
        return
    lock = f"outkey_{digest.hex()[:32]}"
    taken = connection.exec_driver_sql(
        "SELECT GET_LOCK(%s, %s)", (lock, LOCK_SECONDS)
    ).scalar()
    if not taken:
        raise StorageUnavailable(
            Text("another process changes the table"), hint=Text("Run it again later.")
        )
    try:
        yield
    finally:
        connection.exec_driver_sql("SELECT RELEASE_LOCK(%s)", (lock,))
