"""The contract suite of a database, used like those of `contracts`."""

from abc import ABC, abstractmethod

import pytest

from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.ports.database import Database, StateRows

MARK = StateKind.MARK


class DatabaseContract(ABC):
    """The promises of every database of a host."""

    @abstractmethod
    def make(self) -> tuple[Database, StateRows]:
        """Return a database, and an empty table of it."""

    def test_its_clock_goes_forward(self) -> None:
        database, _ = self.make()
        first = database.now()
        assert 0 <= database.now() - first < 60

    def test_a_transaction_writes_all_of_it(self) -> None:
        database, states = self.make()
        with database.transaction():
            states.put(MARK, {"a": {"n": 1}})
            assert states.swap(MARK, "b", 0, {"n": 2})
        assert states.read(MARK).keys() == {"a", "b"}

    def test_a_transaction_that_fails_writes_nothing(self) -> None:
        database, states = self.make()
        states.put(MARK, {"a": {"n": 1}})
        with pytest.raises(LookupError), database.transaction():  # noqa: PT012
            states.put(MARK, {"a": None})
            assert states.swap(MARK, "b", 0, {"n": 2})
            raise LookupError
        assert states.read(MARK).keys() == {"a"}

    def test_a_transaction_that_need_not_be_durable_is_whole_too(self) -> None:
        database, states = self.make()
        with database.transaction(durable=False):
            states.put(MARK, {"a": {"n": 1}})
            with database.transaction(durable=False):
                states.put(MARK, {"b": {"n": 2}})
        with pytest.raises(LookupError), database.transaction(durable=False):  # noqa: PT012
            states.put(MARK, {"c": {"n": 3}})
            raise LookupError
        assert states.read(MARK).keys() == {"a", "b"}

    def test_work_after_a_commit_is_done_when_all_of_it_is_committed(self) -> None:
        database, _ = self.make()
        done: list[str] = []
        database.after_commit(lambda: done.append("no transaction"))
        assert done == ["no transaction"]
        with database.transaction():
            database.after_commit(lambda: done.append("outer"))
            with database.transaction():
                database.after_commit(lambda: done.append("inner"))
            assert done == ["no transaction"]
        assert done == ["no transaction", "outer", "inner"]

    def test_work_after_a_commit_is_not_done_for_what_is_rolled_back(self) -> None:
        database, _ = self.make()
        done: list[str] = []
        with database.transaction():
            database.after_commit(lambda: done.append("outer"))
            with pytest.raises(LookupError), database.transaction():  # noqa: PT012
                database.after_commit(lambda: done.append("inner"))
                raise LookupError
        with pytest.raises(LookupError), database.transaction():  # noqa: PT012
            with database.transaction():
                database.after_commit(lambda: done.append("nested"))
            raise LookupError
        assert done == ["outer"]

    def test_a_nested_transaction_fails_alone_and_with_the_outer_one(self) -> None:
        database, states = self.make()
        with database.transaction():
            states.put(MARK, {"a": {"n": 1}})
            with pytest.raises(LookupError), database.transaction():  # noqa: PT012
                states.put(MARK, {"b": {"n": 2}})
                raise LookupError
        assert states.read(MARK).keys() == {"a"}
        with pytest.raises(LookupError), database.transaction():  # noqa: PT012
            with database.transaction():
                states.put(MARK, {"c": {"n": 3}})
            raise LookupError
        assert states.read(MARK).keys() == {"a"}
