"""The configurations that a limited user or token sees, as rows of their own."""

from collections.abc import Collection

from outkey.sending.core.configuration.health import Summary
from outkey.sending.core.configuration.owners import Reach, out_of_reach
from outkey.sending.core.configuration.rows import ConfigurationRow
from outkey.sending.core.connections.connection import Connection, ConnectionQuery
from outkey.sending.ports.storage import ConfigurationRows


class LimitedConfigurations:
    """The rows within a reach: the others look as if they did not exist.

    They are not overwritten either: a name of another owner is taken.
    """

    def __init__(self, rows: ConfigurationRows, reach: Reach) -> None:
        self._rows = rows
        self._reach = reach

    def find(
        self,
        *,
        names: Collection[str] | None = None,
        records: Collection[str] | None = None,
        lock: bool = False,
    ) -> list[ConfigurationRow]:
        rows = self._rows.find(names=names, records=records, lock=lock)
        return [row for row in rows if self._includes(row)]

    def connections(
        self, configuration: str, query: ConnectionQuery
    ) -> list[ConfigurationRow]:
        if not self.find(records=[configuration]):
            return []
        rows = self._rows.connections(configuration, query)
        return [row for row in rows if self._includes(row)]

    def swap(
        self, before: ConfigurationRow | None, after: ConfigurationRow | None
    ) -> bool:
        if any(not self._includes(row) for row in (before, after) if row is not None):
            raise out_of_reach()
        return self._rows.swap(before, after)

    def summaries(self) -> list[Summary]:
        reach = self._reach
        summaries = self._rows.summaries()
        if reach.owners is not None:
            summaries = [each for each in summaries if each.owner in reach.owners]
        if reach.records is not None:
            names = {row.name for row in self._rows.find(records=reach.records)}
            summaries = [each for each in summaries if each.name in names]
        return summaries

    def names(self) -> set[str]:
        """Return the names of the configurations within the reach."""
        return {summary.name for summary in self.summaries()}

    def _includes(self, row: ConfigurationRow) -> bool:
        if row.connection is not None:
            return self._includes_connection(row.connection)
        owner = row.settings.get("owner", "")
        # Another program may have written anything there, which nobody is limited to.
        return type(owner) is str and self._reach.includes(row.record, owner)

    def _includes_connection(self, connection: Connection) -> bool:
        """Whether its configuration is within the reach, and it has no other owner."""
        parents = self._rows.find(records=[connection.configuration])
        if not all(map(self._includes, parents)) or not parents:
            return False
        owner = connection.owner
        return not owner or self._reach.includes(connection.configuration, owner)
