"""Completes or undoes what killed backups and restores have left in a home.

It is loaded by every command, so it imports little.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from outkey.foundation.core.errors import StorageUnavailable
from outkey.foundation.core.text import Text
from outkey.hosts.server.backup.work_folders import (
    BACKUP,
    PLAN,
    RESTORE,
    at_work,
    lock,
    remove,
)

PATIENCE_SECONDS = 5.0
POLL_SECONDS = 0.1


def settle_left_overs(home: Path) -> None:
    """Complete or undo what a killed backup or restore has left in a home.

    ConfigError while a restore is at work: the home is half of one and half of another.
    """
    data = home / "data"
    end = time.monotonic() + PATIENCE_SECONDS
    try:
        while left_overs(data):
            with lock(data, fcntl.LOCK_EX) as is_locked:
                if is_locked:
                    settle(home)
                    return
            # A backup may be at work. A restore may be at its end, or be settled by
            # another process.
            if not left_overs(data, RESTORE):
                return
            if time.monotonic() > end:
                raise at_work()
            time.sleep(POLL_SECONDS)
    except OSError:
        raise StorageUnavailable(Text("the home folder cannot be written")) from None


def settle(home: Path) -> None:
    """Settle what is left in a home that is locked."""
    for folder in left_overs(home / "data"):
        if folder.name.startswith(RESTORE) and (folder / PLAN).exists():
            # Takes a while to load, and is hardly ever needed.
            from outkey.hosts.server.backup.replacement import settle_restore

            if not settle_restore(home, folder):
                continue
        remove(folder)
    for draft in (home / "config").glob(f"{RESTORE}*"):
        draft.unlink(missing_ok=True)


def left_overs(data: Path, *prefixes: str) -> list[Path]:
    """Return the folders of all backups and restores, killed ones included."""
    with suppress(FileNotFoundError), os.scandir(data) as entries:
        return [
            Path(entry.path)
            for entry in entries
            if entry.name.startswith(prefixes or (BACKUP, RESTORE))
            and entry.is_dir(follow_symlinks=False)
        ]
    return []
