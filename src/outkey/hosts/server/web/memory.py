"""Memory that a large request took is given back to the system."""

import ctypes
from contextlib import suppress

_M_MMAP_THRESHOLD = -3  # of the C library's malloc.h
_LARGE = 1024 * 1024


def give_large_blocks_back() -> None:
    """Let the C library return each large block when it is no longer used.

    Without this it keeps blocks of the size that it has once returned, in each thread:
    some bodies of 25 MiB leave a process with hundreds of MiB. Other C libraries do not
    have this setting.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
