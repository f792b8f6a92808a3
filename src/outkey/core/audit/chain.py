"""The chain that makes the audit tamper-evident: canonical rows, their codes, and the verdict.

Every process writes a stream of its own. A row's code covers the code of the row before it, so an
edited, inserted, removed or reordered row breaks the chain from there on. What is cut off at the
end shows only against a checkpoint, a signed statement of how far a stream had got, which is kept
in a second place. A tombstone says the same of the beginning, where old rows were pruned.
"""

import hashlib
import hmac
import json
import struct
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

# The audit key by the id of the ring's key that it comes from; None where the ring has no such key.
AuditKeys = Callable[[str], bytes | None]
_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
_ROW, _CHECKPOINT, _TOMBSTONE = b"row", b"checkpoint", b"tombstone"


@dataclass(frozen=True, slots=True)
class ChainRow:
    """One record: its place in its stream, the bytes that were recorded, and its code.

    The label repeats what a table finds records by, and must agree with the body.
    """

    stream: str
    number: int
    body: bytes
    mac: bytes
    label: "Label"


class Label(NamedTuple):
    """What a record is found by: time in ms, configuration and outcome."""

    at: int = 0
    configuration: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A signed statement about a stream: a checkpoint of its end, or a tombstone of its start."""

    stream: str
    number: int
    mac: bytes
    key_id: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification found. `first_bad` names the first row that does not fit."""

    ok: bool
    rows: int
    first_bad: str | None
    unprotected_tail: int


def canonical(facts: Mapping[str, object]) -> bytes:
    """Return the one byte form of a record: sorted keys, NFC, no blanks, no floats."""
    for value in facts.values():
        if isinstance(value, float):
            raise TypeError("a record holds whole numbers only")
    return unicodedata.normalize("NFC", _JSON.encode(facts)).encode()


def facts_of(body: bytes) -> dict[str, object]:
    """Return what a record says; one that somebody has spoilt says only that."""
    try:
        facts = json.loads(body)
    except ValueError:
        facts = None
    return facts if isinstance(facts, dict) else {"at": 0, "tag": "unreadable"}


def label_of(facts: Mapping[str, object]) -> Label:
    """Return the label of a record; what was refused has the reason for its outcome."""
    at, outcome = facts.get("at", 0), facts.get("outcome") or facts.get("code") or ""
    return Label(int(str(at)), str(facts.get("configuration", "")), str(outcome))


def stream_name(process: str, key_id: str) -> str:
    """Return the name of a stream; it names the key, so that a rotated ring verifies old rows."""
    return f"{key_id}.{process}"


def key_id_of(stream: str) -> str:
    """Return the id of the key that a stream is written with."""
    return stream.partition(".")[0]


def chain_start(key: bytes, stream: str) -> bytes:
    """Return what stands in for the code before the first row."""
    return _code(key, _ROW, stream, 0, b"")


def row_mac(
    key: bytes, previous: bytes, stream: str, number: int, body: bytes
) -> bytes:
    """Return the code of a row."""
    return _code(key, _ROW, stream, number, previous + body)


def sign_checkpoint(key: bytes, row: ChainRow) -> Mark:
    """State that a stream had got as far as this row."""
    return _mark(key, _CHECKPOINT, row)


def sign_tombstone(key: bytes, row: ChainRow) -> Mark:
    """State that a stream's rows up to this one were removed on purpose."""
    return _mark(key, _TOMBSTONE, row)


