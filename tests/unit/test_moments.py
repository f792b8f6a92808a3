from datetime import date

import pytest

from outkey.core.moments import (
    LAST_MOMENT,
    day_of,
    duration_text,
    hour_text,
    iso_moment,
    moment_text,
    parse_iso,
    record_moment,
)

AT = 1_800_000_000.9  # 2027-01-15 08:00:00 UTC


def test_users_read_the_second_and_the_time_zone() -> None:
    assert moment_text(AT) == "2027-01-15 08:00:00 UTC"


def test_programs_read_iso_8601() -> None:
    assert iso_moment(AT) == "2027-01-15T08:00:00Z"


def test_a_day_is_that_of_utc() -> None:
    assert day_of(AT) == date(2027, 1, 15)
    assert day_of(AT - 8 * 3600 - 1) == date(2027, 1, 14)


def test_an_hour_is_that_of_utc() -> None:
    assert hour_text(AT + 59 * 60) == "08:00"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00:00"), (59, "0:00:59"), (3723, "1:02:03"), (360_000, "100:00:00")],
)
def test_a_duration_has_hours_minutes_and_seconds(seconds: int, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_record_says_in_milliseconds_when_it_was_written() -> None:
    assert record_moment({"at": int(AT * 1000)}) == "2027-01-15 08:00:00 UTC"
    last = LAST_MOMENT * 1000 - 1
    assert record_moment({"at": last}) == "9999-12-31 23:59:59 UTC"


@pytest.mark.parametrize("at", [None, "1", -1, 1.5, LAST_MOMENT * 1000, 10**30])
def test_the_moment_of_a_manipulated_record_is_unknown(at: object) -> None:
    assert record_moment({"at": at}) == "unknown"
    assert record_moment({}) == "unknown"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-01-15T08:00:00Z", 1_800_000_000),
        ("2027-01-15 08:00", 1_800_000_000),
        ("2027-01-15T10:00:00+02:00", 1_800_000_000),
        ("2027-01-15", 1_799_971_200),
    ],
)
def test_a_moment_without_a_zone_is_in_utc(text: str, expected: int) -> None:
    moment = parse_iso(text)
    assert moment is not None
    assert moment.timestamp() == expected


@pytest.mark.parametrize("text", ["", "soon", "2027-13-01", "10000-01-01"])
def test_a_text_that_is_not_iso_8601_is_not_a_moment(text: str) -> None:
    assert parse_iso(text) is None
