"""Reading and pruning the recorded changes of tables."""

import json
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.engine import Connection

from outkey.sync.adapters.tables.databases import TableDatabase
from outkey.sync.adapters.tables.feeds.feed_tables import (
    CHANGES,
    FEEDS,
    FeedHead,
    has_feeds,
    read_head,
)
from outkey.sync.adapters.tables.layouts.layout import TablePlace
from outkey.sync.core.mapping.row_changes import (
    ChangeKind,
    ChangesPage,
    Cursor,
    RecordedChange,
    cursor_expired,
)

PRUNE_BATCH = 10_000  # changes that one transaction deletes


def read_changes(
    connection: Connection, head: FeedHead, after: Cursor | None, limit: int
) -> ChangesPage:
    """Return the next changes after a cursor; without one, the oldest.

    Their numbers have no gap. Where there is one, changes were deleted: CursorExpired.
    """
    first = after or Cursor(head.feed, head.pruned)
    if first.feed != head.feed or not head.pruned <= first.number <= head.last:
        raise cursor_expired()
    query = (
        select(*CHANGES.columns)
        .where(CHANGES.c.feed == head.feed, CHANGES.c.number > first.number)
        .where(CHANGES.c.number <= head.last)
        .order_by(CHANGES.c.number)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    changes = [
        _recorded_change(row)
        for number, row in enumerate(rows, first.number + 1)
        if row.number == number
    ]
    if not changes and first.number < head.last:
        raise cursor_expired()
    following = changes[-1].cursor if changes else first
    return ChangesPage(changes, following, more=following.number < head.last)


def _recorded_change(row: Any) -> RecordedChange:  # noqa: ANN401 - of CHANGES
    return RecordedChange(
        Cursor(row.feed, row.number),
        ChangeKind(row.kind),
        row.at,
        key=json.loads(row.row_key),
        row=json.loads(row.row_after or "null"),
        before=json.loads(row.row_before or "null"),
    )


def prune_feeds(database: TableDatabase, before: float) -> None:
    """Delete the changes from before a Unix time, and those of feeds that have ended.

    In transactions of bounded size, between which runs write.
    """
    with database.connect() as connection:
        if not has_feeds(connection):
            return
        feeds = list(_recorded_feeds(connection))
    for feed in feeds:
        while database.repeat(lambda connection: _prune(connection, feed, before)):  # noqa: B023 - called at once
            pass


def _recorded_feeds(connection: Connection) -> Iterator[str]:
    """Yield the feeds that have changes; each is found by the index of their names."""
    feed = connection.execute(select(func.min(CHANGES.c.feed))).scalar()
    while feed is not None:
        yield feed
        query = select(func.min(CHANGES.c.feed)).where(CHANGES.c.feed > feed)
        feed = connection.execute(query).scalar()


def _prune(connection: Connection, feed: str, before: float) -> bool:
    """Delete the oldest changes of a feed; return whether there may be more."""
    current = select(FEEDS.c.name).where(FEEDS.c.feed == feed).with_for_update()
    is_current = connection.execute(current).first() is not None
    of_feed = CHANGES.c.feed == feed
    query = select(CHANGES.c.number, CHANGES.c.at).where(of_feed)
    rows = connection.execute(query.order_by(CHANGES.c.number).limit(PRUNE_BATCH)).all()
    numbers = [
        number
        for number, _ in takewhile(lambda row: row.at < before or not is_current, rows)
    ]
    if not numbers:
        return False
    head = update(FEEDS).where(FEEDS.c.feed == feed)
    connection.execute(head.values(pruned=numbers[-1]))
    connection.execute(delete(CHANGES).where(of_feed, CHANGES.c.number <= numbers[-1]))
    return len(numbers) == PRUNE_BATCH


def head_of(connection: Connection, place: TablePlace) -> FeedHead | None:
    """Return the head of a table's feed; None if its database has no feeds."""
    return read_head(connection, place) if has_feeds(connection) else None
