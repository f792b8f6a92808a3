"""Schedules as users choose them, and the cron expressions that are stored."""

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.moments import iso_moment
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.core.line_form.schedule_choices import (
    ScheduleChoice,
    ScheduleKind,
    Weekday,
    choice_of,
    next_times,
)

NOW = 1_794_873_600.0  # 2026-11-17T00:00:00Z, a Tuesday


@pytest.mark.parametrize(
    ("schedule", "kind", "words"),
    [
        ("", "by_hand", "by hand"),
        ("* * * * *", "minutes", "every minute"),
        ("*/15 * * * *", "minutes", "every 15 minutes"),
        ("5 * * * *", "hourly", "hourly at minute 5"),
        ("0 6 * * *", "daily", "daily at 06:00, UTC"),
        (
            "CRON_TZ=Europe/Berlin 30 6 * * *",
            "daily",
            "daily at 06:30, Europe/Berlin",
        ),
        ("0 6 * * 1,4", "weekly", "Monday, Thursday at 06:00, UTC"),
        ("0 6 * * 0", "weekly", "Sunday at 06:00, UTC"),
        (
            "CRON_TZ=Europe/Berlin 0 22 * * 1-5",
            "weekly",
            "Monday to Friday at 22:00, Europe/Berlin",
        ),
        ("0 6 1 * *", "cron", "cron 0 6 1 * *, UTC"),
        ("*/7 * * * *", "cron", "cron */7 * * * *, UTC"),
        ("0 6 * * mon", "cron", "cron 0 6 * * mon, UTC"),
        ("0 6 * * 5-1", "cron", "cron 0 6 * * 5-1, UTC"),
        ("0 6 * * 9", "cron", "cron 0 6 * * 9, UTC"),
        ("0 25 * * *", "cron", "cron 0 25 * * *, UTC"),
        ("not cron", "cron", "cron not cron, UTC"),
        (
            "CRON_TZ=Europe/Berlin 0 6 1 1 *",
            "cron",
            "cron 0 6 1 1 *, Europe/Berlin",
        ),
    ],
)
def test_a_schedule_becomes_a_choice_and_back(
    schedule: str, kind: str, words: str
) -> None:
    choice = choice_of(schedule)
    assert (choice.kind, choice.schedule) == (kind, schedule)
    assert choice.words() == words


@pytest.mark.parametrize(
    ("schedule", "same"),
    [
        ("  0  6 * * 1,2,3,4,5 ", "0 6 * * 1-5"),
        ("0 6 * * 7", "0 6 * * 0"),
        ("0 6 * * 6-7", "0 6 * * 6,0"),
    ],
)
def test_other_spellings_of_days_are_the_same_choice(schedule: str, same: str) -> None:
    assert choice_of(schedule) == choice_of(same)
    assert choice_of(schedule).schedule == same


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        (ScheduleChoice(ScheduleKind.MINUTES, minutes="7"), "schedule_minutes"),
        (ScheduleChoice(ScheduleKind.MINUTES, minutes="often"), "schedule_minutes"),
        (ScheduleChoice(ScheduleKind.HOURLY, minute="60"), "schedule_minute"),
        (ScheduleChoice(ScheduleKind.DAILY, time="24:00"), "schedule_time"),
        (ScheduleChoice(ScheduleKind.WEEKLY, days=()), "schedule_days"),
        (ScheduleChoice(ScheduleKind.CRON, cron=" "), "schedule_cron"),
        (ScheduleChoice(ScheduleKind.DAILY, zone="Europe Berlin"), "schedule_zone"),
    ],
)
def test_a_wrong_choice_names_its_input(choice: ScheduleChoice, field: str) -> None:
    with pytest.raises(ConfigError) as refused:
        _ = choice.schedule
    assert refused.value.field == field


def test_steps_that_do_not_divide_an_hour_are_explained() -> None:
    with pytest.raises(ConfigError) as refused:
        _ = ScheduleChoice(ScheduleKind.MINUTES, minutes="7").schedule
    assert "10, 12, 15" in (refused.value.hint or "")


def test_a_time_zone_in_front_of_a_cron_expression_counts() -> None:
    text = "CRON_TZ=Asia/Tokyo 0 6 1 * *"
    choice = ScheduleChoice(ScheduleKind.CRON, zone="Europe/Berlin", cron=text)
    assert choice.schedule == text


def test_the_next_times_are_those_of_the_calendar() -> None:
    calendar = CronCalendar()
    schedule = choice_of("CRON_TZ=Europe/Berlin 0 6 * * 1-5").schedule
    moments = next_times(schedule, NOW, 5, calendar.next_after)
    assert [iso_moment(at) for at in moments] == [
        "2026-11-17T05:00:00Z",
        "2026-11-18T05:00:00Z",
        "2026-11-19T05:00:00Z",
        "2026-11-20T05:00:00Z",
        "2026-11-23T05:00:00Z",
    ]
    assert next_times("", NOW, 3, calendar.next_after) == []
    with pytest.raises(ConfigError):
        next_times("never", NOW, 3, calendar.next_after)


def test_days_are_written_in_the_order_of_the_week() -> None:
    days = (Weekday.SUNDAY, Weekday.MONDAY)
    choice = ScheduleChoice(ScheduleKind.WEEKLY, days=days, time="6:05")
    assert choice.schedule == "5 6 * * 1,0"
