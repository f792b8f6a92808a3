from datetime import date

from outkey.core.moments import day_of, iso_moment, moment_text

AT = 1_800_000_000.9  # 2027-01-15 08:00:00 UTC


def test_users_read_the_second_and_the_time_zone() -> None:
    assert moment_text(AT) == "2027-01-15 08:00:00 UTC"


def test_programs_read_iso_8601() -> None:
    assert iso_moment(AT) == "2027-01-15T08:00:00Z"


def test_a_day_is_that_of_utc() -> None:
    assert day_of(AT) == date(2027, 1, 15)
    assert day_of(AT - 8 * 3600 - 1) == date(2027, 1, 14)
