"""The table of what both sides of pairs agreed on."""

from collections.abc import Collection, Sequence
from dataclasses import fields

from outkey.sync.core.pairs.pairs import PairAgreement, stored_agreement
from outkey.sync.ports.sync import PairQuery
from third_host.database import Table

FIND = (
    "SELECT * FROM agreement WHERE line = :line AND record > :after"
    " AND (:records IS NULL OR record IN (SELECT value FROM json_each(:records)))"
    " AND (:keys IS NULL OR key IN (SELECT value FROM json_each(:keys)))"
    " AND (conflict != 'null' OR NOT :has_conflict)"
    " ORDER BY record LIMIT coalesce(:limit, -1)"
)
DELETE = (
    "DELETE FROM agreement WHERE line = :line"
    " AND record IN (SELECT value FROM json_each(:records))"
)


class AgreementTable(Table):
    """One row for each record of a push line."""

    def find(self, query: PairQuery) -> list[PairAgreement]:
        values = {field.name: getattr(query, field.name) for field in fields(query)}
        rows = self.database.rows(FIND, **values)
        return [stored_agreement(dict(row)) for row in rows]

    def put(self, line: str, agreements: Sequence[PairAgreement]) -> None:
        with self.database.transaction():
            self.delete(line, [known.record for known in agreements])
            for known in agreements:
                self.database.insert("agreement", {"line": line, **known.as_columns()})

    def delete(self, line: str, records: Collection[str]) -> None:
        self.database.write(DELETE, line=line, records=records)
