"""The SQL that merges staged rows into a table of PostgreSQL.

`found` compares each staged row with the stored one. The other parts of the statement
insert what is new, update what differs, and mark what a run has seen.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from outkey.sync.adapters.tables.layouts.column_types import POSTGRESQL, type_name
from outkey.sync.adapters.tables.layouts.layout import LINE, RUN
from outkey.sync.adapters.tables.open_table import OpenTable
from outkey.sync.core.mapping.records import FieldKind
from outkey.sync.core.mapping.targets import ARCHIVED_AT

# Of the statement itself: no column of a line has such names.
NUMBER: Final = "outkey-number"  # of a row in its page
_ALIKE = '"outkey-alike"'  # how many stored rows have the key
_ID = 'found."outkey-id"'
_IS_AMBIGUOUS = 'found."outkey-is-ambiguous"'
_WAS_ARCHIVED = 'found."outkey-was-archived"'
_LACKS_MARK = 'found."outkey-lacks-mark"'
_ARCHIVED_BEFORE = 'found."outkey-archived-before"'
_COLLATIONS = {FieldKind.TEXT: ' COLLATE "C"'}


class MergeSql:
    """The statements for rows that have these columns."""

    def __init__(
        self,
        table: OpenTable,
        names: Sequence[str],
        keys: Sequence[str],
        *,
        returns_before: bool = False,
    ) -> None:
        preparer = table.connection.dialect.identifier_preparer
        quote = preparer.quote_identifier
        layout = table.layout
        self._table = preparer.format_table(table.clause)
        self._names = [quote(name) for name in names]
        self._keys = [quote(name) for name in keys]
        self._number = quote(NUMBER)
        self._id = quote(layout.id_column)
        self._line = quote(LINE)
        self._run = quote(RUN)
        self._archived_at = quote(ARCHIVED_AT) if layout.archives else ""
        self.compared = [name for name in names if name not in keys]
        # By column: what tells whether its value differs.
        self._flags = {
            quote(name): f'found."outkey-differs-{place}"'
            for place, name in enumerate(self.compared)
        }
        # By column: its value before, if that is returned.
        self._before = {
            quote(name): f'found."outkey-before-{place}"'
            for place, name in enumerate(self.compared)
            if returns_before
        }
        self._returns_before = returns_before
        # Others may have given a column a collation in which 'a' is 'A'.
        self._collations = {
            quote(name): _COLLATIONS.get(layout.columns[name].kind, "")
            for name in names
        }
        self._definitions = ", ".join(
            f"{quote(name)} {type_name(POSTGRESQL, layout.columns[name])}"
            for name in names
        )
        # Tables with the same columns share it: it is emptied before each use.
        digest = hashlib.sha256(self._definitions.encode()).hexdigest()[:16]
        self.stage = f"pg_temp.outkey_stage_{digest}"

    def stage_statements(self) -> str:
        """Return the statements that make an empty table for the staged rows."""
        return (
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {self.stage}"  # noqa: S608 - quoted names
            f" ({self._number} integer, {self._definitions}) ON COMMIT DELETE ROWS;"
            f" DELETE FROM {self.stage}"
        )

    def merge_statement(self, *, marks_all: bool) -> str:
        """Return the statement that writes, with the parameters line and run.

        It returns the rows that are new, that differ, or whose key several stored rows
        have: the number of the row, whether its key is ambiguous, whether it is new,
        and for each compared column whether it differs. Then, if that is wanted, the
        values of these columns before, and when the row was archived.
        """
        facts = [*self._flags.values(), *self._before.values()]
        if self._returns_before:
            facts.append(_ARCHIVED_BEFORE)
        flags = "".join(f", {fact}" for fact in facts)
        differs = " OR ".join((_WAS_ARCHIVED, *self._flags.values()))
        is_change = f"NOT {_IS_AMBIGUOUS} AND ({differs})"
        return (
            f"WITH found AS MATERIALIZED ({self._find_query(marks_all=marks_all)}),"  # noqa: S608 - quoted names
            f" created AS ({self._insert_statement()}),"
            f" changed AS ({self._update_statement(is_change)}),"
            f" marked AS ({self._mark_statement(is_change)})"
            f" SELECT found.{self._number}, {_IS_AMBIGUOUS}, {_ID} IS NULL{flags}"
            f" FROM found WHERE {_IS_AMBIGUOUS} OR {_ID} IS NULL OR {is_change}"
        )

    def _find_query(self, *, marks_all: bool) -> str:
        was_archived = "FALSE"
        if self._archived_at:
            was_archived = f"stored.{self._archived_at} IS NOT NULL"
        lacks_mark = f"stored.{self._line} IS DISTINCT FROM %(line)s"
        if marks_all:
            lacks_mark += f" OR stored.{self._run} IS DISTINCT FROM %(run)s"
        facts = {
            f"staged.{self._number}": self._number,
            f"stored.{self._id}": _ID,
            f"coalesce(stored.{_ALIKE} > 1, FALSE)": _IS_AMBIGUOUS,
            was_archived: _WAS_ARCHIVED,
            f"({lacks_mark})": _LACKS_MARK,
        } | {
            f"stored.{name}{self._collations[name]} IS DISTINCT FROM"
            f" staged.{name}{self._collations[name]}": flag
            for name, flag in self._flags.items()
        }
        if self._returns_before:
            facts |= {f"stored.{name}": fact for name, fact in self._before.items()}
            archived_at = f"stored.{self._archived_at}" if self._archived_at else "NULL"
            facts[f"{archived_at}"] = _ARCHIVED_BEFORE
        selected = ", ".join(
            f"{fact} AS {name.removeprefix('found.')}" for fact, name in facts.items()
        )
        # OFFSET 0: each row is looked up by the index of its key. PostgreSQL would join
        # the tables instead, and read all of the target, until that is very large.
        return (
            f"SELECT {selected} FROM {self.stage} AS staged LEFT JOIN LATERAL"  # noqa: S608 - quoted names
            f" (SELECT {self._stored_columns()}, count(*) OVER () AS {_ALIKE}"
            f" FROM {self._table} AS target WHERE {self._has_key()} OFFSET 0)"
            " AS stored ON TRUE"
        )

    def _stored_columns(self) -> str:
        names = [self._id, self._line, self._run, *self._flags]
        if self._archived_at:
            names.append(self._archived_at)
        return ", ".join(f"target.{name}" for name in dict.fromkeys(names))

    def _has_key(self) -> str:
        """Return the condition for the index of the keys, and for the same text."""
        conditions = [f"target.{key} = staged.{key}" for key in self._keys]
        conditions += [
            f"target.{key}{collation} = staged.{key}{collation}"
            for key in self._keys
            if (collation := self._collations[key])
        ]
        return " AND ".join(conditions)

    def _insert_statement(self) -> str:
        names = ", ".join(self._names)
        values = ", ".join(f"staged.{name}" for name in self._names)
        return (
            f"INSERT INTO {self._table} ({self._line}, {self._run}, {names})"  # noqa: S608 - quoted names
            f" SELECT %(line)s, %(run)s, {values} FROM found {self._join_with_stage()}"
            f" WHERE {_ID} IS NULL"
        )

    def _update_statement(self, is_change: str) -> str:
        # Another program may have just changed a column that does not differ.
        values = "".join(
            f", {name} = CASE WHEN {flag} THEN staged.{name} ELSE target.{name} END"
            for name, flag in self._flags.items()
        )
        if self._archived_at:
            values += f", {self._archived_at} = NULL"
        return (
            f"UPDATE {self._table} AS target SET {self._marks()}{values}"  # noqa: S608 - quoted names
            f" FROM found {self._join_with_stage()}"
            f" WHERE {self._selects_found(is_change)}"
        )

    def _mark_statement(self, is_change: str) -> str:
        lacks_only_mark = f"{_LACKS_MARK} AND NOT {_IS_AMBIGUOUS} AND NOT ({is_change})"
        return (
            f"UPDATE {self._table} AS target SET {self._marks()} FROM found"  # noqa: S608 - quoted names
            f" WHERE {self._selects_found(lacks_only_mark)}"
        )

    def _marks(self) -> str:
        return f"{self._line} = %(line)s, {self._run} = %(run)s"

    def _join_with_stage(self) -> str:
        """Return the join that adds the values of the staged rows to `found`."""
        number = self._number
        return f"JOIN {self.stage} AS staged ON staged.{number} = found.{number}"

    def _selects_found(self, condition: str) -> str:
        # An array, so that PostgreSQL looks the rows up by the index of their IDs.
        ids = f"ARRAY(SELECT {_ID} FROM found WHERE {condition})"  # noqa: S608 - quoted names
        return (
            f"target.{self._id} = {_ID} AND ({condition})"
            f" AND target.{self._id} = ANY({ids})"
        )
