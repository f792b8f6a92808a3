"""Moments as texts, for users and for programs; how they are read; clocks that differ.

A moment is a Unix time. Every format of a moment or a duration is here.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from outkey.foundation.core.text import Text, build_text

DAY_SECONDS = 86_400
LAST_MOMENT = 253_402_300_800  # the year 10 000, which Python cannot write as a date
# From here on a difference between two clocks is reported. Less is harmless: verifiers
# of signed tokens allow 60 s by default (Spring Security's JwtTimestampValidator), and
# the Date header of a slow response is itself some seconds old.
CLOCK_SKEW_SECONDS = 60
INTERVAL = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
ELAPSED_UNITS = (("d", DAY_SECONDS), ("h", 3600), ("min", 60), ("s", 1))
UNIT_SECONDS = {"m": 60, "h": 3600, "d": DAY_SECONDS, "w": 7 * DAY_SECONDS}
JUST_NOW_SECONDS = 60
MINUTES_UNTIL = 3600  # from here on, hours
HOURS_UNTIL = 6 * 3600  # from here on, the time of the day says more
WEEKDAYS_UNTIL = 6  # days; a week later the same weekday would be ambiguous
NUMBER = "#"  # stands for a number in the words of a `LiveMoment`
MOMENT_TEMPLATE = "{utc} {zone}"
WEEKDAYS = (
    Text("Mon"),
    Text("Tue"),
    Text("Wed"),
    Text("Thu"),
    Text("Fri"),
    Text("Sat"),
    Text("Sun"),
)


@dataclass(frozen=True, slots=True)
class LiveMoment:
    """A moment in words that age, with the words that a page replaces them by.

    `words` are those for now, minutes and hours; # stands for the number. There are
    none where the words stay right for longer than a page is usually open.
    """

    text: Text
    words: tuple[Text, ...] = ()


def live_moment(at: float, now: float, zone: tzinfo) -> LiveMoment:
    """Return a moment for users: 3 min ago, today 06:00, Mon 06:00 UTC."""
    seconds = abs(now - at)
    if seconds >= HOURS_UNTIL:
        return LiveMoment(_calendar_text(at, now, zone))
    words_for = _future_words if at > now else _past_words
    minutes = int(seconds / 60)
    unit = 0
    number = minutes
    if seconds >= MINUTES_UNTIL:
        unit = 2
        number = minutes // 60
    elif seconds >= JUST_NOW_SECONDS:
        unit = 1
    return LiveMoment(words_for(number)[unit], words_for(NUMBER))


def _calendar_text(at: float, now: float, zone: tzinfo) -> Text:
    """Return a moment by its day: today 06:00, Mon 06:00 UTC, 2026-07-22.

    What is planned names the time zone: users read it beside the time of a schedule,
    which may have another zone.
    """
    moment = datetime.fromtimestamp(at, zone)
    days = (moment.date() - datetime.fromtimestamp(now, zone).date()).days
    time = f"{moment:%H:%M}"
    if at > now:
        time = f"{time} {zone}"
    if abs(days) > WEEKDAYS_UNTIL:
        return Text("{date}", date=f"{moment:%Y-%m-%d}")
    near = {
        0: Text("today {time}", time=time),
        1: Text("tomorrow {time}", time=time),
        -1: Text("yesterday {time}", time=time),
    }
    weekday = WEEKDAYS[moment.weekday()]
    return near.get(days, Text("{weekday} {time}", weekday=weekday, time=time))


def _past_words(number: int | str) -> tuple[Text, Text, Text]:
    """Return how a moment of the last hours is called, by the unit that is counted."""
    return (
        Text("just now"),
        Text("{number} min ago", number=number),
        Text("{number} h ago", number=number),
    )


def _future_words(number: int | str) -> tuple[Text, Text, Text]:
    """Return how a moment of the next hours is called, by the unit that is counted."""
    return (
        Text("in a moment"),
        Text("in {number} min", number=number),
        Text("in {number} h", number=number),
    )


def zoned_text(at: float, zone: tzinfo) -> str:
    """Return a Unix time to the second in a time zone, with the name of the zone."""
    return f"{datetime.fromtimestamp(at, zone):%Y-%m-%d %H:%M:%S} {zone}"


def plain_moment(moment: datetime) -> str:
    """Return a moment to the second in its own time zone, which is not named."""
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def moment_text(at: float) -> Text:
    """Return a Unix time as users read it, in UTC and to the second.

    A host can write it in another time zone: see `with_moments`.
    """
    utc = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"
    return build_text(MOMENT_TEMPLATE, {"utc": utc, "zone": "UTC", "at": at})


def with_moments(text: Text, write: Callable[[float], str]) -> Text:
    """Return a text in which every `moment_text` is written by this function."""
    at = text.values.get("at")
    if text.template == MOMENT_TEMPLATE and isinstance(at, int | float):
        return Text("{text}", text=write(at))
    values = {
        name: with_moments(value, write) if isinstance(value, Text) else value
        for name, value in text.values.items()
    }
    return build_text(text.template, values)


def iso_moment(at: float) -> str:
    """Return a Unix time as programs read it: ISO 8601, in UTC and to the second."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


def iso_to_milliseconds(at: float) -> str:
    """Return a Unix time in ISO 8601, in UTC and to the millisecond."""
    second, millisecond = divmod(round(at * 1000), 1000)
    return f"{iso_moment(second).removesuffix('Z')}.{millisecond:03}Z"


def iso_or_none(at: float | None) -> str | None:
    """Return a Unix time as programs read it; None if it is not known."""
    return None if at is None else iso_moment(at)


def iso_datetime(moment: date) -> str:
    """Return a date or a moment as programs read it: ISO 8601, with Z for UTC."""
    return moment.isoformat().replace("+00:00", "Z")


def hour_text(at: float, zone: tzinfo = UTC) -> str:
    """Return the time of the day of a Unix time, as the label of an hour in a chart."""
    return f"{datetime.fromtimestamp(at, zone):%H:%M}"


def duration_text(seconds: int) -> str:
    """Return a number of seconds as hours, minutes and seconds: 1:02:03."""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def elapsed_text(seconds: float) -> str:
    """Return how long something took, in two units at most: 2 min 5 s."""
    whole = int(seconds)
    if whole < 1:
        return "< 1 s"
    parts = []
    for unit, size in ELAPSED_UNITS:
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count} {unit}")
        elif parts:
            break  # 1 h 5 s would look like 1 h 5 min
    return " ".join(parts[:2])


def parse_interval(text: str) -> int:
    """Return the seconds of an interval such as 90m, 12h, 7d or 2w; 0 if invalid."""
    interval = INTERVAL.fullmatch(text)
    return int(interval[1]) * UNIT_SECONDS[interval[2]] if interval else 0


def moment_of(record: Mapping[str, object]) -> float | None:
    """Return when an audit record was written; a manipulated one may not say."""
    at = record.get("at")  # in milliseconds
    if not isinstance(at, int) or not 0 <= at < LAST_MOMENT * 1000:
        return None
    return at / 1000


def record_iso(record: Mapping[str, object]) -> str | None:
    """Return when an audit record was written, in ISO 8601 and to the millisecond."""
    at = moment_of(record)
    return None if at is None else iso_to_milliseconds(at)


def day_of(at: float) -> date:
    """Return the day (UTC) of a Unix time."""
    return datetime.fromtimestamp(at, UTC).date()


def parse_iso(text: str) -> datetime | None:
    """Return a moment in ISO 8601, in UTC if it names no zone; None if invalid."""
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
