"""The system's clock."""

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress


class SystemClock:
    """Reads the system's clocks, sleeps, and makes calls later."""

    # Looked up at each call, since tests of a host replace these functions.
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], object]) -> None:
        _timers.add(seconds, call)


class Timers:
    """Makes calls later: one thread for a process, and none while no call waits."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        # When, a number so that no two calls are compared, and the call.
        self._calls: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()
        self._has_thread = False

    def add(self, seconds: float, call: Callable[[], object]) -> None:
        """Make a call after some seconds, in the thread of all of them."""
        at = time.monotonic() + seconds
        with self._lock:
            heapq.heappush(self._calls, (at, next(self._numbers), call))
            self._lock.notify()
            if not self._has_thread:
                self._has_thread = True
                threading.Thread(
                    target=self._run, name="outkey-timers", daemon=True
                ).start()

    def begin_in_child(self) -> None:
        """Make all calls at once in a forked process, which has no such thread."""
        calls = self._calls
        self._lock = threading.Condition()
        self._calls = []
        self._has_thread = False
        for _, _, call in calls:
            call()

    def _run(self) -> None:
        while (call := self._next_call()) is not None:
            with suppress(Exception):  # the calls after it are made all the same
                call()

    def _next_call(self) -> Callable[[], object] | None:
        """Wait for the next call and return it; None if no call is left."""
        with self._lock:
            while self._calls:
                at, _, call = self._calls[0]
                seconds = at - time.monotonic()
                if seconds <= 0:
                    heapq.heappop(self._calls)
                    return call
                self._lock.wait(seconds)
            self._has_thread = False
            return None


_timers = Timers()
os.register_at_fork(after_in_child=_timers.begin_in_child)
