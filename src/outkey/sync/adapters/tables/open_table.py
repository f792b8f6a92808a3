"""A table on one connection: its columns in SQL, and values as they are stored."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    any_,
    bindparam,
    cast,
    column,
    func,
    select,
    table,
    tuple_,
)
from sqlalchemy import Text as SqlText
from sqlalchemy.engine import Connection
from sqlalchemy.sql import quoted_name
from sqlalchemy.sql.expression import ColumnClause, TableClause

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sync.adapters.tables.layouts.column_types import (
    POSTGRESQL,
    Convert,
    Raw,
    Vendor,
    decoder,
    encoder,
)
from outkey.sync.adapters.tables.layouts.layout import (
    LINE,
    ROWID,
    RUN,
    Layout,
    TablePlace,
)
from outkey.sync.core.mapping.column_values import ColumnType
from outkey.sync.core.mapping.records import FieldKind
from outkey.sync.core.mapping.targets import ARCHIVED_AT
from outkey.sync.ports.sync import Key

GROUP = 1000  # rows in one statement
ARRAY_TYPES: Mapping[FieldKind, ARRAY[Any]] = {
    FieldKind.TEXT: ARRAY(SqlText),
    FieldKind.NUMBER: ARRAY(BigInteger),
    FieldKind.LINK: ARRAY(BigInteger),
}


class OpenTable:
    """The columns of a table on a connection, and what a statement needs of them."""

    def __init__(
        self,
        connection: Connection,
        place: TablePlace,
        layout: Layout,
        *,
        is_own: bool = False,
    ) -> None:
        self.connection = connection
        # Whether outkey made it, so that its columns have the types of TYPE_NAMES.
        self.is_own = is_own
        self.vendor = Vendor(connection.dialect.name)
        self.layout = layout
        names = (layout.id_column, LINE, RUN, ARCHIVED_AT, *layout.columns)
        columns: list[ColumnClause[Any]] = [
            column(quoted_name(name, quote=name != ROWID), Raw())
            for name in dict.fromkeys(names)
        ]
        schema = place.schema and quoted_name(place.schema, quote=True)
        self.clause: TableClause = table(
            quoted_name(place.table, quote=True), *columns, schema=schema
        )
        self.id = columns[0]
        self.place = place
        self.columns = self.clause.c
        self._encoders = self._converters(encoder)
        self._decoders = self._converters(decoder)

    def _converters(self, converter: Any) -> dict[str, Convert]:  # noqa: ANN401 - of column_types
        columns = {ARCHIVED_AT: ColumnType(FieldKind.DATETIME)} | {
            **self.layout.columns
        }
        converters = {
            name: converter(self.vendor, kind) for name, kind in columns.items()
        }
        return {name: convert for name, convert in converters.items() if convert}

    @property
    def archive_columns(self) -> list[ColumnClause[Any]]:
        """The column with the time of archiving, if the table has it."""
        return [self.columns[ARCHIVED_AT]] if self.layout.archives else []

    def require_column(self, name: str) -> str:
        """Return the name of a column, or raise ConfigError."""
        if name not in self.layout.columns:
            raise ConfigError(
                Text("the table has no such column"),
                hint=Text(
                    "Choose one of: {names}.", names=", ".join(self.layout.columns)
                ),
                field=name,
            )
        return name

    def result_column(self, name: str) -> ColumnElement[Any]:
        """Return a column as a query reads it."""
        result: ColumnElement[Any] = self.columns[name]
        kind = self.layout.columns.get(name)
        if (
            self.vendor == POSTGRESQL
            and kind is not None
            and kind.kind is FieldKind.JSON
        ):
            return cast(result, SqlText())  # hosts and drivers parse JSON differently
        return result

    def decode(self, name: str, value: object) -> object:
        """Return a value of a column as hosts have it."""
        if value is None or name not in self._decoders:
            return value
        return self._decoders[name](value)

    def decode_column(self, name: str, values: Sequence[object]) -> Sequence[object]:
        """Return the values of a column in many rows as hosts have them."""
        decode = self._decoders.get(name)
        if decode is None:
            return values
        return [None if value is None else decode(value) for value in values]

    def decode_row(
        self, names: Sequence[str], values: Sequence[object]
    ) -> dict[str, object]:
        """Return the values of a row as hosts have them, by column."""
        return {
            name: self.decode(name, value)
            for name, value in zip(names, values, strict=True)
        }

    def encode(self, name: str, value: object) -> Any:  # noqa: ANN401 - of the driver
        """Return a value as the driver writes it into a column."""
        if value is None or name not in self._encoders:
            return value
        return self._encoders[name](value)

    def encode_column(self, name: str, values: list[object]) -> list[object]:
        """Return values of many rows as the driver writes them into a column."""
        encode = self._encoders.get(name)
        if encode is None:
            return values
        return [None if value is None else encode(value) for value in values]

    def is_among(
        self, names: Sequence[str], keys: Collection[Key]
    ) -> ColumnElement[bool]:
        """Return the condition that columns have one of these values."""
        encoded = [
            tuple(
                self.encode(name, part) for name, part in zip(names, key, strict=True)
            )
            for key in keys
        ]
        columns = [self.columns[name] for name in names]
        if len(names) > 1 and self.vendor == POSTGRESQL and self._have_arrays(names):
            # A few lists, where each value would be a parameter of its own.
            lists = [
                func.unnest(
                    cast(
                        bindparam(f"wanted-{number}", list(values), Raw()),
                        ARRAY_TYPES[self.layout.columns[name].kind],
                    )
                )
                for number, (name, values) in enumerate(
                    zip(names, zip(*encoded, strict=True), strict=True)
                )
            ]
            return tuple_(*columns, types=[Raw()] * len(names)).in_(select(*lists))
        if len(names) > 1:
            return tuple_(*columns, types=[Raw()] * len(names)).in_(encoded)
        values = [value for (value,) in encoded]
        if self.vendor == POSTGRESQL and self._needs_no_cast(names[0]):
            return columns[0] == any_(bindparam("wanted", values, Raw()))
        return columns[0].in_(values)

    def _have_arrays(self, names: Sequence[str]) -> bool:
        return all(map(self._needs_no_cast, names))

    def _needs_no_cast(self, name: str) -> bool:
        """Whether a list of values has the type of the column without a cast."""
        kind = self.layout.columns[name]
        is_text = kind.kind is FieldKind.TEXT and kind.longest is None
        return is_text or kind.kind in {FieldKind.NUMBER, FieldKind.LINK}
