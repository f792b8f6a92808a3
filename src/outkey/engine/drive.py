"""The two loops that perform what flows ask for: one blocking, one for an event loop.

A flow is written once as a generator of steps. Both loops send answers and throw outkey's own
errors into it, and close it when it is abandoned.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, assert_never

from outkey.core.audit import Intent, Outcome, Refusal, Tag
from outkey.core.errors import OutkeyError
from outkey.core.message import Request, Response, Route
from outkey.ports import AsyncResolver, AsyncTransport, Audit, Clock, Resolver, Transport

Result = TypeVar("Result")
Value = TypeVar("Value")


class Transmit(NamedTuple):
    """Carry this request; answered with the response."""

    request: Request
    route: Route


class Resolve(NamedTuple):
    """Find a host's addresses; answered with all of them."""

    host: str
    port: int
    timeout: float


class Wait(NamedTuple):
    """Let time pass."""

    seconds: float


class Intend(NamedTuple):
    """Record an intent; answered with the attempt's id."""

    intent: Intent


class Conclude(NamedTuple):
    """Record how an attempt ended."""

    outcome: Outcome


class Refuse(NamedTuple):
    """Record that nothing was sent."""

    refusal: Refusal


Awaited = Transmit | Resolve | Wait
Recorded = Intend | Conclude | Refuse
Step = Awaited | Recorded
Answer = str | Response | tuple[str, ...] | None
_AWAITED = (Transmit, Resolve, Wait)
Steps = Generator[Step, Any, Result]


def transmit(request: Request, route: Route) -> Generator[Step, Response, Response]:
    """Ask for a request to be carried."""
    return (yield Transmit(request, route))


def resolve(
    host: str, port: int, timeout: float
) -> Generator[Step, tuple[str, ...], tuple[str, ...]]:
    """Ask for a host's addresses."""
    return (yield Resolve(host, port, timeout))


def intend(intent: Intent) -> Generator[Step, str, str]:
    """Ask for an intent to be recorded."""
    return (yield Intend(intent))


@dataclass(frozen=True, slots=True)
class World:
    """The ports that steps are performed with."""

    transport: Transport
    resolver: Resolver
    clock: Clock
    audit: Audit

    def perform(self, step: Step) -> Answer:
        """Do what one step asks for and return the answer."""
        match step:
            case Transmit(request, route):
                return self.transport.send(request, route)
            case Resolve(host, port, timeout):
                return self.resolver.resolve(host, port, timeout)
            case Wait(seconds):
                self.clock.sleep(seconds)
                return None
            case _:
                return _record(self.audit, step)


def _record(audit: Audit, step: Recorded) -> str | None:
    match step:
        case Intend(intent):
            return audit.intend(intent)
        case Conclude(outcome):
            audit.conclude(outcome)
        case Refuse(refusal):
            audit.refuse(refusal)
        case _:
            assert_never(step)
    return None


@dataclass(frozen=True, slots=True)
class AsyncWorld:
    """The same for an event loop.

    Where it `waits`, what a flow asks its ports for may wait for a disk, a database or a process,
    so that flows go on and are recorded in threads; elsewhere that stays a call.
    """

    transport: AsyncTransport
    resolver: AsyncResolver
    sleep: Callable[[float], Awaitable[None]]
    clock: Clock
    audit: Audit
    waits: bool

    async def perform(self, step: Awaited) -> Answer:
        """Do what one step asks for and return the answer."""
        match step:
            case Transmit(request, route):
                return await self.transport.send(request, route)
            case Resolve(host, port, timeout):
                return await self.resolver.resolve(host, port, timeout)
            case Wait(seconds):
                await self.sleep(seconds)
            case _:
                assert_never(step)
        return None


def drive(flow: Steps[Result], world: World) -> Result:
    """Perform a flow's steps until it returns."""
    try:
        step = next(flow)
        while True:
            try:
                answer = world.perform(step)
            except OutkeyError as error:
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    finally:
        flow.close()


