"""The contract of agreements: what both sides of a pair had of each record."""

from abc import ABC, abstractmethod
from dataclasses import replace

from outkey.sync.core.pairs.pairs import PairAgreement, PairConflict
from outkey.sync.core.pairs.section import ConflictRule
from outkey.sync.ports.sync import LineRows, PairQuery, PairRows

CONFLICT = PairConflict({"name": "A"}, None, ConflictRule.API)
FULL = PairAgreement(
    "1",
    key='n/ä "x", 🎉',
    api={"name": "a\x00\u2028ä", "list": [1, None, {"x": 1.5}]},
    host={"name": "b", "note": None},
    is_pushed=True,
    conflict=CONFLICT,
)
MANY = 1200


def read(pairs: PairRows, line: str, *records: str) -> dict[str, PairAgreement]:
    """Return the agreements of records, by record."""
    found = pairs.find(PairQuery(line, records=records))
    return {known.record: known for known in found}


def by_key(pairs: PairRows, line: str, *keys: str) -> list[PairAgreement]:
    """Return the agreements with keys."""
    return list(pairs.find(PairQuery(line, keys=keys)))


def conflicts(pairs: PairRows, line: str, after: str, limit: int) -> list[str]:
    """Return the next records with a conflict."""
    query = PairQuery(line, has_conflict=True, after=after, limit=limit)
    return [known.record for known in pairs.find(query)]


class PairRowsContract(ABC):
    """The promises of every table of agreements."""

    @abstractmethod
    def make(self) -> PairRows:
        """Return an empty table; there are the sync lines `contacts` and `orders`."""

    def test_an_agreement_is_read_as_it_was_put(self) -> None:
        pairs = self.make()
        plain = PairAgreement("2", "n2")
        pairs.put("contacts", [FULL, plain])
        assert read(pairs, "contacts", "2", "1", "3") == {"1": FULL, "2": plain}
        assert read(pairs, "contacts") == {}
        assert by_key(pairs, "contacts", FULL.key, "n3") == [FULL]
        assert by_key(pairs, "contacts") == []

    def test_an_agreement_is_replaced_and_deleted(self) -> None:
        pairs = self.make()
        pairs.put("contacts", [FULL, PairAgreement("2", "n2")])
        changed = PairAgreement("1", "n1", api={}, host={})
        pairs.put("contacts", [changed])
        pairs.put("contacts", [])
        pairs.delete("contacts", ["2", "3"])
        assert read(pairs, "contacts", "1", "2") == {"1": changed}
        assert by_key(pairs, "contacts", FULL.key, "n2") == []

    def test_several_records_may_have_the_same_key(self) -> None:
        pairs = self.make()
        pairs.put("contacts", [FULL, replace(FULL, record="2", conflict=None)])
        found = by_key(pairs, "contacts", FULL.key)
        assert {known.record for known in found} == {"1", "2"}
        query = PairQuery("contacts", keys=[FULL.key], has_conflict=True)
        assert list(pairs.find(query)) == [FULL]

    def test_each_line_has_agreements_of_its_own(self) -> None:
        pairs = self.make()
        pairs.put("contacts", [FULL])
        assert read(pairs, "orders", "1") == {}
        assert by_key(pairs, "orders", FULL.key) == []
        assert conflicts(pairs, "orders", "", 9) == []
        pairs.delete("orders", ["1"])
        assert read(pairs, "contacts", "1") == {"1": FULL}

    def test_conflicts_come_in_one_order_until_they_end(self) -> None:
        pairs = self.make()
        asked = [replace(FULL, record=record, key=record) for record in "312"]
        pairs.put("contacts", [*asked, PairAgreement("4", "n4")])
        assert conflicts(pairs, "contacts", "", 2) == ["1", "2"]
        assert conflicts(pairs, "contacts", "2", 2) == ["3"]
        pairs.put("contacts", [PairAgreement("1", "1")])
        assert conflicts(pairs, "contacts", "", 9) == ["2", "3"]

    def test_many_agreements_are_put_read_and_deleted(self) -> None:
        pairs = self.make()
        made = {str(n): PairAgreement(str(n), f"n{n}", {}, {}) for n in range(MANY)}
        pairs.put("contacts", list(made.values()))
        assert read(pairs, "contacts", *made) == made
        keys = [known.key for known in made.values()]
        assert len(by_key(pairs, "contacts", *keys)) == MANY
        pairs.delete("contacts", made.keys())
        assert read(pairs, "contacts", *made) == {}


class StoredPairsContract(ABC):
    """More promises of a table of agreements beside stored sync lines."""

    @abstractmethod
    def make(self) -> PairRows:
        """Return an empty table; there are the sync lines `contacts` and `orders`."""

    @abstractmethod
    def lines(self) -> LineRows:
        """Return the table of the sync lines."""

    def test_agreements_follow_their_line_and_are_deleted_with_it(self) -> None:
        pairs = self.make()
        pairs.put("contacts", [FULL])
        (before,) = self.lines().find(["contacts"])
        renamed = self.lines().swap(before, replace(before, name="people"))
        assert renamed
        assert read(pairs, "people", "1") == {"1": FULL}
        assert read(pairs, "contacts", "1") == {}
        (after,) = self.lines().find(["people"])
        assert self.lines().swap(after, None)
        assert read(pairs, "people", "1") == {}
