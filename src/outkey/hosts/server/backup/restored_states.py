"""What a restored database gets in the step that replaces the previous one."""

from collections.abc import Mapping

from outkey.core.moments import parse_iso
from outkey.core.operating.hold import RESTORED
from outkey.core.shared_state import StateKind
from outkey.engine.managing.duties import BACKUP
from outkey.hosts.server.backup.archive import Manifest

# Shared states by kind and key; None deletes one.
States = Mapping[tuple[StateKind, str], Mapping[str, object] | None]
RESTORE_MARK = "restore"
PUT_STATE = (
    "INSERT INTO outkey_sharedstate (kind, key, generation, value)"
    " VALUES ({0}, {0}, 1, {0}) ON CONFLICT (kind, key) DO UPDATE"
    " SET value = excluded.value, generation = outkey_sharedstate.generation + 1"
)
DELETE_STATE = "DELETE FROM outkey_sharedstate WHERE kind = {0} AND key = {0}"
READ_STATE = "SELECT value FROM outkey_sharedstate WHERE kind = {0} AND key = {0}"


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
