"""The chain that makes the audit tamper-evident: canonical rows, codes, the verdict.

Every process writes a stream of its own. A row's code covers the code of the row
before it, so an edited, inserted, removed or reordered row breaks the chain from there
on. Rows cut off at the end show only against a checkpoint, a signed statement of how
far a stream had got, which is stored in a second place. A tombstone states the same of
the beginning, where old rows were pruned.
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

from outkey.core.audit.events import CHALLENGED, Tag

# The audit key by the id of the ring's key that it is derived from; None where the ring
# has no such key.
AuditKeys = Callable[[str], bytes | None]
CANONICAL_JSON = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":")
)
ROW = b"row"
CHECKPOINT = b"checkpoint"
TOMBSTONE = b"tombstone"
CHANGE = "change"
SIGN_IN = "sign-in"
FAILURE = "failure"  # a request that failed or was refused
GOOD_OUTCOMES = frozenset({"", "ok", CHALLENGED})
MAX_ACTOR = 200


class Label(NamedTuple):
    """What records are searched by: time in ms, configuration and outcome.

    Requests that succeed have neither a kind nor an actor, as most of the records.
    """

    at: int = 0
    configuration: str = ""
    outcome: str = ""
    kind: str = ""
    actor: str = ""


class ChainRow(NamedTuple):
    """One record: its place in its stream, the recorded bytes, and their code.

    The label repeats what a table searches by, and must agree with the body. A tuple:
    every send makes two, and a frozen dataclass takes five times as long to make.
    """

    stream: str
    number: int
    body: bytes
    mac: bytes
    label: Label


@dataclass(frozen=True, slots=True)
class ChainMark:
    """A signed statement about a stream: a checkpoint of its end, or a tombstone."""

    stream: str
    number: int
    mac: bytes
    key_id: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class AuditStream:
    """The rows of one process: how many, and where they begin."""

    name: str
    rows: int
    oldest_at: int | None  # time in ms of the first row; None without rows
    tombstone: ChainMark | None  # of the rows that were pruned


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """The result of a verification. `first_bad` names the first row that is wrong."""

    ok: bool
    rows: int
    first_bad: str | None
    unprotected_tail: int


def canonical(facts: Mapping[str, object]) -> bytes:
    """Return the one byte form of a record: sorted keys, NFC, no spaces, no floats."""
    for value in facts.values():
        if isinstance(value, float):
            raise TypeError("a record holds whole numbers only")
    return unicodedata.normalize("NFC", CANONICAL_JSON.encode(facts)).encode()


def facts_of(body: bytes) -> dict[str, object]:
    """Return the facts of a record; the tag is `unreadable` if it is not JSON."""
    try:
        facts = json.loads(body)
    except ValueError:
        facts = None
    return facts if isinstance(facts, dict) else {"at": 0, "tag": "unreadable"}


def label_of(facts: Mapping[str, object]) -> Label:
    """Return the label of a record; the outcome of a refusal is its code."""
    at = int(str(facts.get("at", 0)))
    outcome = str(facts.get("outcome") or facts.get("code") or "")
    return Label(
        at=at,
        configuration=str(facts.get("configuration", "")),
        outcome=outcome,
        kind=kind_of(str(facts.get("tag", "")), outcome),
        actor=str(facts.get("actor", ""))[:MAX_ACTOR],
    )


def kind_of(tag: str, outcome: str) -> str:
    """Return whether a record is a failure, a change or a sign-in; "" for neither."""
    if tag.startswith("people:session:"):
        return SIGN_IN
    if tag == Tag.DELIVERIES_REFUSED:
        return FAILURE
    if tag and not tag.startswith("engine:"):
        return CHANGE
    return "" if outcome in GOOD_OUTCOMES else FAILURE


def stream_name(process: str, key_id: str) -> str:
    """Return the name of a stream; with the key's id, a rotated ring can verify it."""
    return f"{key_id}.{process}"


def key_id_of(stream: str) -> str:
    """Return the id of the key that a stream is written with."""
    return stream.partition(".")[0]


def chain_start(key: bytes, stream: str) -> bytes:
    """Return what takes the place of a code before the first row."""
    return code_of(key, ROW, stream=stream, number=0, content=b"")


def row_mac(
    key: bytes, previous: bytes, stream: str, number: int, body: bytes
) -> bytes:
    """Return the code of a row."""
    return code_of(key, ROW, stream=stream, number=number, content=previous + body)


def code_of(
    key: bytes, kind: bytes, *, stream: str, number: int, content: bytes
) -> bytes:
    """Return the HMAC-SHA-256 of a statement about a stream."""
    name = stream.encode()
    head = struct.pack(">BIQ", len(kind), len(name), number)
    return hmac.digest(key, head + kind + name + content, hashlib.sha256)


