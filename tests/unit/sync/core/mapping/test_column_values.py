"""What a column of a table or a file refuses, and why."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from outkey.sync.core.mapping.column_values import ColumnType, column_faults
from outkey.sync.core.mapping.records import FieldKind

DOUBLE = ColumnType(FieldKind.DECIMAL, is_double=True)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        (ColumnType(FieldKind.JSON), {"a": [1, Decimal("2.5"), None]}, ""),
        (ColumnType(FieldKind.JSON), {"a": object()}, "wrong_type"),
        (ColumnType(FieldKind.JSON), {"a": "\0"}, "unstorable_character"),
        (ColumnType(FieldKind.TEXT, longest=3), "four", "too_long"),
        (ColumnType(FieldKind.TEXT), 4, "wrong_type"),
        (ColumnType(FieldKind.NUMBER), 2**63, "out_of_range"),
        (ColumnType(FieldKind.NUMBER), "4", "wrong_type"),
        (ColumnType(FieldKind.NUMBER), None, ""),
        (ColumnType(FieldKind.BOOLEAN), 1, "wrong_type"),
        (ColumnType(FieldKind.DECIMAL), True, "wrong_type"),
        (ColumnType(FieldKind.DECIMAL), 4, ""),
        (ColumnType(FieldKind.DECIMAL, precision=4, scale=2), Decimal("9.9"), ""),
        (ColumnType(FieldKind.DECIMAL, precision=4, scale=2), Decimal(0), ""),
        (ColumnType(FieldKind.DECIMAL), Decimal("NaN"), "no_number"),
        (
            ColumnType(FieldKind.DECIMAL, precision=4, scale=2),
            Decimal(100),
            "out_of_range",
        ),
        (DOUBLE, Decimal("1234567890.1234"), ""),
        (DOUBLE, Decimal("0.30000000000000004"), ""),
        (DOUBLE, Decimal("0.12345678901234567"), "out_of_range"),
        (DOUBLE, Decimal("1E+400"), "out_of_range"),
        (DOUBLE, Decimal("NaN"), "no_number"),
        (DOUBLE, 2**62, ""),
        (DOUBLE, Decimal(2**63 + 1), "out_of_range"),
        (ColumnType(FieldKind.DATE), datetime(2027, 1, 1, tzinfo=UTC), "wrong_type"),
        (ColumnType(FieldKind.DATE), date(2027, 1, 1), ""),
    ],
)
def test_a_value_that_does_not_fit_has_a_reason(
    column: ColumnType, value: object, reason: str
) -> None:
    expected = {0: reason} if reason else {}
    assert column_faults(column, [value, None], is_key=False) == expected


def test_a_key_needs_a_value() -> None:
    column = ColumnType(FieldKind.TEXT)
    faults = column_faults(column, ["a", "", None], is_key=True)
    assert faults == {1: "missing", 2: "missing"}


def test_the_type_of_a_column_is_read_as_it_was_stored() -> None:
    for column in (DOUBLE, ColumnType(FieldKind.TEXT, longest=3)):
        assert ColumnType.from_facts({**column.facts(), "later": 1}) == column
