"""The audit as a chain of rows: one stream per process, one commit for many records.

The thread that gets the writer's lock writes what all threads have queued meanwhile, so
that fifty concurrent sends share a commit. Outcomes do not wait: they are written with
the next intent, when a timer calls `protect`, or when the audit is closed.
"""

import contextlib
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from outkey.foundation.core.errors import AuditUnavailable, OutkeyError
from outkey.foundation.core.text import Text
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.request_id import current_request_id
from outkey.sending.core.audit import chain
from outkey.sending.core.audit.encoding import (
    EncodedRecord,
    encode_event,
    encode_intent,
    encode_outcome,
)
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal
from outkey.sending.ports.storage import AuditCheckpoints, AuditRows

CHECKPOINT_ROWS = 1000
CHECKPOINT_SECONDS = 60.0
PATIENCE_SECONDS = 2.0
MAX_QUEUED = 10_000
LINKED_STREAMS = 10


@dataclass(slots=True, eq=False)
class QueuedRecord:
    """A record that is not written yet.

    Where writing fails, one that is `awaited` is dropped: its caller gets the error.
    """

    encoded: EncodedRecord
    awaited: bool
    written: bool = False


@dataclass(slots=True)
class StreamPosition:
    """How far the stream of this process has got."""

    name: str
    process: int
    codes: chain.RowCodes
    number: int
    mac: bytes
    checkpoint_number: int  # of the last row that a checkpoint states
    tried_number: int  # of the last row when a checkpoint was last tried
    tried_at: float


