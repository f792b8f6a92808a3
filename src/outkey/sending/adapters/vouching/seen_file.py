"""The newest serial numbers of rows, as lines of a file beside the key.

Lines are appended, so that the size of the file shows whether another process has
written; it is read again only then. It is written anew when most lines are outdated.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.errors import StorageUnavailable
from outkey.foundation.core.text import Text
from outkey.sending.core.vault.row_voucher import RowName

NAME = "seen-rows"
_MOST_OUTDATED = 2000  # lines
_TAIL_BYTES = 200


class SeenRowsFile:
    """One JSON line for each serial number that was seen."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._path = os.fspath(file)
        self._lock = ProcessLock()
        self._serials: dict[RowName, int] = {}
        self._stamp = (0, 0, 0)  # what of the file changes with its content
        self._lines = 0
        self._end = 0  # of the lines that were read
        self._tail = b""  # their last bytes, which another file does not have

    def newest(self, name: RowName) -> int:
        self._refresh()
        return self._serials.get(name, 0)

    def serials(self) -> Mapping[RowName, int]:
        self._refresh()
        return self._serials  # replaced by another one when the file has changed

    def note(self, name: RowName, serial: int) -> None:
        line = f"{json.dumps([*name, serial])}\n".encode()
        with self._lock, self._locked_file() as descriptor:
            self._read(descriptor)
            if self._serials.get(name, 0) >= serial:
                return
            if self._lines > len(self._serials) + _MOST_OUTDATED:
                self._rewrite({**self._serials, name: serial})
                return
            # A kill or a full disk may have cut the previous line short.
            if os.fstat(descriptor).st_size != self._end:
                line = b"\n" + line
            if os.write(descriptor, line) != len(line):
                raise _unavailable()

    def clear(self) -> None:
        with self._lock, self._locked_file():
            self._rewrite({})

    def _refresh(self) -> None:
        """Read what other processes have written since the last time."""
        try:
            # Every use of a row comes here, and Path.stat takes twice as long.
            if _file_stamp(os.stat(self._path)) == self._stamp:  # noqa: PTH116
                return
            with self._lock:
                descriptor = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    self._read(descriptor)
                finally:
                    os.close(descriptor)
        except FileNotFoundError:
            return
        except OSError:
            raise _unavailable() from None

    def _read(self, descriptor: int) -> None:
        """Read the lines that follow those read before; all lines of another file."""
        status = os.fstat(descriptor)
        # Other threads read them without a lock, so they are replaced at the end.
        serials = dict(self._serials)
        count = self._lines
        end = self._end
        tail = self._tail
        start = end - len(tail)
        if start < 0 or os.pread(descriptor, len(tail), start) != tail:
            serials = {}
            count = end = 0
            tail = b""
        content = os.pread(descriptor, max(status.st_size - end, 0), end)
        whole, newline, _ = content.rpartition(b"\n")
        lines = whole.splitlines()
        for name, serial in filter(None, map(parse_line, lines)):
            serials[name] = max(serial, serials.get(name, 0))
        self._serials = serials
        self._lines = count + len(lines)
        self._end = end + len(whole) + len(newline)
        self._tail = (tail + whole + newline)[-_TAIL_BYTES:]
        self._stamp = _file_stamp(status)

    @contextmanager
    def _locked_file(self) -> Iterator[int]:
        """Open the file for this process alone, as it is named now."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            while True:
                descriptor = os.open(self._file, flags, 0o600)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    # Another process may have replaced it while this one waited.
                    if os.fstat(descriptor).st_ino == self._file.stat().st_ino:
                        yield descriptor
                        return
                finally:
                    os.close(descriptor)
        except OSError:
            raise _unavailable() from None

    def _rewrite(self, serials: Mapping[RowName, int]) -> None:
        """Replace the file in one step: a kill leaves the old one or the new one."""
        lines = [f"{json.dumps([*name, serial])}\n" for name, serial in serials.items()]
        # mode 0600
        handle, draft = tempfile.mkstemp(dir=self._file.parent, prefix=f".{NAME}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write("".join(lines).encode())
                file.flush()
                os.fsync(handle)
            Path(draft).replace(self._file)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise


def _file_stamp(status: os.stat_result) -> tuple[int, int, int]:
    """Return inode, size and time of a file, which change with its content."""
    return status.st_ino, status.st_size, status.st_mtime_ns


def seen_rows_file(home: Path) -> Path:
    """Return the file of a home: beside its key, apart from its database."""
    return home / "config" / NAME


def clear_seen_rows(home: Path) -> None:
    """Accept the rows of a database that was restored, which are older ones."""
    file = seen_rows_file(home)
    if file.exists():
        SeenRowsFile(file).clear()


def parse_line(line: bytes) -> tuple[RowName, int] | None:
    """Return the row of a line and its serial number; None for what is not one."""
    try:
        kind, key, serial = json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return None
    is_valid = isinstance(kind, str) and isinstance(key, str) and type(serial) is int
    return (RowName(kind, key), serial) if is_valid else None


def _unavailable() -> StorageUnavailable:
    return StorageUnavailable(
        Text("the file of the rows that were seen cannot be read or written"),
        hint=Text("Make the folder config of the home writable, and free its disk."),
    )
