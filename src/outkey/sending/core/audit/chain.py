"""The chain that makes the audit tamper-evident: canonical rows, codes, the verdict.

Every process writes a stream of its own. A row's code covers the code of the row
before it, so an edited, inserted, removed or reordered row breaks the chain from there
on. Rows cut off at the end show only against a checkpoint, a signed statement of how
far a stream had got, which is stored in a second place. A tombstone states the same of
the beginning, where old rows were pruned.

Checkpoints are files of one machine. So that a missing stream is noticed on the others
too, the first record of a stream names the streams that it follows, and each machine
notes the streams that it has seen beside its checkpoints.
"""

import hashlib
import hmac
import json
import struct
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from outkey.sending.core.audit.events import CHALLENGED, Tag

# The audit key by the id of the ring's key that it is derived from; None where the ring
# has no such key.
AuditKeys = Callable[[str], bytes | None]
CANONICAL_JSON = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":")
)
ROW = b"row"
CHECKPOINT = b"checkpoint"
TOMBSTONE = b"tombstone"
SIGHTING = b"sighting"
FOLLOWS = "follows"  # the fact of a first record that names other streams
CHANGE = "change"
SIGN_IN = "sign-in"
FAILURE = "failure"  # a request that failed or was refused
GOOD_OUTCOMES = frozenset({"", "ok", CHALLENGED})
MAX_ACTOR = 200
MAX_TIME = 253_402_300_800_000  # in ms: the end of the year 9999


class Label(NamedTuple):
    """The columns that records are searched by: time in ms, configuration, outcome.

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
    """A signed statement about a stream: a checkpoint of its end, or a tombstone.

    A sighting states only that this machine has seen the stream.
    """

    stream: str
    number: int
    mac: bytes
    key_id: str
    signature: bytes
    is_sighting: bool = False


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
    # The streams that have neither a checkpoint nor a sighting on this machine.
    without_checkpoint: tuple[str, ...] = ()

    def facts(self) -> dict[str, object]:
        """Return the verdict as JSON can hold it."""
        facts: dict[str, object] = {
            "ok": self.ok,
            "rows": self.rows,
            "first_bad": self.first_bad,
            "unprotected_tail": self.unprotected_tail,
        }
        if self.without_checkpoint:
            facts["without_checkpoint"] = list(self.without_checkpoint)
        return facts


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
    except (ValueError, RecursionError):  # whatever a writer of the database put there
        facts = None
    return facts if isinstance(facts, dict) else {"at": 0, "tag": "unreadable"}


def label_of(facts: Mapping[str, object]) -> Label:
    """Return the label of a record; the outcome of a refusal is its code."""
    outcome = text_of(facts, "outcome") or text_of(facts, "code")
    return Label(
        at=time_of(facts),
        configuration=text_of(facts, "configuration"),
        outcome=outcome,
        kind=kind_of(text_of(facts, "tag"), outcome),
        actor=text_of(facts, "actor")[:MAX_ACTOR],
    )


def text_of(facts: Mapping[str, object], name: str) -> str:
    """Return a fact that is a text; "" for one that is missing or of another type."""
    value = facts.get(name)
    return value if isinstance(value, str) else ""


def time_of(facts: Mapping[str, object]) -> int:
    """Return when a record was written in ms; 0 for what is not a time."""
    at = facts.get("at")
    return at if isinstance(at, int) and 0 <= at < MAX_TIME else 0


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


class RowCodes:
    """Computes the codes of a stream's rows; the key is prepared once for all."""

    __slots__ = ("_keyed", "_name", "_stream")

    def __init__(self, key: bytes, stream: str) -> None:
        self._keyed = hmac.new(key, digestmod=hashlib.sha256)
        self._stream = stream
        self._name = stream.encode()

    def start(self) -> bytes:
        """Return the value that takes the place of a code before the first row."""
        return self.code(b"", 0, b"")

    def code(self, previous: bytes, number: int, body: bytes) -> bytes:
        """Return the code of a row after the row with this code."""
        code = self._keyed.copy()
        code.update(_statement(ROW, self._name, number, previous + body))
        return code.digest()

    def chain(
        self,
        records: Iterable[tuple[bytes, Label]],
        *,
        number: int = 0,
        mac: bytes | None = None,
    ) -> Iterator[ChainRow]:
        """Return rows for these bodies and labels, after the row of a number and code.

        Without one, they are the first rows of the stream.
        """
        previous = self.start() if mac is None else mac
        for body, label in records:
            number += 1
            previous = self.code(previous, number, body)
            yield ChainRow(self._stream, number, body, previous, label)


def code_of(
    key: bytes, kind: bytes, *, stream: str, number: int, content: bytes
) -> bytes:
    """Return the HMAC-SHA-256 of a statement about a stream."""
    statement = _statement(kind, stream.encode(), number, content)
    return hmac.digest(key, statement, hashlib.sha256)


def _statement(kind: bytes, stream: bytes, number: int, content: bytes) -> bytes:
    """Return the bytes that a code is computed from."""
    head = struct.pack(">BIQ", len(kind), len(stream), number)
    return head + kind + stream + content


def sign_checkpoint(key: bytes, row: ChainRow) -> ChainMark:
    """State that a stream had got as far as this row."""
    return _sign_mark(key, CHECKPOINT, row)


def sign_sighting(key: bytes, stream: str) -> ChainMark:
    """State that this machine has seen a stream."""
    row = ChainRow(stream, number=1, body=b"", mac=b"", label=Label())
    return replace(_sign_mark(key, SIGHTING, row), is_sighting=True)


