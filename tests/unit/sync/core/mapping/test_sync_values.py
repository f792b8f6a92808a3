"""Values that could freeze or break a run: each is a rejected record."""

import json
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.findings.checks import Level
from outkey.sync.core.line.checks import line_findings
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    Sync,
    SyncLine,
    Transform,
)
from outkey.sync.core.mapping.json_values import as_json
from outkey.sync.core.mapping.mapping import Unmapped, map_incoming, map_outgoing
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.mapping.transforms import MappingContext, convert_exactly
from outkey.sync.core.paging.response import (
    are_flat,
    greater_value,
    page_fingerprint,
    records_in,
    size_fault,
)

T = Transform
MEANS = MappingContext(ZoneInfo)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def came(transform: Transform, value: object, **options: str) -> object:
    row = map_incoming(
        [FieldMapping("x", "x", transform, options=options)], [value], MEANS
    )
    return row.reason if isinstance(row, Unmapped) else row["x"]


def sent(transform: Transform, value: object, **options: str) -> object:
    """Return what is sent of a value as JSON, or the reason why nothing is."""
    row = map_outgoing(
        [FieldMapping("x", "x", transform, options=options)], {"x": value}, MEANS
    )
    if isinstance(row, Unmapped):
        return row.reason
    json.dumps(row, allow_nan=False)
    return row["x"]


# ── from the API ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("transform", [T.DATE, T.DATETIME])
@pytest.mark.parametrize("unit", ["unix", "unix_ms"])
@pytest.mark.parametrize(
    "value",
    [Decimal("1e999990"), Decimal("-1e9999999"), "1e999990", "sNaN", "1" * 5000],
    ids=["great", "greater", "text", "none", "digits"],
)
def test_a_number_beyond_all_moments_is_refused_at_once(
    transform: Transform, unit: str, value: object
) -> None:
    begun = time.process_time()
    assert came(transform, value, format=unit) == "no_date"
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("value", "zone"),
    [
        ("9999-12-31T23:59:59", "America/New_York"),
        ("0001-01-01T00:00:00", "Europe/Berlin"),
        ("0001-01-01T00:00:00+14:00", "UTC"),
    ],
)
def test_a_moment_that_utc_does_not_have_is_refused(value: str, zone: str) -> None:
    assert came(T.DATETIME, value, zone=zone) == "no_date"


def test_a_small_number_and_one_of_many_digits_are_still_moments() -> None:
    assert came(T.DATETIME, Decimal("1e-9999999"), format="unix") == datetime(
        1970, 1, 1, tzinfo=UTC
    )
    assert came(T.DATETIME, "1." + "0" * 5000, format="unix") == datetime(
        1970, 1, 1, 0, 0, 1, tzinfo=UTC
    )


@pytest.mark.parametrize("value", [float("inf"), float("nan"), Decimal("sNaN")])
def test_what_is_no_number_is_no_text_either(value: object) -> None:
    assert came(T.TEXT, value) == "no_text"


def test_a_value_that_an_expression_has_blown_up_is_refused() -> None:
    doubled: object = "x"
    for _ in range(60):
        doubled = [doubled, doubled]
    assert came(T.AS_IS, doubled) == "too_many_fields"
    nested: object = "x"
    for _ in range(5000):
        nested = [nested]
    assert came(T.AS_IS, nested) == "too_deep"


def test_a_value_can_be_read_exactly_without_a_mapping() -> None:
    assert convert_exactly(T.NUMBER, Decimal("7.0")) == 7
    assert convert_exactly(T.TEXT, 7) == "7"
    for value in (Decimal("1.5"), True, Decimal("1e999990")):
        with pytest.raises(ValueError, match="no_whole_number"):
            convert_exactly(T.NUMBER, value)


# ── to the API ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (Decimal("19.99"), 19.99),
        (Decimal("1234567890.123456789"), "1234567890.123456789"),
        (Decimal("1e9999999"), "1E+9999999"),
        (0.1, 0.1),
        (True, True),
        (None, None),
        (date(2026, 7, 1), "2026-07-01"),
        ({"a": [Decimal("1.5"), {"b": Decimal(2)}]}, {"a": [1.5, {"b": 2.0}]}),
    ],
)
def test_json_has_exact_numbers_or_text(value: object, made: object) -> None:
    assert as_json(value) == made
    assert type(as_json(value)) is type(made)


