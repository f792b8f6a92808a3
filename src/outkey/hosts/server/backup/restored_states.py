"""States that a restored database gets in the step that replaces the previous one."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.hold import RESTORED
from outkey.foundation.core.moments import parse_iso
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text
from outkey.foundation.engine.duties import BACKUP
from outkey.hosts.django.rows.triggers import TRIGGERS, trigger_name
from outkey.hosts.server.backup.archive import Manifest, not_a_backup
from outkey.sync.core.mapping.row_changes import FEED_TABLES

# Shared states by kind and key; None deletes one.
States = Mapping[tuple[StateKind, str], Mapping[str, object] | None]
RESTORE_MARK = "restore"
PARAMETERS = {"sqlite": "?", "postgresql": "%s"}  # the sign for one, by database
PUT_STATE = (
    "INSERT INTO outkey_sharedstate (kind, key, generation, value)"
    " VALUES ({0}, {0}, 1, {0}) ON CONFLICT (kind, key) DO UPDATE"
    " SET value = excluded.value, generation = outkey_sharedstate.generation + 1"
)
DELETE_STATE = "DELETE FROM outkey_sharedstate WHERE kind = {0} AND key = {0}"
READ_STATE = "SELECT value FROM outkey_sharedstate WHERE kind = {0} AND key = {0}"


class SqlCursor(Protocol):
    """The result of a statement, of sqlite3 or psycopg."""

    def fetchone(self) -> object:
        """Return the next row; None at the end."""

    def fetchall(self) -> list[Any]:
        """Return the rows."""


def restored_states(
    manifest: Manifest, restore_id: str, now: float, *, goes_live: bool
) -> States:
    """Return the states of a database that is restored now.

    It is on hold unless it goes live. It has the time of its backup, which was stored
    only after the copy was made.
    """
    created = parse_iso(manifest.created_at)
    made_at = now if created is None else min(created.timestamp(), now)
    return {
        (StateKind.MARK, RESTORE_MARK): {"id": restore_id},
        (StateKind.MARK, BACKUP): {"at": made_at},
        (StateKind.HOLD, RESTORED): None if goes_live else {"at": now},
    }


def write_states(
    execute: Callable[[str, tuple[str, ...]], SqlCursor],
    states: States,
    *,
    database: str,
) -> None:
    """Write states into a database of this kind, in which all feeds end.

    ConfigError if they do not stay there, as with a trigger that swallows them.
    """
    parameter = PARAMETERS[database]
    for (kind, key), value in states.items():
        row = None if value is None else (json.dumps(value),)
        if row is None:
            execute(DELETE_STATE.format(parameter), (kind, key))
        else:
            execute(PUT_STATE.format(parameter), (kind, key, *row))
        if execute(READ_STATE.format(parameter), (kind, key)).fetchone() != row:
            raise refused_write(execute(TRIGGERS[database], ()).fetchall())
    # Programs may have cursors of changes that were recorded after the backup.
    for table in FEED_TABLES:
        execute(f"DROP TABLE IF EXISTS {table}", ())


def refused_write(triggers: list[Any]) -> ConfigError:
    """Return the error for a database that does not store what is written to it."""
    if not triggers:
        return not_a_backup()
    return ConfigError(
        Text(
            "the database of the backup has triggers that change what a restore"
            " writes: {names}",
            names=", ".join(map(trigger_name, triggers)),
        ),
        hint=Text(
            "The backup is as it was made, and the triggers are not outkey's. Restore"
            " an earlier one."
        ),
        field="FILE",
    )
