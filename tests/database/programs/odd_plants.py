"""Odd values for every column of every table of outkey, and how they are planted."""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from axes.models import (  # type: ignore[import-untyped]
    AccessAttempt,
    AccessFailureLog,
    AccessLog,
)
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db import DatabaseError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model
from odd_home import ODD

from outkey.foundation.core.shared_state import StateKind
from outkey.hosts.django import models

IS_SQLITE = connection.vendor == "sqlite"
STATES = "outkey_sharedstate"
NESTED = "[" * 900 + "]" * 900
Row = dict[str, object]


class Sql(str):
    """A value as SQL writes it."""

    __slots__ = ()


JSONS: list[object] = [
    "[]",
    '"x"',
    "null",
    "7",
    "{}",
    '{"a": 1e308}',
    NESTED,
    '{"settings": []}',
]
NOT_JSON: list[object] = [
    "[" * 200_000,
    "not json",
    '{"x": NaN}',
    '{"x": 1e999}',
    "",
]
# SQLite stores any type in any column.
ANYTHING: list[object] = [
    "x",
    "",
    b"\x01\xff",
    -5,
    2**62,
    1e300,
    9e12,
    Sql("9e999"),
    Sql("CAST(x'ff00' AS TEXT)"),
    None,
]
OF_KIND: dict[str, list[object]] = {
    "BinaryField": [b"", b"123", b"\x01" * 500],
    "CharField": ["", "x", "\x1b[31m", "{0}", "../x"],
    "DateTimeField": [
        Sql("'infinity'::timestamptz"),
        Sql("'-infinity'::timestamptz"),
        Sql("'4000-01-01 BC'::timestamptz"),
        Sql("'9999-12-31 23:59:59-14'::timestamptz"),
        Sql("'200000-01-01'::timestamptz"),
    ],
    "DayField": [Sql("'infinity'::date"), Sql("'4000-01-01 BC'::date")],
    "FloatField": [-5.0, 1e300, 9e12, Sql("'NaN'::float8"), Sql("'inf'::float8")],
    "GenericIPAddressField": [Sql("'10.0.0.0/8'::inet"), Sql("'::/0'::inet")],
    "JSONField": JSONS,
    "PositiveBigIntegerField": [0, 2**63 - 1],
    "PositiveIntegerField": [0, 2**31 - 1],
    "PositiveSmallIntegerField": [0, 2**15 - 1],
    "TextField": ["", "x", "\x1b[31m", "{0:999999999}", NESTED],
}
MEMBERS: list[object] = [
    None,
    "x",
    7,
    -1,
    [],
    {},
    True,
    1e308,
    9e12,
    [[[]]],
    {"x": 1},
]
JSON_TEXTS = {"checkpoint", "api", "host", "conflict", "summary"}
MODELS = (
    models.Configuration,
    models.HeaderRow,
    models.SecretValue,
    models.Token,
    models.SyncLine,
    models.LineVersion,
    models.Run,
    models.Quarantine,
    models.SyncMark,
    models.Ledger,
    models.Agreement,
    models.LineParent,
    models.Delivery,
    models.Stream,
    models.AuditRecord,
    models.KnownKey,
    models.UserSettings,
    # Django's own, which the embedded server reads
    User,
    Group,
    Session,
    AccessAttempt,
    AccessFailureLog,
    AccessLog,
    MigrationRecorder(connection).Migration,
)
TABLES = {model._meta.db_table: model for model in MODELS}
# What makes a copy of a row another one.
UNIQUE: dict[str, Callable[[int], Row]] = {
    "outkey_configuration": lambda n: {"id": uuid.uuid4().hex, "name": f"{ODD}{n}"},
    "outkey_headerrow": lambda n: {"position": n},
    "outkey_secretvalue": lambda n: {"field": f"header:X-{n}", "version": n},
    "outkey_syncline": lambda n: {"name": f"{ODD}{n}"},
    "outkey_lineversion": lambda n: {"number": n},
    "outkey_run": lambda _: {},
    "outkey_quarantine": lambda n: {"number": n},
    "outkey_syncmark": lambda n: {"record": str(n)},
    "outkey_ledger": lambda n: {"record": str(n)},
    "outkey_agreement": lambda n: {"record": str(n), "key": str(n)},
    "outkey_lineparent": lambda n: {"key": str(n)},
    "outkey_delivery": lambda n: {"key": str(n)},
    "outkey_stream": lambda n: {"name": f"0123.{n}"},
    "outkey_auditrecord": lambda n: {"number": n},
    "outkey_knownkey": lambda n: {"key_id": f"{n:016x}"},
    "outkey_usersettings": lambda n: {"user": str(n)},
    "auth_user": lambda n: {"username": f"{ODD}{n}"},
    "auth_group": lambda n: {"name": f"{ODD}{n}"},
    "django_session": lambda n: {"session_key": f"{ODD}{n}"},
    "axes_accessattempt": lambda n: {"username": f"{ODD}{n}"},
    "axes_accessfailurelog": lambda n: {"username": f"{ODD}{n}"},
    "axes_accesslog": lambda n: {"username": f"{ODD}{n}"},
    "django_migrations": lambda n: {"app": ODD, "name": str(n)},
    STATES: lambda n: {"key": f"{ODD}{n}"},
}
OF_CONFIGURATION = (
    f"configuration_id = (SELECT id FROM outkey_configuration WHERE name = '{ODD}')"
)
OF_LINE = f"line_id = (SELECT id FROM outkey_syncline WHERE name = '{ODD}')"
OF_PUSH = f"line_id = (SELECT id FROM outkey_syncline WHERE name = '{ODD}-push')"
# Which row of a table is copied.
COPIED = {
    "outkey_configuration": f"name = '{ODD}'",
    "outkey_headerrow": OF_CONFIGURATION,
    "outkey_secretvalue": OF_CONFIGURATION,
    "outkey_syncline": f"name = '{ODD}'",
    "outkey_lineversion": OF_LINE,
    "outkey_run": OF_LINE,
    "outkey_syncmark": OF_LINE,
    "outkey_ledger": OF_PUSH,
    "outkey_agreement": OF_PUSH,
    "outkey_lineparent": OF_LINE,
    "outkey_delivery": "state = 'received'",
}
# States that begin anew if they cannot be read: their loss must stop nothing at all.
RENEWED = (
    StateKind.BASELINE,
    StateKind.HOOK_ACTIVITY,
    StateKind.HOOK_REFUSALS,
    StateKind.LEASE,
    StateKind.MARK,
    StateKind.METRIC_RUNS,
    StateKind.METRIC_SENDS,
    StateKind.NOTICE,
    StateKind.PROCESS,
    StateKind.RATE_LIMIT,
    StateKind.RUN_PAUSE,
    StateKind.WORKER,
)


