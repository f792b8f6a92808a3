"""Reading the files that a configuration names, within limits.

Reading never waits, stops at a size limit, and refuses outkey's own files.

A path is text that a user entered, perhaps to get at more than a secret: the
environment of this process (procfs), its key, or a pipe that blocks it.
"""

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# The types that `statfs` reports for file systems of the kernel's own data, as
# statfs(2) and linux/magic.h name them. Compared by file system, since a path to them
# has many spellings.
_KERNEL_FILE_SYSTEMS = {
    0x9FA0: "proc",
    0x62656572: "sysfs",
    0x27E0EB: "cgroup",
    0x63677270: "cgroup2",
    0x1CD1: "devpts",
    0x64626720: "debugfs",
    0x74726163: "tracefs",
    0x73636673: "securityfs",
    0x62656570: "configfs",
    0xCAFE4A11: "bpf",
    0x6165676C: "pstore",
    0xDE5E81E4: "efivarfs",
    0x42494E4D: "binfmt_misc",
    0x19800202: "mqueue",
    0x6E736673: "nsfs",
    0x50494446: "pidfs",
    0xF97CFF8C: "selinuxfs",
    0x43415D53: "smackfs",
    0x5A3C69F0: "apparmorfs",
    0x7655821: "resctrl",
    0x65735543: "fusectl",
    0x67596969: "rpc_pipefs",
    0x6E667364: "nfsd",
    0x9FA2: "usbdevfs",
    0x09041934: "anonymous inodes",
    0x5345434D: "secretmem",
}
# more than struct statfs has on any architecture; f_type is its first word
_STATFS_BYTES = 256


class ConfiguredFiles:
    """Reads regular files, except those of outkey itself, which are listed in `own`."""

    def __init__(self, own: Sequence[Path] = ()) -> None:
        self._own = tuple(own)

    def read(self, path: str, limit: int) -> bytes:
        """Return a file's content up to one byte over the limit, or raise OSError."""
        # Opening a pipe or a device without O_NONBLOCK could block for ever.
        flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags)
        try:
            self._refuse(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        with os.fdopen(descriptor, "rb") as file:
            return file.read(limit + 1)

    def _refuse(self, descriptor: int) -> None:
        """Check the open file: its path may lead elsewhere a moment later."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if _is_kernel_data(descriptor):
            raise OSError(errno.EACCES, "a file of the kernel")
        if self._is_own(descriptor, status):
            raise OSError(errno.EACCES, "a file of outkey")

    def _is_own(self, descriptor: int, status: os.stat_result) -> bool:
        return _is_own(_opened_path(descriptor), status, self._own)


def has_own_file(path: Path, own: Sequence[Path]) -> bool:
    """Whether a path without links leads to one of these files, or below a folder.

    The file need not be there, and is not opened.
    """
    try:
        status = path.stat()
    except OSError:
        status = None
    return _is_own(path, status, own)


def _is_own(
    path: Path | None, status: os.stat_result | None, own: Sequence[Path]
) -> bool:
    for place in own:
        # The path catches files that are created later;
        # the inode catches links and other mounts.
        if path is not None and _is_inside(path, place):
            return True
        if status is not None and any(
            os.path.samestat(status, other) for other in _files_of(place, status.st_ino)
        ):
            return True
    return False


def _is_inside(path: Path, place: Path) -> bool:
    """Whether a path is a place or below it, also where case makes no difference."""
    folded = str(Path(os.path.realpath(place))).casefold()
    return Path(str(path).casefold()).is_relative_to(folded)


def _is_kernel_data(descriptor: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False  # neither macOS nor Windows has such file systems
    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fstatfs(descriptor, buffer) != 0:
        raise OSError(ctypes.get_errno(), "the file system is unknown")
    kind = ctypes.c_ulong.from_buffer(buffer).value
    return kind & 0xFFFFFFFF in _KERNEL_FILE_SYSTEMS


def _opened_path(descriptor: int) -> Path | None:
    """Return the path of an open file if the kernel reports it."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        return None


def _files_of(own: Path, inode: int) -> Iterator[os.stat_result]:
    """Return the status of the files with this inode.

    That is the file itself, or the matching files in a folder.
    """
    try:
        status = own.stat()
    except OSError:
        return
    if not stat.S_ISDIR(status.st_mode):
        yield status
        return
    for folder, _, _ in os.walk(own):
        with os.scandir(folder) as entries:
            # The inode is part of the folder's entry,
            # so that most files need no stat call.
            yield from (
                e.stat(follow_symlinks=False) for e in entries if e.inode() == inode
            )
