"""The two loops that do the I/O of a send: one blocking, one for an event loop.

A send is written once, as a generator of steps. Both loops send results and throw
outkey's own errors into it, and close it when it is abandoned.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, assert_never

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.ports.clock import Clock
from outkey.sending.core.audit.events import Intent, Outcome, Refusal, Tag
from outkey.sending.engine.wire.flow_worker import FlowWorker
from outkey.sending.engine.wire.steps import (
    Awaited,
    CallInThread,
    IoStep,
    Recorded,
    Resolve,
    StepResult,
    Steps,
    Transmit,
    Wait,
)
from outkey.sending.ports.sending import (
    AsyncResolver,
    AsyncTransport,
    Audit,
    Resolver,
    Transport,
)

Result = TypeVar("Result")
_ENDS = (Outcome, Refusal)  # of a send; a union would be made for each check


@dataclass(frozen=True, slots=True)
class Runtime:
    """The ports that steps are performed with."""

    transport: Transport
    resolver: Resolver
    clock: Clock
    audit: Audit

    def perform(self, step: IoStep) -> StepResult:
        """Perform one step and return its result."""
        match step:
            case Transmit(request, route):
                return self.transport.send(request, route)
            case Resolve(host, port, timeout):
                return self.resolver.resolve(host, port, timeout)
            case Wait(seconds):
                self.clock.sleep(seconds)
                return None
            case CallInThread(function):
                return function()
            case _:
                return record(self.audit, step)


def record(audit: Audit, step: Recorded) -> str | None:
    """Write a record to the audit; an intent returns its id."""
    match step:
        case Intent():
            return audit.intend(step)
        case Outcome():
            audit.conclude(step)
        case Refusal():
            audit.refuse(step)
        case _:
            assert_never(step)
    return None


@dataclass(frozen=True, slots=True)
class AsyncRuntime:
    """The same for an event loop.

    With a worker, flows run in its thread: needed where secrets, tokens, permits or
    records may wait for a disk or a database. Without one they run in the loop.
    """

    transport: AsyncTransport
    resolver: AsyncResolver
    sleep: Callable[[float], Awaitable[None]]
    clock: Clock
    audit: Audit
    worker: FlowWorker | None = None

    def perform(self, step: Awaited) -> Awaitable[StepResult]:
        """Start one step and return what its result is awaited from.

        Not a coroutine itself: each level of coroutines costs time when a request is
        resumed.
        """
        match step:
            case Transmit(request, route):
                return self.transport.send(request, route)
            case Resolve(host, port, timeout):
                return self.resolver.resolve(host, port, timeout)
            case Wait(seconds):
                return self.sleep(seconds)
            case CallInThread(function):
                return asyncio.to_thread(function)
            case _:
                assert_never(step)


def drive(flow: Steps[Result], runtime: Runtime) -> Result:
    """Perform a flow's steps until it returns."""
    try:
        step = next(flow)
        while True:
            try:
                step_result = runtime.perform(step)
            except OutkeyError as error:
                step = flow.throw(error)
            else:
                step = flow.send(step_result)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    finally:
        flow.close()


async def adrive(flow: Steps[Result], runtime: AsyncRuntime) -> Result:
    """Perform a flow's steps on an event loop until it returns.

    A cancelled flow is closed, and its attempt recorded as `cancelled`; but a token
    that is being fetched is awaited and stored first, since others wait for it, and it
    may be the only one.
    """
    run = AsyncRun(flow, runtime)
    step_result: StepResult = None
    failure: OutkeyError | None = None
    try:
        while True:
            if runtime.worker is None:
                step = run.resume_here(step_result, failure)
            else:
                step = await run.resume_in(runtime.worker, step_result, failure)
            if run.cancelled and run.may_end(step):
                raise run.cancelled
            if step is None:
                return run.result
            try:
                step_result = await run.perform(step)
                failure = None
            except OutkeyError as error:
                failure = error
    except asyncio.CancelledError:
        run.abandon()
        raise
    except OutkeyError:
        if run.cancelled is None:
            raise
        raise run.cancelled from None
    finally:
        flow.close()


