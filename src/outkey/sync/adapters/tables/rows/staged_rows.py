"""Rows that PostgreSQL compares itself: one COPY and one statement for many of them.

The rows go into a temporary table. The database compares them with those that it has,
writes what differs, and returns only what became of those.
"""

from collections.abc import Sequence
from itertools import compress
from typing import Any

from outkey.sync.adapters.tables.layouts.column_types import POSTGRESQL, new_column
from outkey.sync.adapters.tables.open_table import OpenTable
from outkey.sync.adapters.tables.rows.checked_rows import CheckedRows
from outkey.sync.adapters.tables.rows.merge_sql import NUMBER, MergeSql
from outkey.sync.adapters.tables.rows.row_statements import copy_rows
from outkey.sync.adapters.tables.rows.stored_rows import Earlier, RunMark
from outkey.sync.core.mapping.records import (
    CREATED,
    UNCHANGED,
    FieldKind,
    Written,
    rejected_write,
    written_update,
)
from outkey.sync.core.mapping.targets import ARCHIVED_AT


def can_be_staged(table: OpenTable, page: CheckedRows) -> bool:
    """Whether PostgreSQL compares these rows as outkey would.

    It does in columns that outkey has made. Tables of others may have types that
    compare differently (citext), and JSON is compared as `comparable_json` does.
    """
    if table.vendor != POSTGRESQL or not table.is_own:
        return False
    if any(len(row) != len(page.names) for row in page.rows):
        return False  # a row leaves a column alone that it lacks
    columns = [table.layout.columns[name] for name in page.names]
    is_comparable = all(
        column.kind is not FieldKind.JSON
        and column == new_column(POSTGRESQL, column.kind)
        for column in columns
    )
    # One statement can write a row once.
    return is_comparable and len(page.keys()) + len(page.refused) == len(page.rows)


class StagedRows:
    """Merges rows into one table."""

    def __init__(self, table: OpenTable, earlier: Earlier | None = None) -> None:
        self._table = table
        self._earlier = earlier

    def merge(
        self, page: CheckedRows, mark: RunMark, *, marks_all: bool
    ) -> list[Written]:
        """Create and update rows, and return what became of each."""
        sql = MergeSql(
            self._table,
            page.names,
            page.key_names,
            returns_before=self._earlier is not None,
        )
        driver: Any = self._table.connection.connection.driver_connection
        with driver.cursor() as cursor:
            cursor.execute(sql.stage_statements())
            names = (NUMBER, *page.names)
            copy_rows(self._table, sql.stage, names, self._numbered_columns(page))
            # Not prepared: the plan would stay that of a table with a few rows.
            statement = sql.merge_statement(marks_all=marks_all)
            cursor.execute(statement, mark._asdict(), prepare=False)
            differing = cursor.fetchall()
        results = dict(page.refused)
        width = len(sql.compared)
        for number, is_ambiguous, is_new, *facts in differing:
            if is_ambiguous:
                results[number] = rejected_write(page.key_names[0], "ambiguous")
            elif is_new:
                results[number] = CREATED
            else:
                changed = tuple(compress(sql.compared, facts[:width]))
                results[number] = written_update(changed)
                if self._earlier is not None:
                    values = self._values_before(sql.compared, facts)
                    self._earlier[page.key(number)] = values
        return [results.get(number, UNCHANGED) for number in page.numbers]

    def _values_before(
        self, compared: Sequence[str], facts: Sequence[object]
    ) -> dict[str, object]:
        """Return the values that differ, as the row had them."""
        width = len(compared)
        values = {
            name: self._table.decode(name, value)
            for name, differs, value in zip(
                compared, facts[:width], facts[width:-1], strict=True
            )
            if differs
        }
        if facts[-1] is not None:
            values[ARCHIVED_AT] = self._table.decode(ARCHIVED_AT, facts[-1])
        return values

    def _numbered_columns(self, page: CheckedRows) -> list[list[object]]:
        """Return the numbers of rows, and their values as the driver writes them."""
        numbers = [number for number in page.numbers if number not in page.refused]
        rows = [page.rows[number] for number in numbers]
        columns = [
            self._table.encode_column(name, [row[name] for row in rows])
            for name in page.names
        ]
        return [list(numbers), *columns]
