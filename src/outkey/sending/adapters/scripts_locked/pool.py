"""The pool of workers: one per configuration or line, reused, replaced when it fails.

Starts and ends workers; the messages to a worker are in `link.py`.
"""

import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.errors import (
    OutkeyError,
    ScriptFailed,
    drop_traceback,
    without_traceback,
)
from outkey.foundation.core.script_syntax import FUNCTION, TRANSFORM
from outkey.foundation.core.text import Text
from outkey.sending.adapters.scripts_locked.link import (
    ENDED,
    NoResponse,
    Read,
    ResponseReader,
    ResultOrError,
    ScriptWorker,
    WorkerEnded,
)
from outkey.sending.adapters.scripts_locked.spawner import WorkerSpawner
from outkey.sending.core.request.script import ScriptCall, ScriptResult

_IDLE_SECONDS = 600.0
# Failures in a row until a script is disabled for a while. A transform script has no
# caller waiting for it, so that a few odd records must not disable it.
_FAILURES_ALLOWED = {FUNCTION: 3, TRANSFORM: 20}
_SHORTEST_PAUSE = 30.0
_MAX_PAUSE = 300.0
_CALLS_PER_FRAME = 64
_BYTES_PER_FRAME = 1024 * 1024
_QUEUE_SECONDS = 10.0


class DisabledScript(NoResponse):
    """The script is disabled for a while."""

    word = "script_set_aside"


class Circuit:
    """Disables a script that keeps failing to respond.

    Each such call costs the full time limit and a process.
    """

    def __init__(self, failures_allowed: int) -> None:
        self._failures_allowed = failures_allowed
        self._failures = 0
        self._until = 0.0

    def check(self) -> None:
        """Raise while the script is disabled; afterwards a single call may try it."""
        if self._failures < self._failures_allowed:
            return
        seconds = self._until - time.monotonic()
        if seconds > 0:
            raise DisabledScript(
                Text(
                    "the script is disabled for another {seconds} s: it failed to"
                    " respond {count} times in a row",
                    seconds=math.ceil(seconds),
                    count=self._failures,
                )
            )

    def record(self, *, responded: bool) -> None:
        """Count failures in a row; a response, even an exception, resets the count."""
        self._failures = 0 if responded else self._failures + 1
        if self._failures >= self._failures_allowed:
            doublings = min(self._failures - self._failures_allowed, 10)
            pause = min(_SHORTEST_PAUSE * 2**doublings, _MAX_PAUSE)
            self._until = time.monotonic() + pause


class WorkerSlot:
    """The worker of one configuration or line; one thread at a time talks to it."""

    def __init__(
        self, spawner: WorkerSpawner, limit: float, failures_allowed: int
    ) -> None:
        self.lock = threading.Lock()
        self.used = time.monotonic()
        self.closed = False
        self._spawner = spawner
        self._limit = limit
        self._failures_allowed = failures_allowed
        self._worker: ScriptWorker | None = None
        self._circuit = Circuit(failures_allowed)

    def run(
        self, calls: Sequence[ScriptCall], read: ResponseReader[Read]
    ) -> list[Read]:
        """Run calls in a worker that has their script and their secret."""
        self.used = time.monotonic()
        worker = self._worker
        if worker is not None and not worker.serves(calls[0]):
            worker.kill()
            worker = None
            self._circuit = Circuit(self._failures_allowed)
        self._circuit.check()
        if worker is not None and not worker.is_spent:
            try:
                return self._run_in(worker, calls, read)
            except WorkerEnded:
                pass  # it was killed from outside while it was idle
        return self._run_in_new_worker(calls, read)

    def close(self) -> None:
        """Kill the worker; the slot is not used again."""
        self.closed = True
        if self._worker is not None:
            self._worker.kill()

    def forget(self) -> None:
        """In a forked child, close the descriptors of the parent's worker."""
        if self._worker is not None:
            self._worker.forget()

    def _run_in_new_worker(
        self, calls: Sequence[ScriptCall], read: ResponseReader[Read]
    ) -> list[Read]:
        if self._worker is not None:
            self._worker.kill()
        worker = self._worker = ScriptWorker(
            self._spawner.spawn(), calls[0], self._limit
        )
        try:
            return self._run_in(worker, calls, read)
        except WorkerEnded:
            raise NoResponse(ENDED) from None

    def _run_in(
        self,
        worker: ScriptWorker,
        calls: Sequence[ScriptCall],
        read: ResponseReader[Read],
    ) -> list[Read]:
        try:
            return worker.run(calls, read)
        finally:
            self._circuit.record(responded=not worker.has_failed)


