"""The rules of storing sync lines beside their configurations."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import (
    ConfigError,
    EditConflict,
    RowUnreadable,
    SecretUnreadable,
    line_exists,
    unknown_line,
)
from outkey.foundation.core.text import Text
from outkey.foundation.ports.clock import Clock
from outkey.sending.engine.registry import (
    FRESH_SECONDS,
    MOST_CACHED,
    ConfigurationRegistry,
)
from outkey.sync.core.line.history import (
    MOST_VERSIONS,
    LineVersion,
    compared_values,
    version_text,
)
from outkey.sync.core.line.rows import LineRow, line_row

if TYPE_CHECKING:
    from outkey.sending.core.configuration.owners import Reach
    from outkey.sync.core.line.line import SyncLine
    from outkey.sync.core.run.schedule import TimedLine
    from outkey.sync.ports.sync import LineRows, Storage


class Registry(ConfigurationRegistry):
    """The configurations and sync lines of an installation."""

    def __init__(
        self, storage: Storage, clock: Clock, *, fresh_seconds: float = FRESH_SECONDS
    ) -> None:
        super().__init__(storage, clock, fresh_seconds=fresh_seconds)
        self._line_storage = storage
        self._lines = storage.lines
        self._cached_lines: dict[str, tuple[LineRow, SyncLine]] = {}

    def limited_to(self, reach: Reach) -> Registry:
        """Return the rows within a reach, with a cache of their own."""
        from outkey.sync.engine.limited_rows import limited_storage  # noqa: PLC0415

        return Registry(limited_storage(self._line_storage, reach), self._clock)

    def remove(self, name: str) -> None:
        """Delete a configuration with its secrets and lines.

        Raises UnknownConfiguration.
        """
        with self.transaction():
            self._row(name, lock=True)  # no line is added to it from now on
            # One by one, so that none of them is believed when it is put back.
            for line in self._lines.find():
                if line.configuration == name:
                    self._lines.swap(line, None)
            super().remove(name)

    @property
    def line_rows(self) -> LineRows:
        """The rows of the lines."""
        return self._lines

    def line(self, name: str) -> SyncLine:
        """Return one sync line, or raise UnknownConfiguration.

        SecretUnreadable if it was changed without outkey. Every page of a run calls
        this.
        """
        row = self._line_row(name)
        if row.error is not None:
            raise row.error
        cached = self._cached_lines.get(name)
        if cached is not None and cached[0] == row:
            return cached[1]
        line = row.line()
        if len(self._cached_lines) >= MOST_CACHED:
            self._cached_lines.clear()
        self._cached_lines[name] = (row, line)
        return line

    def shown_line(self, name: str) -> SyncLine:
        """Return one sync line to look at it, also while outkey is sealed.

        SecretUnreadable if it was changed without outkey.
        """
        row = self._line_row(name)
        if isinstance(row.error, SecretUnreadable):
            raise row.error
        return row.line()

    def lines(self) -> list[SyncLine]:
        """Return the lines that can be read, by name; also those changed outside."""
        return [line for _, line in self._lines_with_names() if line is not None]

    def unreadable_lines(self) -> list[str]:
        """Return the names of the sync lines that cannot be read."""
        return [name for name, line in self._lines_with_names() if line is None]

    def _lines_with_names(self) -> Iterator[tuple[str, SyncLine | None]]:
        for row in self._lines.find():
            try:
                yield row.name, row.line()
            except (ConfigError, RowUnreadable):
                yield row.name, None

    def changed_lines(self, names: Collection[str]) -> set[str]:
        """Return which of these lines were changed outside of outkey."""
        rows = self._lines.find(names)
        return {row.name for row in rows if isinstance(row.error, SecretUnreadable)}

    def timetable(self, names: Collection[str] | None = None) -> list[TimedLine]:
        """Return when these lines run, or all, also where they cannot be read."""
        return [row.timed() for row in self._lines.find(names)]

    def put_line(
        self, line: SyncLine, *, by: str = "", seen: int | None = None
    ) -> None:
        """Store a sync line, new or changed, and what it is now as a version of it.

        `seen` is the number of the version that the editor has seen: if another one is
        stored, EditConflict is raised. Without it, the last save wins.
        """
        with self.transaction():
            self._row(line.configuration)
            rows = self._lines.find([line.name])
            before = rows[0] if rows else None
            versions = self._lines.versions(line.name, 1)
            if seen is not None and seen != (versions[0].number if versions else 0):
                raise EditConflict
            if not self._lines.swap(before, line_row(line)):
                raise EditConflict  # another process added or deleted it just now
            if before is not None and not versions:
                versions = self._add_first_version(before)
            self._add_version(line, before, versions, by)

    def _add_first_version(self, row: LineRow) -> list[LineVersion]:
        """Store a line that was saved before versions were; none if unreadable."""
        try:
            text = version_text(row.line())
        except ConfigError:
            return []
        version = LineVersion(
            line=row.name,
            number=1,
            at=self._storage.database.now(),
            actor="",
            text=text,
        )
        if not self._lines.add_version(version, oldest=1):
            raise EditConflict
        return [version]

    def _add_version(
        self,
        line: SyncLine,
        before: LineRow | None,
        versions: list[LineVersion],
        actor: str,
    ) -> None:
        text = version_text(line)
        if versions and versions[0].text == text:
            return
        number = versions[0].number + 1 if versions else 1
        version = LineVersion(
            line=line.name,
            number=number,
            at=self._storage.database.now(),
            actor=actor,
            text=text,
            summary=summary_of(before, line),
        )
        oldest = number - MOST_VERSIONS + 1
        if not self._lines.add_version(version, oldest=oldest):
            raise EditConflict

    def line_versions(self, name: str, limit: int = MOST_VERSIONS) -> list[LineVersion]:
        """Return the versions of a line, newest first."""
        return self._lines.versions(name, limit)

    def rename_line(self, name: str, new_name: str) -> None:
        """Give a sync line another name; all that belongs to it stays with it.

        Raises UnknownConfiguration, and ConfigError if the new name is taken.
        """
        with self.transaction():
            row = self._line_row(name)
            if self._lines.find([new_name]):
                raise line_exists()
            if not self._lines.swap(row, replace(row, name=new_name)):
                raise EditConflict  # another process deleted it just now

    def configuration_of_line(self, name: str) -> str:
        """Return the configuration of a line that is about to be used; as `line`."""
        return self.line(name).configuration

    def owner_of_line(self, name: str) -> str:
        """Return the configuration of a line, also of one that was changed outside."""
        return self._line_row(name).configuration

    def remove_line(self, name: str) -> None:
        """Delete a sync line, or raise UnknownConfiguration."""
        self._lines.swap(self._line_row(name), None)

    def _line_row(self, name: str) -> LineRow:
        rows = self._lines.find([name])
        if not rows:
            raise unknown_line()
        return rows[0]


def summary_of(before: LineRow | None, line: SyncLine) -> Text:
    """Return the changes of a save, in words."""
    from outkey.sync.core.line.versions import compare_lines  # noqa: PLC0415

    if before is None:
        return Text("created")
    try:
        values = compared_values(before.line())
    except ConfigError:
        return Text("changed")
    comparison = compare_lines(values, compared_values(line))
    return comparison.summary() if comparison.changes else Text("comments changed")
