"""Rows as they are stored, and the mark of the run that has seen them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import select

from outkey.sync.adapters.tables.layouts.layout import LINE, RUN
from outkey.sync.adapters.tables.open_table import OpenTable
from outkey.sync.core.mapping.targets import ARCHIVED_AT
from outkey.sync.ports.sync import Key

# Of rows that are updated, by key: the values of changed fields that they had.
Earlier = dict[Key, dict[str, object]]


class RunMark(NamedTuple):
    """The line that brings a record, and the run that sees it."""

    line: str
    run: str


@dataclass(slots=True)
class StoredRow:
    """A row as it is stored, or as it will be."""

    id: int | None  # None: it is new
    mark: RunMark | None
    archived_at: object  # None: it is not archived
    values: dict[str, object]
    changed: set[str] = field(default_factory=set)

    @classmethod
    def new(cls, row: Mapping[str, object], mark: RunMark | None) -> "StoredRow":
        """Return a row that is not stored yet."""
        return cls(id=None, mark=mark, archived_at=None, values=dict(row))


def find_stored(
    table: OpenTable,
    keys: Sequence[str],
    wanted: Collection[Key],
    names: Sequence[str],
    *,
    locks: bool = False,
) -> dict[Key, list[StoredRow]]:
    """Return the rows that have these keys, by key; locked if wanted."""
    if not wanted:
        return {}
    archived_at = table.archive_columns
    query = select(
        table.id,
        table.columns[LINE],
        table.columns[RUN],
        *archived_at,
        *map(table.result_column, names),
    ).where(table.is_among(keys, wanted))
    if locks:  # SQLite has no such clause: it locks the whole database
        query = query.with_for_update()
    rows: dict[Key, list[StoredRow]] = {}
    first = 3 + len(archived_at)
    for row in table.connection.execute(query):
        values = table.decode_row(names, row[first:])
        moment = table.decode(ARCHIVED_AT, row[3]) if archived_at else None
        record = StoredRow(row[0], RunMark(row[1], row[2]), moment, values)
        rows.setdefault(tuple(values[name] for name in keys), []).append(record)
    return rows


def needs_mark(record: StoredRow, mark: RunMark, *, marks_all: bool) -> bool:
    """Whether it has to be stored that a run has seen an unchanged row.

    The last line that brings a record owns it, so that no other archives it.
    """
    if record.mark is None or record.mark.line != mark.line:
        return True
    return marks_all and record.mark.run != mark.run
