"""Tables that programs read, by the token of a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import NamedTuple

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.engine.access.api_access import ApiAccess
from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Tag
from outkey.sync.core.line.line import Direction, SyncLine
from outkey.sync.core.mapping.filters import Wanted, read_wanted
from outkey.sync.core.mapping.records import HostRecord, Target, find_target
from outkey.sync.core.mapping.row_changes import ChangesPage, Cursor, parse_cursor
from outkey.sync.core.mapping.targets import TABLE_PREFIX
from outkey.sync.ports.sync import StoredTables


class RowsPage(NamedTuple):
    """The next rows of a table; `cursor` is that of the changes before it was read."""

    target: Target
    rows: Sequence[HostRecord]
    more: bool
    cursor: Cursor | None  # None: the table has no feed


@dataclass(frozen=True, slots=True)
class ApiTables:
    """The tables that a token may read, with the scope `data`.

    A token for certain configurations reads the tables that lines of these fill, and
    no other line.
    """

    access: ApiAccess

    @property
    def tables(self) -> StoredTables:
        """The tables of the installation."""
        return self.access.application.sync.tables()

    def targets(self) -> list[Target]:
        """Return the tables that the token is for."""
        self.access.token.demand(Scope.DATA)
        targets = list(self.tables.targets())
        application = self.access.application
        if application.unlimited is None:
            return targets
        names = {summary.name for summary in application.registry.summaries()}
        owners: dict[str, set[str]] = {}
        for line in application.unlimited.registry.lines():
            for target in written_targets(line):
                owners.setdefault(target.lower(), set()).add(line.configuration)
        return [
            target
            for target in targets
            if (configurations := owners.get(target.name.lower()))
            and configurations <= names
        ]

    def rows(
        self, name: str, after: str, limit: int, texts: Mapping[str, str]
    ) -> RowsPage:
        """Return the next rows after an ID whose columns have what `texts` names."""
        target = self._target(name)
        filters = _read_filters(target, texts)
        if not after:
            self.access.administration.note(Tag.DATA_EXPORTED, "", target.name)
        # First: what is written meanwhile is in the changes after it.
        cursor = self.tables.cursor(target.name)
        rows = self.tables.rows(target.name, after, limit + 1, filters)
        return RowsPage(target, rows[:limit], len(rows) > limit, cursor)

    def changes(self, name: str, after: str, limit: int) -> ChangesPage:
        """Return the next changes after a cursor; "" for the oldest."""
        target = self._target(name)
        cursor = parse_cursor(after) if after else None
        return self.tables.changes(target.name, cursor, limit)

    def _target(self, name: str) -> Target:
        try:
            return find_target(self.targets(), TABLE_PREFIX + name)
        except ConfigError:  # its hint has the names of others
            raise UnknownConfiguration(
                Text("there is no such table"), field="table"
            ) from None


def written_targets(line: SyncLine) -> list[str]:
    """Return the targets that a line writes."""
    if line.sync is None or line.sync.direction is Direction.PUSH:
        return []
    return [line.sync.target, *(children.target for children in line.sync.children)]


def _read_filters(target: Target, texts: Mapping[str, str]) -> dict[str, Wanted]:
    """Return the filters by column; ConfigError for a column that is not there."""
    fields = {field.name: field for field in target.fields}
    for name in texts:
        if name not in fields:
            raise ConfigError(
                Text("the table has no such column"),
                hint=Text("Choose one of: {names}.", names=", ".join(fields)),
                field=name,
            )
    return {
        name: read_wanted(fields[name].kind, text, UTC) for name, text in texts.items()
    }
