"""The databases that tables can be in, each for a test of its own."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.db import connections
from sqlalchemy import create_engine
from sqlalchemy.engine import Engine

from database.conftest import configure
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.secret import Secret
from outkey.foundation.ports.database import StateRows
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sync.adapters.tables.databases import (
    NamedDatabases,
    OwnDatabase,
    parse_database_url,
)
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.mapping.records import FieldKind, HostField, Shape

if TYPE_CHECKING:
    from outkey.hosts.django.rows.shared_state import DjangoStateRows

PLACES = ("own sqlite", "own postgresql", "sqlite", "postgresql", "mariadb")
OTHER = "warehouse"


@dataclass
class Place:
    """A database with no tables of lines, and what opens it."""

    vendor: str
    url: str  # of the same database, to look behind the door
    is_own: bool
    folder: Path
    states: StateRows
    adopt: tuple[str, ...] = ()
    lines: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    opened: list[NamedDatabases] = field(default_factory=list)

    def target(self, name: str) -> str:
        """Return the name of a table as lines have it."""
        return f"table:{name}" if self.is_own else f"table:{OTHER}.{name}"

    def table(self, name: str) -> str:
        """Return the name of a table as the database has it."""
        return f"data_{name}" if self.is_own else name

    def store(self) -> TableStore:
        """Return tables as another process would open them."""
        settings = {OTHER: OtherDatabase(OTHER, "env:WAREHOUSE_URL", self.adopt)}
        named = NamedDatabases(
            lambda: settings,
            ReferencedSecrets().open_reference,
            SqliteFiles([self.folder.parent], [self.folder]),
        )
        self.opened.append(named)
        own = None
        if self.is_own:
            from outkey.hosts.django.rows.database import DjangoDatabase
            from outkey.hosts.django.wiring import borrow_connection

            own = OwnDatabase(borrow_connection, DjangoDatabase())
        return TableStore(self.states, own, named, self.lines.__getitem__)

    def begin_run(self, line: str = "orders") -> str:
        """Return the id of a new run of a line."""
        run = str(next(self.numbers))
        self.lines[run] = line
        return run

    def engine(self) -> Engine:
        """Return an engine that has nothing to do with outkey's."""
        return create_engine(parse_database_url(OTHER, Secret(self.url)))

    def quote(self, name: str) -> str:
        """Return a name as statements have it."""
        mark = "`" if self.vendor == "mysql" else '"'
        return mark + name.replace(mark, mark * 2) + mark

    def add_column(self, table: str, name: str) -> None:
        """Add a column of texts by hand."""
        kind = "VARCHAR(9)"
        self.sql(
            f"ALTER TABLE {self.table(table)} ADD COLUMN {self.quote(name)} {kind}"
        )

    def drop_column(self, table: str, name: str) -> None:
        """Drop a column by hand."""
        self.sql(f"ALTER TABLE {self.table(table)} DROP COLUMN {self.quote(name)}")

    def drop_keys(self, table: str) -> None:
        """Drop the unique index of a table by hand."""
        digest = sha256(f".{self.table(table)}".encode()).hexdigest()[:16]
        on_table = f" ON {self.table(table)}" if self.vendor == "mysql" else ""
        self.sql(f"DROP INDEX outkey_keys_{digest}{on_table}")

    def forget_tables(self) -> None:
        """Forget which tables outkey has made, as another installation would."""
        if self.is_own:
            self.sql("DELETE FROM outkey_sharedstate WHERE kind = 'table'")
        else:
            self.states = MemoryStateRows()

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """Execute a statement behind outkey's back."""
        engine = self.engine()
        try:
            with engine.begin() as connection:
                text = statement
                if self.vendor != "sqlite":
                    text = statement.replace("%", "%%")
                result = connection.exec_driver_sql(text)
                return [tuple(row) for row in result] if result.returns_rows else []
        finally:
            engine.dispose()


def django_states() -> "DjangoStateRows":
    from outkey.hosts.django.rows.shared_state import DjangoStateRows

    return DjangoStateRows()


@pytest.fixture(params=PLACES)
def place(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Place]:
    """A database for tables, one after the other of all kinds."""
    own = tmp_path / "own"
    own.mkdir()
    match request.param:
        case "own sqlite":
            file = own / "outkey.sqlite3"
            shutil.copy(request.getfixturevalue("sqlite_tables"), file)
            configure(None, own)
            url = f"sqlite:///{file}"
            made = Place("sqlite", url, True, own, django_states())  # noqa: FBT003
        case "own postgresql":
            tables = request.getfixturevalue("postgresql_tables")
            url = request.getfixturevalue("postgresql").create("outkey", tables)
            configure(url, own)
            made = Place("postgresql", url, True, own, django_states())  # noqa: FBT003
        case "sqlite":
            url = f"sqlite:///{tmp_path / 'warehouse.sqlite3'}"
            made = Place("sqlite", url, False, own, MemoryStateRows())  # noqa: FBT003
        case "postgresql":
            url = request.getfixturevalue("postgresql_warehouse")
            made = Place("postgresql", url, False, own, MemoryStateRows())  # noqa: FBT003
            made.sql("DROP SCHEMA public CASCADE")
            made.sql("CREATE SCHEMA public")
        case _:
            url = request.getfixturevalue("mariadb").create("warehouse")
            made = Place("mysql", url, False, own, MemoryStateRows())  # noqa: FBT003
    monkeypatch.setenv("WAREHOUSE_URL", made.url)
    yield made
    for named in made.opened:
        for opened in named._opened.values():
            opened.database.close()
    if made.is_own:
        connections.close_all()


def shape(
    *columns: tuple[str, FieldKind],
    keys: tuple[str, ...] = ("id",),
    archives: bool = False,
) -> Shape:
    """Return a shape with these columns."""
    fields = tuple(
        HostField(name, name, kind, required=name in keys) for name, kind in columns
    )
    return Shape(keys, fields, archives=archives, retires=archives)
