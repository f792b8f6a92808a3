"""An outkey with storage, key and audit: what every host with a database builds a Gateway from."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from outkey.adapters.audit_keyed import KeyedAudit
from outkey.adapters.checkpoints_file import CheckpointFile
from outkey.adapters.clock_system import SystemClock
from outkey.adapters.configured_files import ConfiguredFiles
from outkey.adapters.keyring_file import KeySource
from outkey.adapters.keyring_loader import KeyringLoader, KeyRotation, ProcessHeartbeat
from outkey.adapters.listeners_file import ListenerFiles
from outkey.adapters.permits_leased import LeasedPermits
from outkey.adapters.policy_file import read_policy
from outkey.adapters.resolver_system import AsyncSystemResolver, SystemResolver
from outkey.adapters.scripts_locked import LockedScripts
from outkey.adapters.secrets_reference import ReferencedSecrets
from outkey.adapters.secrets_stored import StoredSecrets
from outkey.adapters.signer_jose import JoseSigner
from outkey.adapters.tokens_stored import StoredTokens
from outkey.adapters.transport_aiohttp import AiohttpTransport
from outkey.adapters.transport_urllib3 import Urllib3Transport
from outkey.core.findings.posture import Policy
from outkey.engine.gateway import Asynchronous, Gateway, Ports
from outkey.engine.managing.changes import Administration
from outkey.engine.managing.registry import Registry
from outkey.ports.storage import (
    AuditRows,
    Database,
    StateRows,
    Storage,
    TokenRows,
)


@dataclass(frozen=True, slots=True)
class Installation:
    """Everything that commands and pages work with."""

    database: Database
    registry: Registry
    states: StateRows
    secrets: StoredSecrets
    keys: KeyringLoader
    rotation: KeyRotation
    audit: KeyedAudit
    audit_rows: AuditRows
    checkpoints: CheckpointFile
    gateway: Gateway
    policy: Callable[[], Policy]  # read anew each time, since an operator may change it
    listeners: ListenerFiles

    def desk(self, actor: str) -> Administration:
        """Return what somebody changes things with, under the operator's policy."""
        return Administration(
            self.registry, self.secrets, self.audit, actor, self.policy
        )


@dataclass(frozen=True, slots=True)
class Tables:
    """What a host with a database implements."""

    storage: Storage
    audit: AuditRows
    states: StateRows
    tokens: TokenRows


def build_installation(
    tables: Tables, home: Path, environment: Mapping[str, str] = os.environ
) -> Installation:
    """Put the adapters around a host's tables."""
    clock = SystemClock()
    storage = tables.storage
    registry = Registry(storage)
    rows = tables.audit
    resolver = SystemResolver()
    source = KeySource.from_environment(environment, home / "config" / "key")
    keys = KeyringLoader(source, storage.keys, storage.secrets)
    # What no configuration may have read and sent: the key, the database and what lies beside them.
    files = ConfiguredFiles(own=[source.file, home / "config", home / "data"])
    stored = StoredSecrets(storage, ReferencedSecrets(files), keys, clock)
    checkpoints = CheckpointFile(home / "config" / "audit-checkpoints")
    audit = KeyedAudit(
        keys, rows, checkpoints, clock, ProcessHeartbeat(tables.states, keys, clock)
    )
    listeners = ListenerFiles(home / "data" / "listening")
    gateway = Gateway(
        Ports(
            configurations=registry,
            secrets=stored,
            transport=Urllib3Transport(files),
            resolver=resolver,
            clock=clock,
            audit=audit,
            # Unix time, since the machines that share a database share no other.
            permits=LeasedPermits(tables.states, clock.now),
            tokens=StoredTokens(
                tables.tokens, keys, storage.database, storage.configurations
            ),
            signer=JoseSigner(),
            scripts=LockedScripts(),
            asynchronous=Asynchronous(
                AiohttpTransport(files), AsyncSystemResolver(resolver), waits=True
            ),
            listeners=listeners,
        )
    )
    rotation = KeyRotation(keys, storage.secrets, tables.states, clock)
    policy = partial(read_policy, home, environment)
    return Installation(
        database=storage.database,
        registry=registry,
        states=tables.states,
        secrets=stored,
        keys=keys,
        rotation=rotation,
        audit=audit,
        audit_rows=rows,
        checkpoints=checkpoints,
        gateway=gateway,
        policy=policy,
        listeners=listeners,
    )
