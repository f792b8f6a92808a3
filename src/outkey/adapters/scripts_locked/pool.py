"""Who gets which worker: one per place, script and secret, kept warm, replaced when it fails.

Decides about life and death of workers only; what is said to one is `link.py`'s business.
"""

import math
import os
import threading
import time
import weakref
from collections.abc import Sequence

from outkey.adapters.process_lock import ProcessLock
from outkey.adapters.scripts_locked.link import ENDED, Given, Pairs, Worker, WorkerGone
from outkey.adapters.scripts_locked.nursery import Nursery
from outkey.core.errors import OutkeyError, ScriptFailed, bare, frameless
from outkey.core.script import ScriptCall

_IDLE_SECONDS = 600.0
_ROW = 3
_FIRST_REFUSAL, _LONGEST_REFUSAL = 30.0, 300.0
_FRAME = 64  # calls in one round trip
_PATIENCE = 10.0  # seconds, for whoever is behind others


class Circuit:
    """Refuses a script that keeps failing to answer: each such call costs a limit and a process."""

    def __init__(self) -> None:
        self._failures = 0
        self._until = 0.0

    def check(self) -> None:
        """Refuse while the script is set aside; afterwards one call is its trial."""
        left = self._until - time.monotonic() if self._failures >= _ROW else 0.0
        if left > 0:
            raise ScriptFailed(
                f"the script is set aside for another {math.ceil(left)} s:"
                f" it failed to answer {self._failures} times in a row"
            )

    def note(self, *, answered: bool) -> None:
        """Count failures in a row; any answer, also an exception, starts over."""
        self._failures = 0 if answered else self._failures + 1
        if self._failures >= _ROW:
            wait = _FIRST_REFUSAL * 2 ** min(self._failures - _ROW, 10)
            self._until = time.monotonic() + min(wait, _LONGEST_REFUSAL)


class Seat:
    """One place's worker, and who may talk to it: one thread at a time."""

    def __init__(self, nursery: Nursery, limit: float) -> None:
        self.lock = threading.Lock()
        self.used = time.monotonic()
        self.closed = False
        self._nursery, self._limit = nursery, limit
        self._worker: Worker | None = None
        self._circuit = Circuit()

    def run(self, calls: Sequence[ScriptCall]) -> list[Given]:
        """Run calls by a worker that has their script and their secret."""
        self.used = time.monotonic()
        worker = self._worker
        if worker is not None and not worker.serves(calls[0]):
            worker.kill()
            worker, self._circuit = None, Circuit()
        self._circuit.check()
        if worker is not None and not worker.is_spent:
            try:
                return self._ask(worker, calls)
            except WorkerGone:
                pass  # somebody has killed it while it was idle
        return self._ask_another(calls)

    def close(self) -> None:
        """End the worker, for good."""
        self.closed = True
        if self._worker is not None:
            self._worker.kill()

    def forget(self) -> None:
        """In a forked child: let go of the parent's worker."""
        if self._worker is not None:
            self._worker.forget()

    def _ask_another(self, calls: Sequence[ScriptCall]) -> list[Given]:
        if self._worker is not None:
            self._worker.kill()
        worker = self._worker = Worker(self._nursery.bear(), calls[0], self._limit)
        try:
            return self._ask(worker, calls)
        except WorkerGone:
            raise ScriptFailed(ENDED) from None

    def _ask(self, worker: Worker, calls: Sequence[ScriptCall]) -> list[Given]:
        try:
            return worker.run(calls)
        finally:
            self._circuit.note(answered=not worker.is_lost)


class LockedScripts:
    """Runs scripts in locked processes, at most so many at a time, or not at all."""

    def __init__(self, limit: float = 0.25, most: int = 64) -> None:
        self._limit, self._most = limit, most
        self._lock = ProcessLock()
        self._process = os.getpid()
        self._nursery = Nursery()
        self._seats: dict[str, Seat] = {}
        # Also when nobody closes it: at the end of the program no process is left.
        self._end = weakref.finalize(self, _close, self._seats, self._nursery)
        _all.add(self)

    @frameless
    def run(self, call: ScriptCall) -> Pairs:
        """Return the headers that a script gives for one call, or say why it gives none."""
        (given,) = self._try_once(call) if call.at is not None else self._run((call,))
        if isinstance(given, OutkeyError):
            raise given
        return given

    @frameless
    def run_all(self, calls: Sequence[ScriptCall]) -> list[Given]:
        """Return for each of one script's calls its headers, or the reason for none.

        Many go to the worker at a time. Where together they take too long, each is run alone.
        """
        first, given = calls[0], list[Given]()
        if any(_whose(call) != _whose(first) for call in calls) or first.at is not None:
            raise ValueError("these calls are not of one script and one secret, at this moment")
        for start in range(0, len(calls), _FRAME):
            frame = calls[start : start + _FRAME]
            try:
                given += self._run(frame)
            except ScriptFailed:  # one of them never answers, and the others need not suffer
                given += map(self._run_apart, frame)
        return given

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

    def _run(self, calls: Sequence[ScriptCall]) -> list[Given]:
        if self._process != os.getpid():  # forked by something that runs no hooks of Python
            self.forget_parent()
        place = calls[0].place
        while True:
            seat = self._seats.get(place) or self._new_seat(place)
            if not seat.lock.acquire(timeout=_PATIENCE):
                raise ScriptFailed(
                    "too many requests wait for this script", hint="Make it quicker, or send less."
                )
            try:
                if not seat.closed:  # by somebody who needed room, just now
                    return seat.run(calls)
            finally:
                seat.lock.release()

    def _run_apart(self, call: ScriptCall) -> Given:
        try:
            return self._run((call,))[0]
        except OutkeyError as error:
            return bare(error)

    def _try_once(self, call: ScriptCall) -> list[Given]:
        """Run a trial with a stopped clock, in a process that nobody else will use."""
        worker = Worker(self._nursery.bear(), call, self._limit)
        try:
            return worker.run((call,))
        except WorkerGone:
            raise ScriptFailed(ENDED) from None
        finally:
            worker.kill()

    def _new_seat(self, place: str) -> Seat:
        with self._lock:
            self._make_room()
            return self._seats.setdefault(place, Seat(self._nursery, self._limit))

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
    return call.place, call.source, call.secret, call.at, call.shift


def _close(seats: dict[str, Seat], nursery: Nursery) -> None:
    for seat in seats.values():
        seat.close()
    seats.clear()
    nursery.close()


_all: weakref.WeakSet[LockedScripts] = weakref.WeakSet()


def _forget_parents() -> None:
    for scripts in list(_all):
        scripts.forget_parent()


os.register_at_fork(after_in_child=_forget_parents)
