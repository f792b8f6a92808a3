"""The one place that builds a Gateway from the database."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outkey.adapters.audit_keyed import KeyedAudit
from outkey.adapters.checkpoints_file import CheckpointFile
from outkey.adapters.clock_system import SystemClock
from outkey.adapters.key_room import KeyRoom, Presence
from outkey.adapters.keyring_file import KeySource
from outkey.adapters.permits_leased import LeasedPermits
from outkey.adapters.resolver_system import SystemResolver
from outkey.adapters.secrets_reference import ReferencedSecrets
from outkey.adapters.secrets_stored import StoredSecrets
from outkey.adapters.transport_urllib3 import Urllib3Transport
from outkey.engine.gateway import Gateway, Ports
from outkey.hosts.django.audit import DjangoAuditRows
from outkey.hosts.django.registry import DjangoRegistry
from outkey.hosts.django.sharing import DjangoPaces, DjangoProcesses


@dataclass(frozen=True, slots=True)
class Installation:
    """An outkey with its database, key and audit, ready for use."""

    registry: DjangoRegistry
    secrets: StoredSecrets
    keys: KeyRoom
    audit: KeyedAudit
    audit_rows: DjangoAuditRows
    checkpoints: CheckpointFile
    processes: DjangoProcesses
    gateway: Gateway


def install(home: Path, environment: Mapping[str, str] = os.environ) -> Installation:
    """Build an installation; the database is Django's default one."""
    clock, registry, processes = SystemClock(), DjangoRegistry(), DjangoProcesses()
    source = KeySource.from_environment(environment, home / "config" / "key")
    keys = KeyRoom(source, registry)
    stored = StoredSecrets(registry, ReferencedSecrets(own=[source.file]), keys, clock)
    rows, checkpoints = DjangoAuditRows(), CheckpointFile(home / "config" / "audit-checkpoints")
    presence = Presence(processes, keys, clock, secrets.token_hex(8))
    audit = KeyedAudit(keys, rows, checkpoints, clock, presence)
    gateway = Gateway(
        Ports(
            configurations=registry,
            secrets=stored,
            transport=Urllib3Transport(),
            resolver=SystemResolver(),
            clock=clock,
            audit=audit,
            # Unix time, since the machines that share a database share no other.
            permits=LeasedPermits(DjangoPaces(), clock.now),
        )
    )
    return Installation(registry, stored, keys, audit, rows, checkpoints, processes, gateway)
