"""Keeps the memory of a process out of core files and debuggers."""

import ctypes
import resource
from contextlib import suppress

_SET_DUMPABLE = 4  # of Linux's prctl


def forbid_dumps() -> None:
    """Let only root read the memory of this process, and write no core file.

    For processes of outkey alone: a program that uses the library may want its core
    files and debuggers. Programs that it starts are as usual, but write no core file.
    """
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Other systems than Linux have no prctl.
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
