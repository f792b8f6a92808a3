"""The items of the report about one described line: one for each of its settings."""

from collections.abc import Iterable
from itertools import islice

from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.report import ImportReport, shown_name

MAX_NAMES = 20


class LineNotes:
    """Notes about one line; `place` is its name in the report."""

    def __init__(self, report: ImportReport, place: str) -> None:
        self.place = place
        self._report = report

    def take(self, setting: str, why: Text) -> None:
        """Note a setting that was taken over."""
        self._report.note_taken(f"{self.place}: {setting}", why)

    def take_names(self, setting: str, *names: str) -> None:
        """Note a setting that was taken over, with the names that it has."""
        self.take(setting, Text("{names}", names=names_text(names)))

    def take_records(self, expression: str) -> None:
        """Note where the records are."""
        shown = "@" if expression == "@" else names_text([expression])
        self.take("records", Text("{names}", names=shown))

    def take_pages(self, kind: str, *names: str) -> None:
        """Note how pages are requested, with the names that are not empty."""
        stated = [*filter(None, names)]
        why = Text("by {kind}", kind=kind)
        if stated:
            why = Text("by {kind}: {names}", kind=kind, names=names_text(stated))
        self.take("pagination", why)

    def change(self, setting: str, why: Text) -> None:
        """Note a setting that was taken over in another form."""
        self._report.note_changed(f"{self.place}: {setting}", why, Level.NOTICE)

    def leave(self, setting: str, why: Text) -> None:
        """Note a setting that the input does not state."""
        self._report.note_unstated(f"{self.place}: {setting}", why)

    def drop(self, setting: str, why: Text, level: Level = Level.WARNING) -> None:
        """Note a setting that could not be taken over."""
        self._report.note_dropped(f"{self.place}: {setting}", why, level)

    def drop_ambiguous(self, setting: str, names: Iterable[str]) -> None:
        """Note a setting that has several readings."""
        why = Text(
            "several readings are possible ({names}): none was taken",
            names=names_text(names),
        )
        self.drop(setting, why)


def names_text(names: Iterable[str]) -> str:
    """Return names as a report may show them."""
    return ", ".join(shown_name("", name) or "…" for name in islice(names, MAX_NAMES))
