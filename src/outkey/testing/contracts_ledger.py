"""The contract of the ledger: what pushes have sent of each record."""

from abc import ABC, abstractmethod
from dataclasses import replace

from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.ports.sync import LedgerRows, LineRows

FULL = LedgerEntry(
    "1",
    digest="a" * 64,
    remote_id='id/ä "x" \\ {y},\n\u2028🎉',
    is_deleted=True,
    creations=3,
    key="k" * 32 + ".1000",
    sent="b" * 64,
)
MANY = 2500


class LedgerRowsContract(ABC):
    """The promises of every ledger."""

    @abstractmethod
    def make(self) -> LedgerRows:
        """Return an empty table; there are the sync lines `contacts` and `orders`."""

    def test_an_entry_is_read_as_it_was_put(self) -> None:
        ledger = self.make()
        plain = LedgerEntry("2")
        ledger.put("contacts", [FULL, plain])
        assert ledger.read("contacts", ["2", "1", "3"]) == {"1": FULL, "2": plain}
        assert ledger.read("contacts", []) == {}

    def test_an_entry_is_replaced(self) -> None:
        ledger = self.make()
        ledger.put("contacts", [FULL, LedgerEntry("2")])
        changed = LedgerEntry("1", digest="c", remote_id="x")
        ledger.put("contacts", [changed, LedgerEntry("3")])
        assert list(ledger.after("contacts", "", 9)) == [
            changed,
            LedgerEntry("2"),
            LedgerEntry("3"),
        ]

    def test_putting_nothing_changes_nothing(self) -> None:
        ledger = self.make()
        ledger.put("contacts", [])
        assert list(ledger.after("contacts", "", 9)) == []

    def test_each_line_has_entries_of_its_own(self) -> None:
        ledger = self.make()
        ledger.put("contacts", [FULL])
        other = LedgerEntry("1", digest="other")
        ledger.put("orders", [other])
        assert ledger.read("contacts", ["1"]) == {"1": FULL}
        assert ledger.read("orders", ["1"]) == {"1": other}
        assert ledger.read("unknown", ["1"]) == {}
        assert list(ledger.after("unknown", "", 9)) == []

    def test_entries_are_found_by_the_id_that_the_api_gave(self) -> None:
        ledger = self.make()
        first = LedgerEntry("1", digest="a", remote_id="r1")
        second = LedgerEntry("2", digest="b", remote_id='r "2" ä')
        ledger.put("contacts", [first, second, LedgerEntry("3"), LedgerEntry("4")])
        ledger.put("orders", [LedgerEntry("5", remote_id="r5")])
        wanted = ["r1", 'r "2" ä', "r5", "R1", ""]
        found = ledger.by_remote_id("contacts", wanted)
        assert found == {"r1": first, 'r "2" ä': second}
        assert ledger.by_remote_id("contacts", []) == {}
        assert ledger.by_remote_id("unknown", ["r1"]) == {}

    def test_creates_without_a_response_come_in_the_order_of_their_records(
        self,
    ) -> None:
        ledger = self.make()
        announced = [LedgerEntry(str(n), key="k", sent="s") for n in range(1, 6)]
        ledger.put("contacts", [*announced[::-1], LedgerEntry("6", digest="d")])
        ledger.put("orders", [LedgerEntry("7", key="k")])
        assert list(ledger.announced("contacts", "", 3)) == announced[:3]
        assert list(ledger.announced("contacts", "3", 3)) == announced[3:]
        assert list(ledger.announced("contacts", "5", 3)) == []
        assert list(ledger.announced("unknown", "", 3)) == []
        ledger.put("contacts", [announced[0].accept("s")])
        assert list(ledger.announced("contacts", "", 9)) == announced[1:]

    def test_many_entries_come_in_one_order_and_each_once(self) -> None:
        ledger = self.make()
        entries = {str(n): LedgerEntry(str(n), creations=n) for n in range(MANY)}
        ledger.put("contacts", list(entries.values()))
        assert ledger.read("contacts", entries.keys()) == entries
        found: list[LedgerEntry] = []
        last = ""
        while some := ledger.after("contacts", last, 1000):
            assert len(some) <= 1000
            found += some
            last = some[-1].record
        assert len(found) == MANY
        assert {entry.record: entry for entry in found} == entries


class StoredLedgerContract(ABC):
    """More promises of a ledger beside stored sync lines."""

    @abstractmethod
    def make(self) -> LedgerRows:
        """Return an empty table; there are the sync lines `contacts` and `orders`."""

    @abstractmethod
    def lines(self) -> LineRows:
        """Return the table of the sync lines."""

    def test_entries_follow_a_line_that_is_renamed(self) -> None:
        ledger = self.make()
        ledger.put("contacts", [FULL])
        (before,) = self.lines().find(["contacts"])
        assert self.lines().swap(before, replace(before, name="people"))
        assert ledger.read("people", ["1"]) == {"1": FULL}
        assert ledger.read("contacts", ["1"]) == {}

    def test_entries_are_deleted_with_their_line(self) -> None:
        ledger = self.make()
        ledger.put("contacts", [FULL])
        (before,) = self.lines().find(["contacts"])
        assert self.lines().swap(before, None)
        assert self.lines().swap(None, before)
        assert ledger.read("contacts", ["1"]) == {}
