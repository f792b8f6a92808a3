"""A schedule as a user chooses it, and the cron expression that it is stored as."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import Choice
from outkey.foundation.core.text import Text, join_texts

ZONE_PREFIX = "CRON_TZ="
UTC_ZONE = "UTC"
ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*", re.ASCII)
TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
NUMBER = re.compile(r"\d{1,2}", re.ASCII)
# An hour has a whole number of these, so that the steps are equal.
STEPS = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)

NextAfter = Callable[[str, float], float]  # as `ports.sync.Calendar.next_after`


class ScheduleKind(Choice):
    """How often a line runs."""

    BY_HAND = "by_hand", "By hand"
    MINUTES = "minutes", "Every few minutes"
    HOURLY = "hourly", "Hourly"
    DAILY = "daily", "Daily"
    WEEKLY = "weekly", "Weekly"
    CRON = "cron", "Cron expression"


class Weekday(Choice):
    """A day of the week; cron has it by its position, from 1."""

    MONDAY = "mon", "Monday"
    TUESDAY = "tue", "Tuesday"
    WEDNESDAY = "wed", "Wednesday"
    THURSDAY = "thu", "Thursday"
    FRIDAY = "fri", "Friday"
    SATURDAY = "sat", "Saturday"
    SUNDAY = "sun", "Sunday"


WEEKDAYS = tuple(Weekday)
WORKDAYS = WEEKDAYS[:5]


@dataclass(frozen=True, slots=True)
class ScheduleChoice:
    """The choice of a user; the texts are as they were entered, valid or not."""

    kind: ScheduleKind = ScheduleKind.BY_HAND
    minutes: str = "15"  # between two runs
    minute: str = "0"  # of an hour
    time: str = "06:00"
    days: tuple[Weekday, ...] = (Weekday.MONDAY,)
    zone: str = UTC_ZONE
    cron: str = ""

    @property
    def schedule(self) -> str:
        """The cron expression; ConfigError with the field of what is wrong."""
        expression = self.expression()
        has_zone = expression.startswith(ZONE_PREFIX)  # a user may write it there
        if not expression or has_zone or self.zone in {"", UTC_ZONE}:
            return expression
        if not ZONE.fullmatch(self.zone):
            raise ConfigError(
                Text("the time zone is unknown"),
                hint=Text("Write it as Europe/Berlin."),
                field="schedule_zone",
            )
        return f"{ZONE_PREFIX}{self.zone} {expression}"

    def words(self) -> Text:
        """Return the schedule as a user reads it."""
        rhythm = self._rhythm()
        timed = {ScheduleKind.DAILY, ScheduleKind.WEEKLY, ScheduleKind.CRON}
        if self.kind not in timed:
            return rhythm
        return Text("{rhythm}, {zone}", rhythm=rhythm, zone=self.zone or UTC_ZONE)

    def expression(self) -> str:
        """Return the five fields of cron, without a time zone."""
        match self.kind:
            case ScheduleKind.BY_HAND:
                return ""
            case ScheduleKind.MINUTES:
                step = read_number(self.minutes, STEPS, "schedule_minutes")
                return "* * * * *" if step == 1 else f"*/{step} * * * *"
            case ScheduleKind.HOURLY:
                minute = read_number(self.minute, range(60), "schedule_minute")
                return f"{minute} * * * *"
            case ScheduleKind.DAILY:
                return f"{self._clock()} * * *"
            case ScheduleKind.WEEKLY:
                return f"{self._clock()} * * {_days_field(self.days)}"
        expression = " ".join(self.cron.split())
        if not expression:
            raise ConfigError(
                Text("the cron expression is missing"),
                hint=Text("Write minute, hour, day, month and weekday: 0 6 * * 1-5."),
                field="schedule_cron",
            )
        return expression

    def _clock(self) -> str:
        """Return minute and hour, as cron has them."""
        clock = TIME.fullmatch(self.time.strip())
        if clock is None:
            raise ConfigError(
                Text("this is not a time of day"),
                hint=Text("Write hours and minutes, such as 06:00."),
                field="schedule_time",
            )
        return f"{int(clock[2])} {int(clock[1])}"

    def _rhythm(self) -> Text:
        text = Text("by hand")
        match self.kind:
            case ScheduleKind.MINUTES if self.minutes == "1":
                text = Text("every minute")
            case ScheduleKind.MINUTES:
                text = Text("every {count} minutes", count=self.minutes)
            case ScheduleKind.HOURLY:
                text = Text("hourly at minute {minute}", minute=self.minute)
            case ScheduleKind.DAILY:
                text = Text("daily at {time}", time=self.time)
            case ScheduleKind.WEEKLY if self.days == WORKDAYS:
                text = Text("Monday to Friday at {time}", time=self.time)
            case ScheduleKind.WEEKLY:
                days = join_texts((day.label for day in self.days), ", ")
                text = Text("{days} at {time}", days=days, time=self.time)
            case ScheduleKind.CRON:
                text = Text("cron {expression}", expression=self.cron)
        return text


def choice_of(schedule: str) -> ScheduleChoice:
    """Return the choice that a schedule is; what no other one has is cron."""
    text = " ".join(schedule.split())
    if not text:
        return ScheduleChoice()
    zone = UTC_ZONE
    expression = text
    if text.startswith(ZONE_PREFIX):
        first, _, expression = text.partition(" ")
        zone = first.removeprefix(ZONE_PREFIX)
    fields = expression.split(" ")
    for choice in _simple_choices(fields, zone) if len(fields) == 5 else ():
        if _has_meaning_of(choice, expression):
            return choice
    return ScheduleChoice(ScheduleKind.CRON, zone=zone, cron=expression)


def _simple_choices(fields: Sequence[str], zone: str) -> Iterator[ScheduleChoice]:
    """Yield the choices that five fields may be; not all of them are."""
    minute, hour, _, _, weekday = fields
    step = "1" if minute == "*" else minute.removeprefix("*/")
    yield ScheduleChoice(ScheduleKind.MINUTES, minutes=step, zone=zone)
    yield ScheduleChoice(ScheduleKind.HOURLY, minute=minute, zone=zone)
    if NUMBER.fullmatch(minute) and NUMBER.fullmatch(hour):
        time = f"{int(hour):02}:{int(minute):02}"
        yield ScheduleChoice(ScheduleKind.DAILY, time=time, zone=zone)
        days = _days_of(weekday)
        yield ScheduleChoice(ScheduleKind.WEEKLY, time=time, days=days, zone=zone)


def _has_meaning_of(choice: ScheduleChoice, expression: str) -> bool:
    """Whether a choice is the one that an expression stands for."""
    *clock, weekday = expression.split(" ")
    if choice.kind is ScheduleKind.WEEKLY and choice.days:
        weekday = _days_field(choice.days)  # 1,2,3,4,5 is 1-5
    try:
        return choice.expression() == " ".join((*clock, weekday))
    except ConfigError:
        return False


def _days_of(weekday: str) -> tuple[Weekday, ...]:
    """Return the days of a field of cron; none if it has other parts than days."""
    numbers: set[int] = set()
    for part in weekday.split(","):
        first, _, last = part.partition("-")
        if not NUMBER.fullmatch(first) or not NUMBER.fullmatch(last or first):
            return ()
        numbers |= {*range(int(first), int(last or first) + 1)}
    if not numbers or not numbers <= {*range(8)}:
        return ()
    days = {number or 7 for number in numbers}  # cron has Sunday twice
    return tuple(day for number, day in enumerate(WEEKDAYS, 1) if number in days)


def _days_field(days: Sequence[Weekday]) -> str:
    """Return days as cron has them; ConfigError without any day."""
    numbers = [number for number, day in enumerate(WEEKDAYS, 1) if day in days]
    if {*days} == {*WORKDAYS}:
        return "1-5"
    if not numbers:
        raise ConfigError(
            Text("no day is chosen"),
            hint=Text("Choose at least one day of the week."),
            field="schedule_days",
        )
    return ",".join(str(number % 7) for number in numbers)


def read_number(text: str, numbers: Sequence[int], field: str) -> int:
    """Return one of these numbers, or raise ConfigError."""
    if NUMBER.fullmatch(text.strip()) and int(text) in numbers:
        return int(text)
    hint = Text("Enter a number from 0 to 59.")
    if numbers is STEPS:
        hint = Text("Choose one of: {numbers}.", numbers=", ".join(map(str, STEPS)))
    raise ConfigError(Text("the number of minutes is invalid"), hint=hint, field=field)


def next_times(
    schedule: str, after: float, count: int, next_after: NextAfter
) -> list[float]:
    """Return the next moments of a schedule; none without one.

    ConfigError if it is not a schedule.
    """
    moments: list[float] = []
    while schedule and len(moments) < count:
        moments.append(next_after(schedule, moments[-1] if moments else after))
    return moments
