from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from outkey.foundation.core.moments import (
    LAST_MOMENT,
    day_of,
    duration_text,
    elapsed_text,
    hour_text,
    iso_datetime,
    iso_moment,
    iso_or_none,
    live_moment,
    moment_text,
    parse_iso,
    plain_moment,
    record_iso,
    with_moments,
    zoned_text,
)
from outkey.foundation.core.text import Text, join_texts

AT = 1_800_000_000.9  # 2027-01-15 08:00:00 UTC


def test_users_read_the_second_and_the_time_zone() -> None:
    assert moment_text(AT) == "2027-01-15 08:00:00 UTC"


def test_a_moment_in_a_text_is_written_as_a_host_wants_it() -> None:
    hint = Text("Retry after {moment}.", moment=moment_text(AT))
    assert hint == "Retry after 2027-01-15 08:00:00 UTC."
    stored = Text.from_json(join_texts([hint, "x"]).to_json())
    berlin = ZoneInfo("Europe/Berlin")
    local = with_moments(stored, lambda at: zoned_text(at, berlin))
    assert local == "Retry after 2027-01-15 09:00:00 Europe/Berlin. x"
    other = Text("{utc} {zone}", utc="somewhere", zone="UTC")
    assert with_moments(other, str) == "somewhere UTC"


def test_programs_read_iso_8601() -> None:
    assert iso_moment(AT) == "2027-01-15T08:00:00Z"
    assert iso_or_none(AT) == "2027-01-15T08:00:00Z"
    assert iso_or_none(None) is None
    moment = datetime(2027, 1, 15, 8, tzinfo=UTC)
    assert iso_datetime(moment) == "2027-01-15T08:00:00Z"
    berlin = moment.astimezone(ZoneInfo("Europe/Berlin"))
    assert iso_datetime(berlin) == "2027-01-15T09:00:00+01:00"
    assert iso_datetime(moment.date()) == "2027-01-15"


def test_a_day_is_that_of_utc() -> None:
    assert day_of(AT) == date(2027, 1, 15)
    assert day_of(AT - 8 * 3600 - 1) == date(2027, 1, 14)


def test_an_hour_is_that_of_utc() -> None:
    assert hour_text(AT) == "08:00"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00:00"), (59, "0:00:59"), (3723, "1:02:03"), (360_000, "100:00:00")],
)
def test_a_duration_has_hours_minutes_and_seconds(seconds: int, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "< 1 s"),
        (-3, "< 1 s"),
        (0.9, "< 1 s"),
        (4.2, "4 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (3605, "1 h"),
        (3725, "1 h 2 min"),
        (266_400, "3 d 2 h"),
    ],
)
def test_what_took_some_time_is_told_in_two_units(seconds: float, text: str) -> None:
    assert elapsed_text(seconds) == text


def test_a_record_says_in_milliseconds_when_it_was_written() -> None:
    assert record_iso({"at": int(AT * 1000)}) == "2027-01-15T08:00:00.900Z"
    last = LAST_MOMENT * 1000 - 1
    assert record_iso({"at": last}) == "9999-12-31T23:59:59.999Z"


@pytest.mark.parametrize("at", [None, "1", -1, 1.5, LAST_MOMENT * 1000, 10**30])
def test_the_moment_of_a_manipulated_record_is_unknown(at: object) -> None:
    assert record_iso({"at": at}) is None
    assert record_iso({}) is None


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


BERLIN = ZoneInfo("Europe/Berlin")
# A Wednesday, at noon in Berlin.
NOON = datetime(2026, 7, 15, 12, 0, tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "just now"),
        (-59, "just now"),
        (1, "in a moment"),
        (59, "in a moment"),
        (-60, "1 min ago"),
        (-3599, "59 min ago"),
        (60, "in 1 min"),
        (-3600, "1 h ago"),
        (7260, "in 2 h"),
        (-6 * 3600, "today 06:00"),
        (-13 * 3600, "yesterday 23:00"),
        (13 * 3600, "tomorrow 01:00 Europe/Berlin"),
        (-30 * 3600, "yesterday 06:00"),
        (-2 * 86_400, "Mon 12:00"),
        (6 * 86_400, "Tue 12:00 Europe/Berlin"),
        (7 * 86_400, "2026-07-22"),
        (-400 * 86_400, "2025-06-10"),
    ],
)
def test_a_moment_is_called_as_users_speak_of_it(seconds: int, text: str) -> None:
    assert live_moment(NOON + seconds, NOON, BERLIN).text == text


def test_the_day_is_that_of_the_time_zone() -> None:
    at = NOON - 12 * 3600 + 1  # a second past midnight in Berlin, not in UTC
    assert live_moment(at, NOON, BERLIN).text == "today 00:00"
    assert live_moment(at, NOON, UTC).text == "yesterday 22:00"


def test_what_is_planned_names_the_zone_that_its_time_is_in() -> None:
    at = NOON + 18 * 3600  # 06:00 in Berlin
    assert live_moment(at, NOON, UTC).text == "tomorrow 04:00 UTC"
    assert live_moment(at, NOON, BERLIN).text == "tomorrow 06:00 Europe/Berlin"


def test_words_that_age_name_those_that_follow() -> None:
    past = ("just now", "# min ago", "# h ago")
    assert live_moment(NOON - 90, NOON, UTC).words == past
    future = ("in a moment", "in # min", "in # h")
    assert live_moment(NOON + 90, NOON, UTC).words == future
    assert live_moment(NOON - 86_400, NOON, UTC).words == ()


def test_an_exact_moment_names_its_time_zone() -> None:
    assert zoned_text(AT, BERLIN) == "2027-01-15 09:00:00 Europe/Berlin"
    assert zoned_text(AT, UTC) == "2027-01-15 08:00:00 UTC"


def test_a_moment_of_a_table_is_shown_to_the_second_in_its_own_zone() -> None:
    moment = datetime(2027, 1, 15, 9, 0, 30, 999, tzinfo=BERLIN)
    assert plain_moment(moment) == "2027-01-15 09:00:30"
