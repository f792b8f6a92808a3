"""Tables that outkey makes for sync lines, by SQLAlchemy."""

from outkey.adapters.tables.borrowed import Borrow, HostConnection
from outkey.adapters.tables.databases import NamedDatabases, OwnDatabase
from outkey.adapters.tables.sqlite_files import SqliteFiles
from outkey.adapters.tables.store import TableStore

__all__ = [
    "Borrow",
    "HostConnection",
    "NamedDatabases",
    "OwnDatabase",
    "SqliteFiles",
    "TableStore",
]