class LockedScripts:
    """Runs scripts in locked processes, at most `most` of them at a time."""

    def __init__(self, limit: float = 0.25, most: int = 64) -> None:
        self._limit = limit
        self._most = most
        self._lock = ProcessLock()
        self._process = os.getpid()
        self._spawner = WorkerSpawner()
        self._slots: dict[str, WorkerSlot] = {}
        # Ends the processes with the program, even if close is never called.
        self._end = weakref.finalize(self, _close, self._slots, self._spawner)
        _all.add(self)

    @drop_traceback
    def run(self, call: ScriptCall) -> ScriptResult:
        """Return what a script computes for one call, or raise."""
        (result,) = (
            self._try_once(call)
            if call.at is not None
            else self._run((call,), ScriptWorker.read_result)
        )
        if isinstance(result, OutkeyError):
            raise result
        return result

    @drop_traceback
    def run_all(self, calls: Sequence[ScriptCall]) -> list[ResultOrError]:
        """Return the result of each call of one script, or its error."""
        first = calls[0]
        if (
            any(_identity(call) != _identity(first) for call in calls)
            or first.at is not None
        ):
            raise ValueError(
                "these calls are not of one script and one secret, at this moment"
            )
        return self.run_in_frames(calls, ScriptWorker.read_result, lambda error: error)

    def close(self) -> None:
        """End all workers and the process they come from."""
        with self._lock:
            _close(self._slots, self._spawner)

    def forget_parent(self) -> None:
        """After a fork, leave the parent's processes to the parent."""
        self._process = os.getpid()
        for slot in self._slots.values():
            slot.forget()
        self._slots.clear()
        self._spawner.forget()

    def run_in_frames(
        self,
        calls: Sequence[ScriptCall],
        read: ResponseReader[Read],
        failed: Callable[[OutkeyError], Read],
    ) -> list[Read]:
        """Send many calls at a time; a frame that times out is sent call by call."""

        def run_alone(call: ScriptCall) -> Read:
            try:
                return self._run((call,), read)[0]
            except OutkeyError as error:
                return failed(without_traceback(error))

        results: list[Read] = []
        for frame in _frames(calls):
            try:
                results += self._run(frame, read)
            except ScriptFailed:
                # One of them never responds; the others need not fail with it.
                results += map(run_alone, frame)
        return results

    def _run(
        self, calls: Sequence[ScriptCall], read: ResponseReader[Read]
    ) -> list[Read]:
        if self._process != os.getpid():
            # Forked by something that does not run the hooks of Python.
            self.forget_parent()
        while True:
            slot = self._slots.get(calls[0].place) or self._new_slot(calls[0])
            if not slot.lock.acquire(timeout=_QUEUE_SECONDS):
                raise ScriptFailed(
                    Text("too many requests are waiting for this script"),
                    hint=Text("Make it faster, or send less often."),
                )
            try:
                if not slot.closed:  # another thread may just have made room
                    return slot.run(calls, read)
            finally:
                slot.lock.release()

    def _try_once(self, call: ScriptCall) -> list[ResultOrError]:
        """Run a trial with a stopped clock, in a process of its own."""
        worker = ScriptWorker(self._spawner.spawn(), call, self._limit)
        try:
            return worker.run((call,), ScriptWorker.read_result)
        except WorkerEnded:
            raise NoResponse(ENDED) from None
        finally:
            worker.kill()

    def _new_slot(self, call: ScriptCall) -> WorkerSlot:
        with self._lock:
            self._make_room()
            failures_allowed = _FAILURES_ALLOWED[call.function]
            slot = WorkerSlot(self._spawner, self._limit, failures_allowed)
            return self._slots.setdefault(call.place, slot)

    def _make_room(self) -> None:
        """Close idle slots and, beyond the limit, the least recently used ones.

        A slot that runs a call is left alone.
        """
        surplus = len(self._slots) + 1 - self._most
        long_ago = time.monotonic() - _IDLE_SECONDS
        for place, slot in sorted(self._slots.items(), key=lambda item: item[1].used):
            if surplus <= 0 and slot.used > long_ago:
                return
            if slot.lock.acquire(blocking=False):
                del self._slots[place]
                slot.close()
                slot.lock.release()
                surplus -= 1


def _identity(call: ScriptCall) -> tuple[object, ...]:
    return call.place, call.source, call.secret, call.at, call.shift, call.function


def _frames(calls: Sequence[ScriptCall]) -> Iterator[list[ScriptCall]]:
    """Yield the calls of each round trip."""
    frame: list[ScriptCall] = []
    size = 0
    for call in calls:
        size += len(call.body)
        if frame and (len(frame) == _CALLS_PER_FRAME or size > _BYTES_PER_FRAME):
            yield frame
            frame = []
            size = len(call.body)
        frame.append(call)
    if frame:
        yield frame


def _close(slots: dict[str, WorkerSlot], spawner: WorkerSpawner) -> None:
    for slot in slots.values():
        slot.close()
    slots.clear()
    spawner.close()


_all: weakref.WeakSet[LockedScripts] = weakref.WeakSet()


def _forget_parents() -> None:
    for scripts in list(_all):
        scripts.forget_parent()


os.register_at_fork(after_in_child=_forget_parents)
