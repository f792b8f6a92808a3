"""The door for callers: a Gateway sends and previews by a configuration's name."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

from outkey.core.config.choices import Grant, Network
from outkey.core.config.configuration import Configuration
from outkey.core.config.field_kinds import check_method
from outkey.core.errors import ConfigError
from outkey.core.findings.checks import Finding
from outkey.core.findings.configuration_checks import check
from outkey.core.oauth2.token import AccessToken
from outkey.core.request.assembly import Call, encode_body
from outkey.core.request.message import Peer, Response, ResponseHeaders
from outkey.core.request.origin import Params
from outkey.core.request.schemes.oauth2 import is_rejected
from outkey.core.secret import Secret
from outkey.engine.managing.connection_test import (
    ConnectionTest,
    ConnectionTestPorts,
    Report,
)
from outkey.engine.sending.echoed_secrets import repeats_secret
from outkey.engine.sending.exchange import exchange
from outkey.engine.sending.lend import Loan, lend
from outkey.engine.sending.preview import Preview, preview
from outkey.engine.sending.scripts import Tried, try_script
from outkey.engine.tokens.actions import TokenActions
from outkey.engine.tokens.discovery import discover
from outkey.engine.tokens.renewal import TokenManager
from outkey.engine.tokens.token_cache import TokenCache
from outkey.engine.wire.drive import AsyncRuntime, Runtime, Steps, adrive, drive
from outkey.engine.wire.egress import Egress
from outkey.engine.wire.lockout_guard import LockoutGuard
from outkey.engine.wire.transmit import SendContext
from outkey.ports.sending import (
    AsyncResolver,
    AsyncTransport,
    Audit,
    Clock,
    Configurations,
    Listeners,
    Permits,
    Resolver,
    Scripts,
    Secrets,
    Signer,
    Tokens,
    Transport,
)

Data = bytes | str | Mapping[str, object] | None
_USUAL = ("GET", "POST", "PUT", "PATCH", "DELETE")  # need no closer look


@dataclass(frozen=True, slots=True)
class Asynchronous:
    """What a gateway sends from an event loop with.

    It `waits` where secrets, tokens, permits or records are kept on a disk or in a database.
    """

    transport: AsyncTransport
    resolver: AsyncResolver
    waits: bool
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything a gateway reaches the world with; hosts choose the adapters."""

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
    asynchronous: Asynchronous | None = None
    listeners: Listeners | None = None
    jitter: Callable[[], float] = random.random


class DraftCredentials(NamedTuple):
    """What a configuration that is not kept is tested with."""

    secrets: Secrets
    tokens: Tokens


