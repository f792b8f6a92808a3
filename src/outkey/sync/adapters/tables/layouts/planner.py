"""Making tables: what there is, what a line needs, and the statements in between.

Columns are added and widened, never dropped or narrowed. What others changed by hand
is repaired where nothing is lost, and refused with the reason otherwise.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import inspect
from sqlalchemy.engine import Connection

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sync.adapters.tables.layouts.catalogue import StoredTable, read_table
from outkey.sync.adapters.tables.layouts.column_types import (
    POSTGRESQL,
    described_column,
)
from outkey.sync.adapters.tables.layouts.id_planner import IdPlanner, note_lost_ids
from outkey.sync.adapters.tables.layouts.layout import LINE, RUN, Layout, table_place
from outkey.sync.adapters.tables.layouts.table_plan import TablePlan
from outkey.sync.adapters.tables.layouts.table_sql import TableSql
from outkey.sync.core.mapping.column_values import ColumnType
from outkey.sync.core.mapping.records import FieldKind, Shape
from outkey.sync.core.mapping.shape import kind_for
from outkey.sync.core.mapping.targets import ARCHIVED_AT, NAME, TableName

NO_COLUMN = ColumnType(FieldKind.ANY)
SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})


class TablePlanner:
    """Compares a table with what a line needs of it."""

    def __init__(
        self, connection: Connection, name: TableName, *, is_adopted: bool = False
    ) -> None:
        self._connection = connection
        self._name = name
        self._label = str(name).partition(":")[2]
        self._is_adopted = is_adopted
        self._place = table_place(name)
        self._sql = TableSql(connection, self._place)
        self._ids = IdPlanner(connection, self._sql)

    def plan(
        self, shape: Shape, recorded: Layout | None, *, dry_run: bool
    ) -> TablePlan:
        """Return the plan that gives a table this shape."""
        table = read_table(self._connection, self._place)
        self._refuse_reserved(shape)
        if table is None:
            plan = self._plan_creation(shape, recorded, dry_run=dry_run)
            if recorded is not None and recorded.is_made:
                note_lost_ids(plan, recorded)
            return plan
        is_own = recorded is not None and table.own >= {LINE, RUN}
        if not is_own and not self._is_adopted:
            raise ConfigError(
                Text("outkey did not create the table {table}", table=self._label),
                hint=self._adoption_hint(),
                field="target",
            )
        if recorded is None:
            self._refuse_view()
        return self._plan_extension(shape, recorded, table, dry_run=dry_run)

    def _refuse_view(self) -> None:
        views = inspect(self._connection).get_view_names(schema=self._place.schema)
        if self._place.table in views:
            raise ConfigError(
                Text("{table} is a view, not a table", table=self._label),
                hint=Text("Choose a table."),
                field="target",
            )

    def _adoption_hint(self) -> Text:
        if not self._name.database:
            return Text("Choose another name.")
        return Text(
            "Choose another name, or permit it: [database.{database}] adopt ="
            ' ["{table}"].',
            database=self._name.database,
            table=adopted_name(self._name),
        )

    def _refuse_reserved(self, shape: Shape) -> None:
        """Refuse the names of columns that PostgreSQL has in each table."""
        for column in shape.fields:
            if self._sql.vendor == POSTGRESQL and column.name in SYSTEM_COLUMNS:
                raise ConfigError(
                    Text("PostgreSQL has a column of this name in each table"),
                    hint=Text("Choose another name for the column."),
                    field=column.name,
                )

    # ── a new table ──────────────────────────────────────────────────────────────────

    def _plan_creation(
        self, shape: Shape, recorded: Layout | None, *, dry_run: bool
    ) -> TablePlan:
        layout = self._new_layout(shape, recorded)
        plan = TablePlan(layout, self._label, dry_run=dry_run, is_new=True)
        if dry_run:
            would = Text(
                "table {table}: would be created: {columns}",
                table=self._label,
                columns=_described_columns(layout.columns),
            )
            plan.changes.append(would)
            return plan
        columns = {
            name: column
            for name, column in layout.columns.items()
            if column.kind is not FieldKind.ANY
        }
        if not {*shape.keys} <= columns.keys():
            # Which columns identify a record is known when the first one comes.
            return plan
        done = Text(
            "table {table}: created: {columns}",
            table=self._label,
            columns=_described_columns(columns),
        )
        plan.changes.append(done)
        plan.statements += self._sql.create_table(layout, columns)
        return plan

    def _new_layout(self, shape: Shape, recorded: Layout | None) -> Layout:
        """Return the layout of a table that is not there.

        One that others have dropped gets the columns of all lines again.
        """
        before = recorded or Layout({})
        kinds = {name: column.kind for name, column in before.columns.items()}
        kinds |= {
            column.name: column.kind
            for column in shape.fields
            if column.kind is not FieldKind.ANY or column.name not in kinds
        }
        columns = {
            name: self._sql.new_column(name, kind, kinds, shape.keys)
            for name, kind in kinds.items()
        }
        return Layout(
            columns,
            shape.keys,
            archives=shape.archives,
            is_partial=before.is_partial,
            refilled_by=before.refilled_by,
            first_id=before.first_id,
            fed_by=before.fed_by,
        )

    # ── a table that is there ────────────────────────────────────────────────────────

    def _plan_extension(
        self,
        shape: Shape,
        recorded: Layout | None,
        table: StoredTable,
        *,
        dry_run: bool,
    ) -> TablePlan:
        before = recorded or Layout({})
        keys = before.keys or shape.keys
        self._refuse_other_keys(keys, shape.keys)
        self._refuse_unusable_columns(shape, table)
        columns = _usable_columns(table, before.columns)
        layout = replace(
            before,
            columns=columns,
            keys=keys,
            archives=ARCHIVED_AT in table.own,
            is_made=True,
        )
        plan = TablePlan(layout, self._label, dry_run=dry_run, first_id=before.first_id)
        self._ids.add_id(plan, before, table)
        self._add_own_columns(plan, shape, table)
        kinds = {name: column.kind for name, column in columns.items()} | {
            column.name: self._kind(
                column.name, columns.get(column.name, NO_COLUMN), column.kind
            )
            for column in shape.fields
        }
        lost = [
            name
            for name in before.columns
            if name not in table.columns and NAME.fullmatch(name)
        ]
        names = [column.name for column in shape.fields]
        self._refuse_similar_columns([*names, *lost], table)
        is_another = bool(before.columns) and not table.own >= {LINE, RUN}
        plan.is_loss = plan.is_loss or bool(lost) or is_another
        kinds = {name: before.columns[name].kind for name in lost} | kinds
        self._change_columns(plan, table, kinds)
        return plan

    def _refuse_other_keys(self, keys: Sequence[str], wanted: Sequence[str]) -> None:
        if {*keys} != {*wanted}:
            raise ConfigError(
                Text(
                    "the table {table} has the keys {keys}, and the line has others",
                    table=self._label,
                    keys=", ".join(keys),
                ),
                hint=Text("Use the same keys, or another table."),
                field="keys",
            )

    def _refuse_unusable_columns(self, shape: Shape, table: StoredTable) -> None:
        """Refuse an existing column whose type cannot be written, such as bytea."""
        for column in shape.fields:
            is_there = column.name in table.columns
            if is_there and table.columns[column.name] is None:
                raise ConfigError(
                    Text(
                        "the column {column} of the table {table} has a type that a"
                        " line cannot write",
                        column=column.name,
                        table=self._label,
                    ),
                    hint=Text("Choose another column, or change its type."),
                    field=column.name,
                )

    def _refuse_similar_columns(
        self, wanted: Collection[str], table: StoredTable
    ) -> None:
        """Refuse a column that most databases do not tell from another one."""
        if self._sql.vendor == POSTGRESQL:
            return
        by_lower_case = {name.lower(): name for name in table.columns}
        for name in wanted:
            existing = by_lower_case.get(name.lower(), name)
            if existing != name:
                raise ConfigError(
                    Text(
                        "the table {table} has a column {column}, which differs only"
                        " in upper and lower case",
                        table=self._label,
                        column=existing,
                    ),
                    hint=Text("Write the name as the table has it."),
                    field=name,
                )

    def _kind(self, name: str, stored: ColumnType, wanted: FieldKind) -> FieldKind:
        kind = kind_for(stored.kind, wanted)
        is_widened = kind is not stored.kind and stored.kind is not FieldKind.ANY
        if kind is None or (is_widened and self._is_adopted):
            raise ConfigError(
                Text(
                    "the column {column} of the table {table} is {stored}, and the"
                    " line brings {wanted}",
                    column=name,
                    table=self._label,
                    stored=str(stored.kind),
                    wanted=str(wanted),
                ),
                hint=Text(
                    "Choose a transform that makes {stored}, or another column.",
                    stored=str(stored.kind),
                ),
                field=name,
            )
        return kind

    def _add_own_columns(
        self, plan: TablePlan, shape: Shape, table: StoredTable
    ) -> None:
        missing = [name for name in (LINE, RUN) if name not in table.own]
        for name in missing:
            plan.statements.append(self._sql.add_column(self._sql.own_definition(name)))
        if shape.archives and ARCHIVED_AT not in table.own:
            plan.statements.append(self._sql.add_column(self._sql.archive_definition()))
            plan.layout = replace(plan.layout, archives=True)
            missing.append(ARCHIVED_AT)
        for name in missing:
            plan.note_column(name)

    def _change_columns(
        self, plan: TablePlan, table: StoredTable, kinds: Mapping[str, FieldKind]
    ) -> None:
        """Add and widen columns; the index of the keys is made again if they change."""
        keys = plan.layout.keys
        columns = dict(plan.layout.columns)
        is_rebuilt = False
        for name, kind in kinds.items():
            if name not in table.columns:
                self._add_column(plan, name, kind, kinds)
            elif kind is not columns[name].kind:
                is_rebuilt = is_rebuilt or name in keys
                self._widen(plan, name, kind, kinds)
        is_unique = any(names <= {*keys} for names in table.unique if names)
        if is_rebuilt and is_unique:
            plan.statements.insert(0, self._sql.drop_key_index())
        if is_rebuilt or not is_unique:
            plan.statements.append(self._sql.create_key_index(keys))
        if not is_rebuilt and not is_unique:
            plan.note(
                Text("table {table}: keys made unique", table=self._label),
                Text("table {table}: keys would be made unique", table=self._label),
            )

    def _add_column(
        self,
        plan: TablePlan,
        name: str,
        kind: FieldKind,
        kinds: Mapping[str, FieldKind],
    ) -> None:
        keys = plan.layout.keys
        column = self._sql.new_column(name, kind, kinds, keys)
        plan.layout = replace(
            plan.layout, columns={**plan.layout.columns, name: column}
        )
        if kind is FieldKind.ANY and not plan.dry_run:
            return  # its first value tells
        if name in keys:
            raise ConfigError(
                Text(
                    "the table {table} has lost its key {column}",
                    table=self._label,
                    column=name,
                ),
                hint=Text("Delete the table or restore the column; then run again."),
                field="keys",
            )
        if kind is not FieldKind.ANY:
            plan.statements.append(
                self._sql.add_column(self._sql.definition(name, column))
            )
        plan.note_column(name, str(kind))

    def _widen(
        self,
        plan: TablePlan,
        name: str,
        kind: FieldKind,
        kinds: Mapping[str, FieldKind],
    ) -> None:
        plan.is_conversion = True
        before = plan.layout.columns[name].kind
        column = self._sql.new_column(name, kind, kinds, plan.layout.keys)
        plan.layout = replace(
            plan.layout, columns={**plan.layout.columns, name: column}
        )
        plan.statements += self._sql.widen_column(
            name, before, column, plan.layout.keys
        )
        plan.note(
            Text(
                "table {table}: column {column} changed from {before} to {after}",
                table=self._label,
                column=name,
                before=str(before),
                after=str(kind),
            ),
            Text(
                "table {table}: column {column} would be changed from {before} to"
                " {after}",
                table=self._label,
                column=name,
                before=str(before),
                after=str(kind),
            ),
        )


def _usable_columns(
    table: StoredTable, recorded: Mapping[str, ColumnType]
) -> dict[str, ColumnType]:
    """Return the columns of a table that lines can use."""
    return {
        name: described_column(column, recorded.get(name))
        for name, column in table.columns.items()
        if column is not None and name not in table.own
    }


def _described_columns(columns: Mapping[str, ColumnType]) -> str:
    """Return columns with their kinds for a user."""
    return ", ".join(f"{name} {column.kind}" for name, column in columns.items())


def adopted_name(name: TableName) -> str:
    """Return a table as the setting `adopt` names it."""
    return ".".join(filter(None, (name.schema, name.name)))
