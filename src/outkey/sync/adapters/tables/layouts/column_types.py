"""The columns of tables: the types of each database, and values on their way there.

    kind      PostgreSQL   MySQL, MariaDB   SQLite
    text      text         longtext         text
    number    bigint       bigint           bigint
    decimal   numeric      decimal(65, 30)  numeric
    date      date         date             date_text
    datetime  timestamptz  datetime(6)      datetime_text
    boolean   boolean      boolean          boolean
    JSON      jsonb        json             json_text
    link      bigint       bigint           bigint

A value is stored exactly, or its row is rejected. Drivers convert nothing: SQLite's
would convert by the declared type, which is why some of these have names of their own.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import types

from outkey.sync.core.mapping.column_values import ColumnType, int_or_none
from outkey.sync.core.mapping.json_values import as_json
from outkey.sync.core.mapping.records import FieldKind
from outkey.sync.core.mapping.shape import value_text


class Vendor(StrEnum):
    """The databases that tables can be in, by SQLAlchemy's name of the dialect."""

    POSTGRESQL = "postgresql"
    MYSQL = "mysql"  # MariaDB too
    SQLITE = "sqlite"


POSTGRESQL: Final = Vendor.POSTGRESQL
MYSQL: Final = Vendor.MYSQL
SQLITE: Final = Vendor.SQLITE
UUID_LENGTH = 36
MYSQL_PRECISION = 65
MYSQL_SCALE = 30
MYSQL_KEY_LENGTH = 255
MYSQL_INDEX_CHARACTERS = 760  # of all keys together: 3072 bytes, 4 for a character

TYPE_NAMES: Mapping[Vendor, Mapping[FieldKind, str]] = {
    POSTGRESQL: {
        FieldKind.TEXT: "TEXT",
        FieldKind.NUMBER: "BIGINT",
        FieldKind.DECIMAL: "NUMERIC",
        FieldKind.DATE: "DATE",
        FieldKind.DATETIME: "TIMESTAMP WITH TIME ZONE",
        FieldKind.BOOLEAN: "BOOLEAN",
        FieldKind.JSON: "JSONB",
        FieldKind.LINK: "BIGINT",
    },
    MYSQL: {
        FieldKind.TEXT: "LONGTEXT",
        FieldKind.NUMBER: "BIGINT",
        FieldKind.DECIMAL: f"DECIMAL({MYSQL_PRECISION}, {MYSQL_SCALE})",
        FieldKind.DATE: "DATE",
        FieldKind.DATETIME: "DATETIME(6)",
        FieldKind.BOOLEAN: "BOOLEAN",
        FieldKind.JSON: "JSON",
        FieldKind.LINK: "BIGINT",
    },
    SQLITE: {
        FieldKind.TEXT: "TEXT",
        FieldKind.NUMBER: "BIGINT",
        FieldKind.DECIMAL: "NUMERIC",
        FieldKind.DATE: "DATE_TEXT",
        FieldKind.DATETIME: "DATETIME_TEXT",
        FieldKind.BOOLEAN: "BOOLEAN",
        FieldKind.JSON: "JSON_TEXT",
        FieldKind.LINK: "BIGINT",
    },
}


class Raw(types.UserDefinedType[Any]):
    """A type that SQLAlchemy neither converts nor casts."""

    cache_ok = True

    def get_col_spec(self, **_options: object) -> str:
        """Return no name: tables are made with the names above."""
        return ""


def new_column(vendor: Vendor, kind: FieldKind, *, text_keys: int = 0) -> ColumnType:
    """Return the type of a column that outkey makes.

    `text_keys` is how many texts the key of the table has, if the column is one.
    """
    if vendor == MYSQL and kind is FieldKind.DECIMAL:
        return ColumnType(kind, precision=MYSQL_PRECISION, scale=MYSQL_SCALE)
    if vendor == MYSQL and kind is FieldKind.TEXT and text_keys:
        fitting = MYSQL_INDEX_CHARACTERS // text_keys
        return ColumnType(kind, longest=min(MYSQL_KEY_LENGTH, fitting))
    return ColumnType(kind, is_double=vendor == SQLITE and kind is FieldKind.DECIMAL)


def type_name(vendor: Vendor, column: ColumnType, collation: str = "") -> str:
    """Return the type of a column as SQL has it."""
    name = TYPE_NAMES[vendor][column.kind]
    if vendor == MYSQL and column.kind is FieldKind.TEXT:
        if column.longest is not None:
            name = f"VARCHAR({column.longest})"
        return f"{name} CHARACTER SET utf8mb4 COLLATE {collation}"
    return name


# ── types that a database reports ────────────────────────────────────────────────────


def sqlite_column(declared: str) -> ColumnType | None:
    """Return the type of a column as its declaration and SQLite's rules tell."""
    name = declared.upper().partition("(")[0].strip()
    kinds = {own: kind for kind, own in TYPE_NAMES[SQLITE].items()}
    kinds |= {
        "BIGINT": FieldKind.NUMBER,  # of a link too
        "DATE": FieldKind.DATE,
        "DATETIME": FieldKind.DATETIME,
        "TIMESTAMP": FieldKind.DATETIME,
        "BOOL": FieldKind.BOOLEAN,
        "JSON": FieldKind.JSON,
        "DECIMAL": FieldKind.DECIMAL,
    }
    kind = kinds.get(name)
    if kind is None and "INT" in name:
        kind = FieldKind.NUMBER
    if kind is None and any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        kind = FieldKind.TEXT
    if kind is None and any(part in name for part in ("REAL", "FLOA", "DOUB")):
        kind = FieldKind.DECIMAL
    return None if kind is None else new_column(SQLITE, kind)


