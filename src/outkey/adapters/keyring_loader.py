"""Where a process gets its key ring: found when first needed, checked, and read again in time."""

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from outkey.adapters.keyring import Keyring
from outkey.adapters.keyring_file import KeySource
from outkey.adapters.process_lock import ProcessLock
from outkey.core.errors import ConfigError, KeyStepRefused, Sealed, StorageUnavailable
from outkey.core.text import Text
from outkey.ports.sending import Clock
from outkey.ports.storage import Processes, Registry

BEAT_SECONDS = 60.0
ALIVE_SECONDS = 2.5 * BEAT_SECONDS


class KeyringLoader:
    """Finds the ring, or says why the installation is sealed."""

    def __init__(self, source: KeySource, registry: Registry) -> None:
        self.source = source
        self._registry = registry
        self._lock = ProcessLock()
        self._ring: Keyring | None = None

    def ring(self, needed: str = "") -> Keyring:
        """Return the ring; the first use of an empty installation makes one.

        A key that is needed and not there may have been added by another process since.
        """
        with self._lock:
            ring = self._ring
            if ring is None or (needed and not ring.holds(needed)):
                ring = self._ring = self._load()
            return ring

    def fresh(self) -> Keyring:
        """Return the ring as it is kept now: sealing with a key that was retired loses a secret."""
        with self._lock:
            self._ring = self._load()
            return self._ring

    def change(self, step: Callable[[Keyring], Keyring]) -> None:
        """Take one step of a rotation, with nobody else taking another meanwhile."""
        with self._alone():
            ring = step(self.fresh())
            self.source.save(ring)
            self._registry.put_known_keys(ring.check_values())
            self.fresh()

    def audit_key(self, key_id: str) -> bytes | None:
        """Return the audit key of a stream; None if no key of the ring can have begun it."""
        ring = self.ring(key_id)
        return ring.derive("audit", key_id) if ring.holds(key_id) else None

    def is_sealed(self) -> bool:
        """Say whether stored secrets cannot be opened; makes no key."""
        try:
            if self._ring is None and self.source.load() is None:
                return bool(self._registry.known_keys())
            self.ring()
        except (Sealed, ConfigError):
            return True
        return False

    def _load(self) -> Keyring:
        known = self._registry.known_keys()
        ring = self.source.load()
        if ring is None:
            # A new key over existing ciphertext would lose it for good.
            if known or self._registry.key_uses(vouchers=True):
                raise Sealed(
                    Text("the key that decrypts the stored secrets is missing")
                )
            ring = self.source.create()
        checks = ring.check_values()
        if known and not any(
            known.get(name) == value for name, value in checks.items()
        ):
            raise Sealed(Text("this database was not used with the present key"))
        if checks.keys() - known.keys():
            self._registry.put_known_keys(checks)
        return ring

    @contextmanager
    def _alone(self) -> Iterator[None]:
        file = self.source.file.with_suffix(".lock")
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            raise StorageUnavailable(
                Text("the folder of the key file cannot be written")
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class KeyRotation:
    """The steps of a rotation, each noted before it is taken and refused where it is unsafe."""

    def __init__(
        self,
        keys: KeyringLoader,
        registry: Registry,
        processes: Processes,
        clock: Clock,
    ) -> None:
        self._keys, self._registry = keys, registry
        self._processes, self._clock = processes, clock

    def add(self, note: Callable[[str], None]) -> str:
        """Add a key that only opens, until every process has it; return its name."""
        added: list[str] = []

        def step(ring: Keyring) -> Keyring:
            ring, key = ring.add()
            note(key.name)
            added.append(key.name)
            return ring

        self._keys.change(step)
        return added[0]

    def promote(self, name: str, note: Callable[[str], None]) -> None:
        """Seal with this key from now on, unless a process at work lacks it."""

        def step(ring: Keyring) -> Keyring:
            promoted = ring.promote(name)
            since = self._clock.now() - ALIVE_SECONDS
            if lacking := self._processes.lacking(name, since):
                raise KeyStepRefused(
                    Text(
                        "{count} running processes do not have the key yet: {names}",
                        count=len(lacking),
                        names=", ".join(lacking),
                    ),
                    hint=(
                        Text(
                            "They read the key file once a minute; if they use a copy, update it"
                            " first."
                        )
                    ),
                )
            note(name)
            return promoted

        self._keys.change(step)

    def retire(self, name: str, note: Callable[[str], None]) -> None:
        """Stop opening with a key that no secret needs any more."""

        def step(ring: Keyring) -> Keyring:
            # Reported are secrets, as everywhere; a voucher alone needs the key just the same.
            secrets_left = self._registry.key_uses().get(name, 0)
            left = secrets_left or self._registry.key_uses(vouchers=True).get(name, 0)
            retired = ring.retire(name, secrets=left)
            note(name)
            return retired

        self._keys.change(step)


class ProcessHeartbeat:
    """Tells the other processes which keys this one holds, once a minute while it works.

    Nobody promotes a key that a process at work lacks. A process that is gone before its first
    minute is over says nothing: it has read the ring just now.
    """

    def __init__(self, processes: Processes, keys: KeyringLoader, clock: Clock) -> None:
        self._processes, self._keys, self._clock = processes, keys, clock
        self._told_at = clock.monotonic()
        self._begin()

    def beat(self) -> None:
        """Read the ring again and say that we are here, if it is time."""
        if self._pid != os.getpid():
            self._begin()  # a forked child is a process of its own
        now = self._clock.monotonic()
        if now - self._told_at < BEAT_SECONDS:
            return
        self._told_at, self._told = now, True
        names = list(self._keys.fresh().check_values())
        self._processes.seen(self._process, names, self._clock.now())

    def end(self) -> None:
        """Say that this process is gone."""
        if self._told and self._pid == os.getpid():
            self._processes.gone(self._process)

    def _begin(self) -> None:
        self._pid, self._process = os.getpid(), secrets.token_hex(8)
        self._told_at, self._told = self._clock.monotonic(), False
