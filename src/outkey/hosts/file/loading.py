"""A gateway from one TOML document, without a database."""

from collections.abc import Iterable
from pathlib import Path

from outkey.administration.core.document.document import Document, parse_document
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.paths_on_demand import PathsOnDemand
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.adapters.audit.audit_logging import LoggingAudit
from outkey.sending.adapters.configurations_memory import MemoryConfigurations
from outkey.sending.adapters.permits_leased import LeasedPermits
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.adapters.transport.resolver_system import (
    AsyncSystemResolver,
    SystemResolver,
)
from outkey.sending.adapters.transport.transport_asyncio import AsyncioTransport
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.engine.exchange.sender import Asynchronous, Ports, Sender
from outkey.sending.engine.gateway import Gateway
from outkey.sending.ports.sending import Tokens


def load(path: str | Path, *, tokens: Tokens | None = None) -> Gateway:
    """Return a gateway for the configurations of a TOML file.

    Secrets are references and are read when they are used. Attempts are recorded by the
    logger `outkey.audit`. Without a store for `tokens`, those that are fetched live as
    long as the process.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            Text(
                "{path} cannot be read: {reason}",
                path=path,
                reason=error.strerror or Text("unknown reason"),
            )
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(Text("{path} is not UTF-8 text", path=path)) from None
    return from_text(text, tokens=tokens)


def from_text(text: str, *, tokens: Tokens | None = None) -> Gateway:
    """Return a gateway for the configurations of a TOML document."""
    return Gateway(_sender_of(parse_document(text), tokens))


def _sender_of(document: Document, tokens: Tokens | None = None) -> Sender:
    """Return a sender with the configurations of a document."""
    configurations = document.configurations()
    refuse_stray_lines(document)
    if tokens is None:
        _refuse_consent(configurations)
    clock = SystemClock()
    resolver = SystemResolver()
    return Sender(
        Ports(
            threads=SystemThreads(),
            configurations=MemoryConfigurations(
                configurations,
                {line.name: line.configuration for line in document.lines},
            ),
            secrets=ReferencedSecrets(),
            transport=SocketTransport(),
            resolver=resolver,
            clock=clock,
            audit=LoggingAudit(),
            permits=LeasedPermits(MemoryStateRows(), clock.monotonic),
            tokens=tokens or MemoryTokens(clock.now),
            signer=JoseSigner(),
            scripts=LockedScripts(),
            paths=PathsOnDemand(),
            asynchronous=Asynchronous(
                AsyncioTransport(),
                AsyncSystemResolver(resolver),
                # Everything is in memory, but for a store of tokens that was passed.
                blocking_ports=tokens is not None,
            ),
        )
    )


def refuse_stray_lines(document: Document) -> None:
    """Refuse a line whose configuration is not in the document."""
    names = {draft.name for draft in document.drafts}
    for line in document.lines:
        if line.configuration not in names:
            raise ConfigError(
                Text("a line must name a configuration of this document"),
                field=f"line.{line.name}.configuration",
            )


def _refuse_consent(configurations: Iterable[Configuration]) -> None:
    """Refuse refresh tokens: one that was replaced would be lost with the process."""
    for configuration in configurations:
        if configuration.has_three_legs:
            raise ConfigError(
                Text(
                    "configuration {name}: the token that a user authorizes could not"
                    " be stored",
                    name=configuration.name,
                ),
                hint=Text(
                    "Use outkey.open(), which stores tokens, or name an access_token"
                    " and its access_token_secret."
                ),
                field="oauth1.request_url",
            )
        if configuration.needs_consent:
            raise ConfigError(
                Text(
                    "configuration {name}: its refresh token could not be stored",
                    name=configuration.name,
                ),
                hint=Text(
                    "Use outkey.open(), which stores tokens, or the grant"
                    " client_credentials."
                ),
                field="oauth2.grant",
            )
