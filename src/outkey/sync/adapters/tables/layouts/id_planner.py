"""The column that numbers the rows of a table, so that no number is used twice."""

import re
from dataclasses import replace

from sqlalchemy.engine import Connection

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sync.adapters.tables.layouts.catalogue import StoredTable
from outkey.sync.adapters.tables.layouts.column_types import MYSQL, SQLITE
from outkey.sync.adapters.tables.layouts.layout import (
    CREATE_COUNTERS,
    ID,
    ID_COUNTERS,
    ROWID,
    Layout,
)
from outkey.sync.adapters.tables.layouts.table_plan import TablePlan
from outkey.sync.adapters.tables.layouts.table_sql import TableSql, identity_type

# How far the IDs of a table that is made again are from those that were lost.
ID_DISTANCE = 10**12
NEXT_ID = re.compile(r"\bAUTO_INCREMENT=(\d+)")


class IdPlanner:
    """Plans the column with the numbers of rows."""

    def __init__(self, connection: Connection, sql: TableSql) -> None:
        self._connection = connection
        self._sql = sql

    def add_id(self, plan: TablePlan, before: Layout, table: StoredTable) -> None:
        """Let each row have a number that no other row had before."""
        has_own_number = self._sql.vendor == MYSQL and bool(table.numbered)
        if ID not in table.own and before.id_column == ID and not has_own_number:
            # An adopted table may have been replaced by one without IDs.
            plan.is_loss = bool(before.columns)
            plan.first_id += ID_DISTANCE if before.columns else 0
        if self._sql.vendor == SQLITE:
            self._add_sqlite_id(plan, before, table)
        elif self._sql.vendor == MYSQL:
            self._add_mysql_id(plan, before, table)
        elif ID not in table.own:
            identity = identity_type(before.first_id)
            plan.statements.append(
                self._sql.add_column(f"{self._sql.quote(ID)} {identity} UNIQUE")
            )
            plan.note_column(ID)

    def _add_sqlite_id(
        self, plan: TablePlan, before: Layout, table: StoredTable
    ) -> None:
        """Assign IDs to the rows of an adopted table, since SQLite reuses a rowid."""
        is_filled = table.numbered != ID
        if is_filled:
            self._refuse_hidden_rowid(plan, table)
        plan.layout = replace(plan.layout, id_column=ID, fills_ids=is_filled)
        if ID in table.own:
            return
        quoted = self._sql.quote(ID)
        index = self._sql.quote(self._sql.index_name("outkey_ids_"))
        plan.statements.append(self._sql.add_column(f"{quoted} INTEGER"))
        plan.statements.append(
            f"CREATE UNIQUE INDEX {index} ON {self._sql.table} ({quoted})"
        )
        if before.id_column == ROWID:  # pushes know the rows by it
            plan.statements += [
                f"UPDATE {self._sql.table} SET {quoted} = {ROWID}",  # noqa: S608 - quoted names
                CREATE_COUNTERS,
                self._counter_of_rows(quoted),
            ]
        plan.note_column(ID)

    def _counter_of_rows(self, number: str) -> str:
        name = self._sql.text(self._sql.place.table)
        return (
            f"INSERT OR REPLACE INTO {ID_COUNTERS} SELECT {name},"  # noqa: S608 - quoted names
            f" coalesce(max({number}), 0) FROM {self._sql.table}"
        )

    def _refuse_hidden_rowid(self, plan: TablePlan, table: StoredTable) -> None:
        """Refuse a table whose rows SQLite cannot tell apart by their rowid."""
        (row,) = self._connection.exec_driver_sql(
            "SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'",
            (self._sql.place.table,),
        )
        if row[0] or ROWID in {name.lower() for name in table.columns}:
            raise ConfigError(
                Text(
                    "the table {table} has no rowid, or a column of this name",
                    table=plan.label,
                ),
                hint=Text("Choose a table with a rowid, or rename the column."),
                field="target",
            )

    def _add_mysql_id(
        self, plan: TablePlan, before: Layout, table: StoredTable
    ) -> None:
        """Use the column that MySQL numbers: a table has at most one."""
        if table.numbered:
            plan.layout = replace(plan.layout, id_column=table.numbered)
            if not plan.dry_run:
                self._continue_ids(plan, before)
            return
        if ID in table.own:
            return
        plan.layout = replace(plan.layout, id_column=ID)
        identity = "BIGINT NOT NULL AUTO_INCREMENT UNIQUE"
        start = f"AUTO_INCREMENT = {before.first_id}"
        plan.statements.append(
            self._sql.add_column(f"{self._sql.quote(ID)} {identity}, {start}")
        )
        plan.note_column(ID)

    def _continue_ids(self, plan: TablePlan, before: Layout) -> None:
        """Let MySQL use no number again after TRUNCATE or another table."""
        following = next_mysql_id(self._connection, self._sql)
        if following < before.next_id:
            note_lost_ids(plan, before)
            if plan.layout.id_column != ID:  # its type may be smaller
                plan.first_id = before.next_id
            following = max(before.first_id, before.next_id)
            plan.statements.append(
                f"ALTER TABLE {self._sql.table} AUTO_INCREMENT = {following}"
            )
        plan.layout = replace(plan.layout, next_id=following)


def next_mysql_id(connection: Connection, sql: TableSql) -> int:
    """Return the number that MySQL gives the next row; its catalogue may be old."""
    statement = f"SHOW CREATE TABLE {sql.table}"
    (_, definition, *_) = connection.exec_driver_sql(statement).one()
    counter = NEXT_ID.search(definition.rpartition("\n)")[2])
    return int(counter[1]) if counter else 1


def note_lost_ids(plan: TablePlan, recorded: Layout) -> None:
    """Let new rows have IDs that no lost one had: pushes remember records by it."""
    plan.is_loss = True
    plan.first_id = recorded.first_id + ID_DISTANCE
