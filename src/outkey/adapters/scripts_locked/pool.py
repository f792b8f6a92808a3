"""Who gets which worker: one per place, script and secret, kept warm, replaced when it fails.

Decides about life and death of workers only; what is said to one is `link.py`'s business.
"""

import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from outkey.adapters.process_lock import ProcessLock
from outkey.adapters.scripts_locked.link import (
    ENDED,
    Given,
    Made,
    NoResponse,
    Pairs,
    Read,
    Reader,
    Worker,
    WorkerEnded,
)
from outkey.adapters.scripts_locked.spawner import WorkerSpawner
from outkey.adapters.scripts_locked.worker import json_text
from outkey.core.errors import OutkeyError, ScriptFailed, bare, frameless
from outkey.core.request.script import FUNCTION, MAX_RECORD, TRANSFORM, ScriptCall
from outkey.core.sync.mapping import Unmapped
from outkey.core.sync.response import Record, oversize
from outkey.core.text import Text

_IDLE_SECONDS = 600.0
# One odd record or a few must not set aside a script that nobody waits for.
_ROW = {FUNCTION: 3, TRANSFORM: 20}
_FIRST_REFUSAL, _LONGEST_REFUSAL = 30.0, 300.0
_FRAME, _FRAME_BYTES = (
    64,
    1024 * 1024,
)  # calls in one round trip, and how much is sent with them
_PATIENCE = 10.0  # seconds, for whoever is behind others


class DisabledScript(NoResponse):
    """The script is not asked for a while."""

    word = "script_set_aside"


class Circuit:
    """Refuses a script that keeps failing to answer: each such call costs a limit and a process."""

    def __init__(self, row: int) -> None:
        self._row = row
        self._failures = 0
        self._until = 0.0

    def check(self) -> None:
        """Refuse while the script is set aside; afterwards one call is its trial."""
        left = self._until - time.monotonic() if self._failures >= self._row else 0.0
        if left > 0:
            raise DisabledScript(
                Text(
                    "the script is suspended for another {seconds} s: it failed to"
                    " respond {count} times in a row",
                    seconds=math.ceil(left),
                    count=self._failures,
                )
            )

    def note(self, *, answered: bool) -> None:
        """Count failures in a row; any answer, also an exception, starts over."""
        self._failures = 0 if answered else self._failures + 1
        if self._failures >= self._row:
            wait = _FIRST_REFUSAL * 2 ** min(self._failures - self._row, 10)
            self._until = time.monotonic() + min(wait, _LONGEST_REFUSAL)


class WorkerSlot:
    """One place's worker, and who may talk to it: one thread at a time."""

    def __init__(self, nursery: WorkerSpawner, limit: float, row: int) -> None:
        self.lock = threading.Lock()
        self.used = time.monotonic()
        self.closed = False
        self._nursery, self._limit, self._row = nursery, limit, row
        self._worker: Worker | None = None
        self._circuit = Circuit(row)

    def run(self, calls: Sequence[ScriptCall], read: Reader[Read]) -> list[Read]:
        """Run calls by a worker that has their script and their secret."""
        self.used = time.monotonic()
        worker = self._worker
        if worker is not None and not worker.serves(calls[0]):
            worker.kill()
            worker, self._circuit = None, Circuit(self._row)
        self._circuit.check()
        if worker is not None and not worker.is_spent:
            try:
                return self._ask(worker, calls, read)
            except WorkerEnded:
                pass  # somebody has killed it while it was idle
        return self._ask_another(calls, read)

    def close(self) -> None:
        """End the worker, for good."""
        self.closed = True
        if self._worker is not None:
            self._worker.kill()

    def forget(self) -> None:
        """In a forked child: let go of the parent's worker."""
        if self._worker is not None:
            self._worker.forget()

    def _ask_another(
        self, calls: Sequence[ScriptCall], read: Reader[Read]
    ) -> list[Read]:
        if self._worker is not None:
            self._worker.kill()
        worker = self._worker = Worker(self._nursery.bear(), calls[0], self._limit)
        try:
            return self._ask(worker, calls, read)
        except WorkerEnded:
            raise NoResponse(ENDED) from None

    def _ask(
        self, worker: Worker, calls: Sequence[ScriptCall], read: Reader[Read]
    ) -> list[Read]:
        try:
            return worker.run(calls, read)
        finally:
            self._circuit.note(answered=not worker.is_lost)


