"""The contract of the parents of lines: what is known of each list."""

from abc import ABC, abstractmethod
from dataclasses import replace

from outkey.sync.core.run.parents import ParentState
from outkey.sync.ports.sync import LineRows, ParentRows

FULL = ParentState(
    "1",
    turn="12.34",
    since="2026-11-19T00:00:00Z ä \u2028",
    full_at=1_800_000_000.25,
    mark="a" * 64,
    checkpoint={"position": {"at": "x", "pages": 2}, "has_rejected": False},
)
MANY = 2500


class ParentRowsContract(ABC):
    """The promises of every table of parents."""

    @abstractmethod
    def make(self) -> ParentRows:
        """Return an empty table; there are the sync lines `contacts` and `orders`."""

    def test_a_state_is_read_as_it_was_put(self) -> None:
        parents = self.make()
        plain = ParentState("2")
        parents.put("contacts", [FULL, plain])
        assert parents.read("contacts", ["2", "1", "3"]) == {"1": FULL, "2": plain}
        assert parents.read("contacts", []) == {}

    def test_a_state_is_replaced_and_each_line_has_its_own(self) -> None:
        parents = self.make()
        parents.put("contacts", [FULL])
        parents.put("orders", [ParentState("1", turn="other")])
        changed = ParentState("1", turn="13.1")
        parents.put("contacts", [changed])
        parents.put("contacts", [])
        assert parents.read("contacts", ["1"]) == {"1": changed}
        assert parents.read("orders", ["1"]) == {"1": ParentState("1", turn="other")}
        assert parents.read("unknown", ["1"]) == {}

    def test_some_parents_are_deleted_or_all_of_a_line(self) -> None:
        parents = self.make()
        for line in ("contacts", "orders"):
            parents.put(line, [ParentState(key) for key in ("1", "2", "3")])
        assert parents.delete("contacts", ["1", "9"]) == 1
        assert parents.delete("contacts", []) == 0
        assert parents.read("contacts", ["1", "2", "3"]).keys() == {"2", "3"}
        assert parents.delete("contacts") == 2
        assert parents.delete("contacts") == 0
        assert parents.read("orders", ["1", "2", "3"]).keys() == {"1", "2", "3"}

    def test_the_parents_of_one_full_run_stay(self) -> None:
        parents = self.make()
        states = [ParentState("1", full_at=1.8e9 + 0.1), ParentState("2", full_at=2.0)]
        parents.put("contacts", [*states, ParentState("3")])
        assert parents.delete("contacts", but_of=1.8e9 + 0.1) == 2
        assert parents.read("contacts", ["1", "2", "3"]) == {"1": states[0]}

    def test_many_parents_are_stored_at_once(self) -> None:
        parents = self.make()
        states = {str(n): ParentState(str(n), since=str(n)) for n in range(MANY)}
        parents.put("contacts", list(states.values()))
        assert parents.read("contacts", states.keys()) == states
        assert parents.delete("contacts", list(states)) == MANY


class StoredParentsContract(ABC):
    """More promises of a table beside stored sync lines."""

    @abstractmethod
    def make(self) -> ParentRows:
        """Return an empty table; there are the sync lines `contacts` and `orders`."""

    @abstractmethod
    def lines(self) -> LineRows:
        """Return the table of the sync lines."""

    def test_parents_follow_a_line_that_is_renamed(self) -> None:
        parents = self.make()
        parents.put("contacts", [FULL])
        (before,) = self.lines().find(["contacts"])
        assert self.lines().swap(before, replace(before, name="people"))
        assert parents.read("people", ["1"]) == {"1": FULL}
        assert parents.read("contacts", ["1"]) == {}

    def test_parents_are_deleted_with_their_line(self) -> None:
        parents = self.make()
        parents.put("contacts", [FULL])
        (before,) = self.lines().find(["contacts"])
        assert self.lines().swap(before, None)
        assert self.lines().swap(None, before)
        assert parents.read("contacts", ["1"]) == {}
