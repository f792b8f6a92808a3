"""Replacing a file as a whole."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

# Earlier versions had the ID of the process here, which repeats in a container.
TEMPORARY_SUFFIX = re.compile(r"\.[0-9a-f]{1,12}\.tmp")


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file, which only its owner can read and which then replaces a path.

    A reader sees the old file or the whole new one, also after a power failure. If
    anything is raised inside, the old one stays.
    """
    remove_left_overs(path)
    temporary, file = _open_temporary(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)  # while the file is locked
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_left_overs(path: Path) -> None:
    """Delete what killed processes left of replacements of a file.

    A process at work has locked its own.
    """
    prefix = f".{path.name}"
    names: list[str] = []
    with suppress(OSError):  # a folder that may be written but not read
        names = [other.name for other in path.parent.iterdir()]
    for name in names:
        suffix = name.removeprefix(prefix)
        if suffix != name and TEMPORARY_SUFFIX.fullmatch(suffix):
            # It is locked, another user's, or was deleted just now.
            with suppress(OSError):
                _remove_unlocked(path.with_name(name))


def _remove_unlocked(path: Path) -> None:
    """Delete a file, or raise OSError if a process has locked it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(descriptor)


def _open_temporary(path: Path) -> tuple[Path, BinaryIO]:
    """Return a new file beside a path, locked as long as it is open."""
    while True:
        temporary = path.with_name(f".{path.name}.{token_hex(6)}.tmp")
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        file = os.fdopen(os.open(temporary, flags, 0o600), "wb")
        # Another process may take it for a left-over before it is locked.
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()
