"""The two loops that do the I/O of a send: one blocking, one for an event loop.

A send is written once, as a generator of steps. Both loops send results and throw
outkey's own errors into it, and close it when it is abandoned.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, assert_never

from outkey.core.audit.events import Intent, Outcome, Refusal, Tag
from outkey.core.errors import OutkeyError
from outkey.core.request.message import Request, Response, Route
from outkey.ports.sending import (
    AsyncResolver,
    AsyncTransport,
    Audit,
    Clock,
    Resolver,
    Transport,
)

Result = TypeVar("Result")
Value = TypeVar("Value")


class Transmit(NamedTuple):
    """Send this request; the result is the response."""

    request: Request
    route: Route


class Resolve(NamedTuple):
    """Look up a host's addresses; the result is all of them."""

    host: str
    port: int
    timeout: float


class Wait(NamedTuple):
    """Wait for some seconds."""

    seconds: float


Awaited = Transmit | Resolve | Wait
# to be recorded; the result of an intent is its id
Recorded = Intent | Outcome | Refusal
IoStep = Awaited | Recorded
StepResult = str | Response | tuple[str, ...] | None
_AWAITED = (Transmit, Resolve, Wait)
Steps = Generator[IoStep, Any, Result]


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

    With `blocking_ports`, secrets, tokens, permits or records may wait for a disk, a
    database or a process: the flow then runs in threads. Without, it runs in the loop.
    """

    transport: AsyncTransport
    resolver: AsyncResolver
    sleep: Callable[[float], Awaitable[None]]
    clock: Clock
    audit: Audit
    blocking_ports: bool

    def perform(self, step: Awaited) -> Awaitable[StepResult]:
        """Start one step and return what its result is awaited from.

        Not a coroutine itself, and so a level less for each request to be resumed
        through.
        """
        match step:
            case Transmit(request, route):
                return self.transport.send(request, route)
            case Resolve(host, port, timeout):
                return self.resolver.resolve(host, port, timeout)
            case Wait(seconds):
                return self.sleep(seconds)
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
            if runtime.blocking_ports:
                step = await run.call_off_loop(partial(run.next, step_result, failure))
            else:
                step = run.next(step_result, failure)
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
        await run.call_off_loop(run.abandon)
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

    def next(self, value: StepResult, failure: OutkeyError | None) -> Awaited | None:
        """Resume the flow and write its records, up to a step for the event loop.

        Returns None at the end of the flow.
        """
        flow = self._flow
        try:
            while True:
                step = flow.send(value) if failure is None else flow.throw(failure)
                if isinstance(step, _AWAITED):
                    return step
                if self.cancelled and is_new_send(step):
                    self._renewing = False
                    return None
                try:
                    value = self._record(step)
                    failure = None
                except OutkeyError as error:
                    failure = error
        except StopIteration as stop:
            self.result = stop.value
            self._renewing = False
            return None

    def _record(self, step: Recorded) -> str | None:
        attempt = record(self._runtime.audit, step)
        if attempt is not None and isinstance(step, Intent):
            self._attempt = step, attempt, self._runtime.clock.monotonic()
            self._renewing = is_for_token(step)
        elif isinstance(step, Outcome):
            self._attempt = None
            self._renewing = self._renewing and step.status == 200
        return attempt

    def abandon(self) -> None:
        """Record the end of an attempt that was cancelled."""
        if self._attempt is None:
            return
        intent, attempt, started = self._attempt
        duration = round((self._runtime.clock.monotonic() - started) * 1000)
        tag = Tag.TOKEN_OUTCOME if self._renewing else Tag.SEND_OUTCOME
        self._runtime.audit.conclude(
            Outcome(attempt, intent.configuration, 0, "cancelled", duration, tag)
        )

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

    async def call_off_loop(self, function: Callable[[], Value]) -> Value:
        """Call a function in a thread if it may block, else here."""
        if not self._runtime.blocking_ports:
            return function()
        run = contextvars.copy_context().run
        loop = asyncio.get_running_loop()
        return await self._finish(loop.run_in_executor(None, run, function))

    async def _finish(self, future: asyncio.Future[Value]) -> Value:
        """Wait for the end; a cancellation meanwhile takes effect afterwards."""
        while not future.done():
            try:
                await asyncio.wait((future,))
            except asyncio.CancelledError as error:
                self.cancelled = error
        return future.result()


def is_new_send(step: Recorded) -> bool:
    """Whether a request is about to be sent to the API."""
    return isinstance(step, Intent) and not is_for_token(step)


def is_for_token(intent: Intent) -> bool:
    """Whether a request is about to be sent to a token endpoint."""
    return intent.tag is Tag.TOKEN_INTENT
