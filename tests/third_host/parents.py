"""The table of the parents of lines."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict

from outkey.sync.core.run.parents import ParentState
from third_host.database import Table

READ = (
    "SELECT key, turn, since, full_at, mark, checkpoint FROM parent"
    " WHERE line = :line AND key IN (SELECT value FROM json_each(:keys))"
)
DELETE = (
    "DELETE FROM parent WHERE line = :line AND (:but_of IS NULL OR full_at != :but_of)"
    " AND (:keys IS NULL OR key IN (SELECT value FROM json_each(:keys)))"
)


class ParentTable(Table):
    """One row for each parent of a line."""

    def read(self, line: str, keys: Collection[str]) -> dict[str, ParentState]:
        rows = self.database.rows(READ, line=line, keys=keys)
        return {
            row["key"]: ParentState(
                **{**dict(row), "checkpoint": json.loads(row["checkpoint"])}
            )
            for row in rows
        }

    def put(self, line: str, states: Sequence[ParentState]) -> None:
        with self.database.transaction():
            self.delete(line, [state.key for state in states])
            for state in states:
                columns = asdict(state) | {"checkpoint": json.dumps(state.checkpoint)}
                self.database.insert("parent", {"line": line, **columns})

    def delete(
        self,
        line: str,
        keys: Collection[str] | None = None,
        *,
        but_of: float | None = None,
    ) -> int:
        return self.database.write(DELETE, line=line, keys=keys, but_of=but_of)
