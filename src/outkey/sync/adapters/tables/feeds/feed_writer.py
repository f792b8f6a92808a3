"""Recording the changes of a table's rows, in the transaction that writes them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import insert, update

from outkey.foundation.core.groups import groups_of
from outkey.sync.adapters.tables.feeds.feed_tables import (
    CHANGES,
    FEEDS,
    feed_name,
    read_head,
)
from outkey.sync.adapters.tables.layouts.column_types import POSTGRESQL
from outkey.sync.adapters.tables.open_table import GROUP, OpenTable
from outkey.sync.adapters.tables.rows.row_reader import RowReader
from outkey.sync.adapters.tables.rows.row_statements import copy_rows
from outkey.sync.adapters.tables.rows.stored_rows import Earlier
from outkey.sync.core.mapping.records import WriteOutcome, Written
from outkey.sync.core.mapping.row_changes import (
    ROW_ID,
    ChangeKind,
    Row,
    RowChange,
    changed_fields,
    row_json,
)
from outkey.sync.core.mapping.targets import ARCHIVED_AT
from outkey.sync.ports.sync import Key


class FeedWriter:
    """Records changes of one table, whose feed is locked until the transaction ends."""

    def __init__(self, table: OpenTable, feed: str, last: int) -> None:
        self._table = table
        self._feed = feed
        self._last = last

    def record_upsert(
        self,
        keys: Sequence[str],
        rows: Sequence[Row],
        results: Sequence[Written],
        earlier: Earlier,
    ) -> None:
        """Record what an upsert has written.

        A row that a page writes several times has changed once.
        """
        befores: dict[Key, Row | None] = {}
        for row, written in zip(rows, results, strict=True):
            key = tuple([row[name] for name in keys])
            if written.outcome is WriteOutcome.CREATED:
                befores[key] = None
            elif written.outcome is WriteOutcome.UPDATED and key not in befores:
                befores[key] = earlier[key]
        if not befores:
            return
        stored = self._by_key(keys, befores)
        self._record(
            RowChange(
                ChangeKind.ADDED if before is None else ChangeKind.CHANGED,
                self._key(stored[key]),
                stored[key],
                before,
            )
            for key, before in befores.items()
            if key in stored
        )

    def record_deletion(self, ids: Sequence[int]) -> None:
        """Record that rows are deleted; they are there still."""
        self._record(
            RowChange(ChangeKind.DELETED, self._key(row), None, row)
            for row in self.rows(ids).values()
        )

    def record_archiving(self, ids: Sequence[int]) -> None:
        """Record that rows were archived."""
        self._record(
            RowChange(ChangeKind.ARCHIVED, self._key(row), row, {ARCHIVED_AT: None})
            for row in self.rows(ids).values()
        )

    def record_update(self, before: Mapping[int, Row]) -> None:
        """Record what has changed of rows; one with another key is another record."""
        changes: list[RowChange] = []
        for number, row in self.rows(before).items():
            old = before[number]
            key = self._key(row)
            if self._key(old) != key:
                deletion = RowChange(ChangeKind.DELETED, self._key(old), None, old)
                changes += [deletion, RowChange(ChangeKind.ADDED, key, row, None)]
            elif fields := changed_fields(old, row):
                changes.append(RowChange(ChangeKind.CHANGED, key, row, fields))
        self._record(changes)

    def rows(self, ids: Collection[int]) -> dict[int, Row]:
        """Return rows as readers see them, by ID."""
        reader = RowReader(self._table)
        return {
            int(str(row[ROW_ID])): row
            for group in groups_of(sorted(ids), GROUP)
            for row in reader.whole(self._table.id.in_(group))
        }

    def _by_key(self, keys: Sequence[str], wanted: Collection[Key]) -> dict[Key, Row]:
        reader = RowReader(self._table)
        return {
            tuple([row[name] for name in keys]): row
            for group in groups_of(list(wanted), GROUP)
            for row in reader.whole(self._table.is_among(keys, group))
        }

    def _key(self, row: Row) -> Row:
        return {name: row[name] for name in self._table.layout.keys}

    def _record(self, changes: Iterable[RowChange]) -> None:
        now = datetime.now(UTC).timestamp()
        recorded = [
            (
                self._feed,
                number,
                str(change.kind),
                now,
                row_json(change.key),
                row_json(change.row),
                row_json(change.before),
            )
            for number, change in enumerate(changes, self._last + 1)
        ]
        if not recorded:
            return
        connection = self._table.connection
        names = CHANGES.columns.keys()
        if self._table.vendor == POSTGRESQL:
            columns = list(map(list, zip(*recorded, strict=True)))
            copy_rows(self._table, CHANGES.name, names, columns)
        else:
            rows = [dict(zip(names, values, strict=True)) for values in recorded]
            connection.execute(insert(CHANGES), rows)
        self._last += len(recorded)
        head = update(FEEDS).where(FEEDS.c.name == feed_name(self._table.place))
        connection.execute(head.values(last=self._last))


def lock_feed(table: OpenTable) -> FeedWriter | None:
    """Lock the feed of a table, to be done before any of its rows is locked.

    None if the feed has not begun yet: nobody has a cursor of it.
    """
    head = read_head(table.connection, table.place, locks=True)
    return None if head is None else FeedWriter(table, head.feed, head.last)
