"""Rows that are missing upstream: counted, read, archived and deleted."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, select, update

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.text import Text
from outkey.sync.adapters.tables.feeds.feed_writer import FeedWriter
from outkey.sync.adapters.tables.layouts.layout import LINE, RUN
from outkey.sync.adapters.tables.open_table import GROUP, OpenTable
from outkey.sync.adapters.tables.rows.checked_rows import CheckedRows
from outkey.sync.adapters.tables.rows.row_ids import id_of
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import HostRecord, Unseen
from outkey.sync.core.mapping.targets import ARCHIVED_AT
from outkey.sync.ports.sync import Key


class MissingRows:
    """The rows of a table that a line brought, and a run has not seen."""

    def __init__(self, table: OpenTable, feed: FeedWriter | None = None) -> None:
        self._table = table
        self._feed = feed  # records what is archived and deleted

    def count(self, line: str, run: str) -> Unseen:
        """Return how many rows a line brought, and a run has not seen."""
        brought = self._brought(line)
        counts = select(func.count()).select_from(self._table.clause)
        missing = self._table.connection.execute(
            counts.where(self._missing(line, run))
        ).scalar_one()
        total = self._table.connection.execute(counts.where(brought)).scalar_one()
        return Unseen(int(missing), int(total))

    def read(self, line: str, run: str, after: str, limit: int) -> list[HostRecord]:
        """Lock and return the next of what a line brought and a run has not seen."""
        names = list(self._table.layout.columns)
        query = select(self._table.id, *map(self._table.result_column, names))
        query = query.where(self._missing(line, run))
        if after:
            query = query.where(self._table.id > id_of(after))
        query = query.order_by(self._table.id).limit(limit).with_for_update()
        return [
            HostRecord(str(number), self._table.decode_row(names, values))
            for number, *values in self._table.connection.execute(query)
        ]

    def rename_line(self, line: str, new_name: str) -> None:
        """Let all rows that a line brought, archived ones too, have its new name."""
        columns = self._table.columns
        statement = update(self._table.clause).where(columns[LINE] == line)
        self._table.connection.execute(statement.values({LINE: new_name}))

    def retire(self, line: str, run: str, gone: Gone) -> int:
        """Archive or delete what a line brought and a run has not seen."""
        missing = self._missing(line, run)
        if gone is not Gone.DELETE and not self._table.layout.archives:
            raise ConfigError(
                Text("records of this table cannot be archived"),
                hint=Text("Run a line with gone = archive first."),
                field="gone",
            )
        if self._feed is None:
            return self._retire(missing, gone)
        count = 0
        # None of them is missing any more when it was archived or deleted.
        query = select(self._table.id).where(missing).order_by(self._table.id)
        while ids := self._table.connection.scalars(query.limit(GROUP)).all():
            if gone is Gone.DELETE:
                self._feed.record_deletion(ids)
            count += self._retire(self._table.id.in_(ids), gone)
            if gone is not Gone.DELETE:
                self._feed.record_archiving(ids)
        return count

    def _retire(self, condition: ColumnElement[bool], gone: Gone) -> int:
        """Archive or delete rows by a condition; return how many."""
        if gone is Gone.DELETE:
            statement: Any = delete(self._table.clause)
        else:
            now = self._table.encode(ARCHIVED_AT, datetime.now(UTC))
            statement = update(self._table.clause).values({ARCHIVED_AT: now})
        result = self._table.connection.execute(statement.where(condition))
        return int(result.rowcount)

    def delete_children(
        self,
        parent: Sequence[str],
        keys: Sequence[str],
        kept: Mapping[Key, Collection[Key]],
    ) -> int:
        """Delete the children of these parents whose keys are not in `kept`."""
        names = [self._table.require_column(name) for name in (*parent, *keys)]
        # A key that the columns cannot hold is that of no row.
        rows = [dict(zip(parent, of_parent, strict=True)) for of_parent in kept]
        parents = CheckedRows.of(self._table.layout, parent, rows).keys()
        missing: list[int] = []
        for group in groups_of(parents, GROUP):
            query = select(
                self._table.id, *map(self._table.result_column, names)
            ).where(self._table.is_among(parent, group))
            for number, *values in self._table.connection.execute(query):
                of_row = [
                    self._table.decode(name, value)
                    for name, value in zip(names, values, strict=True)
                ]
                # A database may find other parents too, as ABC for abc.
                stays = kept.get(tuple(of_row[: len(parent)]))
                if stays is not None and tuple(of_row[len(parent) :]) not in stays:
                    missing.append(number)
        for ids in groups_of(missing, GROUP):
            if self._feed is not None:
                self._feed.record_deletion(ids)
            self._table.connection.execute(
                delete(self._table.clause).where(self._table.id.in_(ids))
            )
        return len(missing)

    def _missing(self, line: str, run: str) -> ColumnElement[bool]:
        return and_(self._brought(line), self._table.columns[RUN] != run)

    def _brought(self, line: str) -> ColumnElement[bool]:
        of_line = self._table.columns[LINE] == line
        if not self._table.layout.archives:
            return of_line
        return and_(of_line, self._table.columns[ARCHIVED_AT].is_(None))
