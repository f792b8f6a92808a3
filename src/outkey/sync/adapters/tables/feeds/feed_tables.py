"""The tables of feeds, and when a feed begins and ends.

They are in the database of the rows, so that a change is committed with its row. The
head of a feed has the number of its last change. Each transaction that writes the table
locks the head before it writes: so numbers have no gap, and are committed in their
order. A transaction that writes without recording, since it began before the feed,
has locked the table against `start_feed`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    MetaData,
    String,
    Table,
    delete,
    insert,
    inspect,
    select,
)
from sqlalchemy import Text as LongText
from sqlalchemy.dialects.mysql import LONGTEXT, VARCHAR
from sqlalchemy.engine import Connection

from outkey.sync.adapters.tables.layouts.column_types import MYSQL, POSTGRESQL, SQLITE
from outkey.sync.adapters.tables.layouts.layout import TablePlace
from outkey.sync.adapters.tables.layouts.table_plan import preparation_lock
from outkey.sync.core.mapping.row_changes import FEED_TABLES

_TABLES = MetaData()
_JSON = LongText().with_variant(LONGTEXT(charset="utf8mb4"), MYSQL)


def _name_column(name: str, length: int) -> Column[str]:
    """Return a column of names, in which case matters."""
    exact = VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return Column(name, String(length).with_variant(exact, MYSQL), primary_key=True)


FEEDS = Table(
    FEED_TABLES[0],
    _TABLES,
    _name_column("name", 130),  # of a table with its schema
    Column("feed", String(32), nullable=False),
    Column("last", BigInteger, nullable=False),  # the number of the last change
    Column("pruned", BigInteger, nullable=False),  # changes up to it are deleted
    mysql_engine="InnoDB",
)
CHANGES = Table(
    FEED_TABLES[1],
    _TABLES,
    _name_column("feed", 32),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(8), nullable=False),
    Column("at", Double, nullable=False),  # Unix time
    Column("row_key", _JSON, nullable=False),
    Column("row_after", _JSON),
    Column("row_before", _JSON),
    mysql_engine="InnoDB",
    sqlite_with_rowid=False,
)


class FeedHead(NamedTuple):
    """The state of a feed."""

    feed: str
    last: int
    pruned: int


def feed_name(place: TablePlace) -> str:
    """Return the name of a table among the heads of feeds."""
    return ".".join(filter(None, (place.schema, place.table)))


def read_head(
    connection: Connection, place: TablePlace, *, locks: bool = False
) -> FeedHead | None:
    """Return the head of a table's feed; None if it has none."""
    query = select(FEEDS.c.feed, FEEDS.c.last, FEEDS.c.pruned)
    query = query.where(FEEDS.c.name == feed_name(place))
    row = connection.execute(query.with_for_update() if locks else query).one_or_none()
    return None if row is None else FeedHead(*row)


def has_feeds(connection: Connection) -> bool:
    """Whether a database has the tables of feeds."""
    return inspect(connection).has_table(CHANGES.name)


def lock_for_writing(connection: Connection, place: TablePlace) -> None:
    """Let no feed of a table begin before the transaction ends.

    Only then it is known whether its writes must be recorded. A transaction of SQLite
    is alone in any case.
    """
    if connection.dialect.name != SQLITE:
        name = _quoted(connection, place)
        connection.exec_driver_sql(f"SELECT 1 FROM {name} LIMIT 0 FOR UPDATE")  # noqa: S608 - quoted


def start_feed(connection: Connection, place: TablePlace) -> None:
    """Begin the feed of a table, if it has none; `prepare_feed` came before it.

    What began to write the table without recording has ended by then.
    """
    with preparation_lock(connection, TablePlace(FEEDS.name, None)):
        if read_head(connection, place) is not None:
            return
        with _locked_table(connection, place):
            connection.execute(
                insert(FEEDS).values(
                    name=feed_name(place), feed=token_hex(6), last=0, pruned=0
                )
            )


def prepare_feed(connection: Connection, place: TablePlace) -> None:
    """Make the tables of feeds, in which an earlier feed of the table has ended."""
    with preparation_lock(connection, TablePlace(FEEDS.name, None)):
        for table in (FEEDS, CHANGES):
            table.create(connection, checkfirst=True)
        end_feed(connection, place)


def end_feed(connection: Connection, place: TablePlace) -> None:
    """End the feed of a table; its changes are deleted when others are pruned."""
    connection.execute(delete(FEEDS).where(FEEDS.c.name == feed_name(place)))


@contextmanager
def _locked_table(connection: Connection, place: TablePlace) -> Iterator[None]:
    """Wait for the transactions that write a table, and let others wait."""
    vendor = connection.dialect.name
    if vendor == SQLITE or not inspect(connection).has_table(place.table, place.schema):
        yield
        return
    name = _quoted(connection, place)
    if vendor == POSTGRESQL:
        connection.exec_driver_sql(f"LOCK TABLE {name} IN EXCLUSIVE MODE")
        yield
        return
    connection.exec_driver_sql(f"LOCK TABLES {name} WRITE, {FEEDS.name} WRITE")
    try:
        yield
    finally:
        connection.exec_driver_sql("UNLOCK TABLES")  # and commit


def _quoted(connection: Connection, place: TablePlace) -> str:
    quote = connection.dialect.identifier_preparer.quote_identifier
    return ".".join(quote(part) for part in (place.schema, place.table) if part)
