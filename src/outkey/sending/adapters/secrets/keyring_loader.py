"""The key ring of a process: loaded when first needed, checked, and read again."""

import fcntl
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.errors import (
    ConfigError,
    KeyStepRefused,
    Sealed,
    StorageUnavailable,
)
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_times import is_recent
from outkey.foundation.core.text import Text, counted
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.database import StateRows
from outkey.sending.adapters.secrets.keyring import Keyring
from outkey.sending.adapters.secrets.keyring_file import KeySource
from outkey.sending.ports.storage import KeyRows, SecretRows

BEAT_SECONDS = 60.0
ALIVE_SECONDS = 2.5 * BEAT_SECONDS


class KeyringLoader:
    """Loads the ring, or raises Sealed with the reason."""

    def __init__(self, source: KeySource, keys: KeyRows, secrets: SecretRows) -> None:
        self.source = source
        self._keys = keys
        self._secrets = secrets
        self._lock = ProcessLock()
        self._ring: Keyring | None = None

    def ring(self, needed: str = "") -> Keyring:
        """Return the ring; the first use of an empty installation creates one.

        It is loaded again if the `needed` key does not open secrets, since another
        process may have added or reopened it.
        """
        with self._lock:
            ring = self._ring
            if ring is None or (needed and not ring.opens(needed)):
                ring = self._load()
                self._ring = ring
            return ring

    def fresh(self) -> Keyring:
        """Return the ring as it is stored now.

        A secret that is sealed with a retired key would be lost.
        """
        with self._lock:
            self._ring = self._load()
            return self._ring

    def change(self, step: Callable[[Keyring], Keyring]) -> None:
        """Take one step of a rotation; no other process takes one at the same time."""
        with self._locked_file():
            ring = step(self.fresh())
            self.source.save(ring)
            self._keys.add(ring.check_values())
            self.fresh()

    def audit_key(self, key_id: str) -> bytes | None:
        """Return the audit key of a stream; None if its key is not in the ring."""
        ring = self.ring()
        if not ring.holds(key_id):
            ring = self.ring(key_id)
        return ring.derive("audit", key_id) if ring.holds(key_id) else None

    def is_sealed(self) -> bool:
        """Whether stored secrets cannot be opened; creates no key."""
        try:
            if self._ring is None and self.source.load() is None:
                return self._needs_key()
            self.ring()
        except (Sealed, ConfigError):
            return True
        return False

    def _load(self) -> Keyring:
        stored = self._keys.read()
        ring = self.source.load()
        if ring is None:
            if self._needs_key():
                raise Sealed(
                    Text("the key that decrypts the stored secrets is missing")
                )
            ring = self.source.create()
        checks = ring.check_values()
        if stored and not any(
            stored.get(name) == value for name, value in checks.items()
        ):
            raise Sealed(Text("this database was not used with the present key"))
        if checks.keys() - stored.keys():
            self._keys.add(checks)
        return ring

    def _needs_key(self) -> bool:
        """Whether a key was used with this database: with a new one, nothing opens."""
        return bool(self._keys.read()) or self._secrets.needs_key()

    @contextmanager
    def _locked_file(self) -> Iterator[None]:
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
    """The steps of a rotation, each recorded first and refused where it is unsafe."""

    def __init__(
        self,
        keys: KeyringLoader,
        secrets: SecretRows,
        states: StateRows,
        now: Callable[[], float],
    ) -> None:
        """`now` is Unix time by the clock that heartbeats are stored with."""
        self._keys = keys
        self._secrets = secrets
        self._states = states
        self._now = now

    def uses(self) -> dict[str, int]:
        """Return how many secrets and tokens each key seals, by the key's name."""
        return self._secrets.key_uses()

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
        """Seal with this key from now on, unless a running process lacks it."""

        def step(ring: Keyring) -> Keyring:
            promoted = ring.promote(name)
            processes = self._states.read(StateKind.PROCESS)
            if lacking := processes_without_key(processes, name, self._now()):
                names = ", ".join(lacking)
                raise KeyStepRefused(
                    counted(
                        len(lacking),
                        Text(
                            "1 running process does not have the key yet: {names}",
                            names=names,
                        ),
                        Text(
                            "{count} running processes do not have the key yet:"
                            " {names}",
                            count=len(lacking),
                            names=names,
                        ),
                    ),
                    hint=Text(
                        "They read the key file once a minute; if they use a copy,"
                        " update it first."
                    ),
                )
            note(name)
            return promoted

        self._keys.change(step)

    def retire(self, name: str, note: Callable[[str], None]) -> None:
        """Stop opening with a key that no secret needs any more."""

        def step(ring: Keyring) -> Keyring:
            # Reports count secrets only, but a voucher alone also needs the key.
            secrets_left = self._secrets.key_uses().get(name, 0)
            left = secrets_left or self._secrets.key_uses(vouchers=True).get(name, 0)
            retired = ring.retire(name, secrets=left)
            note(name)
            return retired

        self._keys.change(step)

    def reopen(self, name: str, note: Callable[[str], None]) -> None:
        """Open with a retired key again, as the secrets of an older backup need it."""

        def step(ring: Keyring) -> Keyring:
            reopened = ring.reopen(name)
            note(name)
            return reopened

        self._keys.change(step)


class ProcessHeartbeat:
    """Stores which keys this process holds, once a minute while it sends.

    A key is not promoted while a running process lacks it. A process that ends within
    its first minute stores nothing: it has just read the ring.
    """

    def __init__(
        self,
        states: StateRows,
        keys: KeyringLoader,
        clock: Clock,
        now: Callable[[], float],
    ) -> None:
        """`now` is Unix time by a clock that all processes share."""
        self._states = states
        self._keys = keys
        self._clock = clock
        self._now = now
        self._last_beat_at = clock.monotonic()
        self._begin()

    def beat(self) -> None:
        """Read the ring again and store a heartbeat, if it is time."""
        if self._pid != os.getpid():
            self._begin()  # a forked child is a process of its own
        now = self._clock.monotonic()
        if now - self._last_beat_at < BEAT_SECONDS:
            return
        self._last_beat_at = now
        self._is_stored = True
        heartbeat = {
            "host": socket.gethostname(),
            "keys": list(self._keys.fresh().check_values()),
            "seen_at": self._now(),
        }
        self._states.put(StateKind.PROCESS, {self._process: heartbeat})

    def end(self) -> None:
        """Delete the heartbeat of this process."""
        if self._is_stored and self._pid == os.getpid():
            self._states.put(StateKind.PROCESS, {self._process: None})

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._process = secrets.token_hex(8)
        self._last_beat_at = self._clock.monotonic()
        self._is_stored = False


def processes_without_key(
    heartbeats: Mapping[str, SharedState], key: str, now: float
) -> list[str]:
    """Return the running processes that do not hold this key."""
    return [
        f"{state.value['host']}:{process}"
        for process, state in sorted(heartbeats.items())
        if is_recent(state.value.get("seen_at", 0.0), now, ALIVE_SECONDS)
        and key not in state.value["keys"]
    ]
