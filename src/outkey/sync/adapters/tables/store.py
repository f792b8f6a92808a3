"""Tables as targets of sync lines, in outkey's own database or in another one."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from types import TracebackType

from sqlalchemy.engine import Connection

from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    drop_traceback,
    drop_tracebacks,
)
from outkey.foundation.core.text import Text
from outkey.foundation.ports.database import StateRows
from outkey.sync.adapters.tables.databases import (
    NamedDatabases,
    OwnDatabase,
    TableDatabase,
)
from outkey.sync.adapters.tables.feeds.feed_reader import (
    head_of,
    prune_feeds,
    read_changes,
)
from outkey.sync.adapters.tables.feeds.feed_tables import (
    end_feed,
    has_feeds,
    lock_for_writing,
    prepare_feed,
    start_feed,
)
from outkey.sync.adapters.tables.feeds.feed_writer import FeedWriter, lock_feed
from outkey.sync.adapters.tables.journal import read_journal, write_journal
from outkey.sync.adapters.tables.layouts.catalogue import read_table
from outkey.sync.adapters.tables.layouts.column_types import MYSQL
from outkey.sync.adapters.tables.layouts.id_planner import next_mysql_id
from outkey.sync.adapters.tables.layouts.layout import Layout, table_place
from outkey.sync.adapters.tables.layouts.layout_records import (
    LayoutRecords,
    note_feed,
    note_loss,
    note_renamed,
    note_run,
)
from outkey.sync.adapters.tables.layouts.planner import TablePlanner, adopted_name
from outkey.sync.adapters.tables.layouts.table_plan import (
    TablePlan,
    apply_plan,
    preparation_lock,
)
from outkey.sync.adapters.tables.layouts.table_sql import TableSql
from outkey.sync.adapters.tables.open_table import OpenTable
from outkey.sync.adapters.tables.rows.missing_rows import MissingRows
from outkey.sync.adapters.tables.rows.row_ids import fill_ids, is_id
from outkey.sync.adapters.tables.rows.row_reader import RowReader
from outkey.sync.adapters.tables.rows.row_writer import RowWriter
from outkey.sync.adapters.tables.rows.stored_rows import Earlier, RunMark
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.filters import Wanted
from outkey.sync.core.mapping.records import (
    CREATED,
    HostRecord,
    PreparedTarget,
    Shape,
    Target,
    Unseen,
    Written,
)
from outkey.sync.core.mapping.row_changes import ChangesPage, Cursor, no_feed
from outkey.sync.core.mapping.targets import TABLE_PREFIX, TableName, parse_target
from outkey.sync.ports.sync import NOTHING, Key

LineOf = Callable[[str], str]  # the line of a run


class PlainTransaction:
    """A transaction whose own errors have no history, which could hold a URL."""

    def __init__(self, inner: AbstractContextManager[None]) -> None:
        self._inner = inner

    @drop_traceback
    def __enter__(self) -> None:
        self._inner.__enter__()

    @drop_traceback
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._inner.__exit__(kind, error, trace)


@drop_tracebacks  # they could hold the URL of a database
class TableStore:
    """Makes, reads and writes tables.

    What a table has is written down as a shared state, so that it can be listed and
    written without a look at the catalogue of its database.
    """

    def __init__(
        self,
        states: StateRows,
        own: OwnDatabase | None,
        named: NamedDatabases,
        line_of: LineOf,
    ) -> None:
        self._layouts = LayoutRecords(states)
        self._own = own
        self._named = named
        self._line_of = line_of
        self._lines: dict[str, str] = {}  # by run
        self._planned: dict[str, TablePlan] = {}  # by dry runs
        self._retiring: dict[str, bool] = {}  # whether a run must mark all it sees
        # By target: the run whose last rows were all new.
        self._filling: dict[str, str] = {}

    # ── which tables there are ───────────────────────────────────────────────────────

    def interrupt(self) -> None:
        self._named.interrupt()

    def refuse_database(self, database: OtherDatabase) -> None:
        self._named.refuse_unusable(database)

    def targets(self) -> list[Target]:
        return self._layouts.targets()

    def prepare(
        self, target: str, shape: Shape, *, dry_run: bool = False
    ) -> PreparedTarget:
        name = table_name(target)
        database = self._database(name)
        is_adopted = self._is_adopted(name)
        self._layouts.refuse_similar(name)
        recorded = self._layouts.read(name)

        def make(connection: Connection) -> TablePlan:
            planner = TablePlanner(connection, name, is_adopted=is_adopted)
            plan = planner.plan(shape, recorded, dry_run=dry_run)
            if dry_run or not plan.statements:
                return plan
            return self._make(connection, planner, name, shape)

        if not dry_run and recorded is None:
            recorded = self._announce(name, shape, database)
        plan = database.repeat(make)
        prepared = PreparedTarget(
            plan.layout.target(str(name)),
            tuple(plan.changes),
            is_partial=plan.layout.is_partial,
            refilled_by=plan.layout.refilled_by,
        )
        if dry_run:
            self._planned[str(name)] = plan
            return prepared
        self._layouts.store(name, plan.layout, recorded)
        is_retiring = self._retiring.get(str(name), False)
        self._retiring[str(name)] = is_retiring or shape.retires
        return prepared

    def _announce(
        self, name: TableName, shape: Shape, database: TableDatabase
    ) -> Layout | None:
        """Store that outkey makes a table, before it does.

        If it is killed in between, it knows the table for its own. One that is there
        already belongs to others, also if another outkey has made it.
        """
        is_there = database.repeat(
            lambda connection: read_table(connection, table_place(name)) is not None
        )
        if not is_there:
            layout = Layout({}, shape.keys, archives=shape.archives, is_made=False)
            self._layouts.announce(name, layout)
        # Only now: another process of this outkey may have made it a moment ago.
        return self._layouts.read(name)

    def _make(
        self,
        connection: Connection,
        planner: TablePlanner,
        name: TableName,
        shape: Shape,
    ) -> TablePlan:
        """Change a table, while no other process does."""
        with preparation_lock(connection, table_place(name)):
            plan = planner.plan(shape, self._layouts.read(name), dry_run=False)
            fed_by = plan.layout.fed_by
            starts_over = fed_by and (plan.is_new or plan.is_loss or plan.is_conversion)
            if starts_over:  # who has a copy must read all rows again
                end_feed(connection, table_place(name))
            if plan.is_loss:
                # Before it is repaired: a killed process could not tell afterwards.
                self._layouts.change(name, partial(note_loss, first_id=plan.first_id))
                plan = planner.plan(shape, self._layouts.read(name), dry_run=False)
            apply_plan(connection, plan)
        if starts_over:
            start_feed(connection, table_place(name))
        return plan

    def _is_adopted(self, name: TableName) -> bool:
        if not name.database:
            return False
        return adopted_name(name) in self._named.settings(name.database).adopt

    def _database(self, name: TableName) -> TableDatabase:
        if name.database:
            return self._named.open(name.database)
        if self._own is None:
            raise ConfigError(
                Text("this installation has no tables of its own"),
                hint=Text("Name another database: table:DATABASE.NAME."),
                field="target",
            )
        return self._own

    # ── records ──────────────────────────────────────────────────────────────────────

    def transaction(self, targets: Collection[str]) -> AbstractContextManager[None]:
        databases = {
            database.name: database
            for database in (self._database(table_name(target)) for target in targets)
        }
        if len(databases) > 1:
            raise ConfigError(
                Text("children must be in the same place as their parents"),
                hint=Text("Choose targets in the same database."),
                field="children",
            )
        for database in databases.values():
            return PlainTransaction(database.transaction())
        return nullcontext()

    def journal(self, target: str, line: str) -> str:
        database = self._database(table_name(target))
        if isinstance(database, OwnDatabase):
            return ""
        return database.repeat(lambda connection: read_journal(connection, line))

    def put_journal(self, target: str, line: str, text: str) -> None:
        database = self._database(table_name(target))
        if isinstance(database, OwnDatabase):
            return
        with database.connect() as connection:
            write_journal(connection, line, text)

    # ── changes ──────────────────────────────────────────────────────────────────────

    def set_feed(self, target: str, line: str, *, wants_feed: bool) -> None:
        name = table_name(target)
        layout = self._layouts.read(name)
        if layout is None or not (wants_feed or layout.fed_by):
            return
        place = table_place(name)
        database = self._database(name)
        lines = note_feed(layout, line, wants_feed=wants_feed).fed_by
        is_continued = bool(layout.fed_by and lines)
        # An operator may have dropped the tables of feeds.
        if not (is_continued and database.repeat(has_feeds)):
            # What is left there of an earlier feed lacks changes since.
            database.repeat(lambda connection: prepare_feed(connection, place))
        if lines != layout.fed_by:
            self._layouts.change(
                name, partial(note_feed, line=line, wants_feed=wants_feed)
            )
        if lines:
            database.repeat(lambda connection: start_feed(connection, place))

    def cursor(self, target: str) -> Cursor | None:
        name = table_name(target)
        if not self._layout(name).fed_by:
            return None
        with self._database(name).connect() as connection:
            head = head_of(connection, table_place(name))
            return None if head is None else Cursor(head.feed, head.last)

    def changes(self, target: str, after: Cursor | None, limit: int) -> ChangesPage:
        name = table_name(target)
        is_fed = bool(self._layout(name).fed_by)
        with self._database(name).connect() as connection:
            head = head_of(connection, table_place(name)) if is_fed else None
            if head is None:
                raise no_feed(str(name).removeprefix(TABLE_PREFIX))
            return read_changes(connection, head, after, limit)

    def prune_changes(self, before: float) -> None:
        names = {
            table_name(target.name).database: table_name(target.name)
            for target in self._layouts.targets()
        }
        for name in names.values():
            with suppress(OutkeyError):  # a database that cannot be reached now
                prune_feeds(self._database(name), before)

    # ── lines ────────────────────────────────────────────────────────────────────────

    def rename_line(self, target: str, line: str, new_name: str) -> None:
        name = table_name(target)
        layout = self._layouts.read(name)
        if layout is None or not layout.is_made:
            return
        with self._open(target) as table:
            MissingRows(table).rename_line(line, new_name)
        text = self.journal(target, line)
        if text:
            self.put_journal(target, new_name, text)
            self.put_journal(target, line, "")
        renamed = partial(note_renamed, line=line, new_name=new_name)
        self._layouts.change(name, renamed)
        self._lines.clear()

    def begin(self, target: str, run: str) -> None:
        """Do nothing: rows are written as they come."""

    def complete(
        self,
        target: str,
        run: str,
        *,
        is_doubtful: bool = False,  # noqa: ARG002 - of files
        may_lose: bool = False,  # noqa: ARG002 - of files
    ) -> Sequence[Text]:
        """Note that a line has filled the table again, and the IDs that it used."""
        name = table_name(target)
        layout = self._layout(name)
        next_id = layout.next_id
        database = self._database(name)
        if database.vendor == MYSQL:
            next_id = database.repeat(
                lambda connection: next_mysql_id(
                    connection, TableSql(connection, table_place(name))
                )
            )
        line = self._line(run)
        is_filled = not layout.is_partial or line in layout.refilled_by
        if is_filled and next_id == layout.next_id:
            return ()
        self._layouts.change(name, partial(note_run, line=line, next_id=next_id))
        return ()

    def read(self, target: str, after: str, limit: int) -> list[HostRecord]:
        with self._open(target) as table:
            return RowReader(table).read(after, limit)

    def rows(
        self,
        target: str,
        after: str,
        limit: int,
        wanted: Mapping[str, Wanted] = NOTHING,
    ) -> list[HostRecord]:
        with self._open(target) as table:
            return RowReader(table).read(
                after, limit, with_archived=True, wanted=wanted
            )

    def count(
        self, target: str, after: str = "", wanted: Mapping[str, Wanted] = NOTHING
    ) -> int:
        with self._open(target) as table:
            return RowReader(table).count(after, wanted)

    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Mapping[str, object]],
        run: str,
        *,
        dry_run: bool = False,
    ) -> list[Written]:
        if dry_run:
            return self._compare(target, keys, rows)
        name = table_name(target)
        if str(name) not in self._retiring:  # this process has not prepared it
            self._layout(name)
        mark = RunMark(self._line(run), run)
        marks_all = self._retiring.get(str(name), True)
        is_own = not self._is_adopted(name)

        def write(connection: Connection) -> list[Written]:
            table, feed = self._lock_feed(connection, name, is_own=is_own)
            earlier: Earlier | None = None if feed is None else {}
            expects_new = self._filling.get(target) == run
            writer = RowWriter(table, expects_new=expects_new, earlier=earlier)
            written = writer.upsert(keys, rows, mark, marks_all=marks_all)
            if feed is not None and earlier is not None:
                feed.record_upsert(keys, rows, written, earlier)
            return written

        written = self._database(name).repeat(write)
        self._filling[target] = (
            run if all(result is CREATED for result in written) else ""
        )
        return written

    def _compare(
        self, target: str, keys: Sequence[str], rows: Sequence[Mapping[str, object]]
    ) -> list[Written]:
        """Compare rows with a table; one that is not there yet has none."""
        name = table_name(target)
        planned = self._planned.get(str(name))
        if planned is None:
            with self._open(target) as table:
                return RowWriter(table).compare(keys, rows)
        layout = None if planned.is_new else self._layouts.read(name)
        with self._database(name).connect() as connection:
            table = OpenTable(connection, table_place(name), layout or Layout({}))
            return RowWriter(table).compare(keys, rows, planned.layout)

    def unseen(self, target: str, line: str, run: str) -> Unseen:
        with self._open(target) as table:
            return MissingRows(table).count(line, run)

    def retire(self, target: str, line: str, run: str, gone: Gone) -> int:
        with self._open_to_write(target) as (table, feed):
            return MissingRows(table, feed).retire(line, run, gone)

    def delete_children(
        self,
        target: str,
        parent: Sequence[str],
        keys: Sequence[str],
        kept: Mapping[Key, Collection[Key]],
    ) -> int:
        layout = self._layouts.read(table_name(target))
        if layout is None or not layout.is_made:
            return 0  # no list had an element yet
        with self._open_to_write(target) as (table, feed):
            return MissingRows(table, feed).delete_children(parent, keys, kept)

    def matching(
        self, target: str, keys: Sequence[str], values: Collection[Key]
    ) -> dict[Key, HostRecord]:
        name = table_name(target)
        layout = self._layouts.read(name) or Layout({})
        is_planned = str(name) in self._planned
        if is_planned and not {*keys} <= layout.columns.keys():
            return {}  # a dry run: the table is not there yet, or without these columns
        with self._open_to_write(target) as (table, _):
            return RowReader(table).matching(keys, list(values))

    def by_id(self, target: str, ids: Collection[str]) -> dict[str, HostRecord]:
        if not ids:
            return {}
        with self._open_to_write(target) as (table, _):
            return RowReader(table).by_id(ids)

    def assign(
        self, target: str, values: Mapping[str, Mapping[str, object]], run: str
    ) -> set[str]:
        mark = RunMark(self._line(run), run)
        with self._open_to_write(target) as (table, feed):
            writer = RowWriter(table)
            if feed is None:
                return writer.assign(values, mark)
            before = feed.rows([int(record) for record in values if is_id(record)])
            assigned = writer.assign(values, mark)
            feed.record_update(before)
            return assigned

    def missing(
        self, target: str, line: str, run: str, after: str, limit: int
    ) -> list[HostRecord]:
        with self._open_to_write(target) as (table, _):
            return MissingRows(table).read(line, run, after, limit)

    def present(self, target: str, ids: Sequence[str]) -> set[str]:
        if not ids:  # a dry run asks before the table is there
            return set()
        with self._open(target) as table:
            return RowReader(table).present(ids)

    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> dict[object, object]:
        name = table_name(target)
        layout = self._layout(name)
        if field not in layout.columns:
            raise ConfigError(
                Text("the table has no such column"),
                hint=Text("Choose one of: {names}.", names=", ".join(layout.columns)),
                field=field,
            )
        if not values:  # a line is checked: its database need not be reached
            return {}
        with self._open(target) as table:
            return RowReader(table).find(field, values)

    @contextmanager
    def _open(self, target: str) -> Iterator[OpenTable]:
        name = table_name(target)
        layout = self._layout(name)
        with self._database(name).connect() as connection:
            yield open_table(connection, name, layout)

    @contextmanager
    def _open_to_write(
        self, target: str
    ) -> Iterator[tuple[OpenTable, FeedWriter | None]]:
        name = table_name(target)
        self._layout(name)
        with self._database(name).connect() as connection:
            yield self._lock_feed(connection, name)

    def _lock_feed(
        self, connection: Connection, name: TableName, *, is_own: bool = False
    ) -> tuple[OpenTable, FeedWriter | None]:
        """Return a table to write, and what records its changes, if they are wanted."""
        lock_for_writing(connection, table_place(name))
        layout = self._layout(name)  # since it was locked
        table = open_table(connection, name, layout, is_own=is_own)
        return table, lock_feed(table) if layout.fed_by else None

    def _layout(self, name: TableName) -> Layout:
        layout = self._layouts.read(name)
        if layout is None or not layout.is_made:
            raise ConfigError(
                Text("there is no table {name} yet", name=str(name).partition(":")[2]),
                hint=Text("Run the line that fills it first."),
                field="target",
            )
        return layout

    def _line(self, run: str) -> str:
        if run not in self._lines:
            self._lines = {run: self._line_of(run)}
        return self._lines[run]


def open_table(
    connection: Connection, name: TableName, layout: Layout, *, is_own: bool = False
) -> OpenTable:
    """Return a table on a connection, after every row got an ID."""
    table = OpenTable(connection, table_place(name), layout, is_own=is_own)
    fill_ids(table)
    return table


def table_name(target: str) -> TableName:
    """Return the table that a target names, or raise ConfigError."""
    name = parse_target(target)
    if isinstance(name, TableName):
        return name
    raise ConfigError(
        Text("this is not the name of a table"),
        hint=Text("Write table:NAME."),
        field="target",
    )
