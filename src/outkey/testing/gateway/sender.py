"""The engine behind a `FakeGateway`: the real one, without network and secrets."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from outkey.administration.core.document.document import parse_document
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.paths_on_demand import PathsOnDemand
from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.fields.choices import AuthenticationType, TokenSourceKind
from outkey.foundation.core.origin import Origin, parse_url
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.configurations_memory import MemoryConfigurations
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.sections import ProxySettings
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connection import Connection
from outkey.sending.core.connections.ids import check_connection_id
from outkey.sending.core.request.message import Peer, Request, Response, Route
from outkey.sending.engine.exchange.sender import Ports, Sender
from outkey.testing.fakes.basic import FakeScripts, MemoryAudit

BASE_URL = "https://api.example"
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
ADDRESS = "93.184.215.14"  # a public IP address; nothing connects to it


class FakeConfigurations(MemoryConfigurations):
    """Configurations that no response pauses."""

    def note_refused(self, name: str, revision: int) -> int:
        """Count nothing: a fake is never paused."""
        return 0


class AnyConfigurations(FakeConfigurations):
    """Knows every name: each configuration has a made-up Base URL and token."""

    def get(self, name: str) -> Configuration:
        """Return the configuration of this name."""
        return made_up_configuration(name)

    def connected(self, name: str, connection: str) -> Configuration:
        """Return the configuration of this name with this connection."""
        return made_up_configuration(name, connection=connection)


class FakeSecrets:
    """A value for every secret that a configuration needs."""

    def open(
        self, configuration: Configuration, field: str, reads: object = None
    ) -> Secret:
        """Return the same made-up value for every field."""
        return Secret("made-up-secret")

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Refuse nothing, since nothing is stored."""


class UnlimitedPermits:
    """Permits without a limit."""

    def reserve(
        self, configuration: str, per_minute: int | None, patience: float
    ) -> float:
        """Return that there is nothing to wait for."""
        return 0.0

    def hold(self, configuration: str, seconds: float) -> None:
        """Hold nothing."""

    def note_spent_budget(self, configuration: str, seconds: float) -> None:
        """Store nothing."""

    def budget_wait(self, configuration: str) -> float:
        """Return that there is nothing to wait for."""
        return 0.0


class TableTransport:
    """Passes the requests of connection tests to a function."""

    def __init__(self, respond: Callable[[Request, Route], Response]) -> None:
        self._respond = respond

    def send(self, request: Request, route: Route) -> Response:
        """Return the response of the table."""
        return self._respond(request, route)

    def begin(self, request: Request, route: Route) -> None:
        """Return None: a thread sends it."""

    def probe(self, origin: Origin, route: Route) -> Peer:
        """Return a peer with a current version of TLS."""
        return Peer(ADDRESS, "TLSv1.3" if origin.scheme == "https" else "")

    def close(self) -> None:
        """Do nothing: there are no connections."""


class OneAddress:
    """A resolver that returns the same public IP address for every name."""

    def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:
        """Return the IP address."""
        return (ADDRESS,)


@lru_cache
def made_up_configuration(
    name: str, url: str = "", connection: str | None = None
) -> Configuration:
    """Return a configuration with a token; its origin is that of a complete URL."""
    base_url = BASE_URL
    if _ABSOLUTE.match(url):
        base_url = str(parse_url(url).origin)
    values = {"base_url": base_url, "authentication_type": "bearer"}
    # A real one would refuse to send to a plain http URL or to this machine.
    made = build(name, values | {"network": "internal"})
    if connection is None:
        return made
    account = Connection(check_connection_id(connection), name)
    return with_account(made, account, {})


def fake_sender(
    registry: MemoryConfigurations, respond: Callable[[Request, Route], Response]
) -> Sender:
    """Return a sender that needs neither network nor secrets."""
    clock = SystemClock()
    return Sender(
        Ports(
            threads=SystemThreads(),
            configurations=registry,
            secrets=FakeSecrets(),
            transport=TableTransport(respond),
            resolver=OneAddress(),
            clock=clock,
            audit=MemoryAudit(),
            permits=UnlimitedPermits(),
            tokens=MemoryTokens(clock.now),
            signer=JoseSigner(),
            scripts=FakeScripts(),
            paths=PathsOnDemand(),
        )
    )


def read_configurations(path: Path) -> MemoryConfigurations:
    """Return the configurations and sync lines of a TOML document."""
    document = parse_document(path.read_text("utf-8"))
    configurations = document.configurations()
    owners = {line.name: line.configuration for line in document.lines}
    return FakeConfigurations(map(_without_network, configurations), owners)


def _without_network(configuration: Configuration) -> Configuration:
    """Return a configuration that needs no token endpoint, script, proxy or challenge.

    Its credentials stay where they are in a request.
    """
    kind = configuration.authentication_type
    if kind is AuthenticationType.DIGEST:
        kind = AuthenticationType.BASIC
    return replace(
        configuration,
        authentication_type=kind,
        token_source=TokenSourceKind.ENTERED,
        script_enabled=False,
        aws=replace(configuration.aws, role_arn=""),
        proxy=ProxySettings("", ""),
        tls=replace(configuration.tls, client_certificate=""),
        limits=replace(configuration.limits, retries=0, requests_per_minute=None),
    )