class LockedScripts:
    """Runs scripts in locked processes, at most so many at a time, or not at all."""

    def __init__(self, limit: float = 0.25, most: int = 64) -> None:
        self._limit, self._most = limit, most
        self._lock = ProcessLock()
        self._process = os.getpid()
        self._nursery = WorkerSpawner()
        self._seats: dict[str, WorkerSlot] = {}
        # Also when nobody closes it: at the end of the program no process is left.
        self._end = weakref.finalize(self, _close, self._seats, self._nursery)
        _all.add(self)

    @frameless
    def run(self, call: ScriptCall) -> Pairs:
        """Return the headers that a script gives for one call, or say why it gives none."""
        (given,) = (
            self._try_once(call)
            if call.at is not None
            else self._run((call,), Worker.given)
        )
        if isinstance(given, OutkeyError):
            raise given
        return given

    @frameless
    def run_all(self, calls: Sequence[ScriptCall]) -> list[Given]:
        """Return for each of one script's calls its headers, or the reason for none."""
        first = calls[0]
        if any(_whose(call) != _whose(first) for call in calls) or first.at is not None:
            raise ValueError(
                "these calls are not of one script and one secret, at this moment"
            )
        return self._in_frames(calls, Worker.given, lambda error: error)

    def transform(
        self, line: str, source: str, records: Sequence[Record]
    ) -> list[Made]:
        """Return what a sync line's script makes of each record; see the port."""
        ready = list(map(_crossing, records))
        call = partial(ScriptCall, f"line {line}", source, function=TRANSFORM)
        calls = [call(body=one) for one in ready if isinstance(one, bytes)]
        made = iter(self._in_frames(calls, Worker.made, _unmade))
        return [next(made) if isinstance(one, bytes) else one for one in ready]

    def close(self) -> None:
        """End all workers and the process they come from."""
        with self._lock:
            _close(self._seats, self._nursery)

    def forget_parent(self) -> None:
        """After a fork, leave the parent's processes to the parent."""
        self._process = os.getpid()
        for seat in self._seats.values():
            seat.forget()
        self._seats.clear()
        self._nursery.forget()

    def _in_frames(
        self,
        calls: Sequence[ScriptCall],
        read: Reader[Read],
        failed: Callable[[OutkeyError], Read],
    ) -> list[Read]:
        """Send many calls at a time; where together they take too long, each alone."""

        def apart(call: ScriptCall) -> Read:
            try:
                return self._run((call,), read)[0]
            except OutkeyError as error:
                return failed(bare(error))

        found: list[Read] = []
        for frame in _frames(calls):
            try:
                found += self._run(frame, read)
            except (
                ScriptFailed
            ):  # one of them never answers, and the others need not suffer
                found += map(apart, frame)
        return found

    def _run(self, calls: Sequence[ScriptCall], read: Reader[Read]) -> list[Read]:
        if (
            self._process != os.getpid()
        ):  # forked by something that runs no hooks of Python
            self.forget_parent()
        while True:
            seat = self._seats.get(calls[0].place) or self._new_seat(calls[0])
            if not seat.lock.acquire(timeout=_PATIENCE):
                raise ScriptFailed(
                    Text("too many requests are waiting for this script"),
                    hint=Text("Make it faster, or send less often."),
                )
            try:
                if not seat.closed:  # by somebody who needed room, just now
                    return seat.run(calls, read)
            finally:
                seat.lock.release()

    def _try_once(self, call: ScriptCall) -> list[Given]:
        """Run a trial with a stopped clock, in a process that nobody else will use."""
        worker = Worker(self._nursery.bear(), call, self._limit)
        try:
            return worker.run((call,), Worker.given)
        except WorkerEnded:
            raise NoResponse(ENDED) from None
        finally:
            worker.kill()

    def _new_seat(self, call: ScriptCall) -> WorkerSlot:
        with self._lock:
            self._make_room()
            seat = WorkerSlot(self._nursery, self._limit, _ROW[call.function])
            return self._seats.setdefault(call.place, seat)

    def _make_room(self) -> None:
        """End idle workers and, when there are too many, those used longest ago; none in a call."""
        surplus = len(self._seats) + 1 - self._most
        long_ago = time.monotonic() - _IDLE_SECONDS
        for place, seat in sorted(self._seats.items(), key=lambda item: item[1].used):
            if surplus <= 0 and seat.used > long_ago:
                return
            if seat.lock.acquire(blocking=False):
                del self._seats[place]
                seat.close()
                seat.lock.release()
                surplus -= 1


def _whose(call: ScriptCall) -> tuple[object, ...]:
    return call.place, call.source, call.secret, call.at, call.shift, call.function


def _frames(calls: Sequence[ScriptCall]) -> Iterator[list[ScriptCall]]:
    """Yield the calls of each round trip."""
    frame: list[ScriptCall] = []
    size = 0
    for call in calls:
        size += len(call.body)
        if frame and (len(frame) == _FRAME or size > _FRAME_BYTES):
            yield frame
            frame, size = [], len(call.body)
        frame.append(call)
    if frame:
        yield frame


def _crossing(record: Record) -> bytes | Unmapped:
    """Return a record as it is sent to a worker, or why it is not."""
    if reason := oversize(record):
        return Unmapped("", reason)
    text = json_text(record).encode()
    return text if len(text) <= MAX_RECORD else Unmapped("", "too_large_for_script")


def _unmade(error: OutkeyError) -> Unmapped:
    """Return why there is no record; what no record can be blamed for is raised."""
    if not isinstance(error, NoResponse):
        raise error
    return Unmapped("script", error.word)


def _close(seats: dict[str, WorkerSlot], nursery: WorkerSpawner) -> None:
    for seat in seats.values():
        seat.close()
    seats.clear()
    nursery.close()


_all: weakref.WeakSet[LockedScripts] = weakref.WeakSet()


def _forget_parents() -> None:
    for scripts in list(_all):
        scripts.forget_parent()


os.register_at_fork(after_in_child=_forget_parents)
