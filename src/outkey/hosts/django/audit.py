"""The audit's rows in Django's tables."""

import json
from collections.abc import Iterator, Sequence

from django.db import DatabaseError, transaction

from outkey.core.chain import ChainRow
from outkey.core.errors import AuditUnavailable
from outkey.hosts.django.models import AuditRecord

_BATCH = 2000


class DjangoAuditRows:
    """Appends rows in one transaction, and reads them back without holding them all."""

    def append(self, rows: Sequence[ChainRow]) -> None:
        """Keep all rows durably or none, or raise AuditUnavailable."""
        records = [
            AuditRecord(
                stream=row.stream,
                number=row.number,
                configuration=json.loads(row.body).get("configuration", ""),
                body=row.body,
                mac=row.mac,
            )
            for row in rows
        ]
        failed = False
        try:
            with transaction.atomic():
                AuditRecord.objects.bulk_create(records)
        except DatabaseError:
            failed = True  # raised outside, so that the database's own error is not its context
        if failed:
            raise AuditUnavailable

    def newest(self, limit: int) -> list[dict[str, object]]:
        """Return the facts of the newest records, newest first."""
        bodies = AuditRecord.objects.order_by("-id").values_list("body", flat=True)[:limit]
        return [json.loads(bytes(body)) for body in bodies]

    def read(self) -> Iterator[ChainRow]:
        """Return all rows, ordered by stream and number."""
        ordered = AuditRecord.objects.order_by("stream", "number")
        columns = ordered.values_list("stream", "number", "body", "mac")
        for stream, number, body, mac in columns.iterator(chunk_size=_BATCH):
            yield ChainRow(stream, number, bytes(body), bytes(mac))