async def adrive(flow: Steps[Result], world: AsyncWorld) -> Result:
    """Perform a flow's steps on an event loop until it returns.

    A cancelled flow is closed, and its attempt recorded as `cancelled`; but a token that is on
    its way is waited for and kept first, since others wait for it, and it may be the only one.
    """
    course = _Course(flow, world)
    try:
        return await course.run()
    except asyncio.CancelledError:
        await course.off_loop(course.abandon)
        raise
    except OutkeyError:
        if course.cancelled is None:
            raise
        raise course.cancelled from None
    finally:
        flow.close()


class _Course(Generic[Result]):
    """A flow on its way through an event loop."""

    def __init__(self, flow: Steps[Result], world: AsyncWorld) -> None:
        self._flow, self._world = flow, world
        self._attempt: tuple[Intent, str, float] | None = None
        self._renewing = False  # a token is on its way, or has come and is not kept yet
        self._result: Result
        self.cancelled: asyncio.CancelledError | None = None

    async def run(self) -> Result:
        """Perform all steps."""
        answer: Answer = None
        failure: OutkeyError | None = None
        while True:
            if self._world.waits:
                step = await self.off_loop(partial(self._next, answer, failure))
            else:
                step = self._next(answer, failure)
            # Where a name is resolved, a claim on the token may have been made already.
            if self.cancelled and not self._renewing and not isinstance(step, Resolve):
                raise self.cancelled
            if step is None:
                return self._result
            try:
                answer, failure = await self._performed(step), None
            except OutkeyError as error:
                failure = error

    def _next(self, answer: Answer, failure: OutkeyError | None) -> Awaited | None:
        """Go on, recording what is to be recorded, to what the loop has to do; None at the end."""
        flow = self._flow
        try:
            while True:
                step = flow.send(answer) if failure is None else flow.throw(failure)
                if isinstance(step, _AWAITED):
                    return step
                if self.cancelled and isinstance(step, Intend) and not _is_for_token(step):
                    self._renewing = False
                    return None
                try:
                    answer, failure = self._recorded(step), None
                except OutkeyError as error:
                    failure = error
        except StopIteration as stop:
            self._result, self._renewing = stop.value, False
            return None

    def _recorded(self, step: Recorded) -> str | None:
        answer = _record(self._world.audit, step)
        if isinstance(step, Intend) and answer is not None:
            self._attempt = step.intent, answer, self._world.clock.monotonic()
            self._renewing = _is_for_token(step)
        elif isinstance(step, Conclude):
            self._attempt = None
            self._renewing = self._renewing and step.outcome.status == 200
        return answer

    def abandon(self) -> None:
        """Record the end of an attempt that was cancelled."""
        if self._attempt is None:
            return
        intent, attempt, started = self._attempt
        passed = round((self._world.clock.monotonic() - started) * 1000)
        tag = Tag.TOKEN_OUTCOME if self._renewing else Tag.SEND_OUTCOME
        ended = Outcome(attempt, intent.configuration, 0, "cancelled", passed, tag)
        self._world.audit.conclude(ended)

    async def _performed(self, step: Awaited) -> Answer:
        if self._renewing or self.cancelled:
            return await self._ended(asyncio.ensure_future(self._world.perform(step)))
        try:
            return await self._world.perform(step)
        except asyncio.CancelledError as error:
            if not isinstance(step, Resolve):
                raise
            self.cancelled = error
        return await self._performed(step)

    async def off_loop(self, function: Callable[[], Value]) -> Value:
        """Call where it may wait."""
        if not self._world.waits:
            return function()
        run = contextvars.copy_context().run
        loop = asyncio.get_running_loop()
        return await self._ended(loop.run_in_executor(None, run, function))

    async def _ended(self, doing: asyncio.Future[Value]) -> Value:
        """Wait for the end; a cancellation meanwhile is kept for later."""
        while not doing.done():
            try:
                await asyncio.wait((doing,))
            except asyncio.CancelledError as error:
                self.cancelled = error
        return doing.result()


def _is_for_token(step: Intend) -> bool:
    return step.intent.tag is Tag.TOKEN_INTENT