# The first of these that a type is; a number with a point is looked at more closely.
REFLECTED_KINDS: tuple[tuple[type[types.TypeEngine[Any]], FieldKind], ...] = (
    (types.Boolean, FieldKind.BOOLEAN),
    (types.Integer, FieldKind.NUMBER),
    (types.Date, FieldKind.DATE),
    (types.DateTime, FieldKind.DATETIME),
    (types.JSON, FieldKind.JSON),
)


def reflected_column(type_: types.TypeEngine[Any]) -> ColumnType | None:
    """Return the type of a column of PostgreSQL or MySQL; None: no value fits it."""
    name = type(type_).__name__.upper()
    if name == "TINYINT" and getattr(type_, "display_width", None) == 1:
        return ColumnType(FieldKind.BOOLEAN)
    for reflected, kind in REFLECTED_KINDS:
        if isinstance(type_, reflected):
            return ColumnType(kind)
    if isinstance(type_, types.Float):
        is_double = name.startswith("DOUBLE")
        return ColumnType(FieldKind.DECIMAL, is_double=True) if is_double else None
    if isinstance(type_, types.Numeric):
        return ColumnType(
            FieldKind.DECIMAL, precision=type_.precision, scale=type_.scale
        )
    is_uuid = isinstance(type_, types.Uuid)
    if is_uuid or isinstance(type_, types.String):
        longest = UUID_LENGTH if is_uuid else getattr(type_, "length", None)
        return ColumnType(FieldKind.TEXT, longest=longest)
    return None


def described_column(found: ColumnType, recorded: ColumnType | None) -> ColumnType:
    """Return the type of a column that was written down, if it is still the same."""
    if recorded is None:
        return found
    alike = {
        (FieldKind.NUMBER, FieldKind.LINK),
        (FieldKind.TEXT, FieldKind.JSON),  # MariaDB has no type of its own for it
    }
    is_same = recorded.kind is found.kind or (found.kind, recorded.kind) in alike
    if not is_same:
        return found
    if recorded.kind is found.kind:
        return found
    return ColumnType(recorded.kind)


# ── values on their way ──────────────────────────────────────────────────────────────

Convert = Callable[[Any], Any]


def encoder(vendor: Vendor, column: ColumnType) -> Convert | None:
    """Return the encoder of values for the driver; None: they stay as they are."""
    kind = column.kind
    if kind is FieldKind.JSON:
        return _encode_json
    if kind is FieldKind.DECIMAL and column.is_double:
        return _encode_double
    if kind is FieldKind.DATETIME:
        return {SQLITE: moment_text, MYSQL: _naive_moment}.get(vendor)
    if vendor == SQLITE and kind is FieldKind.DATE:
        return date.isoformat
    if vendor != POSTGRESQL and kind is FieldKind.BOOLEAN:
        return int
    return None


def decoder(vendor: Vendor, column: ColumnType) -> Convert | None:
    """Return the decoder of the driver's values; None: they stay as they are."""
    decoders: dict[FieldKind, Convert] = {
        FieldKind.JSON: _decode_json,
        FieldKind.DECIMAL: _decode_decimal,
        FieldKind.DATETIME: _decode_moment,
        FieldKind.TEXT: decode_text,
    }
    if vendor == SQLITE:  # it takes any value in any column
        decoders[FieldKind.DATE] = _decode_date
        decoders[FieldKind.NUMBER] = _decode_number
        decoders[FieldKind.LINK] = _decode_number
    if vendor != POSTGRESQL:
        decoders[FieldKind.BOOLEAN] = bool
    return decoders.get(column.kind)


def _encode_json(value: object) -> str:
    """Return JSON in which a decimal is a number, if a double holds it exactly."""
    return json.dumps(as_json(value), ensure_ascii=False)


def comparable_json(value: object) -> object:
    """Return a value as it is read again after it was stored as JSON."""
    return json.loads(_encode_json(value), parse_float=Decimal)


def _decode_json(value: object) -> object:
    """Return the value of a JSON text; a text that is not JSON is returned as it is."""
    try:
        return json.loads(str(value), parse_float=Decimal)
    except ValueError:
        return value


def _encode_double(value: Decimal | int) -> int | float:
    """Return a whole number or a floating-point number of the same value."""
    double = float(value)
    if not double.is_integer():
        return double
    number = int_or_none(Decimal(value))
    return double if number is None else number


def _decode_decimal(value: object) -> object:
    """Return a number exactly as it is stored."""
    if isinstance(value, Decimal):
        return value
    try:
        return Decimal(repr(value) if isinstance(value, float) else str(value))
    except InvalidOperation:
        return readable(value)


def _naive_moment(value: datetime) -> datetime:
    """Return a moment in UTC, without saying so."""
    return utc(value).replace(tzinfo=None)


def moment_text(value: datetime) -> str:
    """Return a moment as text whose order is that of time."""
    return utc(value).isoformat(timespec="microseconds")


def _decode_moment(value: object) -> object:
    """Return a moment in UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return value
    return utc(value) if isinstance(value, datetime) else readable(value)


def utc(value: datetime) -> datetime:
    """Return a moment in UTC; one without a zone is in UTC already."""
    if value.tzinfo is UTC:
        return value
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _decode_date(value: object) -> object:
    """Return a date of SQLite."""
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return readable(value)


def _decode_number(value: object) -> object:
    """Return a whole number of SQLite."""
    return value if type(value) is int else readable(value)


def readable(value: object) -> object:
    """Return bytes as text that JSON and people can read; others as they are."""
    return f"0x{value.hex()}" if isinstance(value, bytes) else value


def decode_text(value: object) -> str:
    """Return a text; other types of a database are written as text."""
    return value if type(value) is str else value_text(readable(value))