@pytest.mark.parametrize("transform", [T.AS_IS, T.DECIMAL])
@pytest.mark.parametrize(
    "value",
    [float("inf"), float("-inf"), float("nan"), Decimal("NaN"), Decimal("-Infinity")],
)
def test_infinity_is_not_sent(transform: Transform, value: object) -> None:
    assert sent(transform, value) == "no_number"
    assert sent(T.AS_IS, {"a": [value]}) == "no_number"


@pytest.mark.parametrize("transform", [T.AS_IS, T.DATE])
@pytest.mark.parametrize(
    ("zone", "expected"),
    [("", 1704067200), ("UTC", 1704067200), ("Europe/Berlin", 1704063600)],
)
def test_a_day_is_sent_as_its_first_second_in_the_zone_of_the_mapping(
    transform: Transform, zone: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        for process in ("Pacific/Auckland", "America/New_York"):
            monkeypatch.setenv("TZ", process)
            time.tzset()
            assert (
                sent(transform, date(2024, 1, 1), format="unix", zone=zone) == expected
            )
            naive = datetime(2024, 1, 1)  # noqa: DTZ001 - as a host without zones has it
            assert (
                sent(transform, naive, format="unix_ms", zone=zone) == expected * 1000
            )
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (FIRST, {"zone": "America/New_York"}, "no_date"),
        (LAST, {"zone": "Europe/Berlin"}, "no_date"),
        (FIRST, {"format": "unix"}, -62135596800),
        (
            FIRST.date(),
            {"format": "unix", "zone": "Europe/Berlin"},
            -62135596800 - 3208,
        ),
        (FIRST.date(), {"format": "%d.%m.%Y"}, "no_date"),
        (FIRST, {"format": "%d.%m.%Y"}, "no_date"),
        (date(1000, 1, 2), {"format": "%d.%m.%Y"}, "02.01.1000"),
        (FIRST.date(), {}, "0001-01-01"),
    ],
)
def test_the_ends_of_the_calendar_are_sent_exactly_or_refused(
    value: date, options: dict[str, str], expected: object
) -> None:
    assert sent(T.AS_IS, value, **options) == expected


# ── what an API answers ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "value",
    ["\ud800", "a\r\nb", "a\x00", "z" * 201, 10**4000, Decimal("0." + "1" * 300)],
    ids=["surrogate", "lines", "null", "long text", "long number", "long decimal"],
)
def test_a_latest_value_that_no_request_could_carry_is_ignored(value: object) -> None:
    assert ascii(greater_value("5", value)) == ascii("5")  # which a failure can print
    assert ascii(greater_value("", value)) == ascii("")


def test_a_latest_value_of_200_characters_is_remembered() -> None:
    assert greater_value("", "z" * 200) == "z" * 200


def test_a_page_has_a_bound() -> None:
    def find(document: object) -> object:
        return document

    assert len(records_in([{}] * 10_000, find)) == 10_000
    with pytest.raises(SyncFailed, match="10000") as failed:
        records_in([{}] * 10_001, find)
    assert failed.value.reason == "too_many_records"
    assert "pagination" in failed.value.hint


def test_a_record_that_was_blown_up_has_a_mark_all_the_same() -> None:
    def blown_up(number: int) -> dict[str, object]:
        part: object = "x"
        for _ in range(60):
            part = [part, part]
        return {"id": number, "part": part}

    assert page_fingerprint([blown_up(1)]) == page_fingerprint([blown_up(1)])
    assert page_fingerprint([blown_up(1)]) != page_fingerprint([blown_up(2)])
    assert page_fingerprint([{"a": [1]}]) != page_fingerprint([{"a": [2]}])


