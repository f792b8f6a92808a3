"""Ends everything that a process has started, and what that has started in turn.

Servers of tests survive whoever started them: `pg_ctl` leaves PostgreSQL behind on
purpose, as another user and in a session of its own. Linux hands such orphans to the
nearest ancestor that has adopted them, so that they can be found.
"""

import ctypes
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 10.0  # seconds, for servers that write their data before they end


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent has ended."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> list[int]:
    """Return the processes below this one that still run."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended in the meantime
            # The name of a program may contain anything, also parentheses.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(folder.name))
    below = children.get(os.getpid(), [])
    for pid in below:
        below += children.get(pid, [])
    return below


def end_descendants() -> None:
    """Ask all of them to end, and kill those that have not after a while."""
    asked: set[int] = set()
    deadline = time.monotonic() + PATIENCE
    while below := descendants():
        late = time.monotonic() > deadline
        for pid in below:
            if late or pid not in asked:  # one that was asked may have started another
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        asked.update(below)
        time.sleep(0.05)
