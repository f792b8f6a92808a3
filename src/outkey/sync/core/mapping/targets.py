"""The names of targets: what a line writes to, or reads from in a push.

shop.order                   a model that the host opens
table:orders                 a table in outkey's own database
table:warehouse.orders       a table in a database that the operator names
table:warehouse.sales.orders the same, in a schema
file:orders.csv              a file below the folder for files
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

TABLE_PREFIX = "table:"
FILE_PREFIX = "file:"
MAX_NAME = 63  # PostgreSQL cuts off longer ones
NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{MAX_NAME - 1}}}", re.ASCII)
OWN_TABLE_PREFIX = "data_"  # of tables in the database of outkey
MAX_OWN_NAME = MAX_NAME - len(OWN_TABLE_PREFIX)
# Columns of outkey's in every table: the record's ID, the line that brought it, the run
# that saw it last.
OWN_COLUMNS = ("outkey_id", "outkey_line", "outkey_run")
ARCHIVED_AT = "archived_at"
FILE_PART = re.compile(r"[\w][\w .-]{0,199}")


class FileFormat(StrEnum):
    """How records are written to a file."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class TableName:
    """A table; without a database one in outkey's own."""

    name: str
    database: str = ""
    schema: str = ""

    def __str__(self) -> str:
        parts = (self.database, self.schema, self.name)
        return TABLE_PREFIX + ".".join(filter(None, parts))


def target_words(name: str, label: str) -> Text:
    """Return how users read the name of a target that has this label in the host."""
    if name.startswith(TABLE_PREFIX):
        return Text("Table {name}", name=name.removeprefix(TABLE_PREFIX))
    return Text("{label} ({name})", label=label[:1].upper() + label[1:], name=name)


@dataclass(frozen=True, slots=True)
class FileName:
    """A file, by its path below the folder for files."""

    path: str
    format: FileFormat

    def __str__(self) -> str:
        return FILE_PREFIX + self.path


RESERVED_PREFIXES = ("outkey_", "sqlite_")  # of tables in other databases
TargetName = TableName | FileName | str  # the last is a model of the host


def parse_target(target: str, *, field: str = "target") -> TargetName:
    """Return the parts of a target's name, or raise ConfigError."""
    if target.startswith(TABLE_PREFIX):
        return _parse_table(target.removeprefix(TABLE_PREFIX), field)
    if target.startswith(FILE_PREFIX):
        return _parse_file(target.removeprefix(FILE_PREFIX), field)
    return target


def other_database(target: object) -> str:
    """Return the name of the other database that a target is in; "" for none."""
    if not isinstance(target, str) or not target.startswith(TABLE_PREFIX):
        return ""
    database, dot, _ = target.removeprefix(TABLE_PREFIX).partition(".")
    return database if dot else ""


def _parse_table(name: str, field: str) -> TableName:
    """Return the table of a name such as orders or warehouse.orders."""
    parts = name.split(".")
    if len(parts) > 3 or not all(map(NAME.fullmatch, parts)):
        raise ConfigError(
            Text("this is not the name of a table"),
            hint=Text(
                "Write table:NAME or table:DATABASE.NAME, with letters, digits and"
                " underscores, at most {count} characters each.",
                count=MAX_NAME,
            ),
            field=field,
        )
    if len(parts) == 1:
        if len(name) > MAX_OWN_NAME:
            raise ConfigError(
                Text("the name of the table is too long"),
                hint=Text("Use at most {count} characters.", count=MAX_OWN_NAME),
                field=field,
            )
        return TableName(name)
    database, *schema, table = parts
    if table.lower().startswith(RESERVED_PREFIXES):
        raise ConfigError(
            Text("outkey or the database needs this name for its own table"),
            hint=Text("Choose another name, such as {name}.", name=f"data_{table}"),
            field=field,
        )
    return TableName(table, database, "".join(schema))


def _parse_file(path: str, field: str) -> FileName:
    """Return the file of a relative path with a known ending."""
    parts = path.split("/")
    ending = PurePosixPath(path).suffix.removeprefix(".")
    is_plain = all(map(FILE_PART.fullmatch, parts)) and ".." not in parts
    if not is_plain or ending not in {*FileFormat}:
        raise ConfigError(
            Text("this is not the name of a file for records"),
            hint=Text(
                "Write file:NAME.jsonl, file:NAME.csv or file:NAME.parquet; the name"
                " is relative to the folder for files."
            ),
            field=field,
        )
    return FileName(path, FileFormat(ending))


def refuse_column_name(name: str, *, field: str) -> None:
    """Raise ConfigError if a table cannot have a column of this name."""
    is_own = name.lower() in OWN_COLUMNS or name.lower() == ARCHIVED_AT
    if NAME.fullmatch(name) and not is_own:
        return
    problem = Text("a table cannot have a column of this name")
    if is_own:
        problem = Text("outkey has a column of this name in each of its tables")
    raise ConfigError(
        problem,
        hint=Text(
            "Use letters, digits and underscores, at most {count} characters.",
            count=MAX_NAME,
        ),
        field=field,
    )
