"""Cron expressions, read as Debian's cron reads them, also when clocks change."""

from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

_ZONE = "CRON_TZ="
_LONGEST = 200


class CronCalendar:
    """Five fields in UTC, or in the zone of a leading `CRON_TZ=Europe/Berlin`."""

    def next_after(self, schedule: str, moment: float) -> float:
        """Return the first moment of a schedule after another one."""
        first, _, rest = schedule.strip().partition(" ")
        has_zone = first.startswith(_ZONE)
        fields = (rest if has_zone else schedule).split()
        next_time: datetime | None = None
        # A sixth field would be seconds.
        with suppress(
            CronSimError, StopIteration, LookupError, ValueError, OSError, OverflowError
        ):
            if len(fields) == 5 and len(schedule) <= _LONGEST:
                zone = _zone(first.removeprefix(_ZONE)) if has_zone else UTC
                next_time = next(
                    CronSim(" ".join(fields), datetime.fromtimestamp(moment, zone))
                )
        if next_time is None:
            raise ConfigError(
                Text(
                    "the schedule is not a cron expression, or it never matches a date"
                ),
                hint=(
                    Text(
                        "Write minute, hour, day, month and weekday, such as 0 6 * *"
                        " 1-5; put a time zone before them: CRON_TZ=Europe/Berlin 0 6 *"
                        " * *."
                    )
                ),
                field="schedule",
            )
        return next_time.timestamp()


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        hint = Text("Write it as Europe/Berlin.")
        raise ConfigError(
            Text("the time zone is unknown"), hint=hint, field="schedule"
        ) from None
