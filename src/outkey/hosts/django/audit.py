"""The audit's rows in Django's tables.

A send waits for `append`, so it is one statement of fixed SQL: the ORM alone would cost more than
the whole request.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from django.db import DatabaseError, connection, transaction
from django.db.models import Max, OuterRef, Subquery

from outkey.core.audit.chain import ChainRow, Label, Mark, facts_of, key_id_of
from outkey.core.errors import AuditUnavailable
from outkey.hosts.django.models import AuditRecord, Stream
from outkey.hosts.django.raw_sql import all_translated, execute, recover

_BATCH = 2000
_PER_STATEMENT = 500
_INSERT = (
    "INSERT INTO outkey_auditrecord (stream_id, number, at, configuration, outcome,"
    " body, mac) VALUES "
)
_VALUES = "(%s, %s, %s, %s, %s, %s, %s)"


@all_translated
class DjangoAuditRows:
    """Appends rows all or none, and reads them back without holding them all."""

    def __init__(self) -> None:
        self._streams: dict[
            str, int
        ] = {}  # the rows' numbers for the names of our own streams

    def append(self, rows: Sequence[ChainRow]) -> None:
        if connection.in_atomic_block:
            # What can be rolled back is no record, and the chain would have a gap.
            message = (
                "a record cannot be written inside a transaction that may be rolled"
                " back"
            )
            hint = "Send before the transaction begins, or after it has ended."
            raise AuditUnavailable(message, hint=hint)
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

    def newest(
        self, limit: int, *, before: int = 0, **columns: str
    ) -> list[dict[str, object]]:
        rows = AuditRecord.objects.order_by("-id").filter(**columns)
        if before:
            rows = rows.filter(pk__lt=before)
        found = rows.values_list("id", "body")[:limit]
        return [{"id": number} | facts_of(_bytes(body)) for number, body in found]

    def count(self) -> int:
        return AuditRecord.objects.count()

    def read(self) -> Iterator[ChainRow]:
        ordered = AuditRecord.objects.order_by("stream_id", "number")
        label = "at", "configuration", "outcome"
        columns = ordered.values_list("stream__name", "number", "body", "mac", *label)
        for stream, *found in columns.iterator(chunk_size=_BATCH):
            yield _row(str(stream), *found)
        # A row of no stream is nobody's, and must not be passed over.
        orphans = AuditRecord.objects.exclude(stream__in=Stream.objects.values("pk"))
        for found in orphans.values_list("number", "body", "mac", *label):
            yield _row("no stream", *found)

    def expired(self, moment: int, step: int) -> Iterator[ChainRow]:
        """Return the rows, without bodies, up to which each stream is older, some at a time."""
        young = AuditRecord.objects.filter(stream=OuterRef("pk"), at__gte=moment)
        first_young = Subquery(young.order_by("number").values("number")[:1])
        streams = Stream.objects.annotate(
            first_young=first_young, newest=Max("records__number")
        ).exclude(newest=None)
        for stream in list(streams):
            last = (
                stream.newest if stream.first_young is None else stream.first_young - 1
            )
            for number in [*range(stream.pruned_number + step, last, step), last]:
                mac = (
                    stream.records.filter(number=number)
                    .values_list("mac", flat=True)
                    .first()
                )
                if mac is not None:  # a broken chain is for the verifier to report
                    yield ChainRow(stream.name, number, b"", bytes(mac), Label())

    def prune(self, tombstone: Mark) -> int:
        number = tombstone.number
        with transaction.atomic():
            stream = Stream.objects.filter(name=tombstone.stream)
            # Never backwards: somebody else may prune at the same time.
            kept = stream.filter(pruned_number__lt=number).update(
                pruned_number=number,
                pruned_mac=tombstone.mac,
                pruned_signature=tombstone.signature,
            )
            records = AuditRecord.objects.filter(stream__in=stream, number__lte=number)
            return records.delete()[0] if kept else 0

    def tombstones(self) -> Iterator[Mark]:
        for stream in Stream.objects.exclude(pruned_number=0):
            mac, signature = _bytes(stream.pruned_mac), _bytes(stream.pruned_signature)
            name, number = str(stream.name), _number(stream.pruned_number)
            yield Mark(name, number, mac, key_id_of(name), signature)

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


def _row(
    stream: str, number: object, body: object, mac: object, *label: object
) -> ChainRow:
    found = Label(*label)  # type: ignore[arg-type]  # whatever stands there is compared
    return ChainRow(stream, _number(number), _bytes(body), _bytes(mac), found)


def _bytes(found: object) -> bytes:
    """Return what is in a column; SQLite also gives what somebody else put there."""
    if isinstance(found, bytes | memoryview):
        return bytes(found)
    return str(found).encode(errors="replace")


def _number(found: object) -> int:
    """Return what is in a column of numbers; what no chain can hold becomes 0."""
    return found if isinstance(found, int) and 0 <= found < 2**63 else 0
