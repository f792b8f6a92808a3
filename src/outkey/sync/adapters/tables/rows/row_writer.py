"""Writing rows: each is compared with the stored one, and what is new is written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import bindparam, exc, update

from outkey.foundation.core.groups import groups_of
from outkey.sync.adapters.tables.driver_errors import driver_errors, error_code
from outkey.sync.adapters.tables.layouts.column_types import MYSQL, Raw, comparable_json
from outkey.sync.adapters.tables.layouts.layout import Layout
from outkey.sync.adapters.tables.open_table import GROUP, OpenTable
from outkey.sync.adapters.tables.rows.checked_rows import CheckedRows, Row
from outkey.sync.adapters.tables.rows.row_reader import RowReader
from outkey.sync.adapters.tables.rows.row_statements import (
    MYSQL_NO_DEFAULT,
    RowStatements,
)
from outkey.sync.adapters.tables.rows.staged_rows import StagedRows, can_be_staged
from outkey.sync.adapters.tables.rows.stored_rows import (
    Earlier,
    RunMark,
    StoredRow,
    find_stored,
    needs_mark,
)
from outkey.sync.core.mapping.column_values import column_faults
from outkey.sync.core.mapping.records import (
    CREATED,
    UNCHANGED,
    FieldKind,
    WriteOutcome,
    Written,
    rejected_write,
    written_update,
)
from outkey.sync.core.mapping.targets import ARCHIVED_AT
from outkey.sync.ports.sync import Key

# Of MySQL: no default, a row that is too long, a check, and what triggers refuse.
MYSQL_ROW_CODES = frozenset({MYSQL_NO_DEFAULT, "1118", "1644", "3819", "4025"})
# Of PostgreSQL: values that do not fit, taken keys, limits, and triggers that refuse.
ROW_CLASSES = frozenset({"22", "23", "54", "P0"})
# Of PostgreSQL, where a merge is refused, but not the rows: no right to temporary
# tables; a trigger that has changed a row already; a rule; a name that is ambiguous.
NOT_MERGED = frozenset({"42501", "27000", "0A000", "42702"})
# Where rows are not inserted all at once: a key is taken (23505, 1062, and the names of
# SQLite), or PostgreSQL has rules about which rows the role may write.
NOT_INSERTED = frozenset(
    {
        "23505",
        "42501",
        "0A000",
        "1062",
        "SQLITE_CONSTRAINT_UNIQUE",
        "SQLITE_CONSTRAINT_PRIMARYKEY",
    }
)


class RowWriter:
    """Creates and updates the rows of a table.

    `earlier` gets the values that updated rows had.
    `expects_new`: rows are inserted without a comparison. They are compared if a key
    is taken: in a table that outkey has made, keys are unique.
    """

    def __init__(
        self,
        table: OpenTable,
        *,
        expects_new: bool = False,
        earlier: Earlier | None = None,
    ) -> None:
        self._table = table
        self._statements = RowStatements(table)
        self._staged_rows = StagedRows(table, earlier)
        self._earlier = earlier
        self._may_stage = True
        self._expects_new = expects_new

    def compare(
        self, keys: Sequence[str], rows: Sequence[Row], planned: Layout | None = None
    ) -> list[Written]:
        """Return the results of an `upsert`, with the values before and after.

        `planned` is what the table would have before that.
        """
        results: list[Written] = []
        for group in groups_of(rows, GROUP):
            page = CheckedRows.of(planned or self._table.layout, keys, group)
            names = [name for name in page.names if name in self._table.layout.columns]
            stored: dict[Key, list[StoredRow]] = {}
            columns = page.layout.columns
            if all(
                key in names
                and columns[key].kind is self._table.layout.columns[key].kind
                for key in keys
            ):
                stored = find_stored(self._table, keys, page.keys(), names)
            results += [self._compare(page, stored, number) for number in page.numbers]
        return results

    def _compare(
        self, page: CheckedRows, stored: dict[Key, list[StoredRow]], number: int
    ) -> Written:
        refused = page.refused.get(number)
        if refused:
            return refused
        row = page.rows[number]
        before = stored.get(page.key(number))
        if before is not None and len(before) > 1:
            return rejected_write(page.key_names[0], "ambiguous")
        changes = {
            name: (before[0].values.get(name) if before else None, value)
            for name, value in row.items()
            if self._differs(
                name, before[0].values.get(name) if before else None, value
            )
        }
        if before is None:
            stored[page.key(number)] = [StoredRow.new(row, None)]
            return Written(WriteOutcome.CREATED, changes=changes)
        before[0].values.update(row)
        if changes or before[0].archived_at is not None:
            return replace(written_update(tuple(changes)), changes=changes)
        return UNCHANGED

    def upsert(
        self,
        keys: Sequence[str],
        rows: Sequence[Row],
        mark: RunMark,
        *,
        marks_all: bool,
    ) -> list[Written]:
        """Create or update the row of each record; what is refused affects no other."""
        results: list[Written] = []
        for group in groups_of(rows, GROUP):
            results += self._upsert_group(keys, group, mark, marks_all=marks_all)
        return results

    def _upsert_group(
        self,
        keys: Sequence[str],
        rows: Sequence[Row],
        mark: RunMark,
        *,
        marks_all: bool,
    ) -> list[Written]:
        """Write rows together; if one is refused, by halves down to that one."""
        page = CheckedRows.of(self._table.layout, keys, rows)
        errors: tuple[type[Exception], ...] = (exc.DBAPIError, *driver_errors())
        try:
            with self._table.connection.begin_nested():
                return self._write(page, mark, marks_all=marks_all)
        except errors as error:
            code = error_code(error)
            if self._expects_new and code in NOT_INSERTED:
                self._expects_new = False
                return self._upsert_group(keys, rows, mark, marks_all=marks_all)
            if self._can_stage(page) and code in NOT_MERGED:
                self._may_stage = False
                return self._upsert_group(keys, rows, mark, marks_all=marks_all)
            if not _is_row_error(error):
                raise
        if len(rows) == 1:
            return [Written(WriteOutcome.REFUSED, "", "refused_by_database")]
        half = len(rows) // 2
        return [
            *self._upsert_group(keys, rows[:half], mark, marks_all=marks_all),
            *self._upsert_group(keys, rows[half:], mark, marks_all=marks_all),
        ]

    def _can_stage(self, page: CheckedRows) -> bool:
        return self._may_stage and can_be_staged(self._table, page)

    def _write(
        self, page: CheckedRows, mark: RunMark, *, marks_all: bool
    ) -> list[Written]:
        if self._expects_new and self._table.is_own and page.may_all_be_new:
            return self._insert(page, mark)
        if not self._can_stage(page):
            return self._compare_and_write(page, mark, marks_all=marks_all)
        return self._staged_rows.merge(page, mark, marks_all=marks_all)

    def _insert(self, page: CheckedRows, mark: RunMark) -> list[Written]:
        self._statements.insert(page.names, page.rows, mark)
        return [CREATED] * len(page.rows)

    def _compare_and_write(
        self, page: CheckedRows, mark: RunMark, *, marks_all: bool
    ) -> list[Written]:
        # A row that others delete now would be inserted there by its changes alone.
        locks = self._table.vendor == MYSQL
        stored = find_stored(
            self._table, page.key_names, page.keys(), page.names, locks=locks
        )
        if not stored and page.may_all_be_new:
            return self._insert(page, mark)
        results: list[Written] = []
        new: list[StoredRow] = []
        updated: dict[int, StoredRow] = {}
        seen: list[int] = []
        for number in page.numbers:
            refused = page.refused.get(number)
            if refused:
                results.append(refused)
                continue
            row = page.rows[number]
            same = stored.get(page.key(number))
            if same is None:
                record = StoredRow.new(row, mark)
                stored[page.key(number)] = [record]
                new.append(record)
                results.append(CREATED)
                continue
            if len(same) > 1:
                results.append(rejected_write(page.key_names[0], "ambiguous"))
                continue
            record = same[0]
            changed = {
                name
                for name, value in row.items()
                if self._differs(name, record.values.get(name), value)
            }
            is_change = bool(changed) or record.archived_at is not None
            # In the order of the row, so that equal updates are one result.
            names = tuple([name for name in row if name in changed])
            results.append(written_update(names) if is_change else UNCHANGED)
            if is_change:
                self._note_earlier(page.key(number), record, names)
                record.values.update(row)
                record.changed |= changed
                record.archived_at = None
                if record.id is not None:
                    updated[record.id] = record
            elif record.id is not None and needs_mark(
                record, mark, marks_all=marks_all
            ):
                record.mark = mark
                seen.append(record.id)
        self._statements.insert(page.names, [record.values for record in new], mark)
        self._statements.update(page.key_names, list(updated.values()), mark)
        self._statements.mark(seen, mark)
        return results

    def _note_earlier(self, key: Key, record: StoredRow, names: Sequence[str]) -> None:
        """Note the values of a row before it is updated, the first time only."""
        if self._earlier is None:
            return
        values = {name: record.values.get(name) for name in names}
        if record.archived_at is not None:
            values[ARCHIVED_AT] = record.archived_at
        self._earlier[key] = {**values, **self._earlier.get(key, {})}

    def assign(self, values: Mapping[str, Row], mark: RunMark) -> set[str]:
        """Write values into rows by id, and mark these; return the ids of those done.

        One after the other, since the database may refuse a key that another row has.
        """
        assigned: list[int] = []
        for record in RowReader(self._table).by_id(values):
            row = values[record]
            faults = [
                column_faults(
                    self._table.layout.columns[self._table.require_column(name)],
                    [value],
                    is_key=True,
                )
                for name, value in row.items()
            ]
            if not any(faults) and self._assign_row(int(record), row):
                assigned.append(int(record))
        self._statements.mark(assigned, mark)
        return {*map(str, assigned)}

    def _assign_row(self, number: int, row: Row) -> bool:
        """Return whether the database accepts values for a row."""
        if not row:
            return True
        statement = update(self._table.clause).where(self._table.id == number)
        written = {
            name: bindparam(name, self._table.encode(name, value), Raw())
            for name, value in row.items()
        }
        errors: tuple[type[Exception], ...] = (exc.DBAPIError, *driver_errors())
        try:
            with self._table.connection.begin_nested():
                self._table.connection.execute(statement.values(written))
        except errors as error:
            if not _is_row_error(error):
                raise
            return False
        return True

    def _differs(self, name: str, before: object, after: object) -> bool:
        kind = self._table.layout.columns.get(name)
        if kind is not None and kind.kind is FieldKind.JSON and after is not None:
            after = comparable_json(after)
        return before != after or (before is None) != (after is None)


def _is_row_error(error: Exception) -> bool:
    """Whether a database refuses a row: other rows may succeed."""
    if isinstance(error, exc.IntegrityError | exc.DataError):
        return True
    code = error_code(error)
    if code.isdigit() and len(code) == 4:
        return code in MYSQL_ROW_CODES
    return code[:2] in ROW_CLASSES
