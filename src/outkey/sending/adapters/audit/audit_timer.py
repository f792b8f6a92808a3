"""A thread that protects the end of the audit where no further record does it.

A checkpoint is signed with a record once the last one is a minute old. A process that
stops sending writes no further record: without this thread its last ones could be cut
off unnoticed, and its last outcome would stay in memory.

Not one of the timers of the clock: a database may take long, while opened secrets must
leave the memory in time; and a forked child drops these calls instead of making them.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable

from outkey.foundation.adapters.process_lock import ProcessLock

# Less than the minute after which a record must be protected.
PROTECT_SECONDS = 50.0
logger = logging.getLogger("outkey.audit")


class AuditTimer:
    """Calls the audits of a process, each some time after it asked for it.

    One thread for all of them. It ends when no audit waits, and lets the process end.
    """

    def __init__(self, seconds: float = PROTECT_SECONDS) -> None:
        self._seconds = seconds
        self._lock = ProcessLock()
        self._process = os.getpid()
        self._waiting: deque[tuple[float, Callable[[], object]]] = deque()
        self._is_running = False

    def call_later(self, protect: Callable[[], object]) -> None:
        """Call this once, in a thread, when the time has passed."""
        with self._lock:
            if self._process != os.getpid():
                # A forked child has neither the thread nor the audits of its parent.
                self._process = os.getpid()
                self._waiting.clear()
                self._is_running = False
            self._waiting.append((time.monotonic() + self._seconds, protect))
            if not self._is_running:
                self._is_running = True
                threading.Thread(
                    target=self._run, name="outkey-audit", daemon=True
                ).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_running = False
                    return
                due, protect = self._waiting[0]
            time.sleep(max(0.0, due - time.monotonic()))
            with self._lock:
                self._waiting.popleft()
            try:
                protect()
            except Exception as error:  # noqa: BLE001 - the next record asks again
                # Only the type: the text of a driver may hold a value.
                name = type(error).__name__
                logger.error("the audit was not flushed (%s)", name)  # noqa: TRY400


AUDIT_TIMER = AuditTimer()  # of this process
