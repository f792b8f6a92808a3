"""Marks: which run of a line has seen a record last."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection

from outkey.foundation.core.stored_values import read_count
from outkey.hosts.django.records.open_model import OpenModel
from outkey.hosts.django.rows.raw_sql import execute
from outkey.hosts.django.rows.sql_lists import text_list

LISTS = {"sqlite": "json_each(%s)", "postgresql": "unnest(%s::text[])"}
MARKING_STATEMENTS = {
    vendor: (
        "INSERT INTO outkey_syncmark (line_id, target, record, run, archived)"  # noqa: S608 - constants
        f" SELECT %s, %s, value, %s, false FROM {listed} AS value WHERE true"
        " ON CONFLICT (line_id, target, record)"
        " DO UPDATE SET run = excluded.run, archived = excluded.archived"
    )
    for vendor, listed in LISTS.items()
}
SELECTING = (
    "SELECT record, run, archived FROM outkey_syncmark"
    " WHERE line_id = %s AND target = %s AND record"
)
SELECTING_STATEMENTS = {
    "sqlite": f"{SELECTING} IN (SELECT value FROM json_each(%s))",  # noqa: S608 - constants
    # A list of `unnest` would be joined, by reading all marks of the line.
    "postgresql": f"{SELECTING} = ANY(%s::text[])",
}


class RunIds(NamedTuple):
    """The ids of the line and the run that see a record."""

    line: int
    run: int


def last_marks(
    model: OpenModel, line: int, ids: Sequence[str]
) -> dict[str, tuple[int, bool]]:
    """Return the last run that has seen each record, and whether it is archived."""
    if not ids:
        return {}
    statement = SELECTING_STATEMENTS[connection.vendor]
    listed = text_list(connection.vendor, ids)
    rows = execute(statement, [line, model.name, listed]).fetchall()
    return {
        record: (read_count(run), is_archived is True)
        for record, run, is_archived in rows
    }


def put_marks(model: OpenModel, mark: RunIds, ids: Sequence[str]) -> None:
    """Store that a run has seen these records."""
    if ids:
        listed = text_list(connection.vendor, ids)
        statement = MARKING_STATEMENTS[connection.vendor]
        execute(statement, [mark.line, model.name, mark.run, listed])