def chain_rows(
    key: bytes,
    stream: str,
    records: Iterable[tuple[bytes, Label]],
    *,
    number: int = 0,
    mac: bytes | None = None,
) -> Iterator[ChainRow]:
    """Return rows for these bodies and labels, after the row with this number and code.

    Without one, they are the first rows of the stream.
    """
    previous = chain_start(key, stream) if mac is None else mac
    for body, label in records:
        number += 1
        previous = row_mac(key, previous, stream, number, body)
        yield ChainRow(stream, number, body, previous, label)


def sign_checkpoint(key: bytes, row: ChainRow) -> ChainMark:
    """State that a stream had got as far as this row."""
    return sign_mark(key, CHECKPOINT, row)


def sign_tombstone(key: bytes, row: ChainRow) -> ChainMark:
    """State that a stream's rows up to this one were removed on purpose."""
    return sign_mark(key, TOMBSTONE, row)


def sign_mark(key: bytes, kind: bytes, row: ChainRow) -> ChainMark:
    """Return a signed statement about a stream up to this row."""
    signature = code_of(
        key, kind, stream=row.stream, number=row.number, content=row.mac
    )
    return ChainMark(row.stream, row.number, row.mac, key_id_of(row.stream), signature)


def is_genuine(key: bytes, kind: bytes, mark: ChainMark) -> bool:
    """Whether this key signed a statement."""
    signature = code_of(
        key, kind, stream=mark.stream, number=mark.number, content=mark.mac
    )
    return hmac.compare_digest(signature, mark.signature)


def verify(
    rows: Iterable[ChainRow],
    keys: AuditKeys,
    *,
    checkpoints: Iterable[ChainMark],
    tombstones: Iterable[ChainMark],
) -> ChainVerdict:
    """Go through all rows once, one stream after the other.

    Memory grows with the number of streams only.
    """
    ends = latest_marks(checkpoints)
    starts = {mark.stream: mark for mark in tombstones}
    count = 0
    tail = 0
    first_bad: str | None = None
    for stream, members in groupby(rows, key=lambda row: row.stream):
        key = keys(key_id_of(stream))
        walk = StreamWalk(
            stream, key or b"", starts.pop(stream, None), ends.pop(stream, None)
        )
        if key is None:
            first_bad = first_bad or f"{stream} (its key is not in the ring)"
        for row in members:
            count += 1
            walk.step(row)
        first_bad = first_bad or walk.first_bad()
        tail += walk.unprotected
    for stream, end in ends.items():
        start = starts.pop(stream, None)
        if start is None or start.number < end.number:
            first_bad = first_bad or f"{stream}:{end.number} (the stream is missing)"
        elif not is_genuine(keys(key_id_of(stream)) or b"", TOMBSTONE, start):
            first_bad = first_bad or f"{stream}:{start.number} (a tombstone is forged)"
    return ChainVerdict(first_bad is None, count, first_bad, tail)


class StreamWalk:
    """The verification of one stream, row by row."""

    def __init__(
        self, stream: str, key: bytes, start: ChainMark | None, end: ChainMark | None
    ) -> None:
        self._key = key
        self._stream = stream
        self._end = end
        self._expected = 1
        self._previous = chain_start(key, stream)
        self._bad: str | None = None
        self._met_end = end is None
        self.unprotected = 0  # rows after the last checkpoint
        if end is not None and not is_genuine(key, CHECKPOINT, end):
            self._bad = f"{stream}:{end.number} (a checkpoint is forged)"
        if start is not None:
            if not is_genuine(key, TOMBSTONE, start):
                self._bad = f"{stream}:{start.number} (a tombstone is forged)"
            self._expected = start.number + 1
            self._previous = start.mac
            if end is not None and end.number <= start.number:
                self._met_end = True  # the rows that it protected were pruned

    def step(self, row: ChainRow) -> None:
        """Check the next row."""
        mac = row_mac(self._key, self._previous, self._stream, row.number, row.body)
        if self._bad is None and (
            row.number != self._expected
            or not hmac.compare_digest(mac, row.mac)
            or row.label != label_of(facts_of(row.body))
        ):
            self._bad = f"{self._stream}:{row.number}"
        self._expected = row.number + 1
        self._previous = row.mac
        if self._end is not None and row.number == self._end.number:
            self._met_end = hmac.compare_digest(row.mac, self._end.mac)
            self.unprotected = 0
        else:
            self.unprotected += 1

    def first_bad(self) -> str | None:
        """Return the first row that is wrong, once all rows were checked."""
        if self._bad is None and not self._met_end and self._end is not None:
            return f"{self._stream}:{self._end.number} (rows are missing at the end)"
        return self._bad


def latest_marks(marks: Iterable[ChainMark]) -> dict[str, ChainMark]:
    """Return the mark with the highest number of each stream."""
    latest: dict[str, ChainMark] = {}
    for mark in marks:
        other = latest.get(mark.stream)
        if other is None or mark.number >= other.number:
            latest[mark.stream] = mark
    return latest
