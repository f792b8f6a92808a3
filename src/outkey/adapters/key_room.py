"""Where a process gets its key ring: found when first needed, checked, and read again in time."""

import threading

from outkey.adapters.keyring import Keyring
from outkey.adapters.keyring_file import KeySource
from outkey.core.errors import OutkeyError, Sealed
from outkey.ports import Clock, Processes, Registry

BEAT_SECONDS = 60.0
ALIVE_SECONDS = 2.5 * BEAT_SECONDS


class KeyRoom:
    """Finds the ring, or says why the installation is sealed."""

    def __init__(self, source: KeySource, registry: Registry) -> None:
        self.source = source
        self._registry = registry
        self._lock = threading.Lock()
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

    def change(self, ring: Keyring) -> None:
        """Keep a changed ring and use it from now on."""
        with self._lock:
            self.source.save(ring)
            self._ring = ring
            self._registry.put_known_keys(ring.check_values())

    def audit_key(self, key_id: str) -> bytes:
        """Return the audit key of a stream, which an earlier key of the ring may have begun."""
        return self.ring(key_id).derive("audit", key_id)

    def is_sealed(self) -> bool:
        """Say whether stored secrets cannot be opened; makes no key."""
        try:
            if self._ring is None and self.source.load() is None:
                return bool(self._registry.known_keys())
            self.ring()
        except OutkeyError:
            return True
        return False

    def _load(self) -> Keyring:
        known = self._registry.known_keys()
        ring = self.source.load()
        if ring is None:
            # A new key over existing ciphertext would lose it for good.
            if known or self._registry.key_uses():
                raise Sealed("the key that opens the stored secrets is missing")
            ring = self.source.create()
        checks = ring.check_values()
        if known and not any(known.get(name) == value for name, value in checks.items()):
            raise Sealed("the key is not one that this database was used with")
        if checks.keys() - known.keys():
            self._registry.put_known_keys(checks)
        return ring


class Presence:
    """Tells the other processes which keys this one holds, once a minute while it works.

    Nobody promotes a key that a process at work lacks. A process that is gone before its first
    minute is over says nothing: it has read the ring just now.
    """

    def __init__(self, processes: Processes, keys: KeyRoom, clock: Clock, process: str) -> None:
        self._processes, self._keys, self._clock = processes, keys, clock
        self._process = process
        self._told_at = clock.monotonic()
        self._told = False

    def beat(self) -> None:
        """Read the ring again and say that we are here, if it is time."""
        now = self._clock.monotonic()
        if now - self._told_at < BEAT_SECONDS:
            return
        self._told_at, self._told = now, True
        names = list(self._keys.fresh().check_values())
        self._processes.seen(self._process, names, self._clock.now())

    def end(self) -> None:
        """Say that this process is gone."""
        if self._told:
            self._processes.gone(self._process)
