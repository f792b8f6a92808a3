"""Records on their way into a file, a part at a time: JSON lines, CSV, Parquet."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from importlib.util import find_spec
from typing import Any, BinaryIO, Protocol

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sync.core.mapping.records import FieldKind
from outkey.sync.core.mapping.shape import fitted_value, value_text
from outkey.sync.core.mapping.targets import FileFormat

Row = Mapping[str, object]
Kinds = Mapping[str, FieldKind]
# What a spreadsheet takes for the beginning of a formula, some for the wide ones too.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
PLAIN_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?", re.ASCII)
PARQUET_PRECISION = 38
PARQUET_SCALE = 18


class RecordWriter(Protocol):
    """Writes records to an open file, which the caller closes."""

    def write(self, rows: Iterable[Row]) -> None:
        """Write some records."""

    def finish(self) -> None:
        """Write what belongs at the end."""


def refuse_missing_library(format_: FileFormat) -> None:
    """Raise ConfigError if the library of a format is not installed."""
    if format_ is FileFormat.PARQUET and find_spec("pyarrow") is None:
        raise ConfigError(
            Text("the library for Parquet files is not installed"),
            hint=Text('Run: pip install "outkey[parquet]"'),
            field="target",
        )


def open_writer(format_: FileFormat, file: BinaryIO, kinds: Kinds) -> RecordWriter:
    """Return a writer of records with these columns."""
    refuse_missing_library(format_)
    if format_ is FileFormat.JSONL:
        return JsonLines(file, kinds)
    if format_ is FileFormat.CSV:
        return CommaSeparated(file, kinds)
    return Parquet(file, kinds)


class JsonLines:
    """One JSON object a line."""

    def __init__(self, file: BinaryIO, kinds: Kinds) -> None:
        self._file = file
        self._kinds = kinds

    def write(self, rows: Iterable[Row]) -> None:
        """Write some records."""
        for row in rows:
            members = (
                f"{json.dumps(name)}: {exact_json(fitted_value(kind, row.get(name)))}"
                for name, kind in self._kinds.items()
            )
            self._file.write(("{" + ", ".join(members) + "}\n").encode())

    def finish(self) -> None:
        """Write nothing more."""


class CommaSeparated:
    """CSV with a header; no cell is a formula."""

    def __init__(self, file: BinaryIO, kinds: Kinds) -> None:
        self._file = file
        self._kinds = kinds
        # A table that outkey did not make may have columns of any name.
        self._write_lines([[csv_cell(name) for name in kinds]])

    def write(self, rows: Iterable[Row]) -> None:
        """Write some records."""
        self._write_lines(
            [csv_cell(row.get(name)) for name in self._kinds] for row in rows
        )

    def finish(self) -> None:
        """Write nothing more."""

    def _write_lines(self, lines: Iterable[Sequence[str]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\r\n").writerows(lines)
        self._file.write(text.getvalue().encode())


class Parquet:
    """Parquet, with the types of the columns."""

    def __init__(self, file: BinaryIO, kinds: Kinds) -> None:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415

        self._arrow: Any = pa
        self._kinds = kinds
        types = {
            FieldKind.NUMBER: pa.int64(),
            FieldKind.LINK: pa.int64(),
            FieldKind.DECIMAL: pa.decimal128(PARQUET_PRECISION, PARQUET_SCALE),
            FieldKind.DATE: pa.date32(),
            FieldKind.DATETIME: pa.timestamp("us", tz="UTC"),
            FieldKind.BOOLEAN: pa.bool_(),
        }
        self._schema = pa.schema(
            [(name, types.get(kind, pa.string())) for name, kind in kinds.items()]
        )
        self._writer: Any = parquet.ParquetWriter(file, self._schema)

    def write(self, rows: Iterable[Row]) -> None:
        """Write some records."""
        columns: dict[str, list[object]] = {name: [] for name in self._kinds}
        for row in rows:
            for name, kind in self._kinds.items():
                columns[name].append(_parquet_value(kind, row.get(name)))
        table = self._arrow.table(columns, schema=self._schema)
        self._writer.write_table(table)

    def finish(self) -> None:
        """Write the footer."""
        self._writer.close()


def _parquet_value(kind: FieldKind, value: object) -> object:
    """Return a value as its column of Parquet has it."""
    if value is None:
        return None
    if kind in {FieldKind.JSON, FieldKind.ANY}:
        return exact_json(value)
    return fitted_value(kind, value)


def csv_cell(value: object) -> str:
    """Return a value for a cell; an apostrophe keeps it from being a formula."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return exact_json(value)
    text = value_text(value)
    is_formula = isinstance(value, str) and text.startswith(FORMULA_STARTS)
    return f"'{text}" if is_formula and not PLAIN_NUMBER.fullmatch(text) else text


def exact_json(value: object) -> str:
    """Return a value as JSON, in which a decimal is a number of all its digits."""
    match value:
        case Decimal() if value.is_finite():
            return str(value)
        case Decimal() | date():
            return json.dumps(value_text(value))
        case dict():
            members = (
                f"{json.dumps(str(name), ensure_ascii=False)}: {exact_json(part)}"
                for name, part in value.items()
            )
            return "{" + ", ".join(members) + "}"
        case list():
            return "[" + ", ".join(map(exact_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
