"""The audit's rows in Django's tables.

A send waits for `append`, so it is one statement of fixed SQL: the ORM alone would cost
more than the whole request.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Max, OuterRef, Subquery

from outkey.foundation.core.errors import AuditUnavailable
from outkey.foundation.core.text import Text
from outkey.hosts.django.models import AuditRecord, Stream
from outkey.hosts.django.rows.audit_connection import AuditConnection
from outkey.hosts.django.rows.columns import as_bytes, as_number
from outkey.hosts.django.rows.raw_sql import (
    allow_long_statements,
    insert_row,
    recover,
    wrap_errors_of_methods,
)
from outkey.sending.core.audit.chain import (
    AuditStream,
    ChainMark,
    ChainRow,
    Label,
    facts_of,
    key_id_of,
)
from outkey.sending.core.audit.events import Durability

BATCH = 2000
ROW_COLUMNS = ("number", "body", "mac", *Label._fields)


@wrap_errors_of_methods
class DjangoAuditRows:
    """Appends rows all or none, and reads them back without holding them all."""

    def __init__(self, durability: Callable[[], Durability]) -> None:
        self._connection = AuditConnection(durability)
        # The primary keys of the streams that this process writes, by name.
        self._streams: dict[str, int] = {}
        # The key of the stream of the last row, and the row.
        self._last: tuple[int, ChainRow] | None = None

    def append(self, rows: Sequence[ChainRow], *, sync: bool = False) -> None:
        if connection.in_atomic_block:
            # What can be rolled back is not a record, and the chain would have a gap.
            raise AuditUnavailable(
                Text(
                    "a record cannot be written inside a transaction that may be"
                    " rolled back"
                ),
                hint=Text("Send before the transaction begins, or after it has ended."),
            )
        is_written = False
        try:
            is_counted = False
            if rows:
                columns = [self._columns(row) for row in rows]
                is_counted = self._connection.insert(columns)
                self._last = (self._streams[rows[-1].stream], rows[-1])
            if sync:
                self._connection.sync()
            # A trigger may delete or change what was inserted without an error: at
            # once, which counting has noticed, or before the next checkpoint.
            is_written = (
                self._last is None
                or (is_counted and not sync)
                or self._connection.holds(*self._last)
            )
        except (DatabaseError, OSError):
            pass  # raised below, so that the database's own error is not its context
        if not is_written:
            self._streams.clear()
            self._last = None
            self._connection.close()
            recover()
            raise AuditUnavailable

    def probe(self) -> None:
        """Raise AuditUnavailable if a row could not be stored now."""
        is_writable = False
        with suppress(DatabaseError, OSError):
            self._connection.probe()
            is_writable = True
        if not is_writable:
            self._connection.close()
            raise AuditUnavailable

    def close(self) -> None:
        """Close the connection of the audit; the next row opens another."""
        self._connection.close()

    def position_at(self, moment: float) -> int:
        at = moment * 1000
        low = 0  # recorded before the moment, or no row
        high = (AuditRecord.objects.aggregate(Max("id"))["id__max"] or 0) + 1
        # Ids grow with time, but for rows that are written at the same moment. There is
        # no index by time: every send would pay for it.
        while high - low > 1:
            middle = (low + high) // 2
            rows = AuditRecord.objects.filter(pk__gte=middle).order_by("pk")
            row = rows.values_list("pk", "at").first()
            if row is None or row[0] >= high or row[1] >= at:
                high = middle
            else:
                low = row[0]
        return low

    def newest(
        self, limit: int, *, before: int = 0, **labels: str
    ) -> list[dict[str, object]]:
        records = AuditRecord.objects.order_by("-id").filter(**labels)
        if before:
            records = records.filter(pk__lt=before)
        rows = records.values_list("id", "body")[:limit]
        return [{"id": number} | facts_of(as_bytes(body)) for number, body in rows]

    def after(self, position: int, limit: int) -> list[dict[str, object]]:
        """Return the facts of the rows after an id, with their ids, oldest first.

        A row that is committed later than its successor is missed: monitoring accepts
        that, and the verification reads the chain.
        """
        records = AuditRecord.objects.filter(pk__gt=position).order_by("pk")
        rows = records.values_list("id", "body")[:limit]
        return [facts_of(as_bytes(body)) | {"id": number} for number, body in rows]

    def read(self) -> Iterator[ChainRow]:
        records = AuditRecord.objects.order_by("stream_id", "number")
        rows = records.values_list("stream__name", *ROW_COLUMNS)
        for stream, *columns in rows.iterator(chunk_size=BATCH):
            yield _chain_row(str(stream), *columns)
        # A row without a stream belongs to no process, and must be verified too.
        orphans = AuditRecord.objects.exclude(stream__in=Stream.objects.values("pk"))
        for columns in orphans.values_list(*ROW_COLUMNS):
            yield _chain_row("no stream", *columns)

    def streams(self) -> Iterator[AuditStream]:
        records = AuditRecord.objects.filter(stream=OuterRef("pk")).order_by("number")
        streams = Stream.objects.annotate(
            rows=Count("records"), oldest_at=Subquery(records.values("at")[:1])
        )
        for stream in streams:
            yield AuditStream(
                name=str(stream.name),
                rows=stream.rows,
                oldest_at=stream.oldest_at,
                tombstone=_tombstone_of(stream),
            )

    def beginnings(self, limit: int) -> list[ChainRow]:
        newest = Stream.objects.order_by("-id").values_list("pk", flat=True)
        written = AuditRecord.objects.order_by("-id").values_list(
            "stream_id", flat=True
        )
        streams = {*newest[:limit], *written[:limit]}
        first = AuditRecord.objects.filter(stream__in=streams, number=1)
        rows = first.order_by("stream_id").values_list("stream__name", *ROW_COLUMNS)
        return [_chain_row(str(stream), *columns) for stream, *columns in rows]

    def prune(self, tombstone: ChainMark) -> int:
        with transaction.atomic():
            streams = Stream.objects.filter(name=tombstone.stream)
            # Never backwards: another process may prune at the same time.
            is_later = streams.filter(pruned_number__lt=tombstone.number).update(
                pruned_number=tombstone.number,
                pruned_mac=tombstone.mac,
                pruned_signature=tombstone.signature,
            )
            if not is_later:
                return 0
            allow_long_statements()
            records = AuditRecord.objects.filter(
                stream__in=streams, number__lte=tombstone.number
            )
            return records.delete()[0]

    def _columns(self, row: ChainRow) -> tuple[object, ...]:
        stream = self._stream_id(row.stream)
        label = row.label
        return (
            stream,
            row.number,
            label.at,
            label.configuration,
            label.outcome,
            label.kind or None,
            label.actor,
            row.body,
            row.mac,
        )

    def _stream_id(self, name: str) -> int:
        if name not in self._streams:
            self._streams[name] = _stored_stream(name)
        return self._streams[name]


def _stored_stream(name: str) -> int:
    """Return the primary key of a stream, new or known; DatabaseError without one."""
    stream = Stream.objects.filter(name=name).first()
    if stream is None:
        stream = Stream(name=name)
        insert_row(stream)
    return int(stream.pk)


def _tombstone_of(stream: Stream) -> ChainMark | None:
    """Return the tombstone of a stream; a stream that was never pruned has none."""
    if not stream.pruned_number:
        return None
    name = str(stream.name)
    return ChainMark(
        stream=name,
        number=as_number(stream.pruned_number),
        mac=as_bytes(stream.pruned_mac),
        key_id=key_id_of(name),
        signature=as_bytes(stream.pruned_signature),
    )


def _chain_row(
    stream: str, number: object, body: object, mac: object, *columns: object
) -> ChainRow:
    """Return a row as it is stored; the verification compares whatever is there."""
    label = Label(*columns)  # type: ignore[arg-type]
    return ChainRow(
        stream=stream,
        number=as_number(number),
        body=as_bytes(body),
        mac=as_bytes(mac),
        # The doctor computes with the time, which may be of any type in SQLite.
        label=label._replace(at=as_number(label.at), kind=label.kind or ""),
    )
