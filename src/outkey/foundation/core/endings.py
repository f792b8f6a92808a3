"""When a provider stops an API, a way to authenticate or to sign, and what follows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.text import Text

# Replacing an API takes longer than replacing a token.
NOTICE_DAYS = 180
WARNING_DAYS = 30


@dataclass(frozen=True, slots=True)
class Ending:
    """That something ends, and what replaces it."""

    day: date | None  # None: it is deprecated, and no day is known
    successor: str

    @property
    def words(self) -> Text:
        """The ending as a user reads it."""
        if self.day is None:
            return Text("deprecated; instead: {successor}", successor=self.successor)
        return Text(
            "ends on {day}; instead: {successor}",
            day=self.day,
            successor=self.successor,
        )

    def level(self, now: float) -> Level | None:
        """Return how much the ending matters now; None while it is far away."""
        if self.day is None:
            return None
        days = (self.day - day_of(now)).days
        if days > NOTICE_DAYS:
            return None
        return Level.NOTICE if days > WARNING_DAYS else Level.WARNING


def ending_facts(ending: Ending | None) -> dict[str, object]:
    """Return when something ends, and what replaces it, as programs read it."""
    day = ending.day if ending else None
    return {
        "ends": None if day is None else str(day),
        "successor": ending.successor if ending else "",
    }


def read_ending(table: Mapping[str, Any], place: str = "") -> Ending | None:
    """Return the ending of a preset or a method; None where none is announced."""
    if "successor" in table:
        return Ending(table.get("ends"), str(table["successor"]))
    if "ends" in table:
        raise ConfigError(Text("name what replaces it"), field=f"{place}successor")
    return None


def soonest(endings: Iterable[Ending | None]) -> Ending | None:
    """Return the ending that comes first, of those with a day."""
    by_day = {ending.day: ending for ending in endings if ending and ending.day}
    return by_day[min(by_day)] if by_day else None