@dataclass(frozen=True)
class Plant:
    """An odd value in one column: of a copy of a row, or of all rows of a kind."""

    table: str
    column: str
    value: object
    kind: str = ""  # of shared states
    is_in_place: bool = False

    def __str__(self) -> str:
        return f"{self.kind or self.table}.{self.column} = {str(self.value)[:60]!r}"

    def put(self, number: int) -> None:
        """Plant it, unless the database refuses it."""
        is_sql = isinstance(self.value, Sql)
        mark = str(self.value) if is_sql else "%s"
        values = [] if is_sql else [self.value]
        with suppress(DatabaseError, ValueError, OverflowError):
            if self.is_in_place:
                condition = f"kind = '{self.kind}'" if self.kind else OF_CONFIGURATION
                execute(
                    f"UPDATE {self.table} SET {self.column} = {mark} WHERE {condition}",
                    values,
                )
            else:
                self._put_copy(number, mark, values)

    def _put_copy(self, number: int, mark: str, values: list[object]) -> None:
        condition = f"kind = '{self.kind}'" if self.kind else COPIED.get(self.table)
        row = first_row(self.table, condition or "1 = 1")
        changed = UNIQUE[self.table](number)
        if "id" not in changed:
            row.pop("id", None)
        row |= changed
        row.pop(self.column, None)
        columns = ", ".join(f'"{name}"' for name in [*row, self.column])
        marks = ", ".join(["%s"] * len(row) + [mark])
        execute(
            f"INSERT INTO {self.table} ({columns}) VALUES ({marks})",
            [*row.values(), *values],
        )


def execute(statement: str, values: list[object]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)  # type: ignore[arg-type]


