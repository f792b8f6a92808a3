"""The chained audit of an installation, opened with the key at the first record."""

from __future__ import annotations

import atexit
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.core.errors import OutkeyError
from outkey.sending.adapters.audit.audit_timer import AUDIT_TIMER

if TYPE_CHECKING:
    from outkey.foundation.ports.clock import Clock
    from outkey.sending.adapters.audit.audit_chained import ChainedAudit
    from outkey.sending.adapters.secrets.keyring_loader import (
        KeyringLoader,
        ProcessHeartbeat,
    )
    from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal
    from outkey.sending.ports.storage import AuditCheckpoints, AuditRows


logger = logging.getLogger("outkey.send")


class KeyedAudit:
    """Records with the audit key of the ring, and sends this process's heartbeat."""

    def __init__(  # noqa: PLR0913 - each is a part of the installation
        self,
        keys: KeyringLoader,
        rows: AuditRows,
        checkpoints: AuditCheckpoints,
        clock: Clock,
        heartbeat: ProcessHeartbeat,
        *,
        close_rows: Callable[[], None],
        release_thread: Callable[[], None] = lambda: None,
    ) -> None:
        """`release_thread` closes what is open for the thread that calls it."""
        self._keys = keys
        self._rows = rows
        self._checkpoints = checkpoints
        self._clock = clock
        self._heartbeat = heartbeat
        self._close_rows = close_rows
        self._release_thread = release_thread
        self._opened: ChainedAudit | None = None
        self._lock = ProcessLock()

    def intend(self, intent: Intent) -> str:
        """Record an intent durably, or raise AuditUnavailable or Sealed."""
        audit = self._chained_audit()
        self._beat()
        return audit.intend(intent)

    def intend_all(self, intents: Sequence[Intent]) -> list[str]:
        """Record intents durably, or raise AuditUnavailable or Sealed."""
        audit = self._chained_audit()
        self._beat()
        return audit.intend_all(intents)

    def _beat(self) -> None:
        # Ignored: if storage fails, recording the intent fails as well.
        with contextlib.suppress(OutkeyError):
            self._heartbeat.beat()

    def note(self, *changes: Change) -> None:
        """Record durably what a user is about to change.

        Raises AuditUnavailable or Sealed.
        """
        self._chained_audit().note(*changes)

    def conclude(self, outcome: Outcome) -> None:
        if logger.isEnabledFor(logging.INFO):
            logger.info(
                "an attempt ended after %d ms with status %d",
                outcome.duration_ms,
                outcome.status,
                extra={
                    "configuration": outcome.configuration,
                    "outcome": outcome.outcome,
                },
            )
        self._chained_audit().conclude(outcome)

    def refuse(self, refusal: Refusal) -> None:
        """Record that nothing was sent, if there is a key to record it with."""
        with contextlib.suppress(OutkeyError):
            self._chained_audit().refuse(refusal)

    def flush(self) -> None:
        """Write what is queued now; best effort."""
        if self._opened is not None:
            self._opened.flush()

    def close(self) -> None:
        """Write what is queued, end the heartbeat, and close the connection."""
        if self._opened is not None:
            self._opened.close()
        with contextlib.suppress(OutkeyError):
            self._heartbeat.end()
        self._close_rows()

    def _chained_audit(self) -> ChainedAudit:
        if self._opened is not None:
            return self._opened
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
        return self._opened

    def _open(self) -> ChainedAudit:
        from outkey.sending.adapters.audit.audit_chained import ChainedAudit  # noqa: PLC0415

        ring = self._keys.ring()
        atexit.register(self.close)
        return ChainedAudit(
            self._rows,
            self._checkpoints,
            self._clock,
            key_id=ring.primary.name,
            key=ring.derive("audit"),
            call_later=self._call_later,
        )

    def _call_later(self, protect: Callable[[], None]) -> None:
        """Protect the audit later, by the one thread of this process that does it."""

        def protect_in_thread() -> None:
            try:
                protect()
            finally:
                self._release_thread()

        AUDIT_TIMER.call_later(protect_in_thread)
