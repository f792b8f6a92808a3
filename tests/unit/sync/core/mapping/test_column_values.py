"""What a column of a table or a file refuses, and why."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from outkey.sync.core.mapping.column_values import ColumnType, column_faults
from outkey.sync.core.mapping.records import FieldKind


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        (ColumnType(FieldKind.JSON), {"a": [1, Decimal("2.5"), None]}, ""),
        (ColumnType(FieldKind.JSON), {"a": object()}, "wrong_type"),
        (ColumnType(FieldKind.JSON), {"a": "\0"}, "unstorable_character"),
        (ColumnType(FieldKind.TEXT, longest=3), "four", "too_long"),
        (ColumnType(FieldKind.TEXT), 4, "wrong_type"),
        (ColumnType(FieldKind.NUMBER), 2**63, "out_of_range"),
        (ColumnType(FieldKind.DECIMAL), Decimal("NaN"), "no_number"),
        (
            ColumnType(FieldKind.DECIMAL, precision=4, scale=2),
            Decimal(100),
            "out_of_range",
        ),
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
