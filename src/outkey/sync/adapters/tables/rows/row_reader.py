"""Reading the rows of a table: in order, by key, by id and by a value."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, cast, false, func, literal, select
from sqlalchemy import Text as SqlText

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.text import Text
from outkey.sync.adapters.tables.open_table import GROUP, OpenTable
from outkey.sync.adapters.tables.rows.checked_rows import CheckedRows
from outkey.sync.adapters.tables.rows.row_ids import id_of, is_id
from outkey.sync.adapters.tables.rows.stored_rows import find_stored
from outkey.sync.core.mapping.column_values import (
    ColumnType,
    column_faults,
    int_or_none,
)
from outkey.sync.core.mapping.filters import Equal, Span, Wanted
from outkey.sync.core.mapping.records import FieldKind, HostRecord
from outkey.sync.core.mapping.row_changes import ROW_ID
from outkey.sync.core.mapping.shape import value_text
from outkey.sync.core.mapping.targets import ARCHIVED_AT
from outkey.sync.ports.sync import NOTHING, Key


class RowReader:
    """Reads the rows of a table."""

    def __init__(self, table: OpenTable) -> None:
        self._table = table

    def read(
        self,
        after: str,
        limit: int,
        *,
        with_archived: bool = False,
        wanted: Mapping[str, Wanted] = NOTHING,
    ) -> list[HostRecord]:
        """Return the next rows after an id, ordered by id."""
        query = self._query(with_archived=with_archived)
        query = query.where(*self._conditions(after, wanted)).limit(limit)
        if self._table.layout.archives and not with_archived:
            query = query.where(self._table.columns[ARCHIVED_AT].is_(None))
        names = self._names(with_archived=with_archived)
        return [
            HostRecord(str(number), self._table.decode_row(names, values))
            for number, *values in self._table.connection.execute(query)
        ]

    def whole(self, condition: ColumnElement[bool]) -> list[dict[str, object]]:
        """Return rows by a condition, archived ones too, with their IDs."""
        query = self._query(with_archived=True).where(condition)
        rows = self._table.connection.execute(query).all()
        names = (ROW_ID, *self._names(with_archived=True))
        columns = [
            self._table.decode_column(name, values)
            for name, values in zip(names, zip(*rows, strict=True), strict=bool(rows))
        ]
        return [
            dict(zip(names, values, strict=True))
            for values in zip(*columns, strict=True)
        ]

    def _names(self, *, with_archived: bool) -> list[str]:
        """Return the columns of rows, with the time of archiving if it is wanted."""
        has_time = self._table.layout.archives and with_archived
        first = [ARCHIVED_AT] if has_time else []
        return [*first, *self._table.layout.columns]

    def _query(self, *, with_archived: bool) -> Select[Any]:
        names = self._names(with_archived=with_archived)
        columns = map(self._table.result_column, names)
        return select(self._table.id, *columns).order_by(self._table.id)

    def count(self, after: str = "", wanted: Mapping[str, Wanted] = NOTHING) -> int:
        """Return how many rows there are after an id, archived ones too."""
        query = select(func.count()).select_from(self._table.clause)
        query = query.where(*self._conditions(after, wanted))
        return int(self._table.connection.execute(query).scalar_one())

    def _conditions(
        self, after: str, wanted: Mapping[str, Wanted]
    ) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions for the wanted rows after an id."""
        if after:
            yield self._table.id > id_of(after)
        for name, value in wanted.items():
            yield self._has(self._table.require_column(name), value)

    def _has(self, name: str, wanted: Wanted) -> ColumnElement[bool]:
        """Return the condition that a column has a value or contains a text."""
        column = self._table.columns[name]
        if isinstance(wanted, Span):
            first, end = (
                self._table.encode(name, moment)
                for moment in (wanted.first, wanted.end)
            )
            return and_(column >= first, column < end)
        if isinstance(wanted, Equal):
            kind = self._table.layout.columns[name]
            value = _fitting_value(kind, wanted)
            return (
                false() if value is None else column == self._table.encode(name, value)
            )
        pattern = "%" + _escape_pattern(wanted) + "%"
        shown = func.lower(cast(column, SqlText()))
        return shown.like(func.lower(literal(pattern)), escape="!")

    def find(self, name: str, values: Sequence[object]) -> dict[object, object]:
        """Return the id of the one row that has each value in a column, by value."""
        kind = self._table.layout.columns[self._table.require_column(name)].kind
        if kind is FieldKind.JSON:
            raise ConfigError(Text("records cannot be found by this field"), field=name)
        wanted: dict[object, list[object]] = {}  # the values by what the column stores
        for value in values:
            stored = _searched_value(self._table.layout.columns[name], value)
            if stored not in (None, ""):
                wanted.setdefault(stored, []).append(value)
        ids: dict[object, list[object]] = {}
        for group in groups_of(wanted, GROUP):
            query = select(self._table.id, self._table.result_column(name)).where(
                self._table.is_among([name], [(value,) for value in group])
            )
            for number, stored in self._table.connection.execute(query):
                value = self._table.decode(name, stored)
                ids.setdefault(value, []).append(number)
        return {
            value: ids[stored][0]
            for stored, same in wanted.items()
            for value in same
            if len(ids.get(stored, ())) == 1
        }

    def matching(
        self, keys: Sequence[str], values: Sequence[Key]
    ) -> dict[Key, HostRecord]:
        """Return the one row with each of these keys, archived or not, and lock it."""
        records: dict[Key, HostRecord] = {}
        names = list(self._table.layout.columns)
        for group in groups_of(values, GROUP):
            rows = [dict(zip(keys, key, strict=True)) for key in group]
            # A key that the columns cannot hold is found in no row.
            wanted = CheckedRows.of(self._table.layout, keys, rows).keys()
            stored = find_stored(self._table, keys, wanted, names, locks=True)
            records |= {
                key: HostRecord(str(same[0].id), same[0].values)
                for key, same in stored.items()
                if len(same) == 1
            }
        return records

    def by_id(self, ids: Collection[str]) -> dict[str, HostRecord]:
        """Return the rows with these ids, archived or not, and lock them."""
        records: dict[str, HostRecord] = {}
        names = list(self._table.layout.columns)
        numbers = sorted(int(number) for number in ids if is_id(number))
        for group in groups_of(numbers, GROUP):
            query = select(self._table.id, *map(self._table.result_column, names))
            query = query.where(self._table.id.in_(group)).with_for_update()
            for number, *values in self._table.connection.execute(query):
                record = HostRecord(str(number), self._table.decode_row(names, values))
                records[record.id] = record
        return records

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of these ids whose rows exist and are not archived.

        Rows that were lost with an earlier table are among them: they were not deleted.
        """
        present: set[str] = set()
        numbers = [int(number) for number in ids if is_id(number)]
        first = self._table.layout.first_id
        lost = {number for number in numbers if number < first}
        columns = [self._table.id, *self._table.archive_columns]
        for group in groups_of(numbers, GROUP):
            query = select(*columns).where(self._table.id.in_(group))
            for number, *moments in self._table.connection.execute(query):
                lost.discard(number)
                if not any(moments):
                    present.add(str(number))
        return present | {*map(str, lost)}


def _searched_value(kind: ColumnType, value: object) -> object:
    """Return a value as a column of this kind has it; None if it has none such.

    An API may write a number as text, or the other way round.
    """
    if kind.kind is FieldKind.TEXT:
        return value_text(value)
    is_number = kind.kind in {FieldKind.NUMBER, FieldKind.LINK}
    if is_number and isinstance(value, str):
        return int(value) if is_id(value.removeprefix("-")) else None
    faults = column_faults(kind, [value], is_key=True)
    return None if faults else value


def _fitting_value(kind: ColumnType, wanted: Equal) -> object:
    """Return a value as a column of this kind has it; None if it cannot have it."""
    is_whole = kind.kind in {FieldKind.NUMBER, FieldKind.LINK}
    if is_whole and isinstance(wanted.value, Decimal):
        return int_or_none(wanted.value)
    faults = column_faults(kind, [wanted.value], is_key=True)
    return None if faults else wanted.value


def _escape_pattern(text: str) -> str:
    """Return a text as a pattern that finds it and nothing else."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