class AsyncRun(Generic[Result]):
    """A flow that is performed on an event loop."""

    __slots__ = ("_attempt", "_flow", "_renewing", "_runtime", "cancelled", "result")

    def __init__(self, flow: Steps[Result], runtime: AsyncRuntime) -> None:
        self._flow = flow
        self._runtime = runtime
        self._attempt: tuple[Intent, str, float] | None = None
        self._renewing = False  # a token is being fetched, or is not stored yet
        self.result: Result
        self.cancelled: asyncio.CancelledError | None = None

    async def resume_in(
        self, worker: FlowWorker, value: StepResult, failure: OutkeyError | None
    ) -> Awaited | None:
        """Do as `resume_here` does, in the thread of a worker."""
        future = worker.resume(self, value, failure)
        try:
            return await future
        except asyncio.CancelledError as error:
            # The worker is done with the flow: asyncio has waited for the future.
            self.cancelled = error
            return future.result()

    def resume_here(
        self, value: StepResult, failure: OutkeyError | None
    ) -> Awaited | None:
        """Resume the flow up to a step for the event loop; None at its end."""
        step = self.next(value, failure)
        while isinstance(step, Intent):
            try:
                attempt = self._runtime.audit.intend(step)
            except OutkeyError as error:
                step = self.next(None, error)
            else:
                self.begin_attempt(step, attempt)
                step = self.next(attempt, None)
        return step

    def next(
        self, value: StepResult, failure: OutkeyError | None
    ) -> Awaited | Intent | None:
        """Resume the flow up to an intent or a step for the event loop.

        Other records are written on the way. Returns None at the end of the flow.
        """
        flow = self._flow
        try:
            while True:
                step = flow.send(value) if failure is None else flow.throw(failure)
                if isinstance(step, Intent):
                    if self.cancelled and not _is_for_token(step):
                        self._renewing = False
                        return None  # its caller has ended
                    return step
                if not isinstance(step, _ENDS):
                    return step
                value = record(self._runtime.audit, step)
                failure = None
                if isinstance(step, Outcome):
                    self._attempt = None
                    self._renewing = self._renewing and step.status == 200
        except StopIteration as stop:
            self.result = stop.value
            self._renewing = False
            return None

    def begin_attempt(self, intent: Intent, attempt: str) -> None:
        """Note that an intent was recorded, so that its end is recorded in any case."""
        self._attempt = intent, attempt, self._runtime.clock.monotonic()
        self._renewing = _is_for_token(intent)

    def abandon(self) -> None:
        """Record the end of an attempt that was cancelled."""
        if self._attempt is None:
            return
        intent, attempt, started = self._attempt
        duration = round((self._runtime.clock.monotonic() - started) * 1000)
        self._runtime.audit.conclude(cancelled_outcome(intent, attempt, duration))

    def may_end(self, step: Awaited | None) -> bool:
        """Whether a cancelled flow may end before this step."""
        # While a name is resolved, the lease on the token may have been taken already.
        return not self._renewing and not isinstance(step, Resolve)

    def perform(self, step: Awaited) -> Awaitable[StepResult]:
        """Start a step; one that must not be cancelled runs to its end."""
        if self._renewing or self.cancelled:
            return self._finish(asyncio.ensure_future(self._runtime.perform(step)))
        if isinstance(step, Resolve):
            return self._resolve(step)
        return self._runtime.perform(step)

    async def _resolve(self, step: Resolve) -> StepResult:
        try:
            return await self._runtime.perform(step)
        except asyncio.CancelledError as error:
            self.cancelled = error
        return await self.perform(step)

    async def _finish(self, future: asyncio.Future[StepResult]) -> StepResult:
        """Wait for the end; a cancellation meanwhile takes effect afterwards."""
        while not future.done():
            try:
                await asyncio.wait((future,))
            except asyncio.CancelledError as error:
                self.cancelled = error
        return future.result()


def cancelled_outcome(intent: Intent, attempt: str, duration_ms: int) -> Outcome:
    """Return the outcome of a request whose response nobody waits for."""
    tag = Tag.TOKEN_OUTCOME if _is_for_token(intent) else Tag.SEND_OUTCOME
    return Outcome(
        attempt=attempt,
        configuration=intent.configuration,
        status=0,
        outcome="cancelled",
        duration_ms=duration_ms,
        tag=tag,
        connection=intent.connection,
    )


def _is_for_token(intent: Intent) -> bool:
    """Whether a request is about to be sent to a token endpoint."""
    return intent.tag is Tag.TOKEN_INTENT
