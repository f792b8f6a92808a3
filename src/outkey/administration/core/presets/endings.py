"""When a provider stops an API or a way to authenticate, and what replaces it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text


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
