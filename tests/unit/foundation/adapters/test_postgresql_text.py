from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

from outkey.foundation.adapters.postgresql_text import array_literal, copy_text

MOMENT = datetime(2027, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_rows_are_copied_as_lines_of_texts() -> None:
    columns = [[1, 2], ["a", "b"], [Decimal("1.50"), None], [True, False]]
    assert copy_text(columns) == "1\ta\t1.50\tTrue\n2\tb\t\\N\tFalse\n"
    assert copy_text([[date(2027, 1, 2)], [MOMENT], [0.1]]) == (
        "2027-01-02\t2027-01-02T03:04:05.000006+00:00\t0.1\n"
    )
    assert copy_text([[], []]) == ""


def test_text_that_separates_rows_or_looks_like_null_is_escaped() -> None:
    assert copy_text([["a\tb\nc\rd\\N"], ["\\N"]]) == "a\\tb\\nc\\rd\\\\N\t\\\\N\n"


def test_columns_of_other_or_mixed_types_have_no_text() -> None:
    other = UUID(int=1)
    assert copy_text([["a"], [other]]) is None
    assert copy_text([["a", 1]]) is None
    assert array_literal([other]) == [other]
    assert array_literal([1, None, "a"]) == [1, None, "a"]


def test_arrays_quote_what_has_a_meaning_in_them() -> None:
    assert array_literal(["a", "b,c"]) == '{"a","b,c"}'
    assert array_literal(['"', None, "\\"]) == '{"\\"",NULL,"\\\\"}'
    assert array_literal([]) == "{}"
    assert array_literal([None]) == "{NULL}"
