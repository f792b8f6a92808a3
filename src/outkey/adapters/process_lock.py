"""A lock that a forked child does not inherit in the locked state."""

import os
import threading


class ProcessLock:
    """A mutex between the threads of one process; after a fork the child has a fresh one."""

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
