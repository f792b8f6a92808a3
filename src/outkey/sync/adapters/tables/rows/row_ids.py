"""The numbers of rows: those that outkey gives, and as texts."""

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sync.adapters.tables.layouts.layout import (
    CREATE_COUNTERS,
    ID,
    ID_COUNTERS,
    ROWID,
)
from outkey.sync.adapters.tables.open_table import OpenTable


def fill_ids(table: OpenTable) -> None:
    """Assign IDs to rows that other programs inserted; no number is used again."""
    if not table.layout.fills_ids:
        return
    execute = table.connection.exec_driver_sql
    preparer = table.connection.dialect.identifier_preparer
    place = preparer.format_table(table.clause)
    number = preparer.quote_identifier(ID)
    lacking = f"FROM {place} WHERE {number} IS NULL"
    if not execute(f"SELECT 1 {lacking} LIMIT 1").all():
        return
    execute(CREATE_COUNTERS)
    last = execute(
        f"SELECT max(coalesce((SELECT last FROM {ID_COUNTERS} WHERE name = ?), 0),"  # noqa: S608 - quoted names
        f" coalesce((SELECT max({number}) FROM {place}), 0), ?)",
        (table.place.table, table.layout.first_id - 1),
    ).scalar_one()
    filled = execute(
        f"UPDATE {place} SET {number} = ? + numbered.place FROM (SELECT {ROWID}"  # noqa: S608 - quoted names
        f" AS row, row_number() OVER (ORDER BY {ROWID}) AS place {lacking})"
        f" AS numbered WHERE {place}.{ROWID} = numbered.row",
        (last,),
    ).rowcount
    execute(
        f"INSERT INTO {ID_COUNTERS} VALUES (?, ?) ON CONFLICT (name)"  # noqa: S608 - quoted names
        " DO UPDATE SET last = excluded.last",
        (table.place.table, last + filled),
    )


def is_id(text: str) -> bool:
    """Whether a text is the id of a row."""
    return text.isascii() and text.isdigit() and len(text) < 19


def id_of(text: str) -> int:
    """Return the id of a row, or raise ConfigError."""
    if not is_id(text):
        raise ConfigError(
            Text("this is not the ID of a record"),
            hint=Text("Use an outkey_id that the table shows, such as 20."),
            field="after",
        )
    return int(text)