class Gateway:
    """Sends requests that carry the right credentials to the right place, or not at all."""

    def __init__(self, ports: Ports) -> None:
        self._configurations = ports.configurations
        self._transport = ports.transport
        self._world = Runtime(ports.transport, ports.resolver, ports.clock, ports.audit)
        self._async_world = _async_world(ports)
        self.sender = SendContext(
            ports.secrets,
            ports.clock,
            ports.permits,
            Egress(ports.listeners),
            ports.jitter,
            ports.tokens,
            ports.signer,
            ports.scripts,
            brake=LockoutGuard(ports.configurations),
            echo=repeats_secret,
        )

    def send(  # noqa: PLR0913 - the parts of a request, all by keyword
        self,
        configuration: str,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: object = None,
        data: Data = None,
        headers: Mapping[str, str | Secret] | None = None,
        line: str = "",
        begun_with: Configuration | None = None,
    ) -> Response:
        """Send one request and return the response whatever its status.

        Raises when nothing was sent or nothing came back. `line` names the sync line that the
        request belongs to, and `begun_with` the configuration that its run began with,
        whose script counts.
        """
        call = self._call(
            configuration, method, path, params, json, data, headers, line, begun_with
        )
        return drive(exchange(self.sender, call), self._world)

    async def asend(  # noqa: PLR0913 - the parts of a request, all by keyword
        self,
        configuration: str,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: object = None,
        data: Data = None,
        headers: Mapping[str, str | Secret] | None = None,
        line: str = "",
        begun_with: Configuration | None = None,
    ) -> Response:
        """Do what `send` does, from an event loop and without holding it up.

        Whoever is cancelled waits for a token that is on its way, a few seconds at most.
        """
        asked = (
            configuration,
            method,
            path,
            params,
            json,
            data,
            headers,
            line,
            begun_with,
        )
        make = partial(self._call, *asked)
        world = self._async_world
        if world is None:
            raise ConfigError(
                "this gateway has no asynchronous transport",
                hint="Call send in a thread.",
            )
        if world.waits:
            return await adrive(self._exchange(make), world)
        call = make()
        if call.configuration.is_scripted:
            world = replace(world, waits=True)
        return await adrive(exchange(self.sender, call), world)

    def _exchange(self, make: Callable[[], Call]) -> Steps[Response]:
        return (yield from exchange(self.sender, make()))

    def preview(  # noqa: PLR0913 - the parts of a request, all by keyword
        self,
        configuration: str,
        method: str = "GET",
        path: str | None = None,
        *,
        params: Params | None = None,
        json: object = None,
        data: Data = None,
        headers: Mapping[str, str | Secret] | None = None,
    ) -> Preview:
        """Return the exact request with secrets masked; opens no connection.

        Without a path it shows the configuration's own test request path.
        """
        call = self._call(configuration, method, path, params, json, data, headers)
        return preview(self.sender, call)

    def test(self, configuration: str) -> Report:
        """Test a configuration step by step; at most one request with credentials is sent."""
        return self.trial(self._configurations.get(configuration)).run()

    def trial(
        self, configuration: Configuration, draft: DraftCredentials | None = None
    ) -> ConnectionTest:
        """Return a test of a configuration; one that is not kept yet has secrets of its own."""
        sender = replace(self.sender, brake=replace(self.sender.brake, stops=False))
        if draft is not None:
            sender = replace(sender, secrets=draft.secrets, tokens=draft.tokens)
            sender = replace(sender, held=TokenCache(), brake=LockoutGuard())
        once = replace(configuration, limits=replace(configuration.limits, retries=0))
        desk = self._token_desk(sender, once)
        unkept = draft is not None and once.oauth2.grant is not Grant.CLIENT_CREDENTIALS
        ports = ConnectionTestPorts(
            send=lambda call: drive(exchange(sender, call), self._world),
            ready=_refuse_unkept if unkept else desk.ready,
            look=lambda: self._look(sender, once),
            quotes=draft is None,
        )
        return ConnectionTest(sender, once, ports)

    def _look(self, sender: SendContext, configuration: Configuration) -> Peer:
        route = drive(sender.route_of(configuration), self._world)
        return self._transport.look(configuration.base.origin, route)

    def token(self, configuration: str | Configuration) -> TokenActions:
        """Return the desk where people look after a configuration's token."""
        if isinstance(configuration, str):
            configuration = self._configurations.get(configuration)
        return self._token_desk(self.sender, configuration)

    def _token_desk(
        self, sender: SendContext, configuration: Configuration
    ) -> TokenActions:
        return TokenActions(
            sender, configuration, lambda steps: drive(steps, self._world)
        )

    def discover(
        self, issuer: str, network: Network, ca_file: str = ""
    ) -> dict[str, str]:
        """Return the addresses that an authorization server names in its metadata."""
        return drive(discover(self.sender, issuer, network, ca_file), self._world)

    def try_script(self, configuration: str, at: float | None = None) -> Tried:
        """Run a script once for the test request, and tell its headers' names and lengths."""
        return try_script(self.sender, self._configurations.get(configuration), at)

    def lend(
        self,
        configuration: str,
        method: str,
        url: str,
        present: Iterable[str],
        *,
        body: bytes | None = b"",
        rejected: Loan | None = None,
    ) -> Loan:
        """Return the credentials for a request that another HTTP client will carry.

        `present` are the names of the headers it has already; a `body` that is not at hand is
        None. Report its end to `settle`. Where the API refused a loan's token, name that loan,
        and the token of the next one is another.
        """
        found = self._configurations.get(configuration)
        token = rejected.token if rejected else None
        steps = lend(
            self.sender, found, method, url, present, body=body, rejected=token
        )
        return drive(steps, self._world)

    def settle(
        self, loan: Loan, status: int, headers: Iterable[tuple[str, str]] = ()
    ) -> bool:
        """Record how a request with lent credentials ended; status 0 means without an answer.

        Tell whether the answer refuses the token, so that a loan with another is worth a try.
        """
        self._world.audit.conclude(loan.outcome(status, self.sender.clock.monotonic()))
        if not status:
            return False
        configuration = self._configurations.get(loan.configuration)
        if (
            loan.token is None or loan.renewed or status != 401
        ):  # the first one is renewed first
            lent = replace(configuration, revision=loan.revision)
            self.sender.brake.learn(lent, status, self.sender.clock.now())
        if loan.token is None:
            return False
        if status < 400:
            TokenManager(self.sender, configuration).accepted()
        return is_rejected(
            Response(status, ResponseHeaders(tuple(headers))), configuration
        )

    def findings(self, configuration: str) -> list[Finding]:
        """Return what is wrong or risky about a configuration."""
        found = self._configurations.get(configuration)
        return check(found, self.sender.opener(found), now=self.sender.clock.now())

    def close(self) -> None:
        """Close kept connections, and end what runs scripts."""
        self._transport.close()
        self.sender.scripts.close()

    async def aclose(self) -> None:
        """Do the same, and close the connections that are kept for the running event loop."""
        await self.leave_loop()
        await asyncio.to_thread(self.close)

    async def leave_loop(self) -> None:
        """Close the connections that are kept for the running event loop, and nothing else."""
        if self._async_world is not None:
            await self._async_world.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def _call(  # noqa: PLR0913, PLR0917 - the parts of a request, in the order of `send`
        self,
        configuration: str,
        method: str,
        path: str | None,
        params: Params | None,
        json: object,
        data: Data,
        headers: Mapping[str, str | Secret] | None,
        line: str = "",
        begun_with: Configuration | None = None,
    ) -> Call:
        asked = (
            line if begun_with is None else ""
        )  # a run has its line as it was when it began
        if asked and self._configurations.line(asked).configuration != configuration:
            raise ConfigError(
                "the sync line belongs to another configuration", field="line"
            )
        found = self._configurations.get(configuration)
        if begun_with is not None:
            found = found.as_begun_with(begun_with)
        body, content_type = encode_body(json, data)
        return Call(
            configuration=found,
            method=method if method in _USUAL else check_method(method, field="method"),
            path=found.verification.test_path if path is None else path,
            params=params,
            headers=headers or {},
            body=body,
            content_type=content_type,
            line=line,
        )


def _async_world(ports: Ports) -> AsyncRuntime | None:
    loop = ports.asynchronous
    if loop is None:
        return None
    return AsyncRuntime(
        loop.transport, loop.resolver, loop.sleep, ports.clock, ports.audit, loop.waits
    )


def _refuse_unkept() -> AccessToken:
    """Refuse to use a consent that is not kept: what a refresh token gives would be lost."""
    raise ConfigError(
        "a token that a person agreed to can only be tested as it is kept",
        hint="Save the configuration first.",
        field="oauth2.grant",
    )
