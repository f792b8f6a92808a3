"""Rows that a line brings, checked against the columns of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sync.adapters.tables.layouts.layout import Layout
from outkey.sync.core.mapping.column_values import column_faults
from outkey.sync.core.mapping.records import WriteOutcome, Written
from outkey.sync.ports.sync import Key

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """Rows to write, with those that the columns refuse."""

    key_names: Sequence[str]
    layout: Layout
    rows: Sequence[Row]
    names: Sequence[str]  # of all columns that a row has
    refused: Mapping[int, Written]
    all_keys: Sequence[Key]

    @classmethod
    def of(
        cls, layout: Layout, keys: Sequence[str], rows: Sequence[Row]
    ) -> "CheckedRows":
        """Look at the values of rows, column by column."""
        # Nearly always all rows have the same columns.
        shapes = dict.fromkeys(map(tuple, rows))
        names = list(dict.fromkeys(name for shape in shapes for name in shape))
        for name in (*keys, *names):
            if name not in layout.columns:
                raise ConfigError(
                    Text("the table has no such column"),
                    hint=Text(
                        "Choose one of: {names}.", names=", ".join(layout.columns)
                    ),
                    field=name,
                )
        if not keys or any(name not in row for row in rows for name in keys):
            raise ConfigError(
                Text("every row needs the fields that identify a record"),
                field="keys",
            )
        refused: dict[int, Written] = {}
        for name in names:
            faults = column_faults(
                layout.columns[name],
                [row.get(name) for row in rows],
                is_key=name in keys,
            )
            for number, reason in faults.items():
                refused.setdefault(number, Written(WriteOutcome.REFUSED, name, reason))
        key_columns = ([row[name] for row in rows] for name in keys)
        all_keys = list(zip(*key_columns, strict=True))
        return cls(keys, layout, rows, names, refused, all_keys)

    @property
    def numbers(self) -> range:
        """The numbers of the rows."""
        return range(len(self.rows))

    @property
    def may_all_be_new(self) -> bool:
        """Whether each row is accepted, and has a key of its own."""
        return not self.refused and len({*self.all_keys}) == len(self.rows)

    def key(self, number: int) -> Key:
        """Return the values that identify a row."""
        return self.all_keys[number]

    def keys(self) -> list[Key]:
        """Return the keys of all rows that are not refused, each once."""
        if not self.refused:
            return list(dict.fromkeys(self.all_keys))
        return list(
            dict.fromkeys(
                key
                for number, key in enumerate(self.all_keys)
                if number not in self.refused
            )
        )
