"""The table of the chained audit."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from outkey.foundation.core.errors import AuditUnavailable, StorageUnavailable
from outkey.sending.core.audit.chain import (
    AuditStream,
    ChainMark,
    ChainRow,
    Label,
    facts_of,
)
from third_host.database import Table

BATCH = 2000
NEWEST = (
    "SELECT id, body FROM audit WHERE (:before = 0 OR id < :before)"
    " AND :configuration IN ('', configuration) AND :outcome IN ('', outcome)"
    " AND :kind IN ('', kind) AND :actor IN ('', actor)"
    " ORDER BY id DESC LIMIT :limit"
)
READ = (
    "SELECT stream, number, body, mac, at, configuration, outcome, kind, actor"
    " FROM audit"
    " WHERE (stream, number) > (:stream, :number) ORDER BY stream, number LIMIT :limit"
)
# Beside min(), SQLite returns the other columns of the row that has the minimum.
STREAMS = "SELECT stream, count(*), at, min(number) FROM audit GROUP BY stream"
BEGINNINGS = (
    "SELECT stream, number, body, mac, at, configuration, outcome, kind, actor"
    " FROM audit WHERE number = 1 AND (stream IN"
    " (SELECT stream FROM audit ORDER BY id DESC LIMIT :limit) OR stream IN"
    " (SELECT stream FROM audit WHERE number = 1 ORDER BY id DESC LIMIT :limit))"
)
# Never backwards: another process may prune at the same time.
BURY = (
    "INSERT INTO tombstone VALUES (:stream, :number, :mac, :key_id, :signature)"
    " ON CONFLICT DO UPDATE SET number = excluded.number, mac = excluded.mac,"
    " key_id = excluded.key_id, signature = excluded.signature"
    " WHERE excluded.number > number"
)


class AuditTable(Table):
    """Audit rows of all processes."""

    def append(self, rows: Sequence[ChainRow], *, sync: bool = False) -> None:
        del sync  # SQLite syncs every commit
        if self.database.connection.in_transaction:
            raise AuditUnavailable  # what can be rolled back is not a record
        try:
            with self.database.transaction():
                for row in rows:
                    columns = row._asdict() | row.label._asdict()
                    del columns["label"]
                    self.database.insert("audit", columns)
        except (StorageUnavailable, sqlite3.IntegrityError):
            raise AuditUnavailable from None

    def newest(
        self, limit: int, *, before: int = 0, **labels: str
    ) -> list[dict[str, object]]:
        values = dict.fromkeys(Label._fields[1:], "") | labels
        rows = self.database.rows(NEWEST, limit=limit, before=before, **values)
        return [facts_of(body) | {"id": number} for number, body in rows]

    def position_at(self, moment: float) -> int:
        query = "SELECT coalesce(max(id), 0) FROM audit WHERE at < :at"
        ((position,),) = self.database.rows(query, at=moment * 1000)
        return int(position)

    def after(self, position: int, limit: int) -> list[dict[str, object]]:
        query = "SELECT id, body FROM audit WHERE id > :after ORDER BY id LIMIT :limit"
        rows = self.database.rows(query, after=position, limit=limit)
        return [facts_of(body) | {"id": number} for number, body in rows]

    def read(self) -> Iterator[ChainRow]:
        place = {"stream": "", "number": 0}
        while rows := self.database.rows(READ, **place, limit=BATCH):
            for stream, number, body, mac, *label in rows:
                place = {"stream": stream, "number": number}
                yield ChainRow(stream, number, body, mac, Label(*label))

    def streams(self) -> Iterator[AuditStream]:
        tombstones = {
            row["stream"]: ChainMark(**dict(row))
            for row in self.database.rows("SELECT * FROM tombstone")
        }
        for name, count, oldest_at, _ in self.database.rows(STREAMS):
            yield AuditStream(name, count, oldest_at, tombstones.pop(name, None))
        for name, tombstone in tombstones.items():
            yield AuditStream(name, 0, None, tombstone)

    def beginnings(self, limit: int) -> list[ChainRow]:
        return [
            ChainRow(stream, number, body, mac, Label(*label))
            for stream, number, body, mac, *label in self.database.rows(
                BEGINNINGS, limit=limit
            )
        ]

    def prune(self, tombstone: ChainMark) -> int:
        with self.database.transaction():
            if not self.database.write(BURY, **asdict(tombstone)):
                return 0
            delete = "DELETE FROM audit WHERE stream = :stream AND number <= :number"
            place = {"stream": tombstone.stream, "number": tombstone.number}
            return self.database.write(delete, **place)
