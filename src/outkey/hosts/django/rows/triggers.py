"""Finds triggers on outkey's tables, which outkey never makes.

A trigger can change or delete what outkey has written.
"""

from django.db import connection

from outkey.hosts.django.rows.raw_sql import execute, wrap_database_errors

# The names of triggers and rules with their tables, by the kind of database.
TRIGGERS = {
    # SQLite has the name of the table as it was typed.
    "sqlite": (
        "SELECT name, tbl_name FROM sqlite_master"
        " WHERE type = 'trigger' AND lower(substr(tbl_name, 1, 7)) = 'outkey_'"
        " ORDER BY tbl_name, name"
    ),
    "postgresql": (
        "SELECT tgname::text AS name, relname::text AS tbl_name FROM pg_trigger"
        " JOIN pg_class ON pg_class.oid = tgrelid"
        " WHERE NOT tgisinternal AND left(relname, 7) = 'outkey_'"
        " UNION ALL SELECT rulename::text, tablename::text FROM pg_rules"
        " WHERE left(tablename, 7) = 'outkey_' ORDER BY tbl_name, name"
    ),
}


@wrap_database_errors
def find_triggers() -> list[str]:
    """Return the triggers on outkey's tables, each with the name of its table."""
    statement = TRIGGERS.get(connection.vendor)
    if statement is None:
        return []
    return list(map(trigger_name, execute(statement, ()).fetchall()))


def trigger_name(row: tuple[str, str]) -> str:
    """Return how a trigger is named to users: with its table."""
    name, table = row
    return f"{name} ({table})"
