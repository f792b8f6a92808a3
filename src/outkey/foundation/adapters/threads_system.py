"""Threads of the operating system."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from outkey.foundation.ports.threads import StartedThread, WorkerThread

Result = TypeVar("Result")
MAX_CALLING = 8  # each keeps a connection to the database


class SystemThreads:
    """Starts threads of this process."""

    def start(self, work: Callable[[], object], name: str) -> StartedThread:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def new_worker(self, name: str) -> WorkerThread:
        return ThreadPoolExecutor(1, thread_name_prefix=name)

    def call(self, work: Callable[[], Result]) -> Result:
        return callers_of(os.getpid()).submit(work).result()


@lru_cache(maxsize=1)
def callers_of(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process; a forked child has none of its parent's."""
    del process
    return ThreadPoolExecutor(MAX_CALLING, thread_name_prefix="outkey-calls")
