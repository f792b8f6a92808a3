"""The fidelity report of an import: the result of each of its parts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sending.core.configuration.drafts import ConfigurationDraft

# What is named after a part of the pasted text must be a name, never a value.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.\[\]-]{0,39}")
# A user may paste a key where a name belongs.
_LIKE_A_KEY = re.compile(
    r"(?=[^_-]*\d)(?=[^_-]*[A-Za-z])[A-Za-z0-9]{16,}|^[sprg]k_|^gh._"
)
_MAX_ITEMS = 1000


class ReportAction(StrEnum):
    """The result for a part of an import."""

    TAKEN = "taken"
    CHANGED = "changed"
    DROPPED = "dropped"
    UNSTATED = "unstated"


@dataclass(frozen=True, slots=True)
class ReportItem:
    """One part of the input, and what became of it."""

    level: Level
    item: str
    action: ReportAction
    why: Text

    def facts(self) -> dict[str, str]:
        """Return the item as programs read it."""
        return {
            "level": str(self.level),
            "item": self.item,
            "action": str(self.action),
            "why": self.why,
        }


@dataclass(slots=True)
class ImportReport:
    """Collects the items of one import; the same item is reported once."""

    items: list[ReportItem] = field(default_factory=list)

    def note_taken(
        self, item: str, why: Text = NO_TEXT, level: Level = Level.NOTICE
    ) -> None:
        """Note that a part was taken over as it is."""
        self._add(ReportItem(level, item, ReportAction.TAKEN, why))

    def note_changed(self, item: str, why: Text, level: Level = Level.WARNING) -> None:
        """Note that a part was taken over in another form."""
        self._add(ReportItem(level, item, ReportAction.CHANGED, why))

    def note_dropped(self, item: str, why: Text, level: Level = Level.WARNING) -> None:
        """Note that a part was not taken over."""
        self._add(ReportItem(level, item, ReportAction.DROPPED, why))

    def note_unstated(self, item: str, why: Text) -> None:
        """Note that the input does not state a part."""
        self._add(ReportItem(Level.NOTICE, item, ReportAction.UNSTATED, why))

    def add(self, items: Iterable[ReportItem]) -> None:
        """Add the items of another report."""
        for item in items:
            self._add(item)

    def withdraw(self, item: str) -> None:
        """Remove what was noted about an item that turned out to be another one."""
        self.items = [noted for noted in self.items if noted.item != item]

    def add_items_of(self, other: "ImportReport", configuration: str) -> None:
        """Add the items of one of several configurations, with its name."""
        for item in other.items:
            self._add(replace(item, item=f"{configuration}: {item.item}"))

    def _add(self, item: ReportItem) -> None:
        if len(self.items) < _MAX_ITEMS and item not in self.items:
            self.items.append(item)


@dataclass(frozen=True, slots=True)
class ImportedConfiguration:
    """A configuration that was read, and the secrets that were found beside it.

    The draft has a reference for each secret that it needs, found or not.
    """

    draft: ConfigurationDraft
    secrets: Mapping[str, Secret]


def shown_name(kind: str, name: str) -> str:
    """Return the name of a header, parameter or option as a report may show it."""
    is_shown = _NAME.fullmatch(name) and not _LIKE_A_KEY.search(name)
    return f"{kind} {name}".strip() if is_shown else kind


def unique(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, with a number if need be."""
    name = name[:180]
    number = 2
    candidate = name
    while candidate in taken:
        candidate = f"{name} {number}"
        number += 1
    taken.add(candidate)
    return candidate
