"""Ledgers of pushes, in fixed SQL: a run reads every entry."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter

from django.db import DatabaseError, connection

from outkey.foundation.adapters.postgresql_text import array_literal
from outkey.foundation.core.errors import RowUnreadable, unknown_line
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.stored_values import is_odd, read_count, read_text
from outkey.foundation.core.text import Text
from outkey.hosts.django.models import SyncLine
from outkey.hosts.django.rows.raw_sql import execute, wrap_errors_of_methods
from outkey.hosts.django.rows.sql_lists import text_list
from outkey.sync.core.push.ledger import LedgerEntry

GROUP = 1000  # entries of one statement
NAMES = tuple(field.name for field in fields(LedgerEntry))
VALUES = attrgetter(*NAMES)
COLUMNS = ", ".join(NAMES)
OF_LINE = "line_id = (SELECT id FROM outkey_syncline WHERE name = %s)"
LISTS = {
    "sqlite": "SELECT value FROM json_each(%s)",
    "postgresql": "SELECT unnest(%s::text[])",
}
READ = {
    vendor: (
        f"SELECT {COLUMNS} FROM outkey_ledger"  # noqa: S608 - constants
        f" WHERE {OF_LINE} AND record IN ({listed})"
    )
    for vendor, listed in LISTS.items()
}
AFTER = (
    f"SELECT {COLUMNS} FROM outkey_ledger WHERE {OF_LINE} AND record > %s"  # noqa: S608 - constants
    " ORDER BY record LIMIT %s"
)
# Both conditions on texts are those of partial indexes.
BY_REMOTE_ID = {
    vendor: (
        f"SELECT {COLUMNS} FROM outkey_ledger"  # noqa: S608 - constants
        f" WHERE {OF_LINE} AND remote_id <> '' AND remote_id IN ({listed})"
    )
    for vendor, listed in LISTS.items()
}
ANNOUNCED = (
    f"SELECT {COLUMNS} FROM outkey_ledger WHERE {OF_LINE} AND record > %s"  # noqa: S608 - constants
    " AND key <> '' ORDER BY record LIMIT %s"
)
ASSIGNMENTS = ", ".join(f"{name} = excluded.{name}" for name in NAMES[1:])
# A parameter for each column, or one for all: their number does not depend on the
# entries.
EXTRACTS = ", ".join(
    f"json_extract(value, '$[{number}]')" for number in range(len(NAMES))
)
ROWS = {
    "sqlite": (
        f"SELECT %s, {EXTRACTS} FROM json_each(%s) WHERE true"  # noqa: S608 - constants
    ),
    "postgresql": (
        "SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::text[], %s::boolean[],"
        " %s::integer[], %s::text[], %s::text[])"
    ),
}
PUT = {
    vendor: (
        f"INSERT INTO outkey_ledger (line_id, {COLUMNS}) {rows}"
        f" ON CONFLICT (line_id, record) DO UPDATE SET {ASSIGNMENTS}"
    )
    for vendor, rows in ROWS.items()
}


@wrap_errors_of_methods
class DjangoLedgerRows:
    """One row for each record of a line; they belong to the line."""

    def read(self, line: str, records: Collection[str]) -> dict[str, LedgerEntry]:
        vendor = connection.vendor
        listed = text_list(vendor, list(records))
        rows = execute(READ[vendor], (line, listed)).fetchall()
        return {entry.record: entry for entry in map(_entry_of, rows)}

    def put(self, line: str, entries: Sequence[LedgerEntry]) -> None:
        if not entries:
            return
        line_id = SyncLine.objects.filter(name=line).values_list("pk", flat=True)
        number = line_id.first()
        if number is None:
            raise unknown_line()
        written = 0
        for parameters in _upsert_parameters(connection.vendor, entries):
            statement = PUT[connection.vendor]
            written += execute(statement, (number, *parameters)).rowcount
        if written != len(entries):
            # A create that is not written down would be sent twice.
            raise DatabaseError("the database did not store all entries")

    def after(self, line: str, record: str, limit: int) -> list[LedgerEntry]:
        rows = execute(AFTER, (line, record, limit)).fetchall()
        return list(map(_entry_of, rows))

    def by_remote_id(
        self, line: str, remote_ids: Collection[str]
    ) -> dict[str, LedgerEntry]:
        vendor = connection.vendor
        listed = text_list(vendor, list(remote_ids))
        rows = execute(BY_REMOTE_ID[vendor], (line, listed)).fetchall()
        return {entry.remote_id: entry for entry in map(_entry_of, rows)}

    def announced(self, line: str, record: str, limit: int) -> list[LedgerEntry]:
        rows = execute(ANNOUNCED, (line, record, limit)).fetchall()
        return list(map(_entry_of, rows))


def _upsert_parameters(
    vendor: str, entries: Sequence[LedgerEntry]
) -> Iterator[list[object]]:
    """Yield the parameters of the statements that write entries."""
    for group in groups_of(entries, GROUP):
        rows = list(map(VALUES, group))
        if vendor == "sqlite":
            yield [json.dumps(rows)]
        else:
            yield [array_literal(column) for column in zip(*rows, strict=True)]


def _entry_of(row: Sequence[object]) -> LedgerEntry:
    """Return an entry as core has it; SQLite has no booleans."""
    record, digest, remote_id, is_deleted, creations, key, sent = row
    entry = LedgerEntry(
        record=read_text(record),
        digest=read_text(digest),
        remote_id=read_text(remote_id),
        is_deleted=bool(is_deleted),
        creations=read_count(creations),
        key=read_text(key),
        sent=read_text(sent),
    )
    if is_odd(*VALUES(entry)):
        # A push must not guess what it has sent.
        raise RowUnreadable(Text("what was sent of a record cannot be read"))
    return entry
