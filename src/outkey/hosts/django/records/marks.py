"""Marks: which run of a line has seen a record last."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import IntegrityError, connection, transaction

from outkey.foundation.core.stored_values import read_count
from outkey.hosts.django.records.open_model import OpenModel
from outkey.hosts.django.rows.raw_sql import execute
from outkey.hosts.django.rows.sql_lists import text_list

LISTS = {"sqlite": "json_each(%s)", "postgresql": "unnest(%s::text[])"}
INSERTING_STATEMENTS = {
    vendor: (
        "INSERT INTO outkey_syncmark (line_id, target, record, run, archived)"  # noqa: S608 - constants
        f" SELECT %s, %s, value, %s, false FROM {listed} AS value WHERE true"
    )
    for vendor, listed in LISTS.items()
}
REPLACING = (
    " ON CONFLICT (line_id, target, record)"
    " DO UPDATE SET run = excluded.run, archived = excluded.archived"
)
SELECTING = "SELECT record, run, archived FROM outkey_syncmark WHERE"
OF_LINE = "line_id = %s AND target = %s"
SELECTING_STATEMENTS = {
    "sqlite": f"{SELECTING} record IN (SELECT value FROM json_each(%s)) AND {OF_LINE}",  # noqa: S608 - constants
    # LATERAL and LIMIT, so that each is looked up by the index: in a table that it has
    # not analyzed yet, PostgreSQL would read all marks of the line for every page.
    "postgresql": (
        "SELECT mark.* FROM unnest(%s::text[]) AS listed(value),"  # noqa: S608 - constants
        f" LATERAL ({SELECTING} {OF_LINE} AND record = listed.value LIMIT 1) AS mark"
    ),
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
    vendor = connection.vendor
    values = [text_list(vendor, ids), line, model.name]
    rows = execute(SELECTING_STATEMENTS[vendor], values).fetchall()
    return {
        record: (read_count(run), is_archived is True)
        for record, run, is_archived in rows
    }


def put_marks(model: OpenModel, mark: RunIds, ids: Sequence[str]) -> None:
    """Store that a run has seen these records."""
    if ids:
        _insert_marks(model, mark, ids, REPLACING)


def put_first_marks(model: OpenModel, mark: RunIds, ids: Sequence[str]) -> None:
    """Store that a run has created these records.

    PostgreSQL takes half the time without ON CONFLICT. A record whose ID was used
    before may have a mark all the same.
    """
    try:
        with transaction.atomic():
            _insert_marks(model, mark, ids)
    except IntegrityError:
        put_marks(model, mark, ids)


def _insert_marks(
    model: OpenModel, mark: RunIds, ids: Sequence[str], on_conflict: str = ""
) -> None:
    listed = text_list(connection.vendor, ids)
    statement = INSERTING_STATEMENTS[connection.vendor] + on_conflict
    execute(statement, [mark.line, model.name, mark.run, listed])
