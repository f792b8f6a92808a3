"""The SQL that merges staged rows into a table of PostgreSQL.

`found` compares each staged row with the stored one. The other parts of the statement
insert what is new, update what differs, and mark what a run has seen.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from outkey.sync.adapters.tables.layouts.column_types import POSTGRESQL, TYPE_NAMES
from outkey.sync.adapters.tables.layouts.layout import LINE, RUN
from outkey.sync.adapters.tables.open_table import OpenTable
from outkey.sync.core.mapping.targets import ARCHIVED_AT

NUMBER: Final = "outkey-number"  # of a row in its page: no column has such a name
# What `found` tells of a row: several have its key, it is archived, it lacks the mark.
IS_AMBIGUOUS, WAS_ARCHIVED, LACKS_MARK = "is_ambiguous", "was_archived", "lacks_mark"


class MergeSql:
    """The statements for rows that have these columns."""

    def __init__(
        self, table: OpenTable, names: Sequence[str], keys: Sequence[str]
    ) -> None:
        preparer = table.connection.dialect.identifier_preparer
        self._quote = preparer.quote_identifier
        self._table = preparer.format_table(table.clause)
        self._archives = table.layout.archives
        self._id = self._quote(table.layout.id_column)
        self._names = names
        self._keys = keys
        self.compared = [name for name in names if name not in keys]
        types = TYPE_NAMES[POSTGRESQL]
        self._definitions = ", ".join(
            f"{self._quote(name)} {types[table.layout.columns[name].kind]}"
            for name in names
        )
        # The same for all tables with these columns: it is empty after each commit.
        digest = hashlib.sha256(self._definitions.encode()).hexdigest()[:16]
        self._stage = f"outkey_stage_{digest}"

    def prepare(self) -> str:
        """Return the statements that make an empty table for the stage."""
        number = self._quote(NUMBER)
        return (
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {self._stage}"  # noqa: S608 - quoted names
            f" ({number} integer, {self._definitions}) ON COMMIT DELETE ROWS;"
            f" DELETE FROM pg_temp.{self._stage}"
        )

    def copy(self) -> str:
        """Return the statement that reads rows, each with its number before it."""
        names = ", ".join(map(self._quote, (NUMBER, *self._names)))
        return f"COPY pg_temp.{self._stage} ({names}) FROM STDIN"

    def merge(self, *, marks_all: bool) -> str:
        """Return the statement that writes, with the parameters line and run.

        Its result are the numbers of rows that are new or differ, or whose key several
        rows have; whether it is so and whether the row is new; and for each compared
        column whether it differs.
        """
        differs = " OR ".join((WAS_ARCHIVED, *self._flags()))
        is_change = f"NOT {IS_AMBIGUOUS} AND ({differs})"
        flags = "".join(f", {flag}" for flag in self._flags())
        return (
            f"WITH found AS MATERIALIZED ({self._find(marks_all=marks_all)}),"  # noqa: S608 - quoted names
            f" created AS ({self._insert()}),"
            f" changed AS ({self._update(is_change)}),"
            f" marked AS ({self._mark(is_change)})"
            f" SELECT number, {IS_AMBIGUOUS}, id IS NULL{flags} FROM found"
            f" WHERE {IS_AMBIGUOUS} OR id IS NULL OR {is_change}"
        )

    def _flags(self) -> list[str]:
        """Return the names of the columns that tell whether a value differs."""
        return [f"differs_{place}" for place in range(len(self.compared))]

    def _find(self, *, marks_all: bool) -> str:
        differences = "".join(
            f", stored.{quoted} IS DISTINCT FROM staged.{quoted} AS {flag}"
            for quoted, flag in zip(
                map(self._quote, self.compared), self._flags(), strict=True
            )
        )
        was_archived = "FALSE"
        if self._archives:
            was_archived = f"stored.{self._quote(ARCHIVED_AT)} IS NOT NULL"
        lacks_mark = f"stored.{self._quote(LINE)} IS DISTINCT FROM %(line)s"
        if marks_all:
            lacks_mark += f" OR stored.{self._quote(RUN)} IS DISTINCT FROM %(run)s"
        has_key = " AND ".join(
            f"target.{quoted} = staged.{quoted}"
            for quoted in map(self._quote, self._keys)
        )
        # OFFSET 0: each row is looked up by the index of its key. PostgreSQL would join
        # the tables instead, and read all of the target, until that is very large.
        return (
            f"SELECT staged.{self._quote(NUMBER)} AS number, stored.{self._id} AS id,"  # noqa: S608 - quoted names
            f" coalesce(stored.alike > 1, FALSE) AS {IS_AMBIGUOUS},"
            f" {was_archived} AS {WAS_ARCHIVED}, ({lacks_mark}) AS {LACKS_MARK}"
            f"{differences} FROM pg_temp.{self._stage} AS staged LEFT JOIN LATERAL"
            f" (SELECT target.*, count(*) OVER () AS alike FROM {self._table} AS target"
            f" WHERE {has_key} OFFSET 0) AS stored ON TRUE"
        )

    def _insert(self) -> str:
        own = f"{self._quote(LINE)}, {self._quote(RUN)}"
        names = ", ".join(map(self._quote, self._names))
        values = ", ".join(f"staged.{self._quote(name)}" for name in self._names)
        return (
            f"INSERT INTO {self._table} ({own}, {names})"  # noqa: S608 - quoted names
            f" SELECT %(line)s, %(run)s, {values} FROM found {self._staged()}"
            " WHERE found.id IS NULL"
        )

    def _update(self, is_change: str) -> str:
        # Another program may have just changed a column that does not differ.
        values = "".join(
            f", {quoted} = CASE WHEN {flag} THEN staged.{quoted}"
            f" ELSE target.{quoted} END"
            for quoted, flag in zip(
                map(self._quote, self.compared), self._flags(), strict=True
            )
        )
        if self._archives:
            values += f", {self._quote(ARCHIVED_AT)} = NULL"
        return (
            f"UPDATE {self._table} AS target SET {self._marks()}{values}"  # noqa: S608 - quoted names
            f" FROM found {self._staged()} WHERE {self._is_among_found(is_change)}"
        )

    def _mark(self, is_change: str) -> str:
        lacks_only_mark = f"{LACKS_MARK} AND NOT {IS_AMBIGUOUS} AND NOT ({is_change})"
        return (
            f"UPDATE {self._table} AS target SET {self._marks()} FROM found"  # noqa: S608 - quoted names
            f" WHERE {self._is_among_found(lacks_only_mark)}"
        )

    def _marks(self) -> str:
        return f"{self._quote(LINE)} = %(line)s, {self._quote(RUN)} = %(run)s"

    def _staged(self) -> str:
        """Return the join that adds the values of the staged rows to `found`."""
        number = self._quote(NUMBER)
        return f"JOIN pg_temp.{self._stage} AS staged ON staged.{number} = found.number"

    def _is_among_found(self, condition: str) -> str:
        # An array, so that PostgreSQL looks the rows up by the index of their IDs.
        ids = f"ARRAY(SELECT id FROM found WHERE {condition})"  # noqa: S608 - quoted names
        return (
            f"target.{self._id} = found.id AND ({condition})"
            f" AND target.{self._id} = ANY({ids})"
        )
