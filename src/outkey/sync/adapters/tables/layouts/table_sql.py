"""The SQL that makes and changes a table, as each database writes it."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy.engine import Connection

from outkey.sync.adapters.tables.layouts.column_types import (
    MYSQL,
    POSTGRESQL,
    SQLITE,
    Vendor,
    new_column,
    type_name,
)
from outkey.sync.adapters.tables.layouts.layout import ID, Layout, TablePlace
from outkey.sync.core.mapping.column_values import ColumnType
from outkey.sync.core.mapping.records import FieldKind
from outkey.sync.core.mapping.targets import ARCHIVED_AT, OWN_COLUMNS


class TableSql:
    """The statements and definitions for one table."""

    def __init__(self, connection: Connection, place: TablePlace) -> None:
        self.vendor = Vendor(connection.dialect.name)
        self.place = place
        quote = connection.dialect.identifier_preparer.quote_identifier
        self.quote = quote
        self._schema = f"{quote(place.schema)}." if place.schema else ""
        self.table = self._schema + quote(place.table)
        is_mariadb = getattr(connection.dialect, "is_mariadb", False)
        # Of these, 'a' differs from 'A' and from 'a '.
        self._collation = "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"

    def create_table(
        self, layout: Layout, columns: Mapping[str, ColumnType]
    ) -> list[str]:
        """Return the statements that make a table with these columns."""
        definitions = [
            self.own_definition(name, layout.first_id) for name in OWN_COLUMNS
        ]
        if layout.archives:
            definitions.append(self.archive_definition())
        definitions += [
            self.definition(name, column, is_required=name in layout.keys)
            for name, column in columns.items()
        ]
        options = ""
        if self.vendor == MYSQL:
            options = (
                " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4"
                f" AUTO_INCREMENT={layout.first_id}"
            )
        statements = [
            f"CREATE TABLE {self.table} ({', '.join(definitions)}){options}",
            self.create_key_index(layout.keys),
        ]
        if self.vendor == SQLITE and layout.first_id > 1:
            statements.append(
                "INSERT INTO sqlite_sequence (name, seq)"  # noqa: S608 - quoted names
                f" VALUES ({self.text(self.place.table)}, {layout.first_id - 1})"
            )
        return statements

    def add_column(self, definition: str) -> str:
        """Return the statement that adds a column."""
        return f"ALTER TABLE {self.table} ADD COLUMN {definition}"

    def archive_definition(self) -> str:
        """Return the definition of the column with the time of archiving."""
        return self.definition(ARCHIVED_AT, ColumnType(FieldKind.DATETIME))

    def own_definition(self, name: str, first_id: int = 1) -> str:
        """Return the definition of one of outkey's own columns."""
        if name == ID:
            identity = {
                POSTGRESQL: f"{identity_type(first_id)} PRIMARY KEY",
                MYSQL: "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
                SQLITE: "INTEGER PRIMARY KEY AUTOINCREMENT",
            }
            return f"{self.quote(ID)} {identity[self.vendor]}"
        return self.definition(name, ColumnType(FieldKind.TEXT, longest=200))

    def definition(
        self, name: str, column: ColumnType, *, is_required: bool = False
    ) -> str:
        """Return the definition of a column."""
        required = " NOT NULL" if is_required else ""
        written = type_name(self.vendor, column, self._collation)
        return f"{self.quote(name)} {written}{required}"

    def new_column(
        self,
        name: str,
        kind: FieldKind,
        kinds: Mapping[str, FieldKind],
        keys: Sequence[str],
    ) -> ColumnType:
        """Return the type of a new column."""
        texts = sum(kinds[key] is FieldKind.TEXT for key in keys)
        return new_column(self.vendor, kind, text_keys=texts if name in keys else 0)

    def create_key_index(self, keys: Sequence[str]) -> str:
        """Return the statement that makes keys unique."""
        columns = ", ".join(map(self.quote, keys))
        name = self.quote(self.index_name())
        return f"CREATE UNIQUE INDEX {name} ON {self.table} ({columns})"

    def drop_key_index(self) -> str:
        """Return the statement that drops the index of the keys."""
        name = self.quote(self.index_name())
        if self.vendor == MYSQL:
            return f"DROP INDEX {name} ON {self.table}"
        schema = f"{self.quote(self.place.schema)}." if self.place.schema else ""
        return f"DROP INDEX IF EXISTS {schema}{name}"

    def index_name(self, prefix: str = "outkey_keys_") -> str:
        """Return the name of an index of the table."""
        place = f"{self.place.schema or ''}.{self.place.table}"
        return prefix + hashlib.sha256(place.encode()).hexdigest()[:16]

    def text(self, value: str) -> str:
        """Return a text as SQL has it."""
        return "'" + value.replace("'", "''") + "'"

    def widen_column(
        self, name: str, before: FieldKind, after: ColumnType, keys: Sequence[str]
    ) -> Iterator[str]:
        """Return the statements that give a column a wider type."""
        quoted = self.quote(name)
        written = type_name(self.vendor, after, self._collation)
        if self.vendor == POSTGRESQL:
            yield (
                f"ALTER TABLE {self.table} ALTER COLUMN {quoted}"
                f" TYPE {written} USING {quoted}::{written}"
            )
            return
        if self.vendor == MYSQL:
            required = " NOT NULL" if name in keys else ""
            change = f"MODIFY COLUMN {quoted} {written}{required}"
            yield f"ALTER TABLE {self.table} {change}"
            yield from self._mysql_texts(quoted, before, after)
            return
        # SQLite changes no type: a new column takes the place of the old one.
        new = self.quote(f"outkey_new_{name}"[:63])
        value = f"CAST({quoted} AS TEXT)" if after.kind is FieldKind.TEXT else quoted
        if before is FieldKind.BOOLEAN:
            value = f"CASE {quoted} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
        yield f"ALTER TABLE {self.table} ADD COLUMN {new} {written}"
        yield f"UPDATE {self.table} SET {new} = {value}"  # noqa: S608 - quoted names
        yield f"ALTER TABLE {self.table} DROP COLUMN {quoted}"
        yield f"ALTER TABLE {self.table} RENAME COLUMN {new} TO {quoted}"

    def _mysql_texts(
        self, quoted: str, before: FieldKind, after: ColumnType
    ) -> Iterator[str]:
        """Write texts of MySQL's numbers as a new value would be written."""
        if after.kind is not FieldKind.TEXT:
            return
        texts = {
            FieldKind.BOOLEAN: f"CASE {quoted} WHEN '1' THEN 'true' ELSE 'false' END",
            FieldKind.DECIMAL: (
                f"TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {quoted}))"
            ),
        }
        if before in texts:
            yield (
                f"UPDATE {self.table} SET {quoted} = {texts[before]}"  # noqa: S608 - quoted names
                f" WHERE {quoted} IS NOT NULL"
            )


def identity_type(first_id: int) -> str:
    """Return the type of a column that PostgreSQL numbers."""
    return f"BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH {first_id})"
