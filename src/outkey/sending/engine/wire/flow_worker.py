"""One thread for the flows of all tasks, where ports wait for a disk or a database.

A task hands its flow over and waits for a future. The thread resumes all flows that
were handed over meanwhile, records the intents of all of them with one commit, and
wakes each event loop once. A thread for each task would cost more than its request.
"""

import asyncio
import contextvars
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol, TypeVar
from weakref import WeakSet

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.ports.threads import WorkerThread
from outkey.sending.core.audit.events import Intent
from outkey.sending.engine.wire.steps import Awaited, StepResult
from outkey.sending.ports.sending import Audit

Result = TypeVar("Result")
# Each task that is woken connects or sends. All at once, they would hold up the event
# loop for as long as they need together.
WOKEN_AT_ONCE = 10
WORKERS: "WeakSet[FlowWorker]" = WeakSet()  # of this process


class HandoverFuture(asyncio.Future[Result]):
    """The future of what a thread does, which cannot be cancelled.

    A task that is cancelled while it waits goes on waiting: the thread is at work with
    its flow. The cancellation is raised in it when the thread is done.
    """

    def cancel(self, msg: object = None) -> bool:
        """Refuse, so that asyncio raises the cancellation later."""
        del msg
        return False


class ResumableRun(Protocol):
    """A flow that is performed for a task."""

    def next(
        self, value: StepResult, failure: OutkeyError | None
    ) -> Awaited | Intent | None:
        """Resume the flow up to an intent or a step for the event loop."""

    def begin_attempt(self, intent: Intent, attempt: str) -> None:
        """Note that an intent was recorded."""


@dataclass(slots=True)
class Handover:
    """A flow to be resumed, and the task that waits for its next step."""

    run: ResumableRun
    value: StepResult
    failure: OutkeyError | None
    future: HandoverFuture[Awaited | None]
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    step: Awaited | Intent | None = None
    error: BaseException | None = None

    def resume(self, value: StepResult, failure: OutkeyError | None) -> None:
        """Resume the flow; what it raises is for the task."""
        try:
            self.step = self.context.run(self.run.next, value, failure)
        except BaseException as error:  # noqa: BLE001 - raised again in the task
            self.step = None
            self.error = error

    def fail(self, error: BaseException) -> None:
        """Give the task this error if its intent could not be recorded."""
        if isinstance(self.step, Intent):
            self.step = None
            self.error = error

    def deliver(self) -> None:
        """Wake the task; called in its event loop."""
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            assert not isinstance(self.step, Intent)  # noqa: S101 - recorded already
            self.future.set_result(self.step)


class FlowWorker:
    """Resumes flows in a thread of its own, many at a time."""

    _thread: WorkerThread
    _lock: threading.Lock
    _handovers: list[Handover]
    _is_working: bool
    _has_thread: bool

    def __init__(
        self,
        audit: Audit,
        new_thread: Callable[[], WorkerThread],
        release_thread: Callable[[], None] = lambda: None,
    ) -> None:
        self._audit = audit
        self._new_thread = new_thread
        self._release_thread = release_thread
        self.begin()
        WORKERS.add(self)

    def resume(
        self, run: ResumableRun, value: StepResult, failure: OutkeyError | None
    ) -> HandoverFuture[Awaited | None]:
        """Hand a flow over; the result is its next step for the event loop."""
        future = HandoverFuture[Awaited | None](loop=asyncio.get_running_loop())
        handover = Handover(run, value, failure, future)
        with self._lock:
            if not self._is_working:
                # First, since it raises where the interpreter is about to end. The
                # thread waits for the lock.
                self._thread.submit(self._work)
                self._has_thread = True
                self._is_working = True
            self._handovers.append(handover)
        return future

    def close(self) -> None:
        """End the thread once it has nothing to do; the next flow starts another."""
        with self._lock:
            previous = self._thread
            self._thread = self._new_thread()
            if self._has_thread:
                with suppress(RuntimeError):  # the interpreter is about to end
                    previous.submit(self._release_thread)
            self._has_thread = False
        previous.shutdown(wait=False)

    def begin(self) -> None:
        """Begin without a thread, as a forked child does."""
        self._thread = self._new_thread()
        self._lock = threading.Lock()
        self._handovers = []
        self._is_working = False
        self._has_thread = False

    def _work(self) -> None:
        """Resume what was handed over until there is nothing left."""
        while True:
            with self._lock:
                handovers = self._handovers
                self._handovers = []
                self._is_working = bool(handovers)
            if not handovers:
                return
            try:
                self._advance(handovers)
            except BaseException as error:  # noqa: BLE001 - raised again in the tasks
                for handover in handovers:
                    handover.fail(error)
            _deliver_all(handovers)

    def _advance(self, handovers: Sequence[Handover]) -> None:
        """Resume flows until each has a step for its event loop, or has ended."""
        for handover in handovers:
            handover.resume(handover.value, handover.failure)
        while True:
            intending = [
                (handover, handover.step)
                for handover in handovers
                if isinstance(handover.step, Intent)
            ]
            if not intending:
                return
            self._record(intending)

    def _record(self, intending: Sequence[tuple[Handover, Intent]]) -> None:
        """Record the intents of several flows together, and resume these flows."""
        try:
            attempts = self._audit.intend_all([intent for _, intent in intending])
        except OutkeyError as error:
            for handover, _ in intending:
                # A copy, since each task adds its own traceback.
                handover.resume(None, copy(error))
            return
        for (handover, intent), attempt in zip(intending, attempts, strict=True):
            handover.run.begin_attempt(intent, attempt)
            handover.resume(attempt, None)


def begin_in_child() -> None:
    """Let all workers begin anew after a fork, which copies no thread."""
    for worker in list(WORKERS):
        worker.begin()


os.register_at_fork(after_in_child=begin_in_child)


def _deliver_all(handovers: Sequence[Handover]) -> None:
    """Wake all tasks, each event loop once."""
    by_loop = defaultdict(list)
    for handover in handovers:
        by_loop[handover.future.get_loop()].append(handover)
    for loop, group in by_loop.items():
        # In a loop that was closed, nothing waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_deliver_some, loop, group)


def _deliver_some(
    loop: asyncio.AbstractEventLoop, handovers: Sequence[Handover]
) -> None:
    """Wake some tasks of an event loop, and the rest in its next iterations."""
    for handover in handovers[:WOKEN_AT_ONCE]:
        handover.deliver()
    if rest := handovers[WOKEN_AT_ONCE:]:
        loop.call_soon(_deliver_some, loop, rest)
