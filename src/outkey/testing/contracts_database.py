"""The contract suite of a database, used like those of `contracts`."""

from abc import ABC, abstractmethod

import pytest

from outkey.ports.storage import Database


class DatabaseContract(ABC):
    """What every database of a host promises."""

    @abstractmethod
    def make(self) -> Database:
        """Return a database."""

    def test_its_clock_goes_forward(self) -> None:
        database = self.make()
        first = database.now()
        assert 0 <= database.now() - first < 60

    def test_an_error_inside_a_transaction_reaches_the_caller(self) -> None:
        database = self.make()
        with pytest.raises(LookupError), database.transaction():
            raise LookupError

    def test_transactions_can_be_nested(self) -> None:
        database = self.make()
        with database.transaction(), database.transaction():
            assert database.now() > 0