@pytest.mark.parametrize(
    ("records", "flat"),
    [
        ([], False),
        ([{"a": 1}, {}], True),
        ([{"a": 1}, {"a": None, "b": "x"}], True),
        ([{"a": 1}, {"a": [1]}], False),
        ([{"a": 1}, {"a": {}}], False),
        ([{"a": 1, "b": 2, "c": 3}], False),
        ([{"a": 1}, "no object"], False),
    ],
)
def test_flat_records_of_a_page_are_recognized_together(
    records: list[dict[str, object]], *, flat: bool
) -> None:
    assert are_flat(records, 2) is flat
    if flat:
        assert not any(size_fault(record, 2) for record in records)


# ── JMESPath ──────────────────────────────────────────────────────────────────────────


class Huge(dict[str, object]):
    def get(self, *_given: object) -> None:
        raise MemoryError


def test_an_expression_that_asks_for_too_much_memory_fails_like_any_other() -> None:
    find = JmespathCompiler().compile("name | join('', [@, @])", field="records")
    with pytest.raises(SyncFailed) as failed:
        find(Huge())
    assert failed.value.reason == "expression"


@pytest.mark.parametrize("function", ["ceil", "floor"])
def test_a_number_beyond_all_bounds_is_not_rounded(function: str) -> None:
    find = JmespathCompiler().compile(f"{function}(n)", field="records")
    begun = time.process_time()
    with pytest.raises(SyncFailed) as failed:
        find({"n": Decimal("1e999990")})
    assert time.process_time() - begun < 1
    assert failed.value.reason == "expression"
    assert find({"n": Decimal("1.5")}) == {"ceil": 2, "floor": 1}[function]


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (Decimal("1.5"), Decimal("1.5")),
        (Decimal("1e999990"), Decimal("1e999990")),
        ("7", 7),
        (True, None),
    ],
)
def test_a_decimal_is_a_number_already(value: object, made: object) -> None:
    assert (
        JmespathCompiler().compile("to_number(n)", field="records")({"n": value})
        == made
    )


# ── before a run ──────────────────────────────────────────────────────────────────────


def found_in(
    sync: Sync, method: str, *, unique: bool | None = True
) -> list[tuple[str, Level]]:
    fields = (
        HostField("a", "A", FieldKind.TEXT, unique=unique),
        HostField("b", "B", FieldKind.DATE),
    )
    found = line_findings(
        SyncLine("x", "acme", method, "/", sync), sync, fields, ZoneInfo
    )
    assert all(one.message and one.hint and one.field for one in found)
    return [(one.id, one.level) for one in found]


ROWS = (FieldMapping("a", "a"), FieldMapping("b", "b"))


def test_a_pull_reads_and_may_use_no_method_that_changes_records() -> None:
    sync = Sync(mappings=ROWS, keys=("a",))
    assert found_in(sync, "GET") == found_in(sync, "POST") == []
    for method in ("DELETE", "PUT", "PATCH", "HEAD"):
        assert found_in(sync, method) == [("L016", Level.ERROR)]


@pytest.mark.parametrize(
    ("keys", "unique", "found"),
    [
        (("a",), True, []),
        (("a",), False, [("L017", Level.WARNING)]),
        (("a",), None, []),  # the host does not say
        (("a", "b"), False, []),
        (("c",), False, []),
        ((), False, []),
    ],
)
def test_a_key_that_two_records_may_have_is_warned_of(
    keys: tuple[str, ...], found: list[tuple[str, Level]], *, unique: bool | None
) -> None:
    assert found_in(Sync(mappings=ROWS, keys=keys), "GET", unique=unique) == found
    assert (
        found_in(Sync(Direction.PUSH, mappings=ROWS, keys=keys), "POST", unique=unique)
        == []
    )


def test_a_body_that_only_python_takes_for_json_is_found_before_the_run() -> None:
    assert found_in(Sync(mappings=ROWS, body='{"a": NaN}'), "POST") == [
        ("L007", Level.ERROR)
    ]


@pytest.mark.parametrize("options", [{"zone": "Mars/Olympus"}, {"format": "%Q"}])
def test_options_for_moments_are_looked_at_also_where_the_hosts_field_decides(
    options: dict[str, str],
) -> None:
    rows = (ROWS[0], FieldMapping("b", "b", options=options))
    assert found_in(Sync(mappings=rows), "GET") == [("L001", Level.ERROR)]
