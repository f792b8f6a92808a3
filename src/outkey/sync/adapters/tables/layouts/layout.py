"""The stored layout of a table: its columns, keys and numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from outkey.sync.core.mapping.column_values import ColumnType
from outkey.sync.core.mapping.records import HostField, Target
from outkey.sync.core.mapping.targets import OWN_COLUMNS, OWN_TABLE_PREFIX, TableName

ID, LINE, RUN = OWN_COLUMNS
ROWID = "rowid"
ID_COUNTERS = "outkey_ids"  # in an adopted SQLite: the last ID of each table
CREATE_COUNTERS = (
    f"CREATE TABLE IF NOT EXISTS {ID_COUNTERS}"
    " (name TEXT PRIMARY KEY, last INTEGER NOT NULL)"
)


class TablePlace(NamedTuple):
    """Where a table is in its database."""

    table: str
    schema: str | None


def table_place(name: TableName) -> TablePlace:
    """Return where a table is; outkey's own tables have a prefix."""
    if not name.database:
        return TablePlace(OWN_TABLE_PREFIX + name.name, None)
    return TablePlace(name.name, name.schema or None)


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table as lines use them."""

    columns: Mapping[str, ColumnType]
    keys: tuple[str, ...] = ()
    archives: bool = False
    # An adopted table in MySQL may have a column of its own that numbers its rows.
    id_column: str = ID
    fills_ids: bool = False  # outkey numbers the rows: an adopted table in SQLite
    is_made: bool = True  # False: outkey is about to make the table
    # Others have dropped it or columns of it, and these lines have read everything
    # since.
    is_partial: bool = False
    refilled_by: tuple[str, ...] = ()
    first_id: int = 1  # lower ones belong to rows that were lost, or are there still
    next_id: int = 1  # of MySQL, when outkey looked last: TRUNCATE begins at 1 again
    fed_by: tuple[str, ...] = ()  # the lines that want changes to be recorded

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Layout":
        """Return the layout that `facts` describes."""
        columns = {
            name: ColumnType.from_facts(column)
            for name, column in facts["columns"].items()
        }
        return cls(
            columns,
            tuple(facts["keys"]),
            archives=facts["archives"],
            # Before outkey numbered them, adopted rows were known by their rowid.
            id_column=facts.get("id_column") or (ID if facts.get("has_id") else ROWID),
            fills_ids=facts.get("fills_ids", False),
            is_made=facts.get("is_made", True),
            is_partial=facts.get("is_partial", False),
            refilled_by=tuple(facts.get("refilled_by", ())),
            first_id=facts.get("first_id", 1),
            next_id=facts.get("next_id", 1),
            fed_by=tuple(facts.get("fed_by", ())),
        )

    def facts(self) -> dict[str, object]:
        """Return the layout as JSON can hold it."""
        return {
            "columns": {name: column.facts() for name, column in self.columns.items()},
            "keys": list(self.keys),
            "archives": self.archives,
            "id_column": self.id_column,
            "fills_ids": self.fills_ids,
            "is_made": self.is_made,
            "is_partial": self.is_partial,
            "refilled_by": list(self.refilled_by),
            "first_id": self.first_id,
            "next_id": self.next_id,
            "fed_by": list(self.fed_by),
        }

    def target(self, name: str) -> Target:
        """Return the table as mappings see it."""
        fields = tuple(
            HostField(
                column_name,
                column_name,
                column.kind,
                required=column_name in self.keys,
                longest=column.longest,
                unique=self.keys == (column_name,),
            )
            for column_name, column in self.columns.items()
        )
        return Target(name, name, fields)
