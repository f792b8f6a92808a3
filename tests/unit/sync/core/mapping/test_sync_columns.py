"""The fields of a page at once: always what each value becomes by itself."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.mapping.columns import ColumnMapping, map_columns
from outkey.sync.core.mapping.mapping import Unmapped, map_incoming
from outkey.sync.core.mapping.transforms import MappingContext

CONTEXT = MappingContext(ZoneInfo, {"x": {"7": 70}})
OPTIONS: tuple[dict[str, str], ...] = (
    {},
    {"decimal_mark": ","},
    {"zone": "America/New_York"},
    {"format": "%d.%m.%Y"},
    {"format": "unix"},
    {"a": "A", "7": "seven", "": "empty"},
    {"a": "un\x00storable"},
    {"template": "{a} and {b}"},
)
VALUES: tuple[object, ...] = (
    *(None, "", " ", "a", "Müller", "7", "7.50", "+1e3", "1.234,50", "true", "no"),
    *("a\nb", "a\x00b", "\ud800", "\U0001f600", "0" * 60, "1" * 41),
    *("2026-07-01", "2026-02-30", "20260701", "2026-07-01T23:30:00Z", "01.07.2026"),
    *("2026-07-01T23:30:00-02:00", "2026-07-01T12:00:00", " 2026-07-01T12:00:00Z"),
    *("0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", "12:00", "1e5"),
    *(True, False, 0, 7, -7, 10**17, 10**18, 10**45, 1.5, float("nan")),
    *(Decimal("1.50"), Decimal("7.0"), Decimal("1E+200"), Decimal("NaN")),
    *(date(2026, 7, 1), datetime(2026, 7, 1, 12, tzinfo=UTC), datetime(2026, 7, 1)),  # noqa: DTZ001 - a host may have them
    *([], ["a"], {}, {"a": "x", "b": 7}),
)


def alike(left: object, right: object) -> bool:
    """Whether two rows are the same, types and places of decimals included."""
    return repr(left) == repr(right) and (
        not isinstance(left, Unmapped)
        or not isinstance(right, Unmapped)
        or repr(left.row) == repr(right.row)
    )


@pytest.mark.parametrize("transform", Transform, ids=str)
def test_a_column_is_converted_like_each_of_its_values(transform: Transform) -> None:
    if transform is Transform.CONSTANT:  # is a default by now
        return
    for options in OPTIONS:
        for default, is_required in ((None, False), ("7", False), (None, True)):
            mapping = FieldMapping(
                "x", "x", transform, default, required=is_required, options=options
            )
            columns = [ColumnMapping(mapping, ZoneInfo)]
            alone = [map_incoming([mapping], [value], CONTEXT) for value in VALUES]
            together = map_columns(columns, [VALUES], CONTEXT)
            assert all(map(alike, together, alone)), (options, default)
            # A column in which all values fit takes another way.
            for value, row in zip(VALUES, alone, strict=True):
                rows = map_columns(columns, [[value, value]], CONTEXT)
                assert all(alike(one, row) for one in rows), (options, value)


TRANSFORMS = st.sampled_from(
    [one for one in Transform if one not in {Transform.CONSTANT, Transform.LOOKUP}]
)
MOMENTS = st.datetimes(
    timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=5.5))])
).map(datetime.isoformat)
ANYTHING = st.one_of(
    st.sampled_from(VALUES), st.text(), st.integers(), st.decimals(), MOMENTS
)


@given(st.data())
def test_a_page_is_mapped_like_each_of_its_records(data: st.DataObject) -> None:
    mappings = [
        FieldMapping("", f"field{number}", transform, required=number == 1)
        for number, transform in enumerate(data.draw(st.lists(TRANSFORMS, min_size=1)))
    ]
    record = st.lists(ANYTHING, min_size=len(mappings), max_size=len(mappings))
    records = data.draw(st.lists(record, min_size=1, max_size=4))
    columns = [ColumnMapping(mapping, ZoneInfo) for mapping in mappings]
    together = map_columns(columns, list(zip(*records, strict=True)), CONTEXT)
    alone = [map_incoming(mappings, values, CONTEXT) for values in records]
    assert all(map(alike, together, alone))
    assert len(together) == len(alone)


def test_a_rejected_record_names_its_first_fault_and_has_the_values_before_it() -> None:
    mappings = [
        FieldMapping("", "name", Transform.TEXT),
        FieldMapping("", "amount", Transform.DECIMAL),
        FieldMapping("", "day", Transform.DATE),
    ]
    columns = [["Ada", "Bob"], ["1.50", "much"], ["2026-07-01", "someday"]]
    ada, bob = map_columns(
        [ColumnMapping(mapping, ZoneInfo) for mapping in mappings], columns, CONTEXT
    )
    assert ada == {"name": "Ada", "amount": Decimal("1.50"), "day": date(2026, 7, 1)}
    assert bob == Unmapped("amount", "no_number", {"name": "Bob"})
