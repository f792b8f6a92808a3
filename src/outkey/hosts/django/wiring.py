"""The one place that builds a Gateway from the database."""

import atexit
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outkey.adapters.audit_chained import ChainedAudit
from outkey.adapters.checkpoints_file import CheckpointFile
from outkey.adapters.clock_system import SystemClock
from outkey.adapters.keyring import Keyring
from outkey.adapters.keyring_file import KeySource
from outkey.adapters.permits_memory import MemoryPermits
from outkey.adapters.resolver_system import SystemResolver
from outkey.adapters.secrets_reference import ReferencedSecrets
from outkey.adapters.secrets_stored import StoredSecrets
from outkey.adapters.transport_urllib3 import Urllib3Transport
from outkey.core.audit import Change, Intent, Outcome, Refusal
from outkey.core.errors import OutkeyError, Sealed
from outkey.engine.gateway import Gateway, Ports
from outkey.hosts.django.audit import DjangoAuditRows
from outkey.hosts.django.models import SecretValue
from outkey.hosts.django.registry import DjangoRegistry


class KeyRoom:
    """Finds the ring when it is first needed, or says why the installation is sealed."""

    def __init__(self, source: KeySource) -> None:
        self.source = source
        self._lock = threading.Lock()
        self._ring: Keyring | None = None

    def ring(self) -> Keyring:
        """Return the ring; the first use of an empty installation makes one."""
        with self._lock:
            if self._ring is None:
                self._ring = self.source.load() or self._first_ring()
            return self._ring

    def change(self, ring: Keyring) -> None:
        """Keep a changed ring and use it from now on."""
        with self._lock:
            self.source.save(ring)
            self._ring = ring

    def audit_key(self, key_id: str) -> bytes:
        """Return the audit key of a stream, which an earlier key of the ring may have begun."""
        return self.ring().derive("audit", key_id)

    def _first_ring(self) -> Keyring:
        # A new key over existing ciphertext would lose it for good.
        if SecretValue.objects.filter(sealed__isnull=False).exists():
            raise Sealed("the key that opens the stored secrets is missing")
        return self.source.create()


class InstalledAudit:
    """The chained audit, opened with the first record: without a key there is no record."""

    def __init__(self, keys: KeyRoom, rows: DjangoAuditRows, checkpoints: CheckpointFile) -> None:
        self._keys, self._rows, self._checkpoints = keys, rows, checkpoints
        self._opened: ChainedAudit | None = None
        self._lock = threading.Lock()

    def intend(self, intent: Intent) -> str:
        """Record an intent durably, or raise AuditUnavailable or Sealed."""
        return self._chain().intend(intent)

    def note(self, change: Change) -> None:
        """Record durably who is about to change what, or raise AuditUnavailable or Sealed."""
        self._chain().note(change)

    def conclude(self, outcome: Outcome) -> None:
        """Record how an attempt ended."""
        self._chain().conclude(outcome)

    def refuse(self, refusal: Refusal) -> None:
        """Record that nothing was sent, if there is a key to record it with."""
        try:
            self._chain().refuse(refusal)
        except OutkeyError:
            return

    def _chain(self) -> ChainedAudit:
        with self._lock:
            if self._opened is None:
                ring = self._keys.ring()
                self._opened = ChainedAudit(
                    self._rows,
                    self._checkpoints,
                    SystemClock(),
                    key_id=ring.primary.name,
                    key=ring.derive("audit"),
                )
                atexit.register(self._opened.close)
            return self._opened


@dataclass(frozen=True, slots=True)
class Installation:
    """An outkey with its database, key and audit, ready for use."""

    registry: DjangoRegistry
    secrets: StoredSecrets
    keys: KeyRoom
    audit: InstalledAudit
    audit_rows: DjangoAuditRows
    checkpoints: CheckpointFile
    gateway: Gateway


def install(home: Path, environment: Mapping[str, str] = os.environ) -> Installation:
    """Build an installation; the database is Django's default one."""
    clock, registry = SystemClock(), DjangoRegistry()
    keys = KeyRoom(KeySource.from_environment(environment, home / "config" / "key"))
    references = ReferencedSecrets(own=[keys.source.file])
    secrets = StoredSecrets(registry, references, keys.ring, clock)
    rows, checkpoints = DjangoAuditRows(), CheckpointFile(home / "config" / "audit-checkpoints")
    audit = InstalledAudit(keys, rows, checkpoints)
    gateway = Gateway(
        Ports(
            configurations=registry,
            secrets=secrets,
            transport=Urllib3Transport(),
            resolver=SystemResolver(),
            clock=clock,
            audit=audit,
            permits=MemoryPermits(clock),
        )
    )
    return Installation(registry, secrets, keys, audit, rows, checkpoints, gateway)
