"""Prints what the database still holds after Alice was erased."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path


def first_column(database: sqlite3.Connection, statement: str) -> list[str]:
    return [row[0] for row in database.execute(statement)]


def tables_naming(database: sqlite3.Connection, name: str) -> list[str]:
    """Return the tables with this name in a row; the audit names users as it must."""
    tables = first_column(
        database, "SELECT name FROM sqlite_master WHERE type = 'table'"
    )
    return [
        table
        for table in tables
        if table != "outkey_auditrecord"
        and any(name in str(row) for row in database.execute(f"SELECT * FROM {table}"))
    ]


def main() -> None:
    file = Path(os.environ["OUTKEY_HOME"], "data", "outkey.sqlite3")
    with closing(sqlite3.connect(file)) as database:
        bodies = first_column(
            database, "SELECT body FROM outkey_auditrecord ORDER BY id DESC"
        )
        (is_tested,) = first_column(
            database,
            "SELECT tested_revision = revision FROM outkey_configuration"
            " WHERE name = 'a'",
        )
        facts = {
            "tables": tables_naming(database, "alice"),
            "set_by": first_column(
                database,
                "SELECT set_by FROM outkey_secretvalue WHERE field != 'voucher'",
            ),
            "is_tested": bool(is_tested),
            "tags": [json.loads(body)["tag"] for body in bodies],
        }
    print(json.dumps(facts))


main()
