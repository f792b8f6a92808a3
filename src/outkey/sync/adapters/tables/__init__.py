"""Tables that outkey makes for sync lines, by SQLAlchemy."""

from outkey.sync.adapters.tables.borrowed import Borrow, HostConnection
from outkey.sync.adapters.tables.databases import NamedDatabases, OwnDatabase
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore

__all__ = [
    "Borrow",
    "HostConnection",
    "NamedDatabases",
    "OwnDatabase",
    "SqliteFiles",
    "TableStore",
]
