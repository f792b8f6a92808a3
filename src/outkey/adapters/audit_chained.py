"""The audit as a chain of rows: one stream per process, one commit for all who wait for one.

Whoever waits for the writer's lock and gets it writes what everybody has queued meanwhile, so
that fifty concurrent sends share a commit. Outcomes do not wait: they go with the next intent, or
when the audit is closed.
"""

import contextlib
import os
import secrets
import threading
from dataclasses import dataclass

from outkey.core.audit import chain
from outkey.core.audit.events import Change, Intent, Outcome, Refusal
from outkey.core.errors import AuditUnavailable
from outkey.core.text import Text
from outkey.ports.sending import Clock
from outkey.ports.storage import AuditRows, Checkpoints

CHECKPOINT_ROWS = 1000
CHECKPOINT_SECONDS = 60.0
PATIENCE_SECONDS = 2.0
_MAX_QUEUED = 10_000


@dataclass(slots=True, eq=False)
class _Entry:
    """One record on its way; `awaited` ones are not kept for later when writing fails."""

    body: bytes
    label: chain.Label
    awaited: bool
    written: bool = False


@dataclass(slots=True)
class _Stream:
    """Where this process has got to."""

    name: str
    process: int
    number: int
    mac: bytes
    checkpoint_number: int
    checkpoint_at: float


class ChainedAudit:
    """Records intents durably before they are acted on, in a chain that shows tampering."""

    _writer: threading.Lock
    _queue_lock: threading.Lock
    _queue: list[_Entry]
    _stream: _Stream
    _failing: bool

    def __init__(
        self,
        rows: AuditRows,
        checkpoints: Checkpoints,
        clock: Clock,
        *,
        key_id: str,
        key: bytes,
    ) -> None:
        self._rows, self._checkpoints, self._clock = rows, checkpoints, clock
        self._key_id, self._key = key_id, key
        self._renew()

    def intend(self, intent: Intent) -> str:
        attempt = secrets.token_hex(16)
        self._write(self._entry({"attempt": attempt} | _facts(intent), awaited=True))
        return attempt

    def note(self, *changes: Change) -> None:
        self._write(*(self._entry(_facts(change), awaited=True) for change in changes))

    def conclude(self, outcome: Outcome) -> None:
        """Record how an attempt ended; it is written with the next intent."""
        self._enqueue(self._entry(_facts(outcome), awaited=False))

    def refuse(self, refusal: Refusal) -> None:
        """Record that nothing was sent; where writing has just failed, with the next record."""
        entry = self._entry(_facts(refusal), awaited=False)
        if self._failing:
            self._enqueue(entry)
            return
        with contextlib.suppress(AuditUnavailable):
            self._write(entry)

    def close(self) -> None:
        """Write what is queued and sign a checkpoint; a forked child leaves its parent's alone."""
        if self._stream.process != os.getpid():
            return
        with contextlib.suppress(AuditUnavailable):
            self.flush()

    def flush(self) -> None:
        """Write what is queued and sign a checkpoint, or raise AuditUnavailable."""
        self._locked_flush(force=True)

    def _entry(self, facts: dict[str, object], *, awaited: bool) -> _Entry:
        facts["at"] = round(self._clock.now() * 1000)
        return _Entry(chain.canonical(facts), chain.label_of(facts), awaited)

    def _enqueue(self, *entries: _Entry) -> None:
        if self._stream.process != os.getpid():
            self._renew()  # a forked child writes a stream of its own
        with self._queue_lock:
            self._queue.extend(entries)
            del self._queue[:-_MAX_QUEUED]

    def _write(self, *entries: _Entry) -> None:
        self._enqueue(*entries)
        self._locked_flush(*entries, force=False)

    def _locked_flush(self, *entries: _Entry, force: bool) -> None:
        """Write what is queued, unless somebody else has written these entries meanwhile."""
        if not self._writer.acquire(timeout=PATIENCE_SECONDS):
            raise AuditUnavailable(
                Text("the audit log did not accept a record in time")
            )
        try:
            if force or not all(entry.written for entry in entries):
                self._flush()
                self._checkpoint(force=force)
            if not all(entry.written for entry in entries):
                raise AuditUnavailable  # somebody else's write failed with ours in it
        finally:
            self._writer.release()

    def _flush(self) -> None:
        with self._queue_lock:
            entries, self._queue = self._queue, []
        if not entries:
            return
        stream = self._stream
        records = [(entry.body, entry.label) for entry in entries]
        rows = list(
            chain.chained(self._key, stream.name, stream.mac, stream.number, records)
        )
        try:
            self._rows.append(rows)
        except AuditUnavailable:
            # Whether the rows are there is unknown, so the stream cannot go on: begin another.
            self._stream, self._failing = self._new_stream(), True
            with self._queue_lock:
                self._queue = [
                    entry for entry in entries if not entry.awaited
                ] + self._queue
            raise
        self._failing = False
        stream.number, stream.mac = rows[-1].number, rows[-1].mac
        for entry in entries:
            entry.written = True

    def _checkpoint(self, *, force: bool) -> None:
        stream = self._stream
        unprotected = stream.number - stream.checkpoint_number
        waited = self._clock.monotonic() - stream.checkpoint_at
        due = unprotected >= CHECKPOINT_ROWS or waited >= CHECKPOINT_SECONDS or force
        if not unprotected or not due:
            return
        row = chain.ChainRow(stream.name, stream.number, b"", stream.mac, chain.Label())
        with contextlib.suppress(
            AuditUnavailable
        ):  # the rows stand; their tail is unprotected
            self._checkpoints.append(chain.sign_checkpoint(self._key, row))
            stream.checkpoint_number = stream.number
            stream.checkpoint_at = self._clock.monotonic()

    def _renew(self) -> None:
        self._writer = threading.Lock()
        self._queue_lock = threading.Lock()
        self._queue = []
        self._failing = False
        self._stream = self._new_stream()

    def _new_stream(self) -> _Stream:
        name = chain.stream_name(secrets.token_hex(8), self._key_id)
        start = chain.chain_start(self._key, name)
        return _Stream(name, os.getpid(), 0, start, 0, self._clock.monotonic())


def _facts(record: Intent | Outcome | Refusal | Change) -> dict[str, object]:
    return record._asdict()
