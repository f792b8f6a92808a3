"""The records of a run that has not ended: beside the file that they will replace.

In a SQLite file of its own: a page that is repeated after a kill writes the same
records again, and memory stays flat.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.text import Text
from outkey.sync.core.mapping.json_values import as_json
from outkey.sync.core.mapping.records import FieldKind, WriteOutcome, Written

SCHEMA = """
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE record (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL
);
"""
PART = 2000  # records that are in memory at a time
GROUP = 500
Row = Mapping[str, object]


class Staging:
    """The staged records of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, run: str) -> None:
        """Start without records; delete what an earlier run has left."""
        count = self._file_count()
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with self._connect() as connection:
            connection.executescript(SCHEMA)
            _put_fact(connection, "run", run)
            _put_fact(connection, "count", count)

    def _file_count(self) -> str:
        """Return how many records the file has; "" if that is not known."""
        if not self._path.exists():
            return ""
        try:
            with self._connect() as connection:
                return fact(connection, "count")
        except sqlite3.DatabaseError:  # what a kill has left need not be a database
            return ""

    def kinds(self) -> dict[str, FieldKind]:
        """Return the kinds of the columns so far."""
        if not self._path.exists():
            return {}
        with self._connect() as connection:
            stored = json.loads(fact(connection, "kinds") or "{}")
        return {name: FieldKind(kind) for name, kind in stored.items()}

    def put_kinds(self, kinds: Mapping[str, FieldKind]) -> None:
        """Store the kinds of the columns."""
        if not self._path.exists():
            return
        with self._connect() as connection:
            text = json.dumps({name: str(kind) for name, kind in kinds.items()})
            _put_fact(connection, "kinds", text)

    def is_replaced(self, run: str) -> bool:
        """Whether the file has the records of this run already."""
        with self._open(run) as connection:
            return bool(fact(connection, "replaced"))

    def is_empty(self, run: str) -> bool:
        """Whether the run has staged no record."""
        with self._open(run) as connection:
            return connection.execute("SELECT 1 FROM record").fetchone() is None

    def is_smaller(self, run: str) -> bool:
        """Whether the run has staged fewer records than the file has, or may have."""
        with self._open(run) as connection:
            before = fact(connection, "count")
            return not before or _count_records(connection) < int(before)

    def note_replaced(self, run: str) -> None:
        """Store that the file has the records, and delete them here."""
        with self._open(run) as connection:
            _put_fact(connection, "replaced", "1")
            _put_fact(connection, "count", str(_count_records(connection)))
            connection.execute("DELETE FROM record")
        with self._open(run) as connection:
            connection.execute("VACUUM")

    def upsert(
        self, keys: Sequence[str], rows: Sequence[Row], run: str
    ) -> list[Written]:
        """Stage records; return what became of each."""
        results: list[Written] = []
        with self._open(run) as connection:
            for group in groups_of(rows, GROUP):
                results += stage(connection, keys, group)
        return results

    def parts(self, run: str) -> Iterator[list[dict[str, object]]]:
        """Yield all records, a part at a time, in the order in which they came."""
        last = 0
        while True:
            with self._open(run) as connection:
                part = connection.execute(
                    "SELECT number, content FROM record WHERE number > ?"
                    " ORDER BY number LIMIT ?",
                    (last, PART),
                ).fetchall()
            if not part:
                return
            last = part[-1][0]
            yield [decode_row(content) for _, content in part]

    @contextmanager
    def _open(self, run: str) -> Iterator[sqlite3.Connection]:
        if not self._path.exists():
            raise _missing_file()
        with self._connect() as connection:
            if fact(connection, "run") != run:
                raise ConfigError(
                    Text("another run writes this file"),
                    hint=Text(
                        "Let only one line write a file; then run the line again."
                    ),
                    field="target",
                )
            yield connection

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=10)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA temp_store = MEMORY")
            with connection:
                yield connection


def _count_records(connection: sqlite3.Connection) -> int:
    """Return how many records are staged."""
    (count,) = connection.execute("SELECT count(*) FROM record").fetchone()
    return int(count)


def _missing_file() -> ConfigError:
    """Return the error for a run that continues without its earlier records."""
    return ConfigError(
        Text("the unfinished file of this run is missing"),
        hint=Text("Run the line again: it begins at the first page."),
        field="target",
    )


def stage(
    connection: sqlite3.Connection, keys: Sequence[str], rows: Sequence[Row]
) -> list[Written]:
    """Write records by their keys; of two with the same keys the later one stays."""
    texts = [json.dumps([_tagged(row[name]) for name in keys]) for row in rows]
    contents = [_encode_row(row) for row in rows]
    marks = ", ".join("?" * len(texts))
    stored = dict(
        connection.execute(
            f"SELECT key, content FROM record WHERE key IN ({marks})",  # noqa: S608
            texts,
        ).fetchall()
    )
    results = []
    for key, content in zip(texts, contents, strict=True):
        outcome = WriteOutcome.CREATED
        if key in stored:
            is_same = stored[key] == content
            outcome = WriteOutcome.UNCHANGED if is_same else WriteOutcome.UPDATED
        stored[key] = content
        results.append(Written(outcome))
    connection.executemany(
        "INSERT INTO record (key, content) VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET content = excluded.content",
        zip(texts, contents, strict=True),
    )
    return results


def fact(connection: sqlite3.Connection, name: str) -> str:
    """Return a fact about the run; "" for none."""
    rows = connection.execute("SELECT value FROM fact WHERE name = ?", (name,))
    return (rows.fetchone() or ("",))[0]


def _put_fact(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Store a fact about the run."""
    connection.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))


def _encode_row(row: Row) -> str:
    """Return a record as JSON with the types of its values."""
    return json.dumps({name: _tagged(value) for name, value in row.items()})


def _tagged(value: object) -> object:
    """Return a value as JSON has it, with a tag where JSON has none such."""
    match value:
        case Decimal() | float():
            return {"decimal": str(value)}
        case datetime():
            return {"datetime": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case dict() | list():
            return {"json": as_json(value)}
    return value


def decode_row(content: str) -> dict[str, object]:
    """Return a record as it was staged."""
    row = json.loads(content, parse_float=Decimal)
    return {name: _untagged(value) for name, value in row.items()}


def _untagged(value: object) -> object:
    """Return the value of a tagged one."""
    match value:
        case {"decimal": str(text)}:
            return Decimal(text)
        case {"datetime": str(text)}:
            return datetime.fromisoformat(text)
        case {"date": str(text)}:
            return date.fromisoformat(text)
        case {"json": inner}:
            return inner
    return value
