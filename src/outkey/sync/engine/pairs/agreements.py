"""The stored agreements of a pair, as its runs look them up."""

from collections.abc import Collection, Iterator, Sequence

from outkey.sync.core.pairs.pairs import PairAgreement
from outkey.sync.ports.sync import PairQuery, PairRows


class Agreements:
    """Finds, stores and deletes the agreements of push lines."""

    def __init__(self, rows: PairRows) -> None:
        self._rows = rows

    def read(self, line: str, records: Collection[str]) -> dict[str, PairAgreement]:
        """Return the agreements of these records, by record."""
        if not records:
            return {}
        agreements = self._rows.find(PairQuery(line, records=records))
        return {agreement.record: agreement for agreement in agreements}

    def by_key(self, line: str, keys: Collection[str]) -> dict[str, PairAgreement]:
        """Return the agreements with these keys, by key.

        Of several with the same key one that has a conflict, an open one first.
        """
        if not keys:
            return {}
        agreements = self._rows.find(PairQuery(line, keys=keys))
        by_need = sorted(
            agreements,
            key=lambda agreement: (agreement.conflict is not None, agreement.is_open),
        )
        return {agreement.key: agreement for agreement in by_need}

    def conflicts(self, line: str, after: str, limit: int) -> Sequence[PairAgreement]:
        """Return the next ones with a conflict after a record, by record."""
        query = PairQuery(line, has_conflict=True, after=after, limit=limit)
        return self._rows.find(query)

    def every_conflict(self, line: str) -> Iterator[PairAgreement]:
        """Yield all that have a conflict, some at a time."""
        last = ""
        while page := self.conflicts(line, last, 1000):
            yield from page
            last = page[-1].record

    def put(self, line: str, agreements: Sequence[PairAgreement]) -> None:
        """Insert or replace agreements."""
        self._rows.put(line, agreements)

    def delete(self, line: str, records: Collection[str]) -> None:
        """Delete the agreements of these records; others do not matter."""
        self._rows.delete(line, records)
