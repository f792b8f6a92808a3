"""The folders that backups and restores work in.

A process at work has a lock, which the kernel releases whatever ends it: a folder
without a lock is left over (`left_overs`).
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

LOCK = "backup.lock"
BACKUP = ".backup-"
RESTORE = ".restore-"
# In the folder of a restore that is ready; what is to be done after the database.
PLAN = "plan.json"
# In the folder of a backup: the path of its unfinished file, which is elsewhere.
DRAFT = "draft"
NOT_RECORDED = ".restored"  # in `data`: a restore that the audit does not have yet


@contextmanager
def backup_folder(data: Path) -> Iterator[Path]:
    """Yield a new folder for a backup; several can be made at the same time."""
    with _work_folder(data, BACKUP, fcntl.LOCK_SH) as folder:
        yield folder


@contextmanager
def restore_folder(data: Path) -> Iterator[Path]:
    """Yield a new folder for a restore, beside which nothing else may work."""
    with _work_folder(data, RESTORE, fcntl.LOCK_EX) as folder:
        yield folder


@contextmanager
def _work_folder(data: Path, prefix: str, operation: int) -> Iterator[Path]:
    """Lock the home, and yield a new folder that is removed at the end."""
    with lock(data, operation) as is_locked:
        if not is_locked:
            raise at_work()
        folder = Path(tempfile.mkdtemp(dir=data, prefix=prefix))  # mode 0700
        try:
            yield folder
        finally:
            remove(folder)


@contextmanager
def lock(data: Path, operation: int) -> Iterator[bool]:
    """Lock a home without waiting; yield whether that was possible."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(data / LOCK, flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def remove(folder: Path) -> None:
    """Remove a folder with all that belongs to it.

    The plan first: with one and without a database, the folder would be that of a
    restore that has replaced the database.
    """
    (folder / PLAN).unlink(missing_ok=True)
    with suppress(OSError):  # there is none, or its disk is missing
        Path((folder / DRAFT).read_text(encoding="utf-8")).unlink()
    shutil.rmtree(folder)


def at_work() -> ConfigError:
    """Return the error for a home that a backup or a restore works on."""
    return ConfigError(
        Text("a backup or a restore of this home is running"),
        hint=Text("Wait until it has ended."),
    )
