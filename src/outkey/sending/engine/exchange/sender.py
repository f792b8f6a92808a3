"""A Sender performs exchanges with the ports that a host has chosen.

It is what a `Gateway` for callers and an `Application` for pages and commands share,
and where the engine itself sends a `Call`.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.engine.exchange.echoed_secrets import repeats_secret
from outkey.sending.engine.exchange.exchange import exchange
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.drive import AsyncRuntime, Runtime, adrive, drive
from outkey.sending.engine.wire.egress import Egress
from outkey.sending.engine.wire.flow_worker import FlowWorker
from outkey.sending.engine.wire.lockout_guard import LockoutGuard
from outkey.sending.engine.wire.proxies import NO_PROXIES, Proxies
from outkey.sending.engine.wire.response_bodies import UnfinishedBody
from outkey.sending.engine.wire.started_send import StartedSend
from outkey.sending.engine.wire.transmit import route_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.clock import Clock
    from outkey.foundation.ports.expressions import PathCompiler
    from outkey.foundation.ports.threads import Threads
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.request.assembly import Call
    from outkey.sending.core.request.message import Peer, Response, Route
    from outkey.sending.engine.rotation.trial import Trials
    from outkey.sending.engine.tokens.actions import TokenActions
    from outkey.sending.engine.wire.steps import Steps
    from outkey.sending.ports.sending import (
        AsyncResolver,
        AsyncTransport,
        Audit,
        Configurations,
        Listeners,
        Permits,
        ProxySource,
        Resolver,
        Scripts,
        Secrets,
        SecretStores,
        Signer,
        Tokens,
        Transport,
    )


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Asynchronous:
    """The ports for sending from an event loop.

    `blocking_ports`: secrets, tokens, permits or records are stored on a disk
    or in a database, so that flows must run in a worker's thread.
    """

    transport: AsyncTransport
    resolver: AsyncResolver
    blocking_ports: bool
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    # Closes what the ports hold open for the thread that calls it.
    release_thread: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything that sending reaches the outside with; hosts choose the adapters."""

    configurations: Configurations
    secrets: Secrets
    transport: Transport
    resolver: Resolver
    clock: Clock
    audit: Audit
    permits: Permits
    tokens: Tokens
    signer: Signer
    scripts: Scripts
    paths: PathCompiler
    threads: Threads
    asynchronous: Asynchronous | None = None
    listeners: Listeners | None = None
    proxies: ProxySource = NO_PROXIES
    # Made when the first secret is in an external store.
    stores: Callable[[], SecretStores] | None = None
    jitter: Callable[[], float] = random.random