def _is_beginning(key: bytes, row: ChainRow) -> bool:
    """Whether a row is the first one of its stream, written with this key.

    A writer of the database can plant rows, but none that this is true of.
    """
    codes = RowCodes(key, row.stream)
    mac = codes.code(codes.start(), 1, row.body)
    return row.number == 1 and hmac.compare_digest(mac, row.mac)


def genuine_streams(rows: Iterable[ChainRow], keys: AuditKeys) -> list[str]:
    """Return the streams of those first rows that a key of the ring has written."""
    return [
        row.stream
        for row in rows
        if (key := keys(key_id_of(row.stream))) is not None and _is_beginning(key, row)
    ]


def with_links(body: bytes, streams: Iterable[str]) -> bytes:
    """Return a stream's first record with the names of the streams that it follows."""
    links = sorted(streams)
    return canonical({**facts_of(body), FOLLOWS: links}) if links else body


def _links_of(facts: Mapping[str, object]) -> list[str]:
    """Return the streams that a first record names."""
    links = facts.get(FOLLOWS)
    return [str(link) for link in links] if isinstance(links, list) else []


def sign_tombstone(key: bytes, row: ChainRow) -> ChainMark:
    """State that a stream's rows up to this one were removed on purpose."""
    return _sign_mark(key, TOMBSTONE, row)


def _sign_mark(key: bytes, kind: bytes, row: ChainRow) -> ChainMark:
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
    marks = list(checkpoints)
    ends = _latest_marks(mark for mark in marks if not mark.is_sighting)
    sightings = _latest_marks(mark for mark in marks if mark.is_sighting)
    starts = {mark.stream: mark for mark in tombstones}
    known = ends.keys() | sightings.keys()
    required = RequiredStreams(keys, starts)
    count = 0
    tail = 0
    first_bad: str | None = None
    unmarked: list[str] = []
    for stream, members in groupby(rows, key=lambda row: row.stream):
        key = keys(key_id_of(stream))
        walk = StreamWalk(
            stream, key or b"", starts.get(stream), ends.pop(stream, None)
        )
        if key is None:
            first_bad = first_bad or f"{stream} (its key is not in the ring)"
        for row in members:
            count += 1
            walk.step(row)
        first_bad = first_bad or walk.first_bad()
        tail += walk.unprotected
        required.add_stream(stream, walk.links)
        if stream not in known:
            unmarked.append(stream)
    for stream, end in ends.items():
        start = starts.get(stream)
        if start is None or start.number < end.number:
            first_bad = first_bad or f"{stream}:{end.number} (the stream is missing)"
        elif not is_genuine(keys(key_id_of(stream)) or b"", TOMBSTONE, start):
            first_bad = first_bad or f"{stream}:{start.number} (a tombstone is forged)"
    first_bad = first_bad or required.first_missing(sightings.values())
    return ChainVerdict(
        ok=first_bad is None,
        rows=count,
        first_bad=first_bad,
        unprotected_tail=tail,
        without_checkpoint=tuple(unmarked),
    )


class StreamWalk:
    """The verification of one stream, row by row."""

    def __init__(
        self, stream: str, key: bytes, start: ChainMark | None, end: ChainMark | None
    ) -> None:
        self._codes = RowCodes(key, stream)
        self._stream = stream
        self._end = end
        self._expected = 1
        self._previous = self._codes.start()
        self._bad: str | None = None
        self._met_end = end is None
        self.unprotected = 0  # rows after the last checkpoint
        self.links: list[str] = []  # the streams that the first row names
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
        mac = self._codes.code(self._previous, row.number, row.body)
        facts = facts_of(row.body)
        if self._bad is None and (
            row.number != self._expected
            or not hmac.compare_digest(mac, row.mac)
            or row.label != label_of(facts)
        ):
            self._bad = f"{self._stream}:{row.number}"
        if row.number == 1 and self._bad is None:
            self.links = _links_of(facts)
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


class RequiredStreams:
    """The streams that must exist, since other streams or sightings name them."""

    def __init__(self, keys: AuditKeys, tombstones: Mapping[str, ChainMark]) -> None:
        self._keys = keys
        self._tombstones = tombstones
        self._present: set[str] = set()
        self._named: dict[str, None] = {}  # in order

    def add_stream(self, stream: str, links: Iterable[str]) -> None:
        """Note that a stream exists, and which others its first record names."""
        self._present.add(stream)
        self._named.update(dict.fromkeys(links))

    def first_missing(self, sightings: Iterable[ChainMark]) -> str | None:
        """Return the first stream that is missing; None for none."""
        for mark in sightings:
            if not is_genuine(self._key(mark.stream), SIGHTING, mark):
                return f"{mark.stream} (a sighting is forged)"
            self._named[mark.stream] = None
        for stream in self._named:
            if stream not in self._present and not self._is_pruned(stream):
                return f"{stream} (the stream is missing)"
        return None

    def _is_pruned(self, stream: str) -> bool:
        """Whether the rows of a stream were removed on purpose."""
        mark = self._tombstones.get(stream)
        return mark is not None and is_genuine(self._key(stream), TOMBSTONE, mark)

    def _key(self, stream: str) -> bytes:
        return self._keys(key_id_of(stream)) or b""


def _latest_marks(marks: Iterable[ChainMark]) -> dict[str, ChainMark]:
    """Return the mark with the highest number of each stream."""
    latest: dict[str, ChainMark] = {}
    for mark in marks:
        other = latest.get(mark.stream)
        if other is None or mark.number >= other.number:
            latest[mark.stream] = mark
    return latest
