"""A gateway from one TOML document, without a database."""

from collections.abc import Iterable
from pathlib import Path

from outkey.adapters.audit_logging import LoggingAudit
from outkey.adapters.clock_system import SystemClock
from outkey.adapters.configurations_memory import MemoryConfigurations
from outkey.adapters.permits_leased import LeasedPermits
from outkey.adapters.resolver_system import AsyncSystemResolver, SystemResolver
from outkey.adapters.scripts_locked import LockedScripts
from outkey.adapters.secrets_reference import ReferencedSecrets
from outkey.adapters.signer_jose import JoseSigner
from outkey.adapters.states_memory import MemoryStateRows
from outkey.adapters.tokens_memory import MemoryTokens
from outkey.adapters.transport_aiohttp import AiohttpTransport
from outkey.adapters.transport_urllib3 import Urllib3Transport
from outkey.core.config.choices import Grant
from outkey.core.config.configuration import Configuration
from outkey.core.config.document import parse_document
from outkey.core.errors import ConfigError
from outkey.core.text import Text
from outkey.engine.gateway import Asynchronous, Gateway, Ports
from outkey.ports.sending import Tokens


def load(path: str | Path, *, tokens: Tokens | None = None) -> Gateway:
    """Return a gateway for the configurations of a TOML file.

    Secrets are references and are read when they are used. Attempts are recorded by the logger
    `outkey.audit`. Without a place for `tokens`, those of OAuth 2.0 live as long as the process.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise ConfigError(
            Text("{path} cannot be read: {reason}", path=path, reason=reason)
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(Text("{path} is not UTF-8 text", path=path)) from None
    return from_text(text, tokens=tokens)


def from_text(text: str, *, tokens: Tokens | None = None) -> Gateway:
    """Return a gateway for the configurations of a TOML document."""
    document = parse_document(text)
    configurations = [draft.configuration() for draft in document.drafts]
    known = {configuration.name for configuration in configurations}
    for line in document.lines:
        if line.configuration not in known:
            raise ConfigError(
                Text("a line must name a configuration of this document"),
                field=f"line.{line.name}.configuration",
            )
    if tokens is None:
        _refuse_consent(configurations)
    clock, resolver = SystemClock(), SystemResolver()
    return Gateway(
        Ports(
            configurations=MemoryConfigurations(configurations, document.lines),
            secrets=ReferencedSecrets(),
            transport=Urllib3Transport(),
            resolver=resolver,
            clock=clock,
            audit=LoggingAudit(),
            permits=LeasedPermits(MemoryStateRows(), clock.monotonic),
            tokens=tokens or MemoryTokens(clock.now),
            signer=JoseSigner(),
            scripts=LockedScripts(),
            # What is in memory is not waited for; whether a given place for tokens is, who knows.
            asynchronous=Asynchronous(
                AiohttpTransport(),
                AsyncSystemResolver(resolver),
                waits=tokens is not None,
            ),
        )
    )


def _refuse_consent(configurations: Iterable[Configuration]) -> None:
    """Refuse refresh tokens: one that was replaced would be lost with the process."""
    for made in configurations:
        if made.uses_oauth2 and made.oauth2.grant is not Grant.CLIENT_CREDENTIALS:
            message = Text(
                "configuration {name}: its refresh token could not be stored",
                name=made.name,
            )
            hint = Text(
                "Use outkey.open(), which stores tokens, or the grant"
                " client_credentials."
            )
            raise ConfigError(message, hint=hint, field="oauth2.grant")
