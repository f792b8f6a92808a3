"""The statements that write many rows at once, as each database does it fastest."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, bindparam, exc, null, update
from sqlalchemy.dialects.mysql import insert as mysql_insert

from outkey.foundation.adapters.postgresql_text import copy_text
from outkey.foundation.core.groups import groups_of
from outkey.sync.adapters.tables.driver_errors import error_code
from outkey.sync.adapters.tables.layouts.column_types import (
    MYSQL,
    POSTGRESQL,
    SQLITE,
    Raw,
)
from outkey.sync.adapters.tables.layouts.layout import LINE, RUN
from outkey.sync.adapters.tables.open_table import GROUP, OpenTable
from outkey.sync.adapters.tables.rows.checked_rows import Row
from outkey.sync.adapters.tables.rows.row_ids import fill_ids
from outkey.sync.adapters.tables.rows.stored_rows import RunMark, StoredRow
from outkey.sync.core.mapping.targets import ARCHIVED_AT

# The id of a row in statements that write columns: no column has such a name.
RECORD = "outkey-record"
MYSQL_NO_DEFAULT = "1364"  # for a column that a row lacks


class RowStatements:
    """Inserts, updates and marks rows."""

    def __init__(self, table: OpenTable) -> None:
        self._table = table

    def insert(self, names: Sequence[str], new: Sequence[Row], mark: RunMark) -> None:
        """Insert new rows; those of an adopted table in SQLite get an ID."""
        if not new:
            return
        columns = {
            name: self._table.encode_column(name, [row.get(name) for row in new])
            for name in names
        }
        names = (LINE, RUN, *columns)
        marks: list[list[object]] = [[value] * len(new) for value in mark]
        values = [*marks, *columns.values()]
        preparer = self._table.connection.dialect.identifier_preparer
        place = preparer.format_table(self._table.clause)
        if self._table.vendor == POSTGRESQL:
            copy_rows(self._table, place, names, values)
            return
        # As text: SQLAlchemy would look at each value of each row.
        quoted = ", ".join(map(preparer.quote_identifier, names))
        parameter = "?" if self._table.vendor == SQLITE else "%s"
        parameters = ", ".join([parameter] * len(names))
        self._table.connection.exec_driver_sql(
            f"INSERT INTO {place} ({quoted}) VALUES ({parameters})",  # noqa: S608 - quoted names
            [*zip(*values, strict=True)],
        )
        fill_ids(self._table)

    def update(
        self, keys: Sequence[str], rows: Sequence[StoredRow], mark: RunMark
    ) -> None:
        """Write what has changed of rows."""
        groups: dict[tuple[str, ...], list[StoredRow]] = {}
        for row in rows:
            groups.setdefault(tuple(sorted(row.changed - {*keys})), []).append(row)
        for names, group in groups.items():
            self._update_columns(keys, names, group, mark)

    def _update_columns(
        self,
        keys: Sequence[str],
        names: Sequence[str],
        rows: Sequence[StoredRow],
        mark: RunMark,
    ) -> None:
        """Write some columns of rows, and that they are not archived any more."""
        written = {LINE: mark.line, RUN: mark.run}
        # As SQL: pymysql writes many rows at once only without other parameters.
        restored = {ARCHIVED_AT: null()} if self._table.layout.archives else {}
        values = [
            {
                RECORD: row.id,
                **written,
                **{name: self._table.encode(name, row.values[name]) for name in names},
            }
            for row in rows
        ]
        if self._table.vendor == MYSQL:
            for row, of_row in zip(rows, values, strict=True):
                of_row |= {
                    name: self._table.encode(name, row.values[name]) for name in keys
                }
            changed = (*written, *names)
            if self._update_mysql(keys, changed, restored, values):
                return
        statement = (
            update(self._table.clause)
            .where(self._table.id == bindparam(RECORD, type_=Raw()))
            .values(
                {name: bindparam(name, type_=Raw()) for name in (*written, *names)}
                | restored
            )
        )
        self._table.connection.execute(statement, values)

    def _update_mysql(
        self,
        keys: Sequence[str],
        names: Sequence[str],
        restored: Mapping[str, ColumnElement[Any]],
        values: Sequence[Mapping[str, object]],
    ) -> bool:
        """Write rows in one statement, where UPDATE would be one for each.

        Return False where an adopted table needs that: it requires a column which
        rows lack, or has an ID that changes.
        """
        number = self._table.layout.id_column
        if number in names:
            return False  # another column identifies a record, and this one changes
        new = mysql_insert(self._table.clause).values(
            {
                **{name: bindparam(name, type_=Raw()) for name in (*names, *keys)},
                number: bindparam(RECORD, type_=Raw()),
            }
        )
        changes: dict[str, Any] = {name: new.inserted[name] for name in names}
        statement = new.on_duplicate_key_update({**changes, **restored})
        try:
            self._table.connection.execute(statement, values)
        except exc.DBAPIError as error:
            if error_code(error) != MYSQL_NO_DEFAULT:
                raise
            return False
        return True

    def mark(self, ids: Sequence[int], mark: RunMark) -> None:
        """Store that a run has seen rows that it did not change."""
        for group in groups_of(ids, GROUP):
            self._table.connection.execute(
                update(self._table.clause)
                .where(self._table.id.in_(group))
                .values({LINE: mark.line, RUN: mark.run})
            )


def copy_rows(
    table: OpenTable,
    place: str,
    names: Iterable[str],
    columns: Sequence[Sequence[object]],
) -> None:
    """Write rows into a table by COPY, which is several times as fast as INSERT.

    It is written on the connection of `table`, but into the one that `place` names.
    """
    quote = table.connection.dialect.identifier_preparer.quote_identifier
    quoted = ", ".join(map(quote, names))
    driver: Any = table.connection.connection.driver_connection
    text = copy_text(columns)
    with (
        driver.cursor() as cursor,
        cursor.copy(f"COPY {place} ({quoted}) FROM STDIN") as copy,
    ):
        if text is not None:
            copy.write(text)
            return
        for row in zip(*columns, strict=True):
            copy.write_row(row)
