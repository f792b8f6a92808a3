"""The commands `outkey data`: tables that sync lines have filled."""

import sys
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.output_file import OutputOption, output_file
from outkey.hosts.cli.printing.output import (
    print_done,
    print_json,
    print_line,
    print_table,
    progress_bar,
)
from outkey.hosts.cli.printing.times import time_text
from outkey.hosts.cli.session import AsJson, open_application
from outkey.hosts.command_host import administration_of
from outkey.hosts.table_facts import (
    changes_facts,
    listed_table_facts,
    table_facts,
    table_label,
)
from outkey.sending.core.audit.events import Tag
from outkey.sync.core.mapping.records import Target, find_target
from outkey.sync.core.mapping.row_changes import ROW_ID, ChangeKind, parse_cursor
from outkey.sync.core.mapping.shown import shortened, shown_change, shown_field
from outkey.sync.core.mapping.targets import ARCHIVED_AT, TABLE_PREFIX, FileFormat

if TYPE_CHECKING:
    from outkey.sync.core.mapping.row_changes import ChangesPage, RecordedChange
    from outkey.sync.ports.sync import StoredTables

_MAX_SHOWN = 60  # characters of a value
_MAX_DIFFERENCES = 200
data_app = Commands(help="Show and export the tables that sync lines fill.")
TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="A table, such as orders or warehouse.orders."
    ),
]


@data_app.command("list")
def list_tables(*, as_json: AsJson = False) -> None:
    """List the tables that sync lines have made."""
    tables = open_application().sync.tables()
    targets = tables.targets()
    facts = [listed_table_facts(tables, target) for target in targets]
    if as_json:
        print_json(facts)
    elif facts:
        rows = (
            (
                fact["table"],
                fact.get("problem", fact["rows"]),
                len(target.fields),
            )
            for fact, target in zip(facts, targets, strict=True)
        )
        print_table(("Table", "Rows", "Columns"), rows)
    else:
        print_line(
            'There are no tables yet. A sync line with target = "table:NAME" creates'
            " one when it runs: outkey line run NAME"
        )


@data_app.command("show")
def show_table(
    table: TableArgument,
    *,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="NUMBER", help="How many rows.")
    ] = 20,
    after: Annotated[
        str,
        typer.Option(help="Continue after the row with this outkey_id.", metavar="ID"),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Show the columns and the first rows of a table."""
    tables = open_application().sync.tables()
    target = _find_table(tables, table)
    rows = tables.rows(target.name, after, limit)
    if as_json:
        records = [{"outkey_id": int(row.id), **row.values} for row in rows]
        print_json({**table_facts(tables, target), "records": records})
        return
    names = [field.name for field in target.fields]
    if any(ARCHIVED_AT in row.values for row in rows):
        names.append(ARCHIVED_AT)
    cells = (
        (row.id, *(shortened(row.values.get(name), _MAX_SHOWN) for name in names))
        for row in rows
    )
    if not rows:
        print_line(
            f"The table {table} has no rows{' after this one' if after else ''}."
        )
        return
    print_table(("outkey_id", *names), cells)


@data_app.command("changes")
def show_changes(
    table: TableArgument,
    *,
    after: Annotated[
        str,
        typer.Option(
            help="Continue after this cursor; without it, at the oldest change.",
            metavar="CURSOR",
        ),
    ] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="NUMBER", help="How many changes.")
    ] = 100,
    as_json: AsJson = False,
) -> None:
    """Show changes of a table whose line has feed = true."""
    tables = open_application().sync.tables()
    target = _find_table(tables, table)
    cursor = parse_cursor(after) if after else None
    page = tables.changes(target.name, cursor, limit)
    name = table_label(target)
    if as_json:
        print_json(changes_facts(name, page))
    elif page.changes:
        _print_changes(name, page)
    else:
        print_line(
            f"The table {name} has no changes{' after this one' if after else ''}."
        )


def _print_changes(name: str, page: "ChangesPage") -> None:
    """Print changes, and the command for the next ones."""
    rows = (
        (
            str(change.cursor),
            time_text(change.at),
            change.kind,
            ", ".join(shortened(value, _MAX_SHOWN) for value in change.key.values()),
            shown_differences(change),
        )
        for change in page.changes
    )
    print_table(("Cursor", "At", "Change", "Key", "Fields"), rows)
    if page.more:
        print_line(f"There are more: outkey data changes {name} --after {page.next}")


def shown_differences(change: "RecordedChange") -> str:
    """Return the fields of a change: before and after, or those of a new row."""
    row = change.row or {}
    before = change.before or {}
    match change.kind:
        case ChangeKind.CHANGED | ChangeKind.ARCHIVED:
            fields = [
                shown_change(name, before[name], row.get(name)) for name in before
            ]
        case _:
            values = change.row or before
            names = [name for name in values if name not in {ROW_ID, *change.key}]
            fields = [shown_field(name, values[name]) for name in names]
    return shortened("; ".join(fields), _MAX_DIFFERENCES)


@data_app.command("export")
def export_table(
    table: TableArgument,
    *,
    format_: Annotated[
        FileFormat,
        typer.Option("--format", help="Write csv, jsonl or parquet.", metavar="FORMAT"),
    ] = FileFormat.CSV,
    output: OutputOption = "",
    as_json: AsJson = False,
) -> None:
    """Write all rows of a table."""
    application = open_application()
    tables = application.sync.tables()
    target = _find_table(tables, table)
    if not output and (format_ is FileFormat.PARQUET or as_json):
        raise ConfigError(
            Text(
                "{format} needs --output FILE", format="--json" if as_json else format_
            )
        )
    administration_of(application).note(Tag.DATA_EXPORTED, "", target.name)
    if not output:
        write_rows(tables, target, format_, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with output_file(output) as file:
        count = _write_with_progress(tables, target, format_, file)
    if as_json:
        print_done("exported", as_json=True, table=table, file=output, rows=count)
    else:
        records = "one record" if count == 1 else f"{count} records"
        print_line(f"exported {records} of {table} to {output}")


def _write_with_progress(
    tables: "StoredTables", target: Target, format_: FileFormat, file: BinaryIO
) -> int:
    """Write all rows with a progress bar, and return how many."""
    from outkey.sync.adapters.files.export import export_table

    rows = 0
    with progress_bar("exporting", tables.count(target.name)) as advance:
        for count in export_table(tables, target, format_, file):
            rows += count
            advance(count)
    return rows


def write_rows(
    tables: "StoredTables", target: Target, format_: FileFormat, file: BinaryIO
) -> int:
    """Write all rows to an open file, and return how many."""
    from outkey.sync.adapters.files.export import export_table

    return sum(export_table(tables, target, format_, file))


def _find_table(tables: "StoredTables", name: str) -> Target:
    """Return a table by its name, with or without the prefix of targets."""
    full_name = name if name.startswith(TABLE_PREFIX) else TABLE_PREFIX + name
    try:
        return find_target(tables.targets(), full_name)
    except ConfigError:
        pass
    raise ConfigError(
        Text("there is no such table"),
        hint=Text("See: outkey data list"),
        field="table",
    )
