"""The chained audit of an installation, opened with the first record: no key, no record."""

import atexit
import contextlib

from outkey.adapters.audit_chained import ChainedAudit
from outkey.adapters.keyring_loader import KeyringLoader, ProcessHeartbeat
from outkey.adapters.process_lock import ProcessLock
from outkey.core.audit.events import Change, Intent, Outcome, Refusal
from outkey.core.errors import OutkeyError
from outkey.ports.sending import Clock
from outkey.ports.storage import AuditRows, Checkpoints


class KeyedAudit:
    """Records with the audit key of the ring, and shows this process to the others."""

    def __init__(
        self,
        keys: KeyringLoader,
        rows: AuditRows,
        checkpoints: Checkpoints,
        clock: Clock,
        presence: ProcessHeartbeat,
    ) -> None:
        self._keys, self._rows, self._checkpoints = keys, rows, checkpoints
        self._clock, self._presence = clock, presence
        self._opened: ChainedAudit | None = None
        self._lock = ProcessLock()

    def intend(self, intent: Intent) -> str:
        """Record an intent durably, or raise AuditUnavailable or Sealed."""
        chain = self._chain()
        self._beat()
        return chain.intend(intent)

    def note(self, *changes: Change) -> None:
        """Record durably who is about to change what, or raise AuditUnavailable or Sealed."""
        self._chain().note(*changes)

    def conclude(self, outcome: Outcome) -> None:
        self._chain().conclude(outcome)

    def refuse(self, refusal: Refusal) -> None:
        """Record that nothing was sent, if there is a key to record it with."""
        with contextlib.suppress(OutkeyError):
            self._chain().refuse(refusal)

    def flush(self) -> None:
        """Write what is queued now; best effort."""
        with contextlib.suppress(OutkeyError):
            self._chain().flush()

    def close(self) -> None:
        """Write what is queued and say that this process is gone."""
        if self._opened is not None:
            self._opened.close()
        with contextlib.suppress(OutkeyError):
            self._presence.end()

    def _chain(self) -> ChainedAudit:
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
        return self._opened

    def _beat(self) -> None:
        try:
            self._presence.beat()
        except OutkeyError:
            return  # where it matters, the record itself fails

    def _open(self) -> ChainedAudit:
        ring = self._keys.ring()
        atexit.register(self.close)
        key_id, key = ring.primary.name, ring.derive("audit")
        return ChainedAudit(
            self._rows, self._checkpoints, self._clock, key_id=key_id, key=key
        )
