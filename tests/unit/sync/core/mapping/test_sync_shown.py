"""Values of dry runs as people write them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from outkey.sync.core.mapping.shown import (
    shortened,
    shown_change,
    shown_field,
    shown_value,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (Decimal("0.50"), "0.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("1E+999990"), "1E+999990"),
        (Decimal("NaN"), "NaN"),
        (7, "7"),
        (1.5, "1.5"),
        (True, "true"),
        (False, "false"),
        (date(2027, 1, 2), "2027-01-02"),
        (datetime(2027, 1, 2, 3, 4, 5, tzinfo=UTC), "2027-01-02T03:04:05+00:00"),
        ("Ada Lovelace", "Ada Lovelace"),
        ("007", "007"),
        ("O'Brien", "O'Brien"),
        ("", '""'),
        (" Ada", '" Ada"'),
        ("Ada\n", '"Ada\\n"'),
        ("–", '"–"'),
        ("Zoë ", '"Zoë "'),
        ({"a": [1, None, Decimal("0.50")]}, '{"a": [1, null, "0.50"]}'),
        ([date(2027, 1, 2)], '["2027-01-02"]'),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        ("half \ud83d", "half \ufffd"),
        ({"\ud800": ["\udfff "]}, '{"\ufffd": ["\ufffd "]}'),
    ],
)
def test_a_value_is_written_as_people_write_it(value: object, shown: str) -> None:
    assert shown_value(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("12345678", "12345678"),
        ("123456789", "1234567…"),
        ("a\nb", "a b"),
        (None, "–"),
        ([True, "Ada"], "[true, …"),
    ],
)
def test_a_long_value_is_cut_and_is_in_one_line(value: object, shown: str) -> None:
    assert shortened(value, 8) == shown


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, Decimal("0.50"), "x: – → 0.50"),
        ("Ada", "Lovelace, Ada", 'x: Ada → "Lovelace, Ada"'),
        ("a → b", "", 'x: "a → b" → ""'),
        ([1, 2], None, "x: [1, 2] → –"),
    ],
)
def test_a_change_is_told_apart_from_the_next_one(
    before: object, after: object, shown: str
) -> None:
    assert shown_change("x", before, after) == shown


def test_a_field_is_told_apart_from_the_next_one() -> None:
    assert shown_field("name", "Ada") == "name: Ada"
    assert shown_field("name", "Ada, born: 1815") == 'name: "Ada, born: 1815"'