def verify(
    rows: Iterable[ChainRow],
    keys: AuditKeys,
    *,
    checkpoints: Iterable[Mark],
    tombstones: Iterable[Mark],
) -> Verdict:
    """Go through all rows once, one stream after the other; memory grows with streams only."""
    ends = _latest(checkpoints)
    starts = {mark.stream: mark for mark in tombstones}
    count = tail = 0
    first_bad: str | None = None
    for stream, members in groupby(rows, key=lambda row: row.stream):
        key = keys(key_id_of(stream))
        walk = _Walk(
            stream, key or b"", starts.pop(stream, None), ends.pop(stream, None)
        )
        if key is None:
            first_bad = first_bad or f"{stream} (its key is not in the ring)"
        for row in members:
            count += 1
            walk.step(row)
        bad = walk.finish()
        first_bad = first_bad or bad
        tail += walk.unprotected
    for stream, end in ends.items():
        start = starts.pop(stream, None)
        if start is None or start.number < end.number:
            first_bad = first_bad or f"{stream}:{end.number} (the stream is gone)"
        elif not _genuine(keys(key_id_of(stream)) or b"", _TOMBSTONE, start):
            first_bad = first_bad or f"{stream}:{start.number} (a tombstone is forged)"
    return Verdict(first_bad is None, count, first_bad, tail)


class _Walk:
    """The way through one stream."""

    def __init__(
        self, stream: str, key: bytes, start: Mark | None, end: Mark | None
    ) -> None:
        self._key, self._stream, self._end = key, stream, end
        self._expected = 1
        self._previous = chain_start(key, stream)
        self._bad: str | None = None
        self._met_end = end is None
        self.unprotected = 0
        if end is not None and not _genuine(key, _CHECKPOINT, end):
            self._bad = f"{stream}:{end.number} (a checkpoint is forged)"
        if start is not None:
            if not _genuine(key, _TOMBSTONE, start):
                self._bad = f"{stream}:{start.number} (a tombstone is forged)"
            self._expected, self._previous = start.number + 1, start.mac
            if end is not None and end.number <= start.number:
                self._met_end = True  # what it protected was pruned

    def step(self, row: ChainRow) -> None:
        mac = row_mac(self._key, self._previous, self._stream, row.number, row.body)
        if self._bad is None and (
            row.number != self._expected
            or not hmac.compare_digest(mac, row.mac)
            or row.label != label_of(facts_of(row.body))
        ):
            self._bad = f"{self._stream}:{row.number}"
        self._expected, self._previous = row.number + 1, row.mac
        if self._end is not None and row.number == self._end.number:
            self._met_end = hmac.compare_digest(row.mac, self._end.mac)
            self.unprotected = 0
        else:
            self.unprotected += 1

    def finish(self) -> str | None:
        if self._bad is None and not self._met_end and self._end is not None:
            return f"{self._stream}:{self._end.number} (rows are missing at the end)"
        return self._bad


def _latest(marks: Iterable[Mark]) -> dict[str, Mark]:
    latest: dict[str, Mark] = {}
    for mark in marks:
        known = latest.get(mark.stream)
        if known is None or mark.number >= known.number:
            latest[mark.stream] = mark
    return latest


def _mark(key: bytes, kind: bytes, row: ChainRow) -> Mark:
    signature = _code(key, kind, row.stream, row.number, row.mac)
    return Mark(row.stream, row.number, row.mac, key_id_of(row.stream), signature)


def _genuine(key: bytes, kind: bytes, mark: Mark) -> bool:
    signature = _code(key, kind, mark.stream, mark.number, mark.mac)
    return hmac.compare_digest(signature, mark.signature)


def _code(key: bytes, kind: bytes, stream: str, number: int, content: bytes) -> bytes:
    name = stream.encode()
    head = struct.pack(">BIQ", len(kind), len(name), number)
    return hmac.digest(key, head + kind + name + content, hashlib.sha256)


def chained(
    key: bytes,
    stream: str,
    previous: bytes,
    number: int,
    records: Iterable[tuple[bytes, Label]],
) -> Iterator[ChainRow]:
    """Yield the rows for these bodies and labels, following the row with this number and code."""
    for body, label in records:
        number += 1
        previous = row_mac(key, previous, stream, number, body)
        yield ChainRow(stream, number, body, previous, label)