class ChainedAudit:
    """Records intents durably before they are acted on, in a tamper-evident chain."""

    _writer: threading.Lock
    _queue_lock: threading.Lock
    _queue: list[QueuedRecord]
    _stream: StreamPosition
    _failing: bool
    _is_timed: bool  # whether the timer was asked to call `protect`

    def __init__(
        self,
        rows: AuditRows,
        checkpoints: AuditCheckpoints,
        clock: Clock,
        *,
        key_id: str,
        key: bytes,
        call_later: Callable[[Callable[[], None]], None] = lambda _protect: None,
    ) -> None:
        """`call_later` calls what it is given within a minute, in another thread."""
        self._rows = rows
        self._checkpoints = checkpoints
        self._clock = clock
        self._key_id = key_id
        self._key = key
        self._call_later = call_later
        self._begin()

    def intend(self, intent: Intent) -> str:
        (attempt,) = self.intend_all((intent,))
        return attempt

    def intend_all(self, intents: Sequence[Intent]) -> list[str]:
        now = self._now()
        request_id = current_request_id.get()
        attempts = [os.urandom(16).hex() for _ in intents]
        records = [
            QueuedRecord(encode_intent(intent, attempt, now, request_id), awaited=True)
            for intent, attempt in zip(intents, attempts, strict=True)
        ]
        self._write(*records)
        return attempts

    def note(self, *changes: Change) -> None:
        now = self._now()
        request_id = current_request_id.get()
        records = [
            QueuedRecord(encode_event(change, now, request_id), awaited=True)
            for change in changes
        ]
        self._write(*records)

    def conclude(self, outcome: Outcome) -> None:
        """Record how an attempt ended; it is written with the next intent."""
        record = encode_outcome(outcome, self._now())
        self._enqueue(QueuedRecord(record, awaited=False))

    def refuse(self, refusal: Refusal) -> None:
        """Record that nothing was sent.

        Where writing has just failed, it is written with the next record.
        """
        encoded = encode_event(refusal, self._now(), current_request_id.get())
        record = QueuedRecord(encoded, awaited=False)
        if self._failing:
            self._enqueue(record)
            return
        with contextlib.suppress(AuditUnavailable):
            self._write(record)

    def close(self) -> None:
        """Write what is queued and sign a checkpoint."""
        self.flush()

    def flush(self) -> None:
        """Write what is queued and sign a checkpoint; best effort.

        A forked child does neither before its first record: the queue is its parent's.
        """
        if self._stream.process != os.getpid() or not self._is_unprotected():
            return
        with contextlib.suppress(OutkeyError):
            self._write_queue(force=True)

    def protect(self) -> None:
        """Flush when the timer calls; if that fails, ask for another call."""
        self._is_timed = False
        self.flush()
        if self._stream.process == os.getpid() and self._is_unprotected():
            self._ask_timer()

    def _is_unprotected(self) -> bool:
        """Whether anything is queued, or written after the last checkpoint."""
        stream = self._stream
        return bool(self._queue) or stream.number != stream.checkpoint_number

    def _ask_timer(self) -> None:
        if not self._is_timed:
            self._is_timed = True
            self._call_later(self.protect)

    def _now(self) -> int:
        return round(self._clock.now() * 1000)

    def _enqueue(self, *records: QueuedRecord) -> None:
        if self._stream.process != os.getpid():
            self._begin()  # a forked child writes a stream of its own
        with self._queue_lock:
            self._queue.extend(records)
            if self._failing:  # else the next intent writes all of them
                del self._queue[:-MAX_QUEUED]
        self._ask_timer()

    def _write(self, *records: QueuedRecord) -> None:
        self._enqueue(*records)
        self._write_queue(*records, force=False)

    def _write_queue(self, *records: QueuedRecord, force: bool) -> None:
        """Write what is queued, unless another thread has written these records."""
        if not self._writer.acquire(timeout=PATIENCE_SECONDS):
            raise AuditUnavailable(
                Text("the audit log did not accept a record in time")
            )
        try:
            if force or not all(record.written for record in records):
                is_due = force or self._is_checkpoint_due()
                # A checkpoint must not state more than a power failure leaves.
                self._append_queue(sync=is_due)
                if is_due:
                    self._sign_checkpoint()
            if not all(record.written for record in records):
                raise AuditUnavailable  # another thread failed to write them
        finally:
            self._writer.release()

    def _is_checkpoint_due(self) -> bool:
        stream = self._stream
        rows = stream.number + len(self._queue) - stream.tried_number
        seconds = self._clock.monotonic() - stream.tried_at
        return rows >= CHECKPOINT_ROWS or seconds >= CHECKPOINT_SECONDS

    def _append_queue(self, *, sync: bool) -> None:
        with self._queue_lock:
            records = self._queue
            self._queue = []
        if not records and not sync:
            return
        stream = self._stream
        try:
            rows = self._chain([record.encoded for record in records])
            self._rows.append(rows, sync=sync)
        except BaseException:
            # Whether the rows are there is unknown, so the stream cannot go on. Those
            # before them were accepted: without a checkpoint a cut would be unnoticed.
            self._sign_checkpoint()
            self._stream = self._new_stream()
            self._failing = True
            unawaited = [record for record in records if not record.awaited]
            with self._queue_lock:
                self._queue = unawaited + self._queue
            raise
        self._failing = False
        if rows:
            stream.number = rows[-1].number
            stream.mac = rows[-1].mac
        for record in records:
            record.written = True

    def _chain(self, records: list[EncodedRecord]) -> list[chain.ChainRow]:
        """Return the next rows; the first one of a stream names other streams."""
        stream = self._stream
        if records and not stream.number:
            first = records[0]
            rows = self._rows.beginnings(LINKED_STREAMS)
            streams = chain.genuine_streams(rows, self._audit_key)
            records[0] = EncodedRecord(
                chain.with_links(first.body, streams), first.label
            )
        return list(stream.codes.chain(records, number=stream.number, mac=stream.mac))

    def _audit_key(self, key_id: str) -> bytes | None:
        """Return the key of streams that the same key of the ring has written."""
        return self._key if key_id == self._key_id else None

    def _sign_checkpoint(self) -> None:
        stream = self._stream
        if stream.number == stream.checkpoint_number:
            return
        stream.tried_number = stream.number
        stream.tried_at = self._clock.monotonic()
        row = chain.ChainRow(stream.name, stream.number, b"", stream.mac, chain.Label())
        # The rows are stored even if this fails; only their end is unprotected then.
        with contextlib.suppress(AuditUnavailable):
            self._checkpoints.append(chain.sign_checkpoint(self._key, row))
            stream.checkpoint_number = stream.number

    def _begin(self) -> None:
        self._writer = threading.Lock()
        self._queue_lock = threading.Lock()
        self._queue = []
        self._failing = False
        self._is_timed = False
        self._stream = self._new_stream()

    def _new_stream(self) -> StreamPosition:
        name = chain.stream_name(secrets.token_hex(8), self._key_id)
        codes = chain.RowCodes(self._key, name)
        return StreamPosition(
            name=name,
            process=os.getpid(),
            codes=codes,
            number=0,
            mac=codes.start(),
            checkpoint_number=0,
            tried_number=0,
            tried_at=self._clock.monotonic(),
        )
