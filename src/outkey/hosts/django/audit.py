"""The audit's rows in Django's tables.

A send waits for `append`, so it is one statement of fixed SQL: the ORM alone would cost more than
the whole request.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from django.db import DatabaseError, connection, transaction
from django.db.models import Max, OuterRef, Subquery

from outkey.core.chain import ChainRow, Label, Mark, key_id_of
from outkey.core.errors import AuditUnavailable
from outkey.hosts.django.models import AuditRecord, Stream
from outkey.hosts.django.statements import execute, recover, stored

_BATCH = 2000
_PER_STATEMENT = 500
_INSERT = (
    "INSERT INTO outkey_auditrecord (stream_id, number, at, configuration, outcome, body, mac)"
    " VALUES "
)
_VALUES = "(%s, %s, %s, %s, %s, %s, %s)"


class DjangoAuditRows:
    """Appends rows all or none, and reads them back without holding them all."""

    def __init__(self) -> None:
        self._streams: dict[str, int] = {}  # the rows' numbers for the names of our own streams

    def append(self, rows: Sequence[ChainRow]) -> None:
        """Keep all rows durably or none, or raise AuditUnavailable."""
        if connection.in_atomic_block:
            # A record that could be rolled back is none; and the chain would have a gap.
            raise RuntimeError("a record is written before the change, not inside its transaction")
        failed = False
        try:
            if len(rows) <= _PER_STATEMENT:
                self._insert(rows)  # one statement is atomic by itself
            else:
                with transaction.atomic():
                    for start in range(0, len(rows), _PER_STATEMENT):
                        self._insert(rows[start : start + _PER_STATEMENT])
        except DatabaseError:
            failed = True  # raised outside, so that the database's own error is not its context
        if failed:
            self._streams.clear()
            recover()
            raise AuditUnavailable

    def newest(self, limit: int) -> list[dict[str, object]]:
        """Return the facts of the newest records, newest first."""
        bodies = AuditRecord.objects.order_by("-id").values_list("body", flat=True)[:limit]
        return [_facts(body) for body in bodies]

    @stored
    def count(self) -> int:
        """Return how many rows there are."""
        return AuditRecord.objects.count()

    def read(self) -> Iterator[ChainRow]:
        """Return all rows, one stream after the other, each ordered by number."""
        ordered = AuditRecord.objects.order_by("stream_id", "number")
        label = "at", "configuration", "outcome"
        columns = ordered.values_list("stream__name", "number", "body", "mac", *label)
        for stream, number, body, mac, *found in columns.iterator(chunk_size=_BATCH):
            yield ChainRow(stream, number, _bytes(body), _bytes(mac), Label(*found))

    def expired(self, moment: int, step: int) -> Iterator[ChainRow]:
        """Return the rows, without bodies, up to which each stream is older, some at a time."""
        young = AuditRecord.objects.filter(stream=OuterRef("pk"), at__gte=moment)
        first_young = Subquery(young.order_by("number").values("number")[:1])
        streams = Stream.objects.annotate(
            first_young=first_young, newest=Max("records__number")
        ).exclude(newest=None)
        for stream in list(streams):
            last = stream.newest if stream.first_young is None else stream.first_young - 1
            for number in [*range(stream.pruned_number + step, last, step), last]:
                mac = stream.records.filter(number=number).values_list("mac", flat=True).first()
                if mac is not None:  # a broken chain is for the verifier to report
                    yield ChainRow(stream.name, number, b"", bytes(mac), Label())

    @stored
    def prune(self, tombstone: Mark) -> int:
        """Remove a stream's rows up to the tombstone, keep that in their place, and count them."""
        with transaction.atomic():
            stream = Stream.objects.get(name=tombstone.stream)
            stream.pruned_number = tombstone.number
            stream.pruned_mac, stream.pruned_signature = tombstone.mac, tombstone.signature
            stream.save()
            removed, _ = stream.records.filter(number__lte=tombstone.number).delete()
        return removed

    def tombstones(self) -> Iterator[Mark]:
        """Return the tombstone of every stream that has one."""
        for stream in Stream.objects.exclude(pruned_number=0):
            mac, signature = bytes(stream.pruned_mac), bytes(stream.pruned_signature)
            name = stream.name
            yield Mark(name, stream.pruned_number, mac, key_id_of(name), signature)

    def _insert(self, rows: Sequence[ChainRow]) -> None:
        values = chain.from_iterable(self._columns(row) for row in rows)
        execute(_INSERT + ", ".join([_VALUES] * len(rows)), tuple(values))

    def _columns(self, row: ChainRow) -> Iterable[int | str | bytes]:
        stream = self._streams.get(row.stream) or self._number_of(row.stream)
        return stream, row.number, *row.label, row.body, row.mac

    def _number_of(self, name: str) -> int:
        number = Stream.objects.get_or_create(name=name)[0].pk
        self._streams[name] = number
        return number


def _bytes(found: bytes | memoryview | str) -> bytes:
    """Return what is in a column; SQLite also gives text, if somebody put text there."""
    return found.encode() if isinstance(found, str) else bytes(found)


def _facts(body: bytes | memoryview | str) -> dict[str, object]:
    try:
        facts = json.loads(_bytes(body))
    except ValueError:
        facts = None
    return facts if isinstance(facts, dict) else {"at": 0, "tag": "unreadable"}
