"""A lock that a forked child does not inherit in the locked state."""

import os
import threading


class ProcessLock:
    """A mutex between the threads of one process; a forked child gets a new one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self._lock = threading.Lock()
            self._process = os.getpid()
        self._lock.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self._lock.release()