class Sender:
    """Sends calls and performs flows, blocking or on an event loop."""

    def __init__(self, ports: Ports, trials: Trials | None = None) -> None:
        self.trials = trials  # None: the host stores no second set of credentials
        self.configurations = ports.configurations
        self.threads = ports.threads
        self.context = SendContext(
            secrets=ports.secrets,
            clock=ports.clock,
            permits=ports.permits,
            egress=Egress(ports.listeners),
            proxies=Proxies(ports.proxies),
            jitter=ports.jitter,
            tokens=ports.tokens,
            signer=ports.signer,
            scripts=ports.scripts,
            paths=ports.paths,
            lockout_guard=LockoutGuard(ports.configurations),
            find_echo=repeats_secret,
            stores=ports.stores,
        )
        self.runtime = Runtime(
            ports.transport, ports.resolver, ports.clock, ports.audit
        )
        self._async_runtime = async_runtime(ports)

    def run(self, steps: Steps[Result]) -> Result:
        """Perform a flow and return its result."""
        return drive(steps, self.runtime)

    def run_for_user(self, steps: Steps[Result]) -> Result:
        """Perform a flow that a user looks at: the audit then has its outcomes."""
        try:
            return self.run(steps)
        finally:
            self.flush_audit()

    def flush_audit(self) -> None:
        """Write the outcomes that the audit has queued for its next record.

        For the end of a run, a test or a sample: a send does not wait for it.
        """
        self.runtime.audit.flush()

    def send(self, call: Call, *, packs: bool = False) -> Response:
        """Send a call and return the response whatever its status.

        If it `packs`, a large body of a success is in `Response.packed`.
        """
        return drive(self._exchange(self.context, call, packs=packs), self.runtime)

    def start(self, call: Call) -> StartedSend[Response]:
        """Send a call, and let the caller wait for its response later."""

        def new_flow(clock: Clock) -> Steps[Response]:
            return self._exchange(replace(self.context, clock=clock), call)

        return StartedSend(new_flow, self.runtime, self.threads)

    def stream(self, call: Call) -> Response:
        """Send a call; the body of a success may be left to read, as it arrives.

        Then the response has a `stream`. The audit gets the outcome once that was read
        or closed.
        """
        response = drive(self._exchange(self.context, call, streams=True), self.runtime)
        if not isinstance(response.stream, UnfinishedBody):
            return response
        stream = response.stream.recorded_by(self.runtime.audit.conclude)
        return replace(response, stream=stream)

    async def asend(self, build: Callable[[], Call]) -> Response:
        """Build and send a call without blocking the event loop."""
        runtime = self._async_runtime
        if runtime is None:
            raise ConfigError(
                Text("this gateway has no asynchronous transport"),
                hint=Text("Call send in a thread."),
            )
        return await adrive(self._build_and_exchange(build), runtime)

    def _build_and_exchange(self, build: Callable[[], Call]) -> Steps[Response]:
        return (yield from self._exchange(self.context, build()))

    def _exchange(
        self,
        context: SendContext,
        call: Call,
        *,
        streams: bool = False,
        packs: bool = False,
    ) -> Steps[Response]:
        """Return the flow of a call; in a trial, perhaps with the next credentials."""
        if self.trials is None or call.configuration.sets.trial is None:
            return exchange(context, call, streams=streams, packs=packs)
        send = partial(exchange, streams=streams, packs=packs)
        return self.trials.exchange(context, call, send)

    def route_to(self, configuration: Configuration) -> Route:
        """Return the vetted route to a configuration's Base URL."""
        return self.run(route_of(self.context, configuration))

    def connect(self, configuration: Configuration, context: SendContext) -> Peer:
        """Connect to a configuration's Base URL without a request; return the peer."""
        route = self.run(route_of(context, configuration))
        return self.runtime.transport.probe(configuration.base.origin, route)

    def token_actions(
        self,
        configuration: Configuration,
        context: SendContext | None = None,
        subject: Secret | None = None,
    ) -> TokenActions:
        """Return the actions on a configuration's token, or on that of a user."""
        from outkey.sending.engine.tokens.actions import TokenActions  # noqa: PLC0415

        context = context or self.context
        return TokenActions(context, configuration, self.run_for_user, subject)

    def close(self) -> None:
        """Close pooled connections, the processes that run scripts, and the audit."""
        self.runtime.transport.close()
        self.context.scripts.close()
        self.runtime.audit.close()
        if self._async_runtime is not None and self._async_runtime.worker is not None:
            self._async_runtime.worker.close()

    async def leave_loop(self) -> None:
        """Close the connections that are pooled for the running event loop."""
        if self._async_runtime is not None:
            await self._async_runtime.transport.close()


def async_runtime(ports: Ports) -> AsyncRuntime | None:
    """Return the runtime for an event loop, if the host has one."""
    asynchronous = ports.asynchronous
    if asynchronous is None:
        return None
    worker = None
    if asynchronous.blocking_ports:
        new_thread = partial(ports.threads.new_worker, "outkey-flows")
        worker = FlowWorker(ports.audit, new_thread, asynchronous.release_thread)
    return AsyncRuntime(
        transport=asynchronous.transport,
        resolver=asynchronous.resolver,
        sleep=asynchronous.sleep,
        clock=ports.clock,
        audit=ports.audit,
        worker=worker,
    )
