"""A gateway from one TOML document, without a database."""

from pathlib import Path

from outkey.adapters.audit_logging import LoggingAudit
from outkey.adapters.clock_system import SystemClock
from outkey.adapters.permits_leased import LeasedPermits, MemoryPaces
from outkey.adapters.registry_memory import MemoryRegistry
from outkey.adapters.resolver_system import SystemResolver
from outkey.adapters.secrets_reference import ReferencedSecrets
from outkey.adapters.signer_jose import JoseSigner
from outkey.adapters.tokens_memory import MemoryTokens
from outkey.adapters.transport_urllib3 import Urllib3Transport
from outkey.core.document import parse_document
from outkey.core.errors import ConfigError
from outkey.engine.gateway import Gateway, Ports


def load(path: str | Path) -> Gateway:
    """Return a gateway for the configurations of a TOML file.

    Secrets are references and are read when they are used. Attempts are recorded by the logger
    `outkey.audit`.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise ConfigError(f"{path} cannot be read: {reason}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text") from None
    return from_text(text)


def from_text(text: str) -> Gateway:
    """Return a gateway for the configurations of a TOML document."""
    document = parse_document(text)
    configurations = [draft.configuration() for draft in document.drafts]
    known = {configuration.name for configuration in configurations}
    for line in document.lines:
        if line.configuration not in known:
            raise ConfigError(
                "a line must name a configuration of this document",
                field=f"line.{line.name}.configuration",
            )
    clock = SystemClock()
    return Gateway(
        Ports(
            configurations=MemoryRegistry(configurations, document.lines),
            secrets=ReferencedSecrets(),
            transport=Urllib3Transport(),
            resolver=SystemResolver(),
            clock=clock,
            audit=LoggingAudit(),
            permits=LeasedPermits(MemoryPaces(), clock.monotonic),
            tokens=MemoryTokens(clock.now),
            signer=JoseSigner(),
        )
    )