def first_row(table: str, condition: str) -> Row:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} WHERE {condition} LIMIT 1")
        names = [column[0] for column in cursor.description]
        return dict(zip(names, map(as_parameter, cursor.fetchone()), strict=True))


def as_parameter(value: object) -> object:
    """Return a value that was read as it can be written; PostgreSQL reads JSON."""
    return json.dumps(value) if isinstance(value, dict | list) else value


def groups() -> Iterator[list[Plant]]:
    """Yield what is planted together: the columns of a table, or a kind of states."""
    for table, model in TABLES.items():
        yield [
            Plant(table, column, value, is_in_place=table == "outkey_token")
            for column, kind in columns_of(model)
            for value in values_for(column, kind)
        ]
    for kind in StateKind:
        if models.SharedStateRow.objects.filter(kind=kind).exists():
            yield [Plant(STATES, *odd, kind) for odd in odd_states(kind)]
    yield from in_place_groups()


def in_place_groups() -> Iterator[list[Plant]]:
    """Yield odd values in all states that begin anew."""
    values: list[tuple[str, object]] = [
        ("value", "[]"),
        ("value", '{"x": 1}'),
        ("value", "not json"),
        ("generation", 2**63 - 1),
        ("generation", 0),
    ]
    if IS_SQLITE:
        values += [("generation", "x"), ("value", b"\xff"), ("generation", 1e300)]
    for column, value in values:
        yield [Plant(STATES, column, value, kind, is_in_place=True) for kind in RENEWED]


def columns_of(model: type[Model]) -> Iterator[tuple[str, str]]:
    for field in model._meta.concrete_fields:
        is_id = field.primary_key and model is not models.Configuration
        if not is_id or model in {models.KnownKey, models.UserSettings}:
            yield str(field.column), field.get_internal_type()


def values_for(column: str, kind: str) -> list[object]:
    is_json = kind == "JSONField" or column in JSON_TEXTS
    if IS_SQLITE:
        return [*JSONS, *NOT_JSON, *ANYTHING] if is_json else ANYTHING
    return JSONS if is_json else OF_KIND.get(kind, [])


def odd_states(kind: StateKind) -> Iterator[tuple[str, object]]:
    """Yield columns of a state with odd values: whole ones, and each member."""
    anything = [value for value in ANYTHING if value is not None]
    for value in [*JSONS, *NOT_JSON, *(anything if IS_SQLITE else [])]:
        yield "value", value
    for value in anything if IS_SQLITE else ["", "x y", "\x1b[31m"]:
        yield "key", value
    for value in anything if IS_SQLITE else [0, 2**63 - 1]:
        yield "generation", value
    rows = models.SharedStateRow.objects.filter(kind=kind).order_by("-key")
    facts = json.loads(rows.values_list("value", flat=True)[0])
    for name, fact in facts.items():
        yield "value", json.dumps({k: v for k, v in facts.items() if k != name})
        for member in MEMBERS:
            yield "value", json.dumps({**facts, name: member})
            for inner in fact if isinstance(fact, dict) else ():
                yield "value", json.dumps({**facts, name: {**fact, inner: member}})


class Snapshot:
    """The rows of all tables, to be put back after a check."""

    def __init__(self, home: Path) -> None:
        self._tables = [*TABLES, STATES]
        self._rows = {table: list(every_row(table)) for table in self._tables}
        self._file = home / "config" / "audit-checkpoints"
        self._checkpoints = self._file.read_bytes()

    def restore(self) -> None:
        off, on = "PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys = ON"
        if not IS_SQLITE:
            off = "SET session_replication_role = replica"
            on = "SET session_replication_role = DEFAULT"
        with connection.cursor() as cursor:
            cursor.execute(off)
            for table in reversed(self._tables):
                cursor.execute(f"DELETE FROM {table}")
            for table, rows in self._rows.items():
                for row in rows:
                    columns = ", ".join(f'"{name}"' for name in row)
                    marks = ", ".join(["%s"] * len(row))
                    statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"
                    cursor.execute(statement, list(row.values()))  # type: ignore[arg-type]
            cursor.execute(on)
        self._file.write_bytes(self._checkpoints)


def every_row(table: str) -> Iterator[Row]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        for row in cursor.fetchall():
            yield dict(zip(names, map(as_parameter, row), strict=True))
