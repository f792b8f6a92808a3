"""Where records go: tables in three databases, and files in three formats."""

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

from pyarrow import parquet
from sqlalchemy import create_engine, text

from outkey.foundation.core.secret import Secret
from outkey.sync.adapters.tables.databases import parse_database_url
from peers.sync_servers import Row

TABLES = ("own", "postgresql", "mariadb")
FILES = ("jsonl", "csv", "parquet")


@dataclass(frozen=True, slots=True)
class Place:
    """A database, or a folder of files of one format."""

    kind: str
    home: Path
    url: str = ""  # of another database than outkey's own

    def target(self, name: str) -> str:
        """Return the name of a target as lines have it."""
        if self.kind in FILES:
            return f"file:{name}.{self.kind}"
        return f"table:warehouse.{name}" if self.url else f"table:{name}"

    def table(self, name: str) -> str:
        """Return the name of a table as the database has it."""
        return name if self.url else f"data_{name}"

    def read(self, name: str) -> list[Row]:
        """Return all records of a target."""
        file = self.home / "data" / "files" / f"{name}.{self.kind}"
        match self.kind:
            case "jsonl":
                lines = file.read_text().splitlines()
                return [json.loads(line, parse_float=Decimal) for line in lines]
            case "csv":
                with file.open(newline="") as cells:
                    return [dict(row) for row in csv.DictReader(cells)]
            case "parquet":
                rows: list[Row] = parquet.read_table(file).to_pylist()
                return rows
        return self.sql(f"SELECT * FROM {self.table(name)}")

    def sql(self, statement: str, *rows: Row) -> list[Row]:
        """Execute a statement as a user would, past outkey; for each of these rows."""
        url = self.url or f"sqlite:///{self.home / 'data' / 'outkey.sqlite3'}"
        engine = create_engine(parse_database_url("warehouse", Secret(url)))
        try:
            with engine.begin() as connection:
                result = connection.execute(text(statement), rows or None)
                found = result.mappings() if result.returns_rows else ()
                return [dict(row) for row in found]
        finally:
            engine.dispose()

    def insert(self, name: str, rows: Iterable[Row]) -> None:
        """Add rows to a table."""
        made = [
            {column: self._value(value) for column, value in row.items()}
            for row in rows
        ]
        columns = ", ".join(made[0])
        marks = ", ".join(f":{column}" for column in made[0])
        self.sql(f"INSERT INTO {self.table(name)} ({columns}) VALUES ({marks})", *made)

    def _value(self, value: object) -> object:
        """Return a value as a statement for this database has it."""
        match value:
            case Decimal() if self.kind == "own":
                return float(value)
            case datetime() if self.kind == "mariadb":
                return value.replace(tzinfo=None)
            case date() if self.kind == "own":
                return value.isoformat()
        return value
