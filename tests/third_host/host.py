"""A whole host on SQLite: its tables, its application, and its command line."""

import os
from functools import partial
from pathlib import Path

from outkey.administration.engine.application import Application
from outkey.hosts.command_host import CommandHost
from outkey.hosts.installation import Tables, build_application
from outkey.sync.ports.sync import Storage
from third_host.agreements import AgreementTable
from third_host.audit import AuditTable
from third_host.contacts import ContactRecords
from third_host.database import SqliteDatabase
from third_host.ledger import LedgerTable
from third_host.parents import ParentTable
from third_host.runs import LatestRuns, NoQueue, RunTable
from third_host.storage import (
    ConfigurationTable,
    KeyTable,
    LineTable,
    SecretTable,
    StateTable,
    TokenTable,
)


def sqlite_tables(database: SqliteDatabase) -> Tables:
    """Return all tables of a database."""
    return Tables(
        storage=Storage(
            database=database,
            configurations=ConfigurationTable(database),
            lines=LineTable(database),
            secrets=SecretTable(database),
            keys=KeyTable(database),
        ),
        audit=AuditTable(database),
        states=StateTable(database),
        tokens=TokenTable(database),
        runs=RunTable(database),
        line_runs=LatestRuns(database),
        ledger=LedgerTable(database),
        agreements=AgreementTable(database),
        parents=ParentTable(database),
        records=partial(ContactRecords, database),
        queue=NoQueue,
    )


def open_application(home: Path) -> Application:
    """Open the database in a folder, which is created on first use."""
    database = SqliteDatabase(home / "data" / "host.sqlite3")
    return build_application(sqlite_tables(database), home)


def command_host(home: Path) -> CommandHost:
    """Return what the commands of outkey need of this host."""
    return CommandHost(
        open_application=partial(open_application, home), home_folder=lambda: home
    )


if __name__ == "__main__":
    from outkey.hosts.cli.main import main

    main(command_host(Path(os.environ["OUTKEY_HOME"])))
