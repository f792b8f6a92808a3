"""Tables as their database describes them."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import inspect
from sqlalchemy.engine import Connection

from outkey.sync.adapters.tables.layouts.column_types import (
    MYSQL,
    SQLITE,
    reflected_column,
    sqlite_column,
)
from outkey.sync.adapters.tables.layouts.layout import TablePlace
from outkey.sync.core.mapping.column_values import ColumnType
from outkey.sync.core.mapping.targets import ARCHIVED_AT, OWN_COLUMNS


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table as the database describes it."""

    columns: Mapping[str, ColumnType | None]  # None: a type that no value fits
    unique: frozenset[frozenset[str]]  # the columns of each unique index
    numbered: str = ""  # the column that SQLite or MySQL numbers by itself

    @property
    def own(self) -> frozenset[str]:
        """The columns of outkey's that it has."""
        return frozenset({*OWN_COLUMNS, ARCHIVED_AT} & self.columns.keys())


def read_table(connection: Connection, place: TablePlace) -> StoredTable | None:
    """Return a table as the database describes it, or None."""
    if connection.dialect.name == SQLITE:
        return _read_sqlite_table(connection, place)
    catalogue = inspect(connection)
    if not catalogue.has_table(place.table, schema=place.schema):
        return None
    columns = catalogue.get_columns(place.table, schema=place.schema)
    indexes = catalogue.get_indexes(place.table, schema=place.schema)
    primary = catalogue.get_pk_constraint(place.table, schema=place.schema)
    unique: list[list[str | None]] = [
        index["column_names"] for index in indexes if index["unique"]
    ]
    unique.append([*primary["constrained_columns"]])
    numbered = [
        column["name"] for column in columns if column.get("autoincrement") is True
    ]
    return StoredTable(
        {column["name"]: reflected_column(column["type"]) for column in columns},
        frozenset(frozenset(filter(None, names)) for names in unique),
        numbered[0] if numbered and connection.dialect.name == MYSQL else "",
    )


def _read_sqlite_table(connection: Connection, place: TablePlace) -> StoredTable | None:
    """Return a table of SQLite, whose declared types only it knows."""
    execute = connection.exec_driver_sql
    columns = execute(
        "SELECT name, type, pk FROM pragma_table_info(?)", (place.table,)
    ).all()
    if not columns:
        return None
    indexes = execute(
        'SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial',
        (place.table,),
    ).all()
    unique = [
        frozenset(
            name
            for (name,) in execute("SELECT name FROM pragma_index_info(?)", (index,))
        )
        for (index,) in indexes
    ]
    primary = [name for name, declared, pk in columns if pk and declared == "INTEGER"]
    return StoredTable(
        {name: sqlite_column(declared) for name, declared, _ in columns},
        frozenset(unique),
        primary[0] if len(primary) == sum(bool(pk) for *_, pk in columns) == 1 else "",
    )
