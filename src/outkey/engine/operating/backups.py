"""When the last backup was made."""

from outkey.core.shared_state import StateKind
from outkey.engine.application import Application
from outkey.engine.managing.duties import BACKUP


def note_backup(application: Application) -> None:
    """Store that a backup was made now."""
    now = application.database.now()
    application.states.put(StateKind.MARK, {BACKUP: {"at": now}})


def backed_up_at(application: Application) -> float | None:
    """Return when the last backup was made; None if there was none."""
    mark = application.states.read(StateKind.MARK, [BACKUP]).get(BACKUP)
    return None if mark is None else float(mark.value["at"])
