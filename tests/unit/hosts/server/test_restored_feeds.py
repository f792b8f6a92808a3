"""Feeds of changes end when a backup is restored."""

import sqlite3
from contextlib import closing

from outkey.foundation.core.shared_state import StateKind
from outkey.hosts.server.backup.restored_states import write_states
from outkey.sync.core.mapping.row_changes import FEED_TABLES

STATES = (
    "CREATE TABLE outkey_sharedstate"
    " (kind, key, generation, value, PRIMARY KEY (kind, key))"
)


def test_a_restored_database_has_no_feed_that_a_cursor_could_continue() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(STATES)
        for table in FEED_TABLES:
            database.execute(f"CREATE TABLE {table} (number)")
        states = {(StateKind.MARK, "restore"): {"id": "1"}}
        for _ in range(2):  # the second time there are no such tables
            write_states(database.execute, states, database="sqlite")
            tables = database.execute("SELECT name FROM sqlite_master").fetchall()
            assert not {name for (name,) in tables} & {*FEED_TABLES}
