"""Tables and their changes, as commands and the HTTP interface return them."""

from typing import TYPE_CHECKING

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.moments import iso_moment
from outkey.sync.core.mapping.targets import TABLE_PREFIX

if TYPE_CHECKING:  # a command that shows none does not load them
    from outkey.sync.core.mapping.records import Target
    from outkey.sync.core.mapping.row_changes import ChangesPage, RecordedChange
    from outkey.sync.ports.sync import StoredTables


def listed_table_facts(tables: "StoredTables", target: "Target") -> dict[str, object]:
    """Return a table for a list; its database may be down."""
    try:
        return table_facts(tables, target)
    except OutkeyError as error:
        facts = {"table": table_label(target), "rows": None}
        return facts | {"columns": column_facts(target), "problem": error.message}


def table_facts(tables: "StoredTables", target: "Target") -> dict[str, object]:
    """Return a table with its columns, and how many rows it has."""
    return {
        "table": table_label(target),
        "columns": column_facts(target),
        "rows": tables.count(target.name),
    }


def table_label(target: "Target") -> str:
    """Return the name of a table without the prefix of targets."""
    return target.name.removeprefix(TABLE_PREFIX)


def column_facts(target: "Target") -> dict[str, str]:
    """Return the columns of a table with their kinds."""
    return {field.name: str(field.kind) for field in target.fields}


def changes_facts(table: str, page: "ChangesPage") -> dict[str, object]:
    """Return changes of a table, and where to continue."""
    return {
        "table": table,
        "changes": [change_facts(change) for change in page.changes],
        "next": str(page.next),
        "more": page.more,
    }


def change_facts(change: "RecordedChange") -> dict[str, object]:
    """Return a change of a row."""
    return {
        "cursor": str(change.cursor),
        "change": str(change.kind),
        "at": iso_moment(change.at),
        "key": change.key,
        "row": change.row,
        "before": change.before,
    }
