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


Awaited = Transmit | Resolve | Wait
Recorded = (
    Intent | Outcome | Refusal
)  # to be written down; an intent is answered with its id
Step = Awaited | Recorded
Answer = str | Response | tuple[str, ...] | None
_AWAITED = (Transmit, Resolve, Wait)
Steps = Generator[Step, Any, Result]


@dataclass(frozen=True, slots=True)
class Runtime:
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

    Where it `waits`, what a flow asks its ports for may wait for a disk, a database or a process,
    so that flows go on and are recorded in threads; elsewhere that stays a call.
    """

    transport: AsyncTransport
    resolver: AsyncResolver
    sleep: Callable[[float], Awaitable[None]]
    clock: Clock
    audit: Audit
    waits: bool

    def perform(self, step: Awaited) -> Awaitable[Answer]:
        """Begin what one step asks for; awaited, it gives the answer.

        Not a coroutine itself, and so a level less for each request to be resumed through.
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


def drive(flow: Steps[Result], world: Runtime) -> Result:
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


async def adrive(flow: Steps[Result], world: AsyncRuntime) -> Result:
    """Perform a flow's steps on an event loop until it returns.

    A cancelled flow is closed, and its attempt recorded as `cancelled`; but a token that is on
    its way is waited for and kept first, since others wait for it, and it may be the only one.
    """
    passage = _AsyncRun(flow, world)
    answer: Answer = None
    failure: OutkeyError | None = None
    try:
        while True:
            if world.waits:
                step = await passage.off_loop(partial(passage.next, answer, failure))
            else:
                step = passage.next(answer, failure)
            if passage.cancelled and passage.may_end(step):
                raise passage.cancelled
            if step is None:
                return passage.result
            try:
                answer, failure = await passage.performed(step), None
            except OutkeyError as error:
                failure = error
    except asyncio.CancelledError:
        await passage.off_loop(passage.abandon)
        raise
    except OutkeyError:
        if passage.cancelled is None:
            raise
        raise passage.cancelled from None
    finally:
        flow.close()


class _AsyncRun(Generic[Result]):
    """A flow on its way through an event loop."""

    __slots__ = ("_attempt", "_flow", "_renewing", "_world", "cancelled", "result")

    def __init__(self, flow: Steps[Result], world: AsyncRuntime) -> None:
        self._flow, self._world = flow, world
        self._attempt: tuple[Intent, str, float] | None = None
        self._renewing = False  # a token is on its way, or has come and is not kept yet
        self.result: Result
        self.cancelled: asyncio.CancelledError | None = None

    def next(self, answer: Answer, failure: OutkeyError | None) -> Awaited | None:
        """Go on, recording what is to be recorded, to what the loop has to do; None at the end."""
        flow = self._flow
        try:
            while True:
                step = flow.send(answer) if failure is None else flow.throw(failure)
                if isinstance(step, _AWAITED):
                    return step
                if (
                    self.cancelled
                    and isinstance(step, Intent)
                    and not _is_for_token(step)
                ):
                    self._renewing = False
                    return None
                try:
                    answer, failure = self._recorded(step), None
                except OutkeyError as error:
                    failure = error
        except StopIteration as stop:
            self.result, self._renewing = stop.value, False
            return None

    def _recorded(self, step: Recorded) -> str | None:
        answer = _record(self._world.audit, step)
        if answer is not None and isinstance(step, Intent):
            self._attempt = step, answer, self._world.clock.monotonic()
            self._renewing = _is_for_token(step)
        elif isinstance(step, Outcome):
            self._attempt = None
            self._renewing = self._renewing and step.status == 200
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

    def may_end(self, step: Awaited | None) -> bool:
        """Tell whether nothing has to be waited for any more."""
        # Where a name is resolved, a claim on the token may have been made already.
        return not self._renewing and not isinstance(step, Resolve)

    def performed(self, step: Awaited) -> Awaitable[Answer]:
        """Begin a step; what must not be cancelled goes on to its end."""
        if self._renewing or self.cancelled:
            return self._ended(asyncio.ensure_future(self._world.perform(step)))
        return (
            self._resolved(step)
            if isinstance(step, Resolve)
            else self._world.perform(step)
        )

    async def _resolved(self, step: Resolve) -> Answer:
        try:
            return await self._world.perform(step)
        except asyncio.CancelledError as error:
            self.cancelled = error
        return await self.performed(step)

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


def _is_for_token(intent: Intent) -> bool:
    return intent.tag is Tag.TOKEN_INTENT
