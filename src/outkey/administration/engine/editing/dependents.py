"""Dependents of a configuration or a sync line, shown before it is deleted."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from outkey.administration.engine.editing.administration import Administration
from outkey.sync.engine.runs.runs import Runs
from outkey.sync.engine.sync_settings import SyncSettings

MOST_COUNTED = 100  # runs of a line: counting all would read each of them


class DependentLine(NamedTuple):
    """A sync line that is deleted, and how many runs are deleted with it."""

    name: str
    runs: int
    has_more_runs: bool = False  # than were counted


@dataclass(frozen=True, slots=True)
class Dependents:
    """Entries that are deleted with a configuration or a line, or prevent that."""

    lines: tuple[DependentLine, ...]
    pairs: tuple[str, ...]
    webhooks: tuple[str, ...]


def dependents_of(
    administration: Administration,
    settings: SyncSettings,
    runs: Runs,
    *,
    configuration: str = "",
    lines: Collection[str] = (),
) -> Dependents:
    """Return the dependents of a configuration with all of its lines, or of lines."""
    if configuration:
        timetable = administration.registry.timetable()
        lines = [line.name for line in timetable if line.configuration == configuration]
    names = sorted(lines)
    return Dependents(
        lines=tuple(_dependent_line(runs, name) for name in names),
        pairs=tuple(settings.pairs_of(names)),
        webhooks=tuple(administration.webhooks_naming(configuration, names)),
    )


def _dependent_line(runs: Runs, name: str) -> DependentLine:
    """Return a line with the number of its runs."""
    count = len(runs.newest(MOST_COUNTED + 1, name))
    return DependentLine(name, min(count, MOST_COUNTED), count > MOST_COUNTED)
