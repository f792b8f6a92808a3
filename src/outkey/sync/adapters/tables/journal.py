"""The journal of a pair's pull, in the database of its records."""

from sqlalchemy import Column, MetaData, String, Table, delete, insert, select
from sqlalchemy import Text as LongText
from sqlalchemy.dialects.mysql import LONGTEXT, VARCHAR
from sqlalchemy.engine import Connection

from outkey.sync.adapters.tables.layouts.column_types import MYSQL

JOURNAL = Table(
    "outkey_journal",
    MetaData(),
    # As the names of lines: case matters.
    Column(
        "line",
        String(255).with_variant(VARCHAR(255, collation="utf8mb4_bin"), MYSQL),
        primary_key=True,
    ),
    Column("body", LongText().with_variant(LONGTEXT(), MYSQL), nullable=False),
)


def read_journal(connection: Connection, line: str) -> str:
    """Return the journal of a line; "" if it has none."""
    JOURNAL.create(connection, checkfirst=True)
    query = select(JOURNAL.c.body).where(JOURNAL.c.line == line)
    return connection.execute(query).scalar() or ""


def write_journal(connection: Connection, line: str, text: str) -> None:
    """Replace the journal of a line, or delete it if the text is empty."""
    connection.execute(delete(JOURNAL).where(JOURNAL.c.line == line))
    if text:
        connection.execute(insert(JOURNAL).values(line=line, body=text))
