"""What a text looks for in a column: numbers as numbers, times in a zone."""

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from outkey.sync.core.mapping.filters import Equal, Span, Wanted, read_wanted
from outkey.sync.core.mapping.records import FieldKind

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        (FieldKind.DECIMAL, "0.50", Equal(Decimal("0.5"))),
        (FieldKind.DECIMAL, " 1E+3 ", Equal(Decimal(1000))),
        (FieldKind.DECIMAL, "0", Equal(Decimal(0))),
        (FieldKind.DECIMAL, "much", "much"),
        (FieldKind.DECIMAL, "NaN", "NaN"),
        (FieldKind.NUMBER, "7.0", Equal(Decimal(7))),
        (FieldKind.LINK, "7", Equal(Decimal(7))),
        (FieldKind.TEXT, "0.50", "0.50"),
        (FieldKind.TEXT, " a ", " a "),
        (FieldKind.BOOLEAN, "True", Equal(value=True)),
        (FieldKind.BOOLEAN, "yes", "yes"),
        (FieldKind.DATETIME, "soon", "soon"),
        (FieldKind.DATETIME, "9999-12-31", "9999-12-31"),
    ],
)
def test_a_text_is_read_by_the_kind_of_its_column(
    kind: FieldKind, text: str, wanted: Wanted
) -> None:
    assert read_wanted(kind, text, UTC) == wanted


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("2026-02-01", (2026, 1, 31, 23), (2026, 2, 1, 23)),
        ("2026-02-01 08:00", (2026, 2, 1, 7), (2026, 2, 1, 7, 1)),
        ("2026-02-01T08:00:05", (2026, 2, 1, 7, 0, 5), (2026, 2, 1, 7, 0, 6)),
        # The day on which clocks are put forward has 23 hours.
        ("2026-03-29", (2026, 3, 28, 23), (2026, 3, 29, 22)),
    ],
)
def test_a_moment_is_looked_for_in_the_zone_in_which_it_is_shown(
    text: str, first: tuple[int, ...], end: tuple[int, ...]
) -> None:
    wanted = read_wanted(FieldKind.DATETIME, text, BERLIN)
    assert wanted == Span(
        datetime(*first, tzinfo=UTC),  # type: ignore[arg-type, misc]
        datetime(*end, tzinfo=UTC),  # type: ignore[arg-type, misc]
    )
