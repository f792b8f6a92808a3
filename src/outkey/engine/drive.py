"""The two loops that perform what flows ask for: one blocking, one for an event loop.

A flow is written once as a generator of steps. Both loops send answers and throw outkey's own
errors into it, and close it when it is abandoned.
"""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, assert_never

from outkey.core.audit import Intent, Outcome, Refusal
from outkey.core.errors import OutkeyError
from outkey.core.message import Request, Response, Route
from outkey.ports import AsyncResolver, AsyncTransport, Audit, Clock, Resolver, Transport

Result = TypeVar("Result")


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


Step = Transmit | Resolve | Wait | Intend | Conclude | Refuse
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

    def perform(self, step: Step) -> str | Response | tuple[str, ...] | None:
        """Do what one step asks for and return the answer."""
        match step:
            case Transmit(request, route):
                return self.transport.send(request, route)
            case Resolve(host, port, timeout):
                return self.resolver.resolve(host, port, timeout)
            case Intend(intent):
                return self.audit.intend(intent)
            case Conclude(outcome):
                self.audit.conclude(outcome)
            case Refuse(refusal):
                self.audit.refuse(refusal)
            case Wait(seconds):
                self.clock.sleep(seconds)
            case _:
                assert_never(step)
        return None


@dataclass(frozen=True, slots=True)
class AsyncWorld:
    """The same for an event loop. Recording does not wait for the network, so it stays a call."""

    transport: AsyncTransport
    resolver: AsyncResolver
    sleep: Callable[[float], Awaitable[None]]
    audit: Audit

    async def perform(self, step: Step) -> str | Response | tuple[str, ...] | None:
        """Do what one step asks for and return the answer."""
        match step:
            case Transmit(request, route):
                return await self.transport.send(request, route)
            case Resolve(host, port, timeout):
                return await self.resolver.resolve(host, port, timeout)
            case Intend(intent):
                return self.audit.intend(intent)
            case Conclude(outcome):
                self.audit.conclude(outcome)
            case Refuse(refusal):
                self.audit.refuse(refusal)
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
    """Perform a flow's steps on an event loop until it returns."""
    try:
        step = next(flow)
        while True:
            try:
                answer = await world.perform(step)
            except OutkeyError as error:
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    finally:
        flow.close()
